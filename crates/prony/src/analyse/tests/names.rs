//! The names that people read for the variants of a server, and identifiers that stay the same.

use super::*;
use crate::report::{Format, Options, render};

const STUDY: &str = r#"
[server.db]
product = "mariadb"
[[stream]]
workload = "oltp_read_only"
[vary]
"settings.innodb_flush_log_at_trx_commit" = [1, 2]
"stream.connections" = [8, 64]
"#;

#[test]
fn variants_are_called_by_their_levels_and_the_factor_is_named_once_beside_them() {
    let study = study::parse("flush", "flush.toml", STUDY, &Adjustments::default());
    let plan = Plan::from_study(&study.unwrap_or_else(|error| panic!("{error}")));
    let level = |treatment: &Treatment| treatment.levels["innodb_flush_log_at_trx_commit"].clone();
    let mut noise = noise(3);
    let record = record(plan, |treatment, _| {
        let rate = if level(treatment) == "2" { 20_000.0 } else { 10_000.0 };
        // it still grows at the last connection count: a peak that is reported
        let rate = rate * f64::from(treatment.streams[0].connections).sqrt();
        rate * (1.0 + 0.01 * noise.normal())
    });
    let findings = analyse(&record);
    let long = "db innodb_flush_log_at_trx_commit=1";
    for format in [Format::Terminal, Format::Markdown] {
        let text = render(&record, &findings, format, &Options::default()).unwrap();
        let plain = text.replace('\\', "");
        assert!(!plain.contains(long), "{text}");
        assert!(plain.contains("innodb_flush_log_at_trx_commit: 1 / 2"), "{text}");
        assert!(!plain.contains("innodb flush"), "{text}");
        assert!(!plain.contains("innodb_flush_log_at_trx_commit 1"), "{text}");
        assert!(plain.contains("2 delivers") && plain.contains("throughput of 1"), "{text}");
    }
    let json = render(&record, &findings, Format::Json, &Options::default()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["servers"][0]["name"], &json["servers"][0]["shown"]), (&long.into(), &"1".into()));
    assert_eq!((&json["points"][0]["server"], &json["points"][0]["side"]), (&long.into(), &"1".into()));
    assert_eq!(json["servers_by"][0], "innodb_flush_log_at_trx_commit");
    assert_eq!(json["trials"][0]["server"].as_str().map(|name| &name[..3]), Some("db "));
    assert_eq!(json["groups"][0]["series"][1]["name"], "2");
}
