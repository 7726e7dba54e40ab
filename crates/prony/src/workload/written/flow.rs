//! Loops and branches of a written workload: items of its lists of statements.
//!
//! ```toml
//! { repeat = [5, 15], draw = ["item"], statements = ["INSERT INTO line (item) VALUES ({item})"] }
//! { if = "stock < 10", statements = ["ROLLBACK"], else = ["COMMIT"] }
//! ```

use super::{Entry, Reader, Value, Written, find, sql};
use load::spec::{Comparison, Condition, Distribution, Draw, Literal, Operand, REPEAT_MAX, Step};

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
                self.only_keys(entries, &["repeat", "draw", "statements"]);
                let times = self.times(&times.value, scope);
                let mut steps = self.drawn_anew(entries, scope);
                steps.extend(self.statements(transaction, item, entries, scope, kinds));
                times.map(|times| Step::Repeat { times, steps })
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
                let title = "there is nothing to do in this loop or branch";
                self.at(&item.place, title, "`statements = [\"SELECT ...\"]` belongs here");
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

    /// The values that each round draws anew.
    fn drawn_anew(&mut self, entries: &[Entry<P>], scope: &mut sql::Scope<'_>) -> Vec<Step> {
        let Some(entry) = find(entries, "draw") else { return Vec::new() };
        let mut steps = Vec::new();
        for item in self.list(&entry.value, "a list of values that are drawn belongs here") {
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
                    format!("`{name}` is kept from a result"),
                    "only what is drawn can be drawn anew",
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
            Err(why) => {
                let within = super::place_of_text(written, name);
                self.unknown_value(&written.place, within, name, why, scope);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::read;
    use super::*;

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
              { repeat = "rounds", draw = ["price", "sbtest1.k"], statements = [
                "UPDATE sbtest1 SET k = {price} WHERE k = {sbtest1.k}",
                { if = "stock <= 10.5", statements = ["SELECT 1"], else = ["SELECT 2"] },
              ] },
              { repeat = [5, 15], statements = ["SELECT 3"] },
              { if = "stock is not null", statements = ["SELECT 4"] },
            ]
            "###,
        )
        .unwrap();
        let steps = &workload.transactions()[0].steps;
        let Some(Step::Repeat { times: Operand::Slot(_), steps: round }) =
            steps.iter().find(|step| matches!(step, Step::Repeat { .. }))
        else {
            panic!("{steps:?}")
        };
        let [Step::Draw { draw: price, .. }, Step::Draw { .. }, Step::Statement(_), branch] = &round[..]
        else {
            panic!("{round:?}")
        };
        assert!(matches!(price, Draw::Integer { min: 1, max: 999, .. }));
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
    fn what_is_wrong_in_a_loop_or_a_branch_is_told() {
        for (item, title) in [
            ("{ repeat = 0, statements = [\"SELECT 1\"] }", "a number of rounds cannot be this"),
            ("{ repeat = \"often\", statements = [\"SELECT 1\"] }", "there is no value `often`"),
            ("{ repeat = 2 }", "there is nothing to do in this loop or branch"),
            ("{ repeat = 2, statements = [\"SELECT 1\"], els = [] }", "there is no key `els`"),
            ("{ repeat = 2, draw = [\"old\"], statements = [\"SELECT 1\"] }", "`old` is kept from a result"),
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
