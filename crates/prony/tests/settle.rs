//! Settling before a trial hurries a server by its variables, and leaves it with all of them as they were.

mod support {
    #[expect(dead_code, reason = "nobody here looks for processes")]
    pub(crate) mod server;
}

use load::{Stop, client::Connection};
use prony::{
    dataset,
    provision::{Server, globals, pairs},
    run::settle,
    workload,
};
use std::{sync::atomic::AtomicBool, time::Duration};
use support::server::{mariadb, started};

const PATIENCE: Duration = Duration::from_secs(120);

fn settles_and_stays_as_it_was(server: &Server) {
    let target = server.target();
    let mut plan = workload::data("oltp_read_write", &workload::Options::default()).expect("a data set");
    plan.rows = 20_000;
    dataset::prepare(target, &plan, 2, &mut |_| (), &AtomicBool::new(false)).expect("data");
    let mut connection = Connection::open(target, PATIENCE).expect("a login");
    let before = globals(&mut connection).expect("variables");
    let status = |connection: &mut Connection, name: &str| -> u64 {
        let show = format!("SHOW GLOBAL STATUS LIKE '{name}'");
        pairs(connection, &show).expect("status")[name].parse().expect("a number")
    };
    let dirty = status(&mut connection, "Innodb_buffer_pool_pages_dirty");
    assert!(dirty > 64, "there is something to be written: {dirty} pages");
    let set = status(&mut connection, "Com_set_option");
    let settled = settle(&mut connection, true, PATIENCE, &Stop::default(), &mut |_| ()).expect("an answer");
    let settled = settled.expect("InnoDB");
    assert!(!settled.limit_reached && settled.dirty_pages < dirty, "{settled:?}");
    let set = status(&mut connection, "Com_set_option") - set;
    assert!(set >= 6, "it was hurried by variables, which were then put back: {set}");
    let after = globals(&mut connection).expect("variables");
    assert!(before.len() > 300 && before.keys().eq(after.keys()));
    let moved: Vec<_> = before.iter().filter(|(name, value)| after[*name] != **value).collect();
    assert!(moved.is_empty(), "{moved:?}");
}

/// MariaDB raises one variable with another.
#[test]
fn mariadb_has_all_variables_as_they_were_when_it_has_settled() {
    settles_and_stays_as_it_was(&mariadb(&[("innodb_max_dirty_pages_pct", "75.5")]).1);
}

/// MySQL takes no value above another's.
#[test]
#[ignore = "long: MySQL is fetched"]
fn mysql_has_all_variables_as_they_were_when_it_has_settled() {
    settles_and_stays_as_it_was(&started("mysql", "8.0.15", &[("innodb_io_capacity_max", "3000")]).1);
}
