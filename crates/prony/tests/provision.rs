//! Real servers: had, started, asked, stopped, and gone without a trace.

use prony::provision::{Instance, Places, Wish, catalogue, fetch};
use std::{collections::BTreeMap, path::Path};

fn launcher() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_prony"))
}

/// The user's cache, so that a server is fetched once, and a state directory of the test's own.
fn places(state: &Path) -> Places {
    Places { state: state.to_owned(), ..Places::of_user().expect("a home") }
}

#[test]
fn mariadb_is_fetched_started_and_leaves_nothing() {
    let state = tempfile::tempdir().unwrap();
    let places = places(state.path());
    let entry = catalogue::entries().iter().find(|entry| entry.fits("mariadb", Some("10.11"))).unwrap();
    let software = fetch::fetch(entry, &places, &mut |step| println!("{step}")).unwrap();
    let settings = BTreeMap::from([("thread_handling".to_owned(), "pool-of-threads".to_owned())]);
    let wish = Wish { software: &software, settings: &settings, data_bytes: 0 };
    let mut instance = Instance::start(&wish, &places, launcher(), &mut |step| println!("{step}")).unwrap();
    instance.check().unwrap();
    instance.stop().unwrap();
    assert_eq!(places.instances().read_dir().unwrap().count(), 0);
}
