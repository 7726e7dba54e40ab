use super::*;
use crate::workload::{Options, data_set, effect, foreign_written};
use load::spec::Step;
use std::collections::BTreeSet;

fn others(name: &str) -> DataSet {
    data_set(name, &Options { tables: 3, ..Options::default() }).unwrap()
}

fn texts(stream: &Stream) -> Vec<String> {
    let text = |step: &Step| match step {
        Step::Statement(statement) => Some(format!("{:?}", statement.pieces)),
        _ => None,
    };
    stream.workload.steps().filter_map(text).collect()
}

#[test]
fn each_neighbour_writes_to_prony_s_own_tables_only_and_does_what_its_entry_says() {
    for name in ["oltp_read_write", "tpcc"] {
        let data = others(name).with_neighbours();
        for neighbour in &ALL {
            let stream = neighbour.stream(data.others());
            assert!(is_one(&stream), "{}", stream.name);
            assert_eq!(foreign_written(&stream.workload, &data), BTreeSet::new(), "{}", stream.name);
            assert_eq!(effect(&stream.workload), neighbour.builtin.effect, "{}", stream.name);
            assert!(!texts(&stream).is_empty(), "{}", stream.name);
        }
    }
}

#[test]
fn the_largest_table_of_the_others_is_rebuilt_and_all_are_backed_up() {
    let told = |name: &str, data: &str| texts(&find(name).unwrap().stream(&others(data))).join("\n");
    assert!(told("alter_copy", "tpcc").contains("ALTER TABLE `stock` FORCE, ALGORITHM=COPY"));
    let online = told("alter_online", "oltp_read_only");
    assert!(online.contains("`sbtest") && online.contains("INPLACE, LOCK=NONE"), "{online}");
    let backup = told("logical_backup", "tpcc");
    assert_eq!(backup.matches("SELECT * FROM").count(), 9, "{backup}");
    let stream = find("logical_backup").unwrap().stream(&others("oltp_read_only"));
    assert_eq!(stream.workload.tables, 3, "numbered tables are read in a loop");
}

#[test]
fn the_table_stands_beside_any_data_set_and_is_stored_with_it() {
    let plain = others("tpcc");
    let data = plain.clone().with_neighbours().with_seed(7);
    assert_eq!(data.others(), &plain.with_seed(7));
    assert!(data.has_table(TABLE) && data.has_table("stock") && !data.has_table("sbtest1"));
    assert_eq!(data.table_names().len(), 10);
    assert_eq!(data.clone().with_neighbours(), data, "once");
    assert!(!data.conditions().is_empty());
    for data in [data, others("oltp_read_only").with_neighbours(), others("deadlocks")] {
        let stored = serde_json::to_string(&data).unwrap();
        assert_eq!(serde_json::from_str::<DataSet>(&stored).unwrap(), data, "{stored}");
    }
}

#[test]
fn what_a_neighbour_did_is_read_from_what_its_stream_tells() {
    let mut told = StreamOutcome { connections: 3, ..StreamOutcome::default() };
    told.statements =
        vec![Tally { count: 5, errors: 2, affected: 70, ..Tally::new("delete") }, Tally::new("kill")];
    told.statements[1].errors = 4;
    told.reconnecting.failed = 11;
    let count = |name: &str| find(name).unwrap().count(&told);
    assert_eq!(
        ["idle_transactions", "bulk_delete", "killed_sessions", "failed_logins", "deadlocks"].map(count),
        [3, 70, 4, 11, 0]
    );
}
