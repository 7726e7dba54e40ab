//! What a user who writes a study relies on.

use super::*;

const GOOD: &str = r#"
title = "A good one"
[server.a]
product = "mariadb"
[server.b]
product = "mariadb"
version = "10.11"
settings = { thread_handling = "pool-of-threads", back_log = 500 }
[settings]
skip-name-resolve = true
[data]
rows = 500
[[stream]]
range_size = 10
[vary]
"stream.workload" = ["oltp_read_only", "oltp_update_non_index"]
"stream.connections" = [1, 4]
[scale.quick]
data.rows = 20
measure = { interval = "1s" }
"#;

fn read(text: &str) -> Result<Study, Mistakes> {
    parse("test", "test.toml", text, &Adjustments::default())
}

fn with(set: &[&str], scale: Option<&str>) -> Result<Study, Mistakes> {
    let set = set.iter().map(|text| (*text).to_owned()).collect();
    parse("test", "test.toml", GOOD, &Adjustments { set, scale: scale.map(str::to_owned) })
}

fn mistakes(text: &str) -> String {
    read(text).expect_err("a wrong study").to_string()
}

#[test]
fn every_built_in_study_is_right_at_every_scale() {
    for builtin in builtin() {
        let plain = Adjustments::default();
        let study = parse(builtin.name, builtin.name, builtin.text, &plain);
        let study = study.unwrap_or_else(|mistakes| panic!("{mistakes}"));
        assert!(!study.treatments.is_empty(), "{}", builtin.name);
    }
}

#[test]
fn all_mistakes_are_reported_at_once_and_pointed_at() {
    let text = r#"
seed = "42"
[server.pool]
product = "mariadbb"
[server.other]
product = "mysql"
[measure]
interval = "10"
repeat = 3
[data]
rows = 0
[[stream]]
workload = "oltp_read_onyl"
connections = 1.5
range_sise = 4
[vary]
server = ["poool"]
"stream.conections" = [1, 2]
"data.rows" = 5
"#;
    insta::assert_snapshot!(mistakes(text));
}
