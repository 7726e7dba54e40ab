//! Loops and branches of a written workload: items of its lists of statements.
//!
//! ```toml
//! { repeat = [5, 15], as = "line", draw = ["item"], statements = ["INSERT INTO l VALUES ({line}, {item})"] }
//! { if = "stock < 10", statements = ["ROLLBACK"], else = ["COMMIT"] }
//! ```

use super::{Entry, Reader, Value, Written, find, sql};
use load::spec::{Comparison, Condition, Distribution, Draw, Literal, Operand, REPEAT_MAX, SlotIndex, Step};

/// Signs of comparisons, the longer ones first.
const COMPARISONS: [(&str, Comparison); 8] = [
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("!=", Comparison::NotEqual),
    ("<>", Comparison::NotEqual),
    ("==", Comparison::Equal),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl<P: Clone> Reader<'_, P> {
    /// The steps of a loop or branch; `None`: the item is neither.
    pub(super) fn flow(
        &mut self,
        transaction: &str,
        item: &Written<P>,
        scope: &mut sql::Scope<'_>,
        kinds: &mut Vec<String>,
    ) -> Option<Vec<Step>> {
        let Value::Table(entries) = &item.value else { return None };
        let step = match (find(entries, "repeat"), find(entries, "if")) {
            (Some(times), _) => {
                self.only_keys(entries, &["repeat", "as", "draw", "statements"]);
                let times = self.times(&times.value, scope);
                let number = find(entries, "as").and_then(|entry| self.name_of_round(&entry.value, scope));
                let mut steps = self.drawn_anew(entries, scope);
                steps.extend(self.statements(transaction, item, entries, scope, kinds));
                times.map(|times| Step::Repeat { times, number, steps })
            }
            (None, Some(condition)) => {
                self.only_keys(entries, &["if", "statements", "else"]);
                let condition = self.condition(&condition.value, scope);
                let then = self.statements(transaction, item, entries, scope, kinds);
                let otherwise = find(entries, "else").map(|entry| &entry.value);
                let otherwise =
                    otherwise.map(|list| self.block(transaction, list, scope, kinds)).unwrap_or_default();
                condition.map(|condition| Step::If { condition, then, otherwise })
            }
            (None, None) => return None,
        };
        Some(step.into_iter().collect())
    }

    fn statements(
        &mut self,
        transaction: &str,
        item: &Written<P>,
        entries: &[Entry<P>],
        scope: &mut sql::Scope<'_>,
        kinds: &mut Vec<String>,
    ) -> Vec<Step> {
        match find(entries, "statements") {
            Some(entry) => self.block(transaction, &entry.value, scope, kinds),
            None => {
                let title = "this loop or branch has no statements";
                self.at(&item.place, title, "add `statements = [\"SELECT ...\"]`");
                Vec::new()
            }
        }
    }

    /// A number, a range of which one is drawn, or the name of a value.
    fn times(&mut self, written: &Written<P>, scope: &mut sql::Scope<'_>) -> Option<Operand> {
        let wanted = "a number of rounds, a range such as [5, 15], or the name of a value";
        match &written.value {
            Value::Integer(times) if (1..=REPEAT_MAX).contains(times) => {
                Some(Operand::Draw(Draw::Literal(Literal::Integer(*times))))
            }
            Value::List(_) => {
                let (min, max) = self.integers(written)?;
                if min < 0 || max > REPEAT_MAX {
                    return self.wrong(written, "a number of rounds", wanted);
                }
                Some(Operand::Draw(Draw::Integer { min, max, distribution: Distribution::Uniform }))
            }
            Value::Text(name) => self.value(written, name, scope),
            _ => self.wrong(written, "a number of rounds", wanted),
        }
    }

    /// What the number of the round, from 1, is called in its statements.
    fn name_of_round(&mut self, written: &Written<P>, scope: &mut sql::Scope<'_>) -> Option<SlotIndex> {
        match &written.value {
            Value::Text(name) if !sql::is_name(name) => {
                self.wrong(written, "a name", "letters, digits and _")
            }
            Value::Text(name) if scope.slot(name).is_ok() => {
                self.at(&written.place, format!("`{name}` is a value already"), "choose another name for it");
                None
            }
            Value::Text(name) => Some(scope.keep(name)),
            _ => self.wrong(written, "a name", "text"),
        }
    }

    /// The values that each round draws again.
    fn drawn_anew(&mut self, entries: &[Entry<P>], scope: &mut sql::Scope<'_>) -> Vec<Step> {
        let Some(entry) = find(entries, "draw") else { return Vec::new() };
        let mut steps = Vec::new();
        for item in self.list(&entry.value, "expected a list of values to draw") {
            let Value::Text(name) = &item.value else {
                self.wrong::<()>(item, "a name", "text");
                continue;
            };
            let Some(Operand::Slot(slot)) = self.value(item, name, scope) else { continue };
            let own = self.values.get(usize::from(slot)).map(|(_, draw)| draw);
            let of_column = scope.columns().iter().find(|(known, _)| *known == slot).map(|(_, draw)| draw);
            match own.or(of_column) {
                Some(draw) => steps.push(Step::Draw { slot, draw: draw.clone() }),
                None => self.at(
                    &item.place,
                    format!("`{name}` comes from a result"),
                    "only drawn values can be drawn again",
                ),
            }
        }
        steps
    }

    /// `stock < 10`, `city = 'Oslo'`, `name is null`.
    fn condition(&mut self, written: &Written<P>, scope: &mut sql::Scope<'_>) -> Option<Condition> {
        const WANTED: &str = "a comparison such as \"stock < 10\", \"city = 'Oslo'\" or \"name is null\"";
        let Value::Text(text) = &written.value else { return self.wrong(written, "a condition", WANTED) };
        let lower = text.to_lowercase();
        for (end, is) in [(" is not null", Comparison::NotEqual), (" is null", Comparison::Equal)] {
            if lower.trim_end().ends_with(end) {
                let left =
                    self.value(written, text.trim_end()[..lower.trim_end().len() - end.len()].trim(), scope)?;
                return Some(Condition { left, is, right: Operand::Draw(Draw::Literal(Literal::Null)) });
            }
        }
        let found = text.char_indices().find_map(|(at, _)| {
            let found = COMPARISONS.into_iter().find(|(sign, _)| text[at..].starts_with(sign));
            found.map(|(sign, is)| (&text[..at], is, &text[at + sign.len()..]))
        });
        let Some((left, is, right)) = found else { return self.wrong(written, "a condition", WANTED) };
        let left = self.operand(written, left.trim(), scope);
        let right = self.operand(written, right.trim(), scope);
        Some(Condition { left: left?, is, right: right? })
    }

    /// A number, a text in quotes, or the name of a value.
    fn operand(&mut self, written: &Written<P>, text: &str, scope: &mut sql::Scope<'_>) -> Option<Operand> {
        let quoted = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        let literal = match (quoted, text.parse::<i64>(), text.parse::<f64>()) {
            (Some(quoted), _, _) => Literal::Text(quoted.to_owned()),
            (None, Ok(number), _) => Literal::Integer(number),
            (None, Err(_), Ok(number)) if number.is_finite() => Literal::Real(number),
            _ => return self.value(written, text, scope),
        };
        Some(Operand::Draw(Draw::Literal(literal)))
    }

    fn value(&mut self, written: &Written<P>, name: &str, scope: &mut sql::Scope<'_>) -> Option<Operand> {
        match scope.slot(name) {
            Ok(slot) => Some(Operand::Slot(slot)),
            Err(what) => {
                let within = super::place_of_text(written, name);
                self.unknown_value(&written.place, within, what, scope);
                None
            }
        }
    }
}

/// Adds the draws that depend on another value, each wherever that value is new: drawn, kept from a result,
/// or the number of a round.
pub(super) fn with_dependent(steps: Vec<Step>, dependent: &[(SlotIndex, &Draw)]) -> Vec<Step> {
    let on = |known: &[SlotIndex]| -> Vec<Step> {
        let depends = |draw: &Draw| matches!(draw, Draw::RowWith { slot, .. } if known.contains(slot));
        let new = dependent.iter().filter(|(_, draw)| depends(draw));
        new.map(|(slot, draw)| Step::Draw { slot: *slot, draw: (*draw).clone() }).collect()
    };
    let mut all = Vec::new();
    for step in steps {
        let (step, behind) = match step {
            Step::Repeat { times, number, steps } => {
                let mut round = on(number.as_slice());
                round.extend(with_dependent(steps, dependent));
                (Step::Repeat { times, number, steps: round }, Vec::new())
            }
            Step::If { condition, then, otherwise } => {
                let (then, otherwise) =
                    (with_dependent(then, dependent), with_dependent(otherwise, dependent));
                (Step::If { condition, then, otherwise }, Vec::new())
            }
            Step::Draw { slot, draw } => (Step::Draw { slot, draw }, on(&[slot])),
            Step::Statement(statement) => {
                let behind = on(&statement.keep);
                (Step::Statement(statement), behind)
            }
            other @ Step::BulkRow { .. } => (other, Vec::new()),
        };
        all.push(step);
        all.extend(behind);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;
    use load::spec::Piece;

    #[test]
    fn loops_and_branches_become_steps_with_draws_of_their_own() {
        let workload = read(
            r###"
            [values]
            price = { random = [1, 999] }
            rounds = 3
            [[transaction]]
            statements = [
              { sql = "SELECT k FROM sbtest1 WHERE id = {id}", keep = ["stock"] },
              { repeat = "rounds", as = "round", draw = ["price", "sbtest1.k"], statements = [
                "UPDATE sbtest1 SET k = {price} WHERE k = {sbtest1.k}",
                { if = "stock <= 10.5", statements = ["SELECT {round}"], else = ["SELECT 2"] },
              ] },
              { repeat = [5, 15], statements = ["SELECT 3"] },
              { if = "stock is not null", statements = ["SELECT 4"] },
            ]
            "###,
        )
        .unwrap();
        let steps = &workload.transactions()[0].steps;
        let Some(Step::Repeat { times: Operand::Slot(_), number: Some(number), steps: round }) =
            steps.iter().find(|step| matches!(step, Step::Repeat { .. }))
        else {
            panic!("{steps:?}")
        };
        let [Step::Draw { draw: price, .. }, Step::Draw { .. }, Step::Statement(_), branch] = &round[..]
        else {
            panic!("{round:?}")
        };
        assert!(matches!(price, Draw::Integer { min: 1, max: 999, .. }));
        let Step::If { then: select, .. } = branch else { panic!("{branch:?}") };
        let Step::Statement(select) = &select[0] else { panic!("{select:?}") };
        assert!(select.pieces.contains(&Piece::Parameter(Operand::Slot(*number))), "{select:?}");
        let Step::If { condition, then, otherwise } = branch else { panic!("{branch:?}") };
        assert_eq!((condition.is, then.len(), otherwise.len()), (Comparison::LessOrEqual, 1, 1));
        assert_eq!(condition.right, Operand::Draw(Draw::Literal(Literal::Real(10.5))));
        let kinds: Vec<&str> = workload
            .steps()
            .filter_map(|step| match step {
                Step::Statement(statement) => Some(&*statement.kind),
                _ => None,
            })
            .collect();
        let select = |number: usize| format!("transaction_1.select_{number}");
        assert_eq!(kinds[0], "transaction_1.select");
        assert_eq!(kinds[2..], [select(2), select(3), select(4), select(5)]);
    }

    #[test]
    fn a_draw_under_a_condition_follows_each_new_value_of_it() {
        use load::spec::{Expect, RowsWith, Statement};
        let rows = RowsWith {
            key: 1,
            count: 5,
            first: 1,
            null: 0.0,
            min: 1,
            max: 2,
            distribution: Distribution::Uniform,
        };
        let of = |slot| Draw::RowWith { slot, rows: rows.clone() };
        let (drawn, kept, round) = (of(0), of(1), of(2));
        let dependent = [(10, &drawn), (11, &kept), (12, &round)];
        let statement = |keep: &[SlotIndex]| {
            let (kind, pieces, text_only) = ("x".to_owned(), Vec::new(), false);
            Step::Statement(Statement {
                kind,
                pieces,
                text_only,
                keep: keep.to_vec(),
                expect: Expect::Anything,
            })
        };
        let draw = |slot, draw: &Draw| Step::Draw { slot, draw: draw.clone() };
        let times = Operand::Draw(Draw::Literal(Literal::Integer(2)));
        let repeat = |steps| vec![Step::Repeat { times: times.clone(), number: Some(2), steps }];
        let first = draw(0, &Draw::Connection);
        let steps =
            [vec![first.clone(), statement(&[])], repeat(vec![statement(&[1]), first.clone()])].concat();
        let round_of =
            vec![draw(12, &round), statement(&[1]), draw(11, &kept), first.clone(), draw(10, &drawn)];
        let expected = [vec![first.clone(), draw(10, &drawn), statement(&[])], repeat(round_of)].concat();
        assert_eq!(with_dependent(steps, &dependent), expected);
    }

    #[test]
    fn what_is_wrong_in_a_loop_or_a_branch_is_told() {
        for (item, title) in [
            ("{ repeat = 0, statements = [\"SELECT 1\"] }", "a number of rounds cannot be this"),
            ("{ repeat = \"often\", statements = [\"SELECT 1\"] }", "there is no value `often`"),
            ("{ repeat = 2 }", "this loop or branch has no statements"),
            ("{ repeat = 2, statements = [\"SELECT 1\"], els = [] }", "there is no key `els`"),
            ("{ repeat = 2, draw = [\"old\"], statements = [\"SELECT 1\"] }", "`old` comes from a result"),
            ("{ repeat = 2, as = \"old\", statements = [\"SELECT 1\"] }", "`old` is a value already"),
            ("{ if = \"old\", statements = [\"SELECT 1\"] }", "a condition cannot be this"),
            ("{ if = \"odl > 5\", statements = [\"SELECT 1\"] }", "there is no value `odl`"),
            (
                "{ repeat = 2, statements = [{ if = \"old > 5\", statements = [\"SELECT 1\"] }] }",
                "transaction shop: each round of a loop must send a statement, whatever its conditions say",
            ),
        ] {
            let text = format!("statements = [{{ sql = \"SELECT 5\", keep = [\"old\"] }}, {item}]");
            let mistakes = read(&text).expect_err(item);
            let titles: Vec<&str> = mistakes.iter().map(|mistake| mistake.title.as_str()).collect();
            assert_eq!(titles, [title], "{item}");
        }
    }
}
