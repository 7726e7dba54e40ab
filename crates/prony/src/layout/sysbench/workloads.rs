//! The workloads of sysbench 1.0.20 (`oltp_*.lua`, `bulk_insert.lua`, `select_random_*.lua`) as values.
//!
//! A transaction draws one table number for each group of statements (all point selects hit one table, each
//! kind of range and update draws its own) and an id for each statement. Two things differ on purpose:
//! `select_random_*` take any number of tables and draw one of them, and `bulk_insert` numbers its rows over
//! all connections, so that connections may share a table.

use super::{Data, Generator, Options};
use crate::layout::{Builtin, Effect, Error};
use load::spec::{Draw, Expect, Operand, Piece, SlotIndex, Statement, Step, Transaction, Workload};

/// 10 groups of 11 digits: 119 characters.
const C_PATTERN: &str = "###########-###########-###########-###########-###########-###########\
                                    -###########-###########-###########-###########";
/// 5 groups of 11 digits: 59 characters.
const PAD_PATTERN: &str = "###########-###########-###########-###########-###########";
/// sysbench sends an INSERT of many rows when its text has reached this size.
const BULK_BYTES: u32 = 512 * 1024;

const fn entry(name: &'static str, about: &'static str, effect: Effect) -> Builtin {
    Builtin { name, about, effect }
}

/// What sysbench has built in.
pub static BUILTINS: [Builtin; 11] = [
    entry(
        "oltp_read_only",
        "transactions of 10 point selects and 4 range selects (plain, SUM, ORDER BY, DISTINCT)",
        Effect::Reads,
    ),
    entry(
        "oltp_read_write",
        "the same reads, then an index update, a non-index update, a delete and an insert",
        Effect::Changes,
    ),
    entry(
        "oltp_write_only",
        "transactions of an index update, a non-index update, a delete and an insert",
        Effect::Changes,
    ),
    entry("oltp_point_select", "selects of one row by primary key, without a transaction", Effect::Reads),
    entry("oltp_update_index", "updates of the indexed column `k`, each its own commit", Effect::Changes),
    entry(
        "oltp_update_non_index",
        "updates of the unindexed column `c`, each its own commit",
        Effect::Changes,
    ),
    entry("oltp_insert", "inserts of single rows, each its own commit", Effect::Adds),
    entry(
        "oltp_delete",
        "deletes of single rows, each its own commit; rows are not inserted again",
        Effect::Removes,
    ),
    entry("bulk_insert", "inserts of rows of two integers, in statements of 512 KiB", Effect::Adds),
    entry(
        "select_random_points",
        "selects of rows whose `k` is in a list of 10 random \
                                   values",
        Effect::Reads,
    ),
    entry(
        "select_random_ranges",
        "counts of rows whose `k` is in one of 10 short random \
                                   ranges",
        Effect::Reads,
    ),
];

/// The workload; `name` is one of [`BUILTINS`], `options` are checked.
///
/// # Errors
/// [`Error::Nothing`].
///
/// # Panics
/// With another name.
pub fn workload(name: &str, options: &Options) -> Result<Workload, Error> {
    let mut script = Script::new(options);
    let transaction =
        !options.skip_trx && matches!(name, "oltp_read_only" | "oltp_read_write" | "oltp_write_only");
    let writes = matches!(name, "oltp_read_write" | "oltp_write_only");
    script.rows_stay = !writes || transaction || options.delete_inserts == 0;
    if transaction {
        script.plain("begin", "BEGIN");
    }
    match name {
        "oltp_read_only" => script.reads(),
        "oltp_read_write" => {
            script.reads();
            script.writes();
        }
        "oltp_write_only" => script.writes(),
        "oltp_point_select" => script.point_selects(1),
        "oltp_update_index" => script.index_updates(),
        "oltp_update_non_index" => script.non_index_updates(),
        "oltp_insert" => script.insert(),
        "oltp_delete" => script.delete(),
        "bulk_insert" => script.bulk_insert(),
        "select_random_points" => script.random_points(),
        "select_random_ranges" => script.random_ranges(),
        _ => unreachable!("`{name}` is listed in BUILTINS and has no script"),
    }
    let has_work = script.steps.iter().any(|step| match step {
        Step::Statement(statement) => statement.kind != "begin",
        step => matches!(step, Step::BulkRow { .. }),
    });
    if !has_work {
        return Err(Error::Nothing { name: name.to_owned() });
    }
    if transaction {
        script.plain("commit", "COMMIT");
    }
    let transaction = Transaction { name: name.to_owned(), weight: 1.0, steps: script.steps };
    Ok(Workload::new(name, options.tables, vec![transaction]))
}

/// The data that the workload needs, with seed 0; `name` is one of [`BUILTINS`], `options` are checked.
#[must_use]
pub fn data(name: &str, options: &Options) -> Data {
    let bulk = name == "bulk_insert";
    // The ids that oltp_insert makes up itself could meet those of rows that are there already.
    let empty = bulk || (name == "oltp_insert" && !options.auto_inc);
    Data {
        tables: options.tables,
        rows: if empty { 0 } else { options.table_size },
        engine: Some(options.engine.clone()),
        create_secondary: options.create_secondary && !bulk,
        secondary: options.secondary && !bulk,
        auto_inc: options.auto_inc && !bulk,
        seed: 0,
        generator: if bulk { Generator::BulkInsert } else { Generator::Sysbench },
        k: options.distribution(),
    }
}

/// A transaction under construction.
struct Script<'a> {
    options: &'a Options,
    steps: Vec<Step>,
    slots: SlotIndex,
    /// Whether every id from 1 to the table's size is there whenever another transaction looks.
    rows_stay: bool,
}

impl<'a> Script<'a> {
    fn new(options: &'a Options) -> Self {
        Self { options, steps: Vec::new(), slots: 0, rows_stay: true }
    }

    fn reads(&mut self) {
        self.point_selects(self.options.point_selects);
        if self.options.range_selects {
            let Options { simple_ranges, sum_ranges, order_ranges, distinct_ranges, .. } = *self.options;
            self.ranges("simple_ranges", simple_ranges, "SELECT c FROM sbtest", "");
            self.ranges("sum_ranges", sum_ranges, "SELECT SUM(k) FROM sbtest", "");
            self.ranges("order_ranges", order_ranges, "SELECT c FROM sbtest", " ORDER BY c");
            self.ranges("distinct_ranges", distinct_ranges, "SELECT DISTINCT c FROM sbtest", " ORDER BY c");
        }
    }

    fn writes(&mut self) {
        self.index_updates();
        self.non_index_updates();
        self.delete_inserts();
    }

    fn point_selects(&mut self, count: u32) {
        let Some(table) = self.group(count) else { return };
        for _ in 0..count {
            let id = self.random_id();
            let pieces = vec![sql("SELECT c FROM sbtest"), table.clone(), sql(" WHERE id="), drawn(id)];
            self.statement("point_selects", pieces, self.if_rows_stay(Expect::Row));
        }
    }

    fn ranges(&mut self, kind: &str, count: u32, head: &str, tail: &str) {
        let Some(table) = self.group(count) else { return };
        for _ in 0..count {
            let id = self.draw(self.random_id());
            let mut pieces = vec![
                sql(head),
                table.clone(),
                sql(" WHERE id BETWEEN "),
                Piece::Parameter(Operand::Slot(id)),
                sql(" AND "),
                Piece::Parameter(Operand::SlotPlus(id, i64::from(self.options.range_size) - 1)),
            ];
            if !tail.is_empty() {
                pieces.push(sql(tail));
            }
            self.statement(kind, pieces, self.if_rows_stay(Expect::Row));
        }
    }

    fn index_updates(&mut self) {
        let Some(table) = self.group(self.options.index_updates) else { return };
        for _ in 0..self.options.index_updates {
            let id = self.random_id();
            let pieces = vec![sql("UPDATE sbtest"), table.clone(), sql(" SET k=k+1 WHERE id="), drawn(id)];
            self.statement("index_updates", pieces, self.if_rows_stay(Expect::Change));
        }
    }

    fn non_index_updates(&mut self) {
        let Some(table) = self.group(self.options.non_index_updates) else { return };
        for _ in 0..self.options.non_index_updates {
            let pieces = vec![
                sql("UPDATE sbtest"),
                table.clone(),
                sql(" SET c="),
                drawn(pattern(C_PATTERN)),
                sql(" WHERE id="),
                drawn(self.random_id()),
            ];
            self.statement("non_index_updates", pieces, self.if_rows_stay(Expect::Change));
        }
    }

    fn delete_inserts(&mut self) {
        let Some(table) = self.group(self.options.delete_inserts) else { return };
        for _ in 0..self.options.delete_inserts {
            let id = self.draw(self.random_id());
            let row = Piece::Parameter(Operand::Slot(id));
            let pieces = vec![sql("DELETE FROM sbtest"), table.clone(), sql(" WHERE id="), row.clone()];
            self.statement("deletes", pieces, self.if_rows_stay(Expect::Change));
            let pieces = self.insert_pieces(table.clone(), row);
            self.statement("inserts", pieces, Expect::Change);
        }
    }

    fn delete(&mut self) {
        let table = self.table();
        let pieces = vec![sql("DELETE FROM sbtest"), table, sql(" WHERE id="), drawn(self.random_id())];
        // Rows are not put back, so that most deletes find nothing after a while.
        self.statement("deletes", pieces, Expect::Anything);
    }

    fn insert(&mut self) {
        let table = self.table();
        let id =
            if self.options.auto_inc { sql("0") } else { drawn(Draw::Unique { offset: -(1_i64 << 31) }) };
        let pieces = self.insert_pieces(table, id);
        self.statement("inserts", pieces, Expect::Change);
        if let Some(Step::Statement(statement)) = self.steps.last_mut() {
            statement.text_only = true;
        }
    }

    fn insert_pieces(&self, table: Piece, id: Piece) -> Vec<Piece> {
        let k = drawn(self.random_id());
        vec![
            sql("INSERT INTO sbtest"),
            table,
            sql(" (id, k, c, pad) VALUES ("),
            id,
            sql(", "),
            k,
            sql(", "),
            drawn(pattern(C_PATTERN)),
            sql(", "),
            drawn(pattern(PAD_PATTERN)),
            sql(")"),
        ]
    }

    fn bulk_insert(&mut self) {
        let table = self.draw(Draw::TableOfConnection);
        let row = Piece::Inline(Operand::Slot(self.draw(Draw::Sequence { first: 1 })));
        self.steps.push(Step::BulkRow {
            kind: "inserts".to_owned(),
            head: vec![sql("INSERT INTO sbtest"), Piece::Table(table), sql(" VALUES")],
            row: vec![sql("("), row.clone(), sql(","), row, sql(")")],
            limit_bytes: BULK_BYTES,
        });
    }

    fn random_points(&mut self) {
        let Some(table) = self.group(self.options.random_points) else { return };
        let mut pieces = vec![sql("SELECT id, k, c, pad FROM sbtest"), table, sql(" WHERE k IN (")];
        for point in 0..self.options.random_points {
            if point > 0 {
                pieces.push(sql(", "));
            }
            pieces.push(drawn(self.value_of_own_share()));
        }
        pieces.push(sql(")"));
        // Not every value of `k` is there.
        self.statement("random_points", pieces, Expect::Anything);
    }

    fn random_ranges(&mut self) {
        let Some(table) = self.group(self.options.number_of_ranges) else { return };
        let mut pieces = vec![sql("SELECT count(k) FROM sbtest"), table, sql(" WHERE ")];
        for range in 0..self.options.number_of_ranges {
            let first = self.draw(self.value_of_own_share());
            pieces.extend([
                sql(if range == 0 { "k BETWEEN " } else { " OR k BETWEEN " }),
                Piece::Parameter(Operand::Slot(first)),
                sql(" AND "),
                Piece::Parameter(Operand::SlotPlus(first, i64::from(self.options.delta))),
            ]);
        }
        self.statement("random_ranges", pieces, Expect::Row);
    }

    /// The table of a group of `count` statements; none for an empty group.
    fn group(&mut self, count: u32) -> Option<Piece> {
        (count > 0).then(|| self.table())
    }

    fn table(&mut self) -> Piece {
        Piece::Table(self.draw(Draw::Table))
    }

    fn draw(&mut self, draw: Draw) -> SlotIndex {
        let slot = self.slots;
        self.slots += 1;
        self.steps.push(Step::Draw { slot, draw });
        slot
    }

    fn plain(&mut self, kind: &str, text: &str) {
        self.statement(kind, vec![sql(text)], Expect::Anything);
    }

    fn statement(&mut self, kind: &str, pieces: Vec<Piece>, expect: Expect) {
        self.steps.push(Step::Statement(Statement {
            kind: kind.to_owned(),
            pieces,
            text_only: false,
            keep: Vec::new(),
            expect,
        }));
    }

    fn if_rows_stay(&self, expect: Expect) -> Expect {
        if self.rows_stay { expect } else { Expect::Anything }
    }

    fn random_id(&self) -> Draw {
        let max = i64::try_from(self.options.table_size).expect("checked to be an INTEGER");
        Draw::Integer { min: 1, max, distribution: self.options.distribution() }
    }

    /// sysbench divides the values among the connections, from 0 on, lest their ranges overlap.
    fn value_of_own_share(&self) -> Draw {
        let max = i64::try_from(self.options.table_size).expect("checked to be an INTEGER");
        Draw::IntegerOfConnection { min: 0, max, distribution: self.options.distribution() }
    }
}

fn sql(text: &str) -> Piece {
    Piece::Sql(text.to_owned())
}

fn drawn(draw: Draw) -> Piece {
    Piece::Parameter(Operand::Draw(draw))
}

fn pattern(pattern: &str) -> Draw {
    Draw::Pattern(pattern.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::spec::Distribution;

    fn options(settings: &[(&str, &str)]) -> Options {
        let mut options = Options::default();
        for (name, value) in settings {
            options.set(name, value).unwrap();
        }
        options
    }

    /// One line for each statement of an event, as the server's digests would show it, `N` for the table.
    fn statements(name: &str, settings: &[(&str, &str)]) -> Vec<String> {
        let workload = crate::workload::builtin(name, &options(settings)).unwrap();
        let [transaction] = workload.transactions() else { panic!("one transaction") };
        let text = |pieces: &[Piece]| -> String {
            let piece = |piece: &Piece| match piece {
                Piece::Sql(text) => text.clone(),
                Piece::Table(_) => "N".to_owned(),
                Piece::Parameter(_) | Piece::Inline(_) => "?".to_owned(),
            };
            pieces.iter().map(piece).collect()
        };
        let line = |step: &Step| match step {
            Step::Statement(statement) => Some(text(&statement.pieces)),
            Step::BulkRow { head, row, .. } => Some(format!("{} {}", text(head), text(row))),
            _ => None,
        };
        transaction.steps.iter().filter_map(line).collect()
    }

    const POINT: &str = "SELECT c FROM sbtestN WHERE id=?";
    const RANGES: [&str; 4] = [
        "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ?",
        "SELECT SUM(k) FROM sbtestN WHERE id BETWEEN ? AND ?",
        "SELECT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c",
        "SELECT DISTINCT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c",
    ];
    const WRITES: [&str; 4] = [
        "UPDATE sbtestN SET k=k+1 WHERE id=?",
        "UPDATE sbtestN SET c=? WHERE id=?",
        "DELETE FROM sbtestN WHERE id=?",
        "INSERT INTO sbtestN (id, k, c, pad) VALUES (?, ?, ?, ?)",
    ];

    #[test]
    fn events_have_sysbench_s_statements_in_its_order() {
        let read_only: Vec<&str> = [&["BEGIN"][..], &[POINT; 10], &RANGES, &["COMMIT"]].concat();
        assert_eq!(statements("oltp_read_only", &[]), read_only);
        let read_write: Vec<&str> = [&["BEGIN"][..], &[POINT; 10], &RANGES, &WRITES, &["COMMIT"]].concat();
        assert_eq!(statements("oltp_read_write", &[]), read_write);
        let write_only: Vec<&str> = [&["BEGIN"][..], &WRITES, &["COMMIT"]].concat();
        assert_eq!(statements("oltp_write_only", &[]), write_only);

        assert_eq!(statements("oltp_point_select", &[]), [POINT]);
        assert_eq!(statements("oltp_update_index", &[]), [WRITES[0]]);
        assert_eq!(statements("oltp_update_non_index", &[]), [WRITES[1]]);
        assert_eq!(statements("oltp_delete", &[]), [WRITES[2]]);
        let insert = "INSERT INTO sbtestN (id, k, c, pad) VALUES (0, ?, ?, ?)";
        assert_eq!(statements("oltp_insert", &[]), [insert]);
        assert_eq!(statements("oltp_insert", &[("auto_inc", "off")]), [WRITES[3]]);
        assert_eq!(statements("bulk_insert", &[]), ["INSERT INTO sbtestN VALUES (?,?)"]);
        let points = "SELECT id, k, c, pad FROM sbtestN WHERE k IN (?, ?, ?)";
        assert_eq!(statements("select_random_points", &[("random_points", "3")]), [points]);
        let ranges = "SELECT count(k) FROM sbtestN WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?";
        assert_eq!(statements("select_random_ranges", &[("number_of_ranges", "2")]), [ranges]);
    }

    #[test]
    fn options_take_statements_away_and_add_them_as_in_sysbench() {
        let skip = statements("oltp_read_only", &[("skip_trx", "on"), ("range_selects", "off")]);
        assert_eq!(skip, [POINT; 10]);
        // The "4 point selects, 1 index update" of the instance-size evaluations.
        let settings = [
            ("point_selects", "4"),
            ("range_selects", "off"),
            ("non_index_updates", "0"),
            ("delete_inserts", "0"),
            ("skip_trx", "on"),
        ];
        assert_eq!(statements("oltp_read_write", &settings), [POINT, POINT, POINT, POINT, WRITES[0]]);
        assert_eq!(statements("oltp_point_select", &[("point_selects", "7")]), [POINT], "always one");
        assert_eq!(statements("oltp_update_index", &[("index_updates", "3")]), [WRITES[0]; 3]);
        let nothing = options(&[("point_selects", "0"), ("range_selects", "off")]);
        let error = crate::workload::builtin("oltp_read_only", &nothing).unwrap_err();
        assert!(error.to_string().contains("has no statements"), "{error}");
    }

    #[test]
    fn the_table_is_drawn_once_for_each_group_and_the_id_for_each_statement() {
        let workload = crate::workload::builtin("oltp_read_write", &options(&[("tables", "8")])).unwrap();
        let mut by_kind: Vec<(String, Vec<SlotIndex>)> = Vec::new();
        for step in workload.steps() {
            let Step::Statement(statement) = step else { continue };
            for piece in &statement.pieces {
                let Piece::Table(slot) = piece else { continue };
                match by_kind.iter_mut().find(|(kind, _)| *kind == statement.kind) {
                    Some((_, slots)) => slots.push(*slot),
                    None => by_kind.push((statement.kind.clone(), vec![*slot])),
                }
            }
        }
        let groups: Vec<SlotIndex> = by_kind.iter().map(|(_, slots)| slots[0]).collect();
        for (kind, slots) in &by_kind {
            assert!(slots.iter().all(|slot| *slot == slots[0]), "{kind} has one table");
        }
        let kinds: Vec<&str> = by_kind.iter().map(|(kind, _)| kind.as_str()).collect();
        assert_eq!(kinds[..3], ["point_selects", "simple_ranges", "sum_ranges"]);
        assert_eq!(kinds[7..], ["deletes", "inserts"]);
        assert_eq!(groups[7], groups[8], "a row is put back where it was");
        let mut different = groups[..8].to_vec();
        different.dedup();
        assert_eq!(different.len(), 8, "each group draws its own table");
        assert_eq!(workload.tables, 8);
    }

    #[test]
    fn ranges_cover_range_size_rows_and_ids_follow_the_asked_distribution() {
        let settings = [("range_size", "20"), ("rows", "500"), ("random", "special")];
        let workload = crate::workload::builtin("oltp_read_only", &options(&settings)).unwrap();
        let text = serde_json::to_string(&workload).unwrap();
        let range = workload.transactions()[0].steps.iter().rev().find_map(|step| match step {
            Step::Statement(statement) if statement.kind == "distinct_ranges" => Some(&statement.pieces),
            _ => None,
        });
        assert!(matches!(range.unwrap()[5], Piece::Parameter(Operand::SlotPlus(_, 19))));
        let special = Distribution::Special { iterations: 12, hot_set_percent: 1, hot_draws_percent: 75 };
        let id = serde_json::to_string(&Draw::Integer { min: 1, max: 500, distribution: special }).unwrap();
        assert_eq!(text.matches(&id).count(), 14, "10 point selects and 4 ranges");
    }

    #[test]
    fn missing_rows_count_only_where_none_can_be_missing() {
        let expected = |name: &str, settings: &[(&str, &str)]| -> Vec<Expect> {
            let workload = crate::workload::builtin(name, &options(settings)).unwrap();
            let steps = workload.steps();
            let expect = |step: &Step| match step {
                Step::Statement(statement) => Some(statement.expect),
                _ => None,
            };
            steps.filter_map(expect).collect()
        };
        assert_eq!(expected("oltp_point_select", &[]), [Expect::Row]);
        assert_eq!(expected("oltp_delete", &[]), [Expect::Anything]);
        let apart = expected("oltp_write_only", &[("skip_trx", "on")]);
        assert_eq!(apart, [Expect::Anything, Expect::Anything, Expect::Anything, Expect::Change]);
        let together = expected("oltp_write_only", &[]);
        assert_eq!(together[1..5], [Expect::Change; 4]);
    }

    #[test]
    fn data_is_what_the_workload_works_on() {
        let plan = data("oltp_read_write", &options(&[("tables", "4"), ("rows", "50000")]));
        assert_eq!((plan.tables, plan.rows, plan.generator), (4, 50_000, Generator::Sysbench));
        assert!(plan.create_secondary && plan.auto_inc && !plan.secondary);
        let plan = data("oltp_insert", &options(&[("auto_inc", "off")]));
        assert_eq!(plan.rows, 0, "ids made up later must not meet others");
        let plan = data("bulk_insert", &options(&[]));
        assert_eq!((plan.generator, plan.rows, plan.create_secondary), (Generator::BulkInsert, 0, false));
    }

    #[test]
    fn patterns_have_sysbench_s_lengths() {
        assert_eq!((C_PATTERN.len(), PAD_PATTERN.len()), (119, 59));
    }

    #[test]
    fn every_listed_workload_can_be_made_and_a_mistyped_name_finds_its_neighbour() {
        for builtin in crate::workload::list() {
            crate::workload::builtin(builtin.name, &Options::default()).expect(builtin.name);
        }
        let error = crate::workload::builtin("oltp_readonly", &Options::default()).unwrap_err();
        assert!(error.to_string().contains("`oltp_read_only`"), "{error}");
    }
}
