//! A workload made ready to run: names become indices, and distributions and texts are prepared once, so that
//! nothing is looked up, parsed or allocated between two statements of a running connection.

use crate::{
    play::Verb,
    random::{self, Random, Sampler},
    rows::Found,
    spec::{
        self, Comparison, Condition, ConnectionMode, Draw, Expect, Literal, Operand, Part as PartOfLoad,
        Piece, Protocol, SlotIndex, Statement, Step, Stream, Workload,
    },
};
use std::sync::atomic::{AtomicU64, Ordering};
use thiserror::Error;

/// A workload that cannot be run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Error {
    /// No transactions, or no steps.
    #[error("workload {0} has nothing to do")]
    Empty(String),
    /// A loop whose rounds may pass without a statement.
    #[error("transaction {0}: each round of a loop must send a statement, whatever its conditions say")]
    EmptyRound(String),
    /// A weight that is not a positive number.
    #[error("transaction {0}: its weight must be above 0")]
    Weight(String),
    /// No tables.
    #[error("workload {0} needs at least one table")]
    Tables(String),
    /// A piece that has no place in a bulk row.
    #[error("{0}: parameters are not possible in a bulk row; write the value inline")]
    Bulk(String),
    /// More than the engine has room for.
    #[error("{what}: {count}, but at most {limit} are allowed")]
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// How many there are.
        count: usize,
        /// The limit.
        limit: usize,
    },
}

/// Most parameters of one statement: the protocol's own limit.
pub(crate) const PARAMETERS_MAX: usize = 65_535;
/// Most prepared statements of a connection (statements times tables); MySQL's own limit for a whole server.
pub(crate) const STATEMENTS_MAX: usize = 4_194_304;

/// A workload in runnable form; shared by all workers.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) transactions: Vec<Routine>,
    /// Upper ends of the transactions' shares, ascending to 1.
    cumulated: Vec<f64>,
    /// Whether each connection executes the transactions in order.
    in_order: bool,
    pub(crate) tables: u32,
    /// Names of the statement kinds, in order of appearance.
    pub(crate) kinds: Vec<String>,
    /// Different statements; a connection keeps one prepared statement for each of them and each table.
    pub(crate) statements: Vec<Sentence>,
    pub(crate) slots: usize,
    /// Whether response times differ from service times by the stream's arrival or connection mode.
    pub(crate) responds_apart: bool,
    /// Whether starts have times that were fixed beforehand.
    pub(crate) is_scheduled: bool,
    /// State of draws that count over all connections.
    counters: Vec<AtomicU64>,
    /// Of how many parts of the load this is one: each takes every so many-th number.
    parts: u64,
}

/// A transaction's steps, one after the other; loops and branches jump among them.
#[derive(Debug)]
pub(crate) struct Routine {
    pub(crate) name: String,
    pub(crate) steps: Vec<Action>,
}

/// A step.
#[derive(Debug)]
pub(crate) enum Action {
    Draw {
        slot: SlotIndex,
        source: Source,
    },
    /// Index in [`Program::statements`].
    Send(usize),
    BulkRow {
        kind: usize,
        head: Vec<Part>,
        row: Vec<Part>,
        limit_bytes: usize,
    },
    /// Begins a loop: how many rounds there are is kept in the slot.
    Loop {
        slot: SlotIndex,
        number: Option<SlotIndex>,
        times: Input,
    },
    /// Takes one round off those in the slot; after the last it goes on at `end`.
    Round {
        slot: SlotIndex,
        /// Counts the rounds.
        number: Option<SlotIndex>,
        end: usize,
    },
    /// Goes on at a step of the routine unless the condition holds.
    Unless(Test, usize),
    /// Goes on at a step of the routine.
    Jump(usize),
}

/// A comparison.
#[derive(Debug)]
pub(crate) struct Test {
    pub(crate) left: Input,
    pub(crate) is: Comparison,
    pub(crate) right: Input,
}

/// A statement.
#[derive(Debug)]
pub(crate) struct Sentence {
    pub(crate) kind: usize,
    pub(crate) parts: Vec<Part>,
    pub(crate) prepared: bool,
    /// Slot of the table number, where the text depends on it.
    pub(crate) table: Option<SlotIndex>,
    pub(crate) keep: Vec<SlotIndex>,
    pub(crate) expect: Expect,
}

impl Sentence {
    /// Number of parameters when prepared.
    pub(crate) fn parameters(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, Part::Parameter(_))).count()
    }
}

/// A piece of a statement.
#[derive(Debug)]
pub(crate) enum Part {
    Sql(Vec<u8>),
    Parameter(Input),
    Table(SlotIndex),
    Inline(Input),
}

/// An operand.
#[derive(Debug)]
pub(crate) enum Input {
    Slot(SlotIndex),
    SlotPlus(SlotIndex, i64),
    Draw(Source),
}

/// A draw.
#[derive(Debug)]
pub(crate) enum Source {
    Integer(Sampler),
    /// One for each connection.
    IntegerOfConnection(Vec<Sampler>),
    Table,
    TableOfConnection,
    Real {
        min: f64,
        span: f64,
    },
    Pattern(Vec<u8>),
    Text {
        min: u32,
        max: u32,
    },
    Choice(Vec<Literal>),
    /// With the upper ends of their shares, ascending to 1.
    Weighted(Vec<(f64, Literal)>),
    Date(Sampler),
    Unique {
        counter: usize,
        offset: i64,
    },
    Sequence {
        counter: usize,
        first: i64,
    },
    Connection,
    OwnOf {
        min: i64,
        count: u64,
        each: u32,
    },
    Near {
        slot: SlotIndex,
        min: i64,
        count: u64,
        other_percent: u32,
    },
    RowWith {
        slot: SlotIndex,
        found: Found,
    },
    LastName(Sampler),
    Literal(Literal),
}

/// A value that was drawn. Text lies in the arena that was given to the draw.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) enum Drawn {
    #[default]
    Null,
    Integer(i64),
    Real(f64),
    Text {
        start: u32,
        end: u32,
    },
}

/// What a draw needs of its connection.
pub(crate) struct Drawer<'a> {
    pub(crate) random: &'a mut Random,
    pub(crate) connection: u32,
    pub(crate) slots: &'a [Drawn],
}

impl Drawer<'_> {
    /// The whole number that a slot holds; one from a row of the text protocol is a text in `arena`.
    fn integer(&self, slot: SlotIndex, arena: &[u8]) -> Option<i64> {
        match self.slots[usize::from(slot)] {
            Drawn::Integer(number) => Some(number),
            Drawn::Text { start, end } => {
                std::str::from_utf8(arena.get(start as usize..end as usize)?).ok()?.parse().ok()
            }
            Drawn::Null | Drawn::Real(_) => None,
        }
    }

    /// See [`Draw::Near`]; of `count` numbers from `min` on.
    fn near(&mut self, slot: SlotIndex, (min, count): (i64, u64), other_percent: u32) -> Drawn {
        let held = self.slots[usize::from(slot)];
        let Drawn::Integer(own) = held else { return held };
        if count < 2 || self.random.below(100) >= u64::from(other_percent) {
            return held;
        }
        let other = min + self.random.below(count - 1) as i64;
        Drawn::Integer(other + i64::from(other >= own))
    }
}

/// Most statements that one connection of a workload prepares: each different one once, and once for each
/// table where its text depends on that. For checks of a server's limits before a load.
///
/// # Errors
/// If the workload cannot be run.
pub fn statements_prepared(workload: &Workload, protocol: Protocol) -> Result<u64, Error> {
    let program = Program::new(workload, protocol, 1)?;
    let prepared = program.statements.iter().filter(|sentence| sentence.prepared);
    Ok(prepared.map(|sentence| sentence.table.map_or(1, |_| u64::from(program.tables))).sum())
}

impl Program {
    /// Compiles what a stream does.
    pub(crate) fn of(stream: &Stream, part: PartOfLoad) -> Result<Self, Error> {
        let is_scheduled = stream.arrival.is_scheduled();
        let responds_apart = is_scheduled || stream.connect != ConnectionMode::Long;
        let program = Self::new(&stream.workload, stream.protocol, stream.connections)?;
        program.make_ready();
        let counters = program.counters.iter().map(|_| AtomicU64::new(part.number.into())).collect();
        Ok(Self { responds_apart, is_scheduled, counters, parts: part.of.into(), ..program })
    }

    /// Computes what draws need and takes a while, so that no transaction waits for it.
    fn make_ready(&self) {
        for action in self.transactions.iter().flat_map(|routine| &routine.steps) {
            if let Action::Draw { source: Source::RowWith { found, .. }, .. } = action {
                found.make_ready();
            }
        }
    }

    /// Compiles a workload for a stream of `connections` connections.
    pub(crate) fn new(workload: &Workload, protocol: Protocol, connections: u32) -> Result<Self, Error> {
        if workload.script().is_some() {
            return Ok(Self::of_script(&workload.name));
        }
        let all = workload.transactions();
        // a transaction that sends nothing would never let its worker go
        if all.is_empty() || !all.iter().all(|each| acts(&each.steps)) {
            return Err(Error::Empty(workload.name.clone()));
        }
        if workload.tables == 0 {
            return Err(Error::Tables(workload.name.clone()));
        }
        let mut compiler = Compiler { protocol, connections, ..Compiler::default() };
        workload.steps().for_each(|step| compiler.slots_of(step));
        let mut transactions = Vec::new();
        let mut cumulated = Vec::new();
        let total: f64 = all.iter().map(|each| each.weight).sum();
        let mut sum = 0.0;
        for transaction in all {
            if transaction.weight.is_nan() || transaction.weight <= 0.0 || !total.is_finite() {
                return Err(Error::Weight(transaction.name.clone()));
            }
            sum += transaction.weight / total;
            cumulated.push(sum);
            let is_empty_round = |step: &Step| matches!(step, Step::Repeat { steps, .. } if !acts(steps));
            if spec::every(&transaction.steps).into_iter().any(is_empty_round) {
                return Err(Error::EmptyRound(transaction.name.clone()));
            }
            let mut steps = Vec::new();
            compiler.steps(&transaction.steps, &mut steps)?;
            transactions.push(Routine { name: transaction.name.clone(), steps });
        }
        let prepared = compiler.statements.len() * workload.tables as usize;
        if prepared > STATEMENTS_MAX {
            let what = "prepared statements of one connection (statements x tables)";
            return Err(Error::TooMany { what, count: prepared, limit: STATEMENTS_MAX });
        }
        Ok(Self {
            transactions,
            cumulated,
            in_order: matches!(workload.work, spec::Work::Series(_)),
            tables: workload.tables,
            kinds: compiler.kinds,
            statements: compiler.statements,
            slots: compiler.slots,
            responds_apart: false,
            is_scheduled: false,
            counters: compiler.counters,
            parts: 1,
        })
    }

    /// What is counted of a script: its events, and its statements by what they do.
    fn of_script(name: &str) -> Self {
        Self {
            transactions: vec![Routine { name: name.to_owned(), steps: Vec::new() }],
            cumulated: vec![1.0],
            in_order: false,
            tables: 1,
            kinds: Verb::ALL.iter().map(|verb| verb.name().to_owned()).collect(),
            statements: Vec::new(),
            slots: 0,
            responds_apart: false,
            is_scheduled: false,
            counters: Vec::new(),
            parts: 1,
        }
    }

    /// Chooses the next transaction of a connection by weight, or in order: then `turn` counts how many it
    /// has begun.
    #[inline]
    pub(crate) fn choose(&self, turn: &mut usize, random: &mut Random) -> usize {
        if self.transactions.len() == 1 {
            return 0;
        }
        if self.in_order {
            let next = *turn % self.transactions.len();
            *turn = next + 1;
            return next;
        }
        let point = random.unit();
        self.cumulated.iter().position(|&end| point < end).unwrap_or(self.transactions.len() - 1)
    }

    /// Draws a value; text goes to the end of `arena`.
    #[inline]
    pub(crate) fn draw(&self, source: &Source, drawer: &mut Drawer<'_>, arena: &mut Vec<u8>) -> Drawn {
        let start = arena.len() as u32;
        match source {
            Source::Integer(sampler) => return Drawn::Integer(sampler.draw(drawer.random)),
            Source::IntegerOfConnection(samplers) => {
                return Drawn::Integer(samplers[drawer.connection as usize].draw(drawer.random));
            }
            Source::Table => {
                return Drawn::Integer(drawer.random.below(u64::from(self.tables)) as i64 + 1);
            }
            Source::TableOfConnection => {
                return Drawn::Integer(i64::from(drawer.connection % self.tables) + 1);
            }
            Source::Real { min, span } => return Drawn::Real(min + span * drawer.random.unit()),
            Source::Pattern(pattern) => random::write_pattern(pattern, drawer.random, arena),
            Source::Text { min, max } => random::write_text(*min, *max, drawer.random, arena),
            Source::Choice(list) => {
                let chosen = &list[drawer.random.below(list.len() as u64) as usize];
                return literal(chosen, arena);
            }
            Source::Weighted(list) => {
                let point = drawer.random.unit();
                let (_, chosen) = list.iter().find(|(end, _)| point < *end).unwrap_or(&list[list.len() - 1]);
                return literal(chosen, arena);
            }
            Source::Date(sampler) => random::write_date(sampler.draw(drawer.random), arena),
            Source::Unique { counter, offset } => {
                let index = self.counters[*counter].fetch_add(self.parts, Ordering::Relaxed);
                return Drawn::Integer(i64::from(random::unique(index as u32)).wrapping_add(*offset));
            }
            Source::Sequence { counter, first } => {
                let index = self.counters[*counter].fetch_add(self.parts, Ordering::Relaxed);
                return Drawn::Integer(first.wrapping_add(index as i64));
            }
            Source::Connection => return Drawn::Integer(i64::from(drawer.connection)),
            Source::OwnOf { min, count, each } => {
                return Drawn::Integer(min + (u64::from(drawer.connection / each) % count) as i64);
            }
            Source::Near { slot, min, count, other_percent } => {
                return drawer.near(*slot, (*min, *count), *other_percent);
            }
            Source::RowWith { slot, found } => {
                let value = drawer.integer(*slot, arena);
                let row = value.and_then(|value| found.draw(value, drawer.random));
                return row.map_or(Drawn::Null, Drawn::Integer);
            }
            Source::LastName(sampler) => random::write_last_name(sampler.draw(drawer.random), arena),
            Source::Literal(value) => return literal(value, arena),
        }
        Drawn::Text { start, end: arena.len() as u32 }
    }
}

/// How many numbers there are from `min` to `max`, both included; 1 at least.
fn count(min: i64, max: i64) -> u64 {
    max.saturating_sub(min).max(0) as u64 + 1
}

/// Whether steps send something whatever is drawn, kept or compared.
fn acts(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Draw { .. } => false,
        Step::Statement(_) | Step::BulkRow { .. } => true,
        Step::Repeat { times: Operand::Draw(Draw::Literal(Literal::Integer(times))), steps, .. } => {
            *times > 0 && acts(steps)
        }
        Step::Repeat { times: Operand::Draw(Draw::Integer { min, .. }), steps, .. } => {
            *min > 0 && acts(steps)
        }
        Step::Repeat { .. } => false,
        Step::If { then, otherwise, .. } => acts(then) && acts(otherwise),
    })
}

fn literal(value: &Literal, arena: &mut Vec<u8>) -> Drawn {
    match value {
        Literal::Null => Drawn::Null,
        Literal::Integer(number) => Drawn::Integer(*number),
        Literal::Real(number) => Drawn::Real(*number),
        Literal::Text(text) => {
            let start = arena.len() as u32;
            arena.extend_from_slice(text.as_bytes());
            Drawn::Text { start, end: arena.len() as u32 }
        }
    }
}

#[derive(Default)]
struct Compiler {
    protocol: Protocol,
    connections: u32,
    kinds: Vec<String>,
    statements: Vec<Sentence>,
    /// What each of `statements` was made from: equal ones are prepared once.
    sources: Vec<Statement>,
    slots: usize,
    counters: Vec<AtomicU64>,
}

impl Compiler {
    /// Makes room for the slots that a step names, so that those of loops come behind all of them.
    fn slots_of(&mut self, step: &Step) {
        match step {
            Step::Draw { slot, .. } => self.slot(*slot),
            Step::Statement(statement) => statement.keep.iter().for_each(|slot| self.slot(*slot)),
            Step::Repeat { number, .. } => number.iter().for_each(|slot| self.slot(*slot)),
            Step::BulkRow { .. } | Step::If { .. } => {}
        }
    }

    /// Appends the actions of these steps.
    fn steps(&mut self, steps: &[Step], actions: &mut Vec<Action>) -> Result<(), Error> {
        for step in steps {
            match step {
                Step::Repeat { times, number, steps } => {
                    let slot = SlotIndex::try_from(self.slots).map_err(|_| Error::TooMany {
                        what: "values of a transaction",
                        count: self.slots,
                        limit: usize::from(SlotIndex::MAX),
                    })?;
                    let times = self.input(times);
                    self.slot(slot);
                    actions.push(Action::Loop { slot, number: *number, times });
                    let round = actions.len();
                    actions.push(Action::Jump(round));
                    self.steps(steps, actions)?;
                    actions.push(Action::Jump(round));
                    actions[round] = Action::Round { slot, number: *number, end: actions.len() };
                }
                Step::If { condition: Condition { left, is, right }, then, otherwise } => {
                    let test = Test { left: self.input(left), is: *is, right: self.input(right) };
                    let branch = actions.len();
                    actions.push(Action::Jump(branch));
                    self.steps(then, actions)?;
                    let end_of_then = actions.len();
                    if !otherwise.is_empty() {
                        actions.push(Action::Jump(end_of_then));
                    }
                    actions[branch] = Action::Unless(test, actions.len());
                    self.steps(otherwise, actions)?;
                    if !otherwise.is_empty() {
                        actions[end_of_then] = Action::Jump(actions.len());
                    }
                }
                simple => {
                    let action = self.step(simple)?;
                    actions.push(action);
                }
            }
        }
        Ok(())
    }

    /// One step that holds no others.
    fn step(&mut self, step: &Step) -> Result<Action, Error> {
        Ok(match step {
            Step::Repeat { .. } | Step::If { .. } => {
                unreachable!("steps within others are taken apart before")
            }
            Step::Draw { slot, draw } => {
                self.slot(*slot);
                Action::Draw { slot: *slot, source: self.source(draw) }
            }
            Step::Statement(statement) => Action::Send(self.statement(statement)?),
            Step::BulkRow { kind, head, row, limit_bytes } => {
                if head.iter().chain(row).any(|piece| matches!(piece, Piece::Parameter(_))) {
                    return Err(Error::Bulk(kind.clone()));
                }
                Action::BulkRow {
                    kind: self.kind(kind),
                    head: self.parts(head),
                    row: self.parts(row),
                    limit_bytes: *limit_bytes as usize,
                }
            }
        })
    }

    fn statement(&mut self, statement: &Statement) -> Result<usize, Error> {
        if let Some(known) = self.sources.iter().position(|source| source == statement) {
            return Ok(known);
        }
        let kind = self.kind(&statement.kind);
        let parts = self.parts(&statement.pieces);
        let count = parts.iter().filter(|part| matches!(part, Part::Parameter(_))).count();
        if count > PARAMETERS_MAX {
            return Err(Error::TooMany { what: "parameters of one statement", count, limit: PARAMETERS_MAX });
        }
        let mut tables = parts.iter().filter_map(|part| match part {
            Part::Table(slot) => Some(*slot),
            _ => None,
        });
        let table = tables.next();
        let several = tables.any(|slot| Some(slot) != table);
        let inline = parts.iter().any(|part| matches!(part, Part::Inline(_)));
        for slot in &statement.keep {
            self.slot(*slot);
        }
        self.sources.push(statement.clone());
        self.statements.push(Sentence {
            kind,
            parts,
            prepared: self.protocol == Protocol::Prepared && !statement.text_only && !inline && !several,
            table,
            keep: statement.keep.clone(),
            expect: statement.expect,
        });
        Ok(self.statements.len() - 1)
    }

    fn parts(&mut self, pieces: &[Piece]) -> Vec<Part> {
        pieces
            .iter()
            .map(|piece| match piece {
                Piece::Sql(text) => Part::Sql(text.clone().into_bytes()),
                Piece::Parameter(operand) => Part::Parameter(self.input(operand)),
                Piece::Inline(operand) => Part::Inline(self.input(operand)),
                Piece::Table(slot) => {
                    self.slot(*slot);
                    Part::Table(*slot)
                }
            })
            .collect()
    }

    fn input(&mut self, operand: &Operand) -> Input {
        match operand {
            Operand::Slot(slot) => {
                self.slot(*slot);
                Input::Slot(*slot)
            }
            Operand::SlotPlus(slot, add) => {
                self.slot(*slot);
                Input::SlotPlus(*slot, *add)
            }
            Operand::Draw(draw) => Input::Draw(self.source(draw)),
        }
    }

    fn source(&mut self, draw: &Draw) -> Source {
        match draw {
            Draw::Integer { min, max, distribution } => {
                Source::Integer(Sampler::new(*min, *max, *distribution))
            }
            Draw::IntegerOfConnection { min, max, distribution } => {
                let border = |part: u32| {
                    let span = i128::from(*max) - i128::from(*min);
                    *min + (span * i128::from(part) / i128::from(self.connections)) as i64
                };
                let share = |part| Sampler::new(border(part), border(part + 1), *distribution);
                Source::IntegerOfConnection((0..self.connections).map(share).collect())
            }
            Draw::Table => Source::Table,
            Draw::TableOfConnection => Source::TableOfConnection,
            Draw::Real { min, max } => Source::Real { min: *min, span: max - min },
            Draw::Pattern(pattern) => Source::Pattern(pattern.clone().into_bytes()),
            Draw::Text { min, max } => Source::Text { min: *min, max: *max },
            Draw::Choice(list) if list.is_empty() => Source::Literal(Literal::Null),
            Draw::Choice(list) => Source::Choice(list.clone()),
            Draw::Weighted(list) if list.is_empty() => Source::Literal(Literal::Null),
            Draw::Weighted(list) => {
                let total: f64 = list.iter().map(|(_, weight)| weight).sum();
                let mut sum = 0.0;
                let mut share = |(value, weight): &(Literal, f64)| {
                    sum += weight / total;
                    (sum, value.clone())
                };
                Source::Weighted(list.iter().map(&mut share).collect())
            }
            Draw::Date { first, last, distribution } => {
                Source::Date(Sampler::new(*first, *last, *distribution))
            }
            Draw::Unique { offset } => Source::Unique { counter: self.counter(), offset: *offset },
            Draw::Sequence { first } => Source::Sequence { counter: self.counter(), first: *first },
            Draw::Connection => Source::Connection,
            Draw::OwnOf { min, max, each } => {
                Source::OwnOf { min: *min, count: count(*min, *max), each: (*each).max(1) }
            }
            Draw::Near { slot, min, max, other_percent } => {
                self.slot(*slot);
                let (min, count) = (*min, count(*min, *max));
                Source::Near { slot: *slot, min, count, other_percent: *other_percent }
            }
            Draw::RowWith { slot, rows } => {
                self.slot(*slot);
                Source::RowWith { slot: *slot, found: Found::new(rows) }
            }
            Draw::LastName { distribution } => Source::LastName(Sampler::new(0, 999, *distribution)),
            Draw::Literal(value) => Source::Literal(value.clone()),
        }
    }

    fn counter(&mut self) -> usize {
        self.counters.push(AtomicU64::new(0));
        self.counters.len() - 1
    }

    fn slot(&mut self, slot: SlotIndex) {
        self.slots = self.slots.max(usize::from(slot) + 1);
    }

    fn kind(&mut self, name: &str) -> usize {
        if let Some(known) = self.kinds.iter().position(|kind| kind == name) {
            return known;
        }
        self.kinds.push(name.to_owned());
        self.kinds.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::{Operand, Transaction};

    #[test]
    fn prepared_statements_are_counted_as_the_engine_prepares_them() {
        let statement = |pieces, text_only| {
            let (kind, keep) = ("any".to_owned(), Vec::new());
            Step::Statement(Statement { kind, pieces, text_only, keep, expect: Expect::Anything })
        };
        let sql = |text: &str| Piece::Sql(text.to_owned());
        let id = || Operand::Draw(Draw::Connection);
        let steps = vec![
            statement(vec![sql("BEGIN")], false),
            statement(vec![sql("SELECT 'Table(1)'")], false), // a text that only looks like one with a table
            statement(vec![sql("SELECT c FROM t"), Piece::Table(0), Piece::Parameter(id())], false),
            statement(vec![sql("SELECT c FROM t"), Piece::Table(0), Piece::Parameter(id())], false),
            statement(vec![sql("SELECT "), Piece::Inline(id())], false),
            statement(vec![sql("COMMIT")], true),
        ];
        let transactions = vec![Transaction { name: "all".to_owned(), weight: 1.0, steps }];
        let workload = Workload::new("all", 8, transactions);
        assert_eq!(statements_prepared(&workload, Protocol::Prepared), Ok(2 + 8));
        assert_eq!(statements_prepared(&workload, Protocol::Text), Ok(0));
    }

    #[test]
    fn a_series_is_executed_in_order_by_each_connection_and_stays_one_when_it_is_sent() {
        let piece = vec![Piece::Sql("SELECT 1".to_owned())];
        let one = |name: &str| Transaction {
            name: name.to_owned(),
            weight: 1.0,
            steps: vec![Step::Statement(Statement {
                kind: name.to_owned(),
                pieces: piece.clone(),
                text_only: true,
                keep: Vec::new(),
                expect: spec::Expect::Anything,
            })],
        };
        let all: Vec<Transaction> = ["a", "b", "c"].map(one).into();
        let sent = postcard::to_stdvec(&Workload::in_order("w", 1, all)).expect("bytes");
        let workload: Workload = postcard::from_bytes(&sent).expect("a workload");
        let program = Program::new(&workload, Protocol::Text, 2).expect("a program");
        let mut random = Random::for_connection(1, 0, 0);
        let (mut first, mut second) = (0, 0);
        let mut of = |turn: &mut usize| program.choose(turn, &mut random);
        let chosen = [of(&mut first), of(&mut first), of(&mut second), of(&mut first), of(&mut first)];
        assert_eq!(chosen, [0, 1, 0, 2, 0]);
    }
}
