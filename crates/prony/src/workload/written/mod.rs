//! Workloads that a user writes in a study, `[workload.NAME]`: SQL with `{values}`, weights between
//! transactions, values kept from a result for later statements. No programming.
//!
//! ```toml
//! [workload.shop.values]                # each drawn once per transaction, then the same everywhere in it
//! price = { random = [1, 999], distribution = "pareto" }
//! name  = { text = [5, 20] }            # letters and digits, 5 to 20 of them
//! code  = { pattern = "##-@@@" }        # # a digit, @ a letter
//! city  = { choice = ["Oslo", "Rome"] }
//!
//! [[workload.shop.transaction]]
//! name = "buy"
//! weight = 4
//! statements = [
//!   "BEGIN",
//!   { sql = "SELECT stock FROM goods WHERE id = {goods.id} FOR UPDATE", keep = ["stock"], expect = "row" },
//!   { if = "stock > 0", statements = ["UPDATE goods SET stock = {stock - 1} WHERE id = {goods.id}"] },
//!   { repeat = [1, 3], draw = ["price"], statements = ["INSERT INTO lines (price) VALUES ({price})"] },
//!   "COMMIT",
//! ]
//! ```
//!
//! `{customer.id}` is a value of that column of the data set, distributed as the stream says, and `{orders.id
//! where customer_id = customer}` one of a row that fulfils the condition; a layout may name further values;
//! `{{` is a brace. The caller decides how the text is written and how mistakes are shown: a place `P` only
//! travels through.

mod flow;

use super::{names, nearest, sql, writes};
use crate::layout::{DataSet, Layout as _, Undrawn};
use load::spec::{
    Distribution, Distributions, Draw, Expect, Literal, Protocol, SlotIndex, Statement, Step, Transaction,
    Workload,
};
use std::{collections::BTreeSet, ops::Range};

/// Something written, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct Written<P> {
    /// Where it stands.
    pub place: P,
    /// What it is.
    pub value: Value<P>,
}

/// What can be written.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<P> {
    /// Text.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number with fraction.
    Real(f64),
    /// True or false.
    Flag(bool),
    /// A list.
    List(Vec<Written<P>>),
    /// A table.
    Table(Vec<Entry<P>>),
    /// Anything else, such as a date.
    Other,
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<P> {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub place: P,
    /// Its value.
    pub value: Written<P>,
}

/// Something that is wrong in a written workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Mistake<P> {
    /// The value or key that it is about.
    pub place: P,
    /// The bytes of that text that it is about, if it is about a part.
    pub within: Option<Range<usize>>,
    /// What is wrong, one line.
    pub title: String,
    /// What belongs there, or what may have been meant.
    pub label: String,
}

/// What the study says elsewhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Context<'a> {
    /// The data set.
    pub data: &'a DataSet,
    /// Distribution of values that are drawn from it.
    pub distribution: Distribution,
    /// Whether there may be tables that are not in it.
    pub others: bool,
}

/// More values than anybody writes, and fewer than there are slots.
const VALUES_MAX: usize = 1_000;

/// Makes a workload of what is written under `[workload.NAME]`, at `place`.
///
/// # Errors
/// All mistakes at once.
pub fn written<P: Clone>(
    name: &str,
    place: &P,
    entries: &[Entry<P>],
    context: &Context<'_>,
) -> Result<Workload, Vec<Mistake<P>>> {
    let mut reader =
        Reader { mistakes: Vec::new(), context: *context, values: Vec::new(), texts: Vec::new() };
    let workload = reader.workload(name, place, entries);
    reader.check_names();
    if !reader.mistakes.is_empty() {
        return Err(reader.mistakes);
    }
    // what the engine itself would refuse
    match load::statements_prepared(&workload, Protocol::Text) {
        Ok(_) => Ok(workload),
        Err(error) => {
            reader.at(place, error.to_string(), "in this workload");
            Err(reader.mistakes)
        }
    }
}

struct Reader<'a, P> {
    mistakes: Vec<Mistake<P>>,
    context: Context<'a>,
    /// Values of the workload, those of the layout included.
    values: Vec<(String, Draw)>,
    /// Statements that are right by themselves: where each stands, as it is written and as it is sent.
    texts: Vec<(P, String, String)>,
}

impl<'a, P: Clone> Reader<'a, P> {
    fn workload(&mut self, name: &str, place: &P, entries: &[Entry<P>]) -> Workload {
        self.only_keys(entries, &["tables", "values", "transaction", "statements"]);
        let tables = self.tables(entries);
        if let Some(entry) = find(entries, "values") {
            self.read_values(&entry.value);
        }
        for (name, draw) in self.context.data.named(self.context.distribution) {
            if !self.values.iter().any(|(known, _)| known == name) {
                self.values.push((name.to_owned(), draw));
            }
        }
        let mut transactions: Vec<Transaction> = Vec::new();
        match (find(entries, "transaction"), find(entries, "statements")) {
            (Some(many), None) => {
                let list =
                    self.list(&many.value, "transactions are written as `[[workload.NAME.transaction]]`");
                for (index, written) in list.iter().enumerate() {
                    let Some(transaction) = self.transaction(index, written) else { continue };
                    if transactions.iter().any(|other| other.name == transaction.name) {
                        let title = format!("there are two transactions named `{}`", transaction.name);
                        self.at(&written.place, title, "give each a different `name`");
                    }
                    transactions.push(transaction);
                }
            }
            (None, Some(one)) => {
                let steps = self.steps(name, &one.value);
                transactions.push(Transaction { name: name.to_owned(), weight: 1.0, steps });
            }
            (Some(_), Some(one)) => {
                let label = "move them into a [[workload.NAME.transaction]]";
                self.at(&one.place, "a workload has both transactions and `statements`", label);
            }
            (None, None) => {
                let label = "add `statements`, or [[workload.NAME.transaction]] with statements";
                self.at(place, format!("the workload `{name}` does nothing"), label);
            }
        }
        Workload::new(name, tables, transactions)
    }

    fn tables(&mut self, entries: &[Entry<P>]) -> u32 {
        let there = self.context.data.numbered().max(1);
        let Some(entry) = find(entries, "tables") else { return there };
        match entry.value.value {
            Value::Integer(tables) if (1..=i64::from(there)).contains(&tables) => tables as u32,
            _ => {
                let label = format!("the data set has {there}: expected a whole number from 1 to {there}");
                self.at(&entry.value.place, "`tables` cannot be this", label);
                there
            }
        }
    }

    fn read_values(&mut self, written: &Written<P>) {
        let Value::Table(entries) = &written.value else {
            self.at(&written.place, "`values` is not a table", "write [workload.NAME.values]");
            return;
        };
        if entries.len() > VALUES_MAX {
            self.at(
                &written.place,
                format!("more than {VALUES_MAX} values"),
                "remove those that no statement uses",
            );
            return;
        }
        for entry in entries {
            if sql::TABLES.contains(&entry.key.as_str()) {
                let title = format!("`{}` is a table's number", entry.key);
                self.at(&entry.place, title, "choose another name");
            } else if !sql::is_name(&entry.key) {
                self.at(
                    &entry.place,
                    "this is not a valid name for a \
                                       value",
                    "letters, digits and _ are allowed",
                );
            } else {
                // One that is wrong is known nevertheless: its statements are not wrong too.
                let draw = self.draw(&entry.value).unwrap_or(Draw::Literal(Literal::Null));
                self.values.push((entry.key.clone(), draw));
            }
        }
    }

    /// `{ random = [1, 9] }` and so on; a plain value stands for itself.
    fn draw(&mut self, written: &Written<P>) -> Option<Draw> {
        const KINDS: [&str; 8] = ["random", "real", "text", "pattern", "choice", "sequence", "unique", "of"];
        let Value::Table(entries) = &written.value else {
            return self.literal(written).map(Draw::Literal);
        };
        let mut allowed = KINDS.to_vec();
        allowed.push("distribution");
        self.only_keys(entries, &allowed);
        let mut kinds = entries.iter().filter(|entry| KINDS.contains(&entry.key.as_str()));
        let (Some(kind), None) = (kinds.next(), kinds.next()) else {
            self.at(
                &written.place,
                "a value has exactly one kind",
                format!("expected one of {}", KINDS.join(", ")),
            );
            return None;
        };
        let distribution = find(entries, "distribution");
        if let (Some(entry), true) = (distribution, !["of", "random"].contains(&kind.key.as_str())) {
            self.at(&entry.place, "only `random` and `of` have a distribution", "remove it");
        }
        let value = &kind.value;
        match kind.key.as_str() {
            "of" => {
                let Value::Text(name) = &value.value else {
                    return self.wrong(value, "a column", "table and column, as in \"customer.id\"");
                };
                let Some((table, column)) = name.split_once('.') else {
                    return self.wrong(value, "a column", "table and column, as in \"customer.id\"");
                };
                let distribution = distribution.and_then(|entry| self.distribution(&entry.value));
                let distribution = distribution.unwrap_or(self.context.distribution);
                let draw = self.context.data.draw(table, column, distribution);
                draw.map_err(|why| self.undrawn(&value.place, None, name, why)).ok()
            }
            "random" => {
                let (min, max) = self.integers(value)?;
                let distribution = distribution.and_then(|entry| self.distribution(&entry.value));
                Some(Draw::Integer { min, max, distribution: distribution.unwrap_or_default() })
            }
            "real" => self.reals(value),
            "text" => self.lengths(value),
            "pattern" => match &value.value {
                Value::Text(pattern) => Some(Draw::Pattern(pattern.clone())),
                _ => self.wrong(value, "a pattern", "text such as \"##-@@@\""),
            },
            "choice" => self.choice(value),
            "sequence" => match value.value {
                Value::Integer(first) => Some(Draw::Sequence { first }),
                _ => self.wrong(value, "a sequence", "its first number"),
            },
            _ => match value.value {
                Value::Integer(offset) => Some(Draw::Unique { offset }),
                _ => self.wrong(value, "a unique number", "what is added to it, such as 0"),
            },
        }
    }

    fn literal(&mut self, written: &Written<P>) -> Option<Literal> {
        match &written.value {
            Value::Text(text) => Some(Literal::Text(text.clone())),
            Value::Integer(number) => Some(Literal::Integer(*number)),
            Value::Real(number) => Some(Literal::Real(*number)),
            Value::Flag(flag) => Some(Literal::Integer(i64::from(*flag))),
            _ => self.wrong(written, "a value", "text, a number, or a table such as { random = [1, 9] }"),
        }
    }

    fn integers(&mut self, written: &Written<P>) -> Option<(i64, i64)> {
        if let Value::List(list) = &written.value
            && let [Written { value: Value::Integer(min), .. }, Written { value: Value::Integer(max), .. }] =
                &list[..]
            && min <= max
        {
            return Some((*min, *max));
        }
        self.wrong(written, "a range", "two whole numbers, the lower first, as in [1, 100]")
    }

    fn reals(&mut self, written: &Written<P>) -> Option<Draw> {
        let number = |written: &Written<P>| match written.value {
            Value::Integer(number) => Some(number as f64),
            Value::Real(number) if number.is_finite() => Some(number),
            _ => None,
        };
        if let Value::List(list) = &written.value
            && let [min, max] = &list[..]
            && let (Some(min), Some(max)) = (number(min), number(max))
            && min <= max
        {
            return Some(Draw::Real { min, max });
        }
        self.wrong(written, "a range", "two numbers, the lower first, as in [0.5, 9.5]")
    }

    fn lengths(&mut self, written: &Written<P>) -> Option<Draw> {
        /// What a statement can reasonably carry.
        const LONGEST: i64 = 1 << 20;
        let lengths = match &written.value {
            Value::Integer(length) => Some((*length, *length)),
            Value::List(_) => self.integers(written),
            _ => None,
        };
        match lengths {
            Some((min, max)) if min >= 0 && max <= LONGEST => {
                Some(Draw::Text { min: min as u32, max: max as u32 })
            }
            _ => self.wrong(
                written,
                "a length",
                "a length up to 1048576, or the shortest and the longest, as in [5, 20]",
            ),
        }
    }

    fn choice(&mut self, written: &Written<P>) -> Option<Draw> {
        match &written.value {
            Value::List(list) if !list.is_empty() => {
                let literals: Vec<Literal> = list.iter().filter_map(|item| self.literal(item)).collect();
                Some(Draw::Choice(literals))
            }
            _ => self.wrong(written, "a choice", "a list of values, as in [\"Oslo\", \"Rome\"]"),
        }
    }

    fn distribution(&mut self, written: &Written<P>) -> Option<Distribution> {
        let Value::Text(word) = &written.value else {
            return self.wrong(written, "a distribution", "a word such as \"pareto\"");
        };
        if let Some(distribution) = Distributions::SYSBENCH.named(word) {
            return Some(distribution);
        }
        self.unknown(&written.place, None, "distribution", word, &Distributions::NAMES);
        None
    }

    fn transaction(&mut self, index: usize, written: &Written<P>) -> Option<Transaction> {
        let Value::Table(entries) = &written.value else {
            return self.wrong(written, "a transaction", "a table");
        };
        // the study reads the waits
        self.only_keys(entries, &["name", "weight", "keying", "think", "statements"]);
        let unnamed = format!("transaction_{}", index + 1);
        let name = match find(entries, "name").map(|entry| &entry.value) {
            None => unnamed,
            Some(Written { value: Value::Text(name), .. }) if !name.is_empty() => name.clone(),
            Some(other) => self.wrong(other, "a name", "text").unwrap_or(unnamed),
        };
        let weight = match find(entries, "weight").map(|entry| (&entry.value, &entry.value.value)) {
            None => 1.0,
            Some((_, Value::Integer(weight))) if *weight > 0 => *weight as f64,
            Some((_, Value::Real(weight))) if *weight > 0.0 && weight.is_finite() => *weight,
            Some((other, _)) => self.wrong(other, "a weight", "a number above 0").unwrap_or(1.0),
        };
        let Some(statements) = find(entries, "statements") else {
            let title = format!("the transaction `{name}` has no statements");
            self.at(&written.place, title, "add `statements = [\"SELECT ...\"]`");
            return None;
        };
        let steps = self.steps(&name, &statements.value);
        Some(Transaction { name, weight, steps })
    }

    /// The draws of the values that the statements use, and the statements.
    fn steps(&mut self, transaction: &str, written: &Written<P>) -> Vec<Step> {
        let Context { data, distribution, .. } = self.context;
        let mut scope =
            sql::Scope::new(self.values.iter().map(|(name, _)| name.as_str()), data, distribution);
        let mut kinds = Vec::new();
        let steps = self.block(transaction, written, &mut scope, &mut kinds);
        let named = self.values.iter().enumerate().map(|(index, (_, draw))| (index as SlotIndex, draw));
        let of_columns = scope.columns().iter().map(|(slot, draw)| (*slot, draw));
        let used = named.filter(|(slot, _)| scope.is_used(*slot)).chain(of_columns);
        let (dependent, first): (Vec<_>, Vec<_>) =
            used.partition(|(_, draw)| matches!(draw, Draw::RowWith { .. }));
        let draws = first.into_iter().map(|(slot, draw)| Step::Draw { slot, draw: draw.clone() });
        flow::with_dependent(draws.chain(steps).collect(), &dependent)
    }

    /// A list of statements, loops and branches.
    fn block(
        &mut self,
        transaction: &str,
        written: &Written<P>,
        scope: &mut sql::Scope<'_>,
        kinds: &mut Vec<String>,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        for item in self.list(written, "expected a list of statements") {
            if let Some(step) = self.flow(transaction, item, scope, kinds) {
                steps.extend(step);
                continue;
            }
            let Some(mut statement) = self.statement(item, scope) else { continue };
            if statement.kind.is_empty() {
                statement.kind = kind(transaction, &statement, kinds);
            }
            kinds.push(statement.kind.clone());
            steps.push(Step::Statement(statement));
        }
        steps
    }

    fn statement(&mut self, written: &Written<P>, scope: &mut sql::Scope<'_>) -> Option<Statement> {
        let (text, entries): (&Written<P>, &[Entry<P>]) = match &written.value {
            Value::Text(_) => (written, &[]),
            Value::Table(entries) => {
                self.only_keys(entries, &["sql", "name", "keep", "expect", "text"]);
                let Some(entry) = find(entries, "sql") else {
                    self.at(&written.place, "a statement has no `sql`", "add `sql = \"SELECT ...\"`");
                    return None;
                };
                (&entry.value, entries)
            }
            _ => return self.wrong(written, "a statement", "text, or a table with `sql`"),
        };
        let Value::Text(statement) = &text.value else { return self.wrong(text, "a statement", "text") };
        let pieces = sql::pieces(statement, scope);
        if pieces.mistakes.is_empty() {
            self.texts.push((text.place.clone(), statement.clone(), writes::text(&pieces.pieces)));
        }
        for mistake in pieces.mistakes {
            match mistake {
                sql::Mistake::Unknown { within, what } => {
                    self.unknown_value(&text.place, Some(within), what, scope);
                }
                sql::Mistake::Text { within, title, label } => {
                    let (place, title, label) = (text.place.clone(), title.to_owned(), label.to_owned());
                    self.mistakes.push(Mistake { place, within: Some(within), title, label });
                }
            }
        }
        let kind = match find(entries, "name").map(|entry| &entry.value) {
            None => String::new(),
            Some(Written { value: Value::Text(name), .. }) if !name.is_empty() => name.clone(),
            Some(other) => self.wrong(other, "a name", "text").unwrap_or_default(),
        };
        let expect = find(entries, "expect").and_then(|entry| self.expect(&entry.value)).unwrap_or_default();
        let text_only = match find(entries, "text").map(|entry| &entry.value) {
            None => false,
            Some(Written { value: Value::Flag(flag), .. }) => *flag,
            Some(other) => self.wrong(other, "`text`", "true or false").unwrap_or_default(),
        };
        let keep = find(entries, "keep").map(|entry| self.keep(&entry.value, scope)).unwrap_or_default();
        Some(Statement { kind, pieces: pieces.pieces, text_only, keep, expect })
    }

    fn expect(&mut self, written: &Written<P>) -> Option<Expect> {
        match &written.value {
            Value::Text(word) if word == "row" => Some(Expect::Row),
            Value::Text(word) if word == "change" => Some(Expect::Change),
            _ => self.wrong(written, "what is expected", "\"row\" or \"change\""),
        }
    }

    fn keep(&mut self, written: &Written<P>, scope: &mut sql::Scope<'_>) -> Vec<SlotIndex> {
        let mut slots = Vec::new();
        for item in self.list(written, "expected a list of names, one for each column") {
            match &item.value {
                Value::Text(name) if self.values.iter().any(|(known, _)| known == name) => {
                    self.at(
                        &item.place,
                        format!("`{name}` is a value already"),
                        "choose another name for it",
                    );
                }
                Value::Text(name) if sql::is_name(name) => slots.push(scope.keep(name)),
                _ => {
                    self.wrong::<()>(item, "a name", "text of letters, digits and _");
                }
            }
        }
        slots
    }

    fn list<'b>(&mut self, written: &'b Written<P>, wanted: &str) -> &'b [Written<P>] {
        match &written.value {
            Value::List(list) if !list.is_empty() => list,
            Value::List(_) => {
                self.at(&written.place, "this list is empty", wanted);
                &[]
            }
            _ => {
                self.at(&written.place, "this is not a list", wanted);
                &[]
            }
        }
    }

    fn only_keys(&mut self, entries: &[Entry<P>], known: &[&str]) {
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            self.unknown(&entry.place, None, "key", &entry.key, known);
        }
    }

    /// Tables and columns that statements name and the data set does not have.
    fn check_names(&mut self) {
        let texts = std::mem::take(&mut self.texts);
        let made: BTreeSet<String> = texts.iter().filter_map(|(_, _, sent)| names::made(sent)).collect();
        let Context { data, others, .. } = self.context;
        let known = names::Known { data, others, made: &made };
        for (place, written, sent) in &texts {
            for names::Missing { what, name, known } in names::missing(sent, &known) {
                let shown = name.replace(crate::layout::NUMBER, "{table}");
                let within = place_of(written, &shown);
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                self.unknown(place, within, what, &shown, &known);
            }
        }
    }

    fn unknown_value(
        &mut self,
        place: &P,
        within: Option<Range<usize>>,
        sql::Unknown { name, column }: sql::Unknown,
        scope: &sql::Scope<'_>,
    ) {
        match column {
            None => {
                let known: Vec<&str> = scope.names().collect();
                self.unknown(place, within, "value", &name, &known);
            }
            Some(why) => self.undrawn(place, within, &name, why),
        }
    }

    /// Why no value of a column can be drawn.
    fn undrawn(&mut self, place: &P, within: Option<Range<usize>>, name: &str, why: Undrawn) {
        let (table, column) = name.split_once('.').unwrap_or((name, ""));
        match why {
            Undrawn::NoTable => {
                let known = self.context.data.table_names();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                self.unknown(place, within, "table", table, &known);
            }
            Undrawn::NoColumn(known) => {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                self.unknown(place, within, "column", column, &known);
            }
            Undrawn::Contents => {
                let title = format!("values of `{name}` cannot be drawn");
                let label = "its values are only known from its rows; draw from a sequence, `random`, \
                             `date`, `choice` or `references`";
                self.mistakes.push(Mistake { place: place.clone(), within, title, label: label.to_owned() });
            }
            Undrawn::Copied => {
                let title = format!("values of `{name}` cannot be drawn");
                let label = "what is in a copy is only known when a server has started on it; describe the \
                             values: `[workload.NAME.values]` with `id = { random = [1, 1000] }`, and \
                             `{id}` here";
                self.mistakes.push(Mistake { place: place.clone(), within, title, label: label.to_owned() });
            }
            Undrawn::Rows => {
                let title = format!("which rows have a value of `{name}` is not known");
                let label = "only the sequence of a `[[table]]` of up to 20 million rows can be drawn under \
                             a condition, on a column with `random` integers or `references`";
                self.mistakes.push(Mistake { place: place.clone(), within, title, label: label.to_owned() });
            }
        }
    }

    fn unknown(&mut self, place: &P, within: Option<Range<usize>>, what: &str, name: &str, known: &[&str]) {
        let label = match nearest(name, known.iter().copied()) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => format!("known: {}", known.join(", ")),
        };
        let title = format!("there is no {what} `{name}`");
        self.mistakes.push(Mistake { place: place.clone(), within, title, label });
    }

    fn wrong<T>(&mut self, written: &Written<P>, what: &str, wanted: &str) -> Option<T> {
        self.at(&written.place, format!("{what} cannot be this"), format!("expected {wanted}"));
        None
    }

    fn at(&mut self, place: &P, title: impl Into<String>, label: impl Into<String>) {
        let (title, label) = (title.into(), label.into());
        self.mistakes.push(Mistake { place: place.clone(), within: None, title, label });
    }
}

/// The bytes of a text where `name` stands as a word.
fn place_of(text: &str, name: &str) -> Option<Range<usize>> {
    let is_of_word =
        |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    let found = text.match_indices(name).find(|(at, _)| {
        !is_of_word(text[..*at].chars().next_back()) && !is_of_word(text[at + name.len()..].chars().next())
    });
    found.map(|(at, _)| at..at + name.len())
}

/// The same in what is written.
fn place_of_text<P>(written: &Written<P>, name: &str) -> Option<Range<usize>> {
    match &written.value {
        Value::Text(text) => place_of(text, name),
        _ => None,
    }
}

fn find<'a, P>(entries: &'a [Entry<P>], key: &str) -> Option<&'a Entry<P>> {
    entries.iter().find(|entry| entry.key == key)
}

/// Name of a statement that was given none: `begin`, `commit`, else the transaction's name and the
/// statement's verb, numbered where it comes again.
fn kind(transaction: &str, statement: &Statement, before: &[String]) -> String {
    let verb = sql::verb(&statement.pieces);
    if ["begin", "commit", "rollback"].contains(&verb.as_str()) {
        return verb;
    }
    let name = format!("{transaction}.{verb}");
    let taken = |name: &str| before.iter().any(|other| other == name);
    if !taken(&name) {
        return name;
    }
    let numbered = (2..).map(|number| format!("{name}_{number}")).find(|name| !taken(name));
    numbered.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::spec::{Operand, Piece};
    use toml_edit::{Document, Item};

    fn data() -> DataSet {
        let options = super::super::Options { tables: 4, ..Default::default() };
        super::super::data("oltp_read_write", &options).unwrap().into()
    }

    fn item(item: &Item) -> Written<Range<usize>> {
        let place = item.span().unwrap_or_default();
        let value = match item {
            Item::Table(table) => Value::Table(entries(table)),
            Item::ArrayOfTables(tables) => {
                let table = |table: &toml_edit::Table| item_of(Item::Table(table.clone()));
                Value::List(tables.iter().map(table).collect())
            }
            Item::Value(toml_edit::Value::String(text)) => Value::Text(text.value().clone()),
            Item::Value(toml_edit::Value::Integer(number)) => Value::Integer(*number.value()),
            Item::Value(toml_edit::Value::Float(number)) => Value::Real(*number.value()),
            Item::Value(toml_edit::Value::Boolean(flag)) => Value::Flag(*flag.value()),
            Item::Value(toml_edit::Value::Array(list)) => {
                Value::List(list.iter().map(|value| item_of(Item::Value(value.clone()))).collect())
            }
            Item::Value(toml_edit::Value::InlineTable(table)) => Value::Table(entries(table)),
            _ => Value::Other,
        };
        Written { place, value }
    }

    fn item_of(owned: Item) -> Written<Range<usize>> {
        item(&owned)
    }

    fn entries(table: &dyn toml_edit::TableLike) -> Vec<Entry<Range<usize>>> {
        let entry = |(key, value): (&str, &Item)| Entry {
            key: key.to_owned(),
            place: table.key(key).and_then(|key| key.span()).unwrap_or_default(),
            value: item(value),
        };
        table.iter().map(entry).collect()
    }

    pub(super) fn read(text: &str) -> Result<Workload, Vec<Mistake<Range<usize>>>> {
        let document = Document::parse(text).unwrap();
        let data = data();
        let distribution = Distribution::Pareto { h: 0.2 };
        let context = Context { data: &data, distribution, others: false };
        written("shop", &(0..0), &entries(document.as_table()), &context)
    }

    const SHOP: &str = r###"
        [values]
        price = { random = [1, 999], distribution = "special" }
        name = { text = [5, 20] }
        code = { pattern = "##-@@@" }
        city = { choice = ["Oslo", "Rome", 3] }
        unused = { real = [0, 1.5] }
        [[transaction]]
        name = "look"
        weight = 4
        statements = ["SELECT c FROM sbtest{table} WHERE id = {id}"]
        [[transaction]]
        name = "buy"
        statements = [
          "BEGIN",
          { sql = "SELECT k FROM sbtest{table} WHERE id = {id} FOR UPDATE", name = "lock", expect = "row",
            keep = ["stock"] },
          { sql = "UPDATE sbtest{table} SET k = {stock + 1}, c = {name} WHERE id = {id}", expect = "change" },
          { sql = "UPDATE sbtest{table} SET pad = {city} WHERE id = {id}", text = true },
          "COMMIT",
        ]
    "###;

    #[test]
    fn a_written_workload_is_what_it_says() {
        let workload = read(SHOP).unwrap();
        assert_eq!((workload.tables, workload.transactions().len()), (4, 2));
        let [look, buy] = workload.transactions() else { panic!() };
        assert_eq!((look.weight, buy.weight), (4.0, 1.0));
        let kinds: Vec<&str> = buy
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Statement(statement) => Some(statement.kind.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(kinds, ["begin", "lock", "buy.update", "buy.update_2", "commit"]);
        let draws: Vec<&Draw> = buy
            .steps
            .iter()
            .filter_map(|step| match step {
                Step::Draw { draw, .. } => Some(draw),
                _ => None,
            })
            .collect();
        let [Draw::Text { min: 5, max: 20 }, Draw::Choice(cities), id, Draw::Table] = draws[..] else {
            panic!("what is not used is not drawn: {draws:?}")
        };
        assert_eq!(cities.len(), 3);
        let distribution = Distribution::Pareto { h: 0.2 };
        assert_eq!(*id, Draw::Integer { min: 1, max: 10_000, distribution });
        let Step::Statement(update) = &buy.steps[6] else { panic!() };
        let Step::Statement(lock) = &buy.steps[5] else { panic!() };
        assert_eq!(update.pieces[3], Piece::Parameter(Operand::SlotPlus(lock.keep[0], 1)));
        assert_eq!((lock.expect, update.expect), (Expect::Row, Expect::Change));
        assert!(matches!(&buy.steps[7], Step::Statement(text) if text.text_only));
    }

    #[test]
    fn one_transaction_needs_only_its_statements() {
        let workload = read("statements = [\"SELECT 1\", \"SELECT {id}\"]\ntables = 2").unwrap();
        assert_eq!((workload.tables, workload.transactions()[0].name.as_str()), (2, "shop"));
        assert_eq!(workload.transactions()[0].steps.len(), 3, "a draw and two statements");
    }

    #[test]
    fn a_connection_can_keep_to_a_table_of_its_own() {
        let workload = read("statements = [\"SELECT c FROM sbtest{own_table} WHERE id = {id}\"]").unwrap();
        let [Step::Draw { .. }, Step::Draw { slot, draw }, Step::Statement(select)] =
            &workload.transactions()[0].steps[..]
        else {
            panic!("{:?}", workload.transactions()[0].steps)
        };
        assert_eq!((draw, &select.pieces[1]), (&Draw::TableOfConnection, &Piece::Table(*slot)));
        let added = read("statements = [\"SELECT {id} FROM sbtest{own_table + 1}\"]").unwrap_err();
        assert_eq!(added[0].title, "nothing can be added to a table's number");
    }

    #[test]
    fn all_mistakes_are_found_at_once_with_their_places_and_the_nearest_names() {
        let text = r##"
            tables = 9
            tabels = 1
            [values]
            price = { random = [9, 1] }
            table = 5
            name = { txt = 5 }
            city = { choice = [] }
            odd = { random = [1, 2], distribution = "paretto" }
            [[transaction]]
            name = "look"
            weight = -1
            statements = ["SELECT c FROM sbtest{tabel} WHERE id = '{id}'"]
            [[transaction]]
            statements = [{ sql = "SELECT {stock}", keep = ["stock"] }, { sq = "x" }, 5]
            [[transaction]]
            name = "look"
            statements = []
            [[transaction]]
            name = "look"
            statements = ["SELECT 1"]
        "##;
        let mistakes = read(text).unwrap_err();
        let lines: Vec<String> =
            mistakes.iter().map(|mistake| format!("{} | {}", mistake.title, mistake.label)).collect();
        insta::assert_snapshot!(lines.join("\n"));
        let nearest = mistakes.iter().find(|mistake| mistake.title.contains("`tabel`")).unwrap();
        let statement = "SELECT c FROM sbtest{tabel} WHERE";
        assert_eq!(&statement[nearest.within.clone().unwrap()], "{tabel}");
    }
}
