//! What is the same, what is different on purpose, and what spoils a comparison.

use super::*;

fn server(name: &str, version: Option<&str>, settings: &[(&str, &str)]) -> ServerPlan {
    let product = if name.starts_with("mariadb") { "mariadb" } else { "mysql" };
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let source = ServerSource::Product { product: product.to_owned(), version: version.map(str::to_owned) };
    ServerPlan { settings: settings.collect(), ..ServerPlan::new(name, source) }
}

fn foreseen<'a>(servers: &[ServerPlan], builds: &[(&'a str, &'a str)]) -> Vec<Condition> {
    let known: Vec<_> = builds
        .iter()
        .map(|&(product, version)| Known { build: Some(Build { product, version }), ..Known::default() })
        .collect();
    conditions(servers, &known)
}

fn find<'a>(conditions: &'a [Condition], key: &str) -> &'a Condition {
    conditions.iter().find(|condition| condition.key == key).expect(key)
}

#[test]
fn defaults_of_different_versions_are_told_before_anything_starts_and_words_remove_them() {
    let builds = [("mysql", "5.7.22"), ("mysql", "8.0.33"), ("mariadb", "10.11")];
    let plain = ["mysql-5.7", "mysql-8.0", "mariadb"].map(|name| server(name, Some("1"), &[]));
    let all = foreseen(&plain, &builds);
    let keys: Vec<_> = differences(&all).iter().map(|condition| condition.key.clone()).collect();
    for key in ["redo_capacity", "binlog", "character_set", "performance_schema", "flush_method"] {
        assert!(keys.contains(&key.to_owned()), "{key}: {keys:?}");
    }
    assert!(!keys.contains(&"buffer_pool".to_owned()) && !keys.contains(&"version_age".to_owned()));
    assert_eq!(
        find(&all, "binlog").sentence(&["a", "b", "c"]),
        "binary log: off with a, c; on with b (set `binlog` in [settings] to make it the same)"
    );
    let same = [
        ("redo_capacity", "256M"),
        ("binlog", "OFF"),
        ("character_set", "utf8mb4"),
        ("collation", "utf8mb4_general_ci"),
        ("performance_schema", "OFF"),
        ("flush_method", "direct"),
        ("adaptive_hash_index", "OFF"),
    ];
    let fair = ["mysql-5.7", "mysql-8.0", "mariadb"].map(|name| server(name, Some("1"), &same));
    assert_eq!(differences(&foreseen(&fair, &builds)), Vec::<&Condition>::new());
}

#[test]
fn what_the_study_gives_to_one_server_alone_is_its_purpose() {
    let builds = [("mariadb", "10.11"), ("mariadb", "10.11")];
    let servers = [
        server("mariadb-a", None, &[("thread_pool", "ON")]),
        server("mariadb-b", None, &[("thread_pool", "OFF")]),
    ];
    let all = foreseen(&servers, &builds);
    assert_eq!(find(&all, "thread_pool").verdict, Verdict::OnPurpose);
    assert_eq!(differences(&all), Vec::<&Condition>::new());
    // The same word for both, and still not the same.
    let both = [("innodb_log_file_size", "128M")];
    let servers = [server("mysql-a", None, &both), server("mariadb-b", None, &both)];
    let all = foreseen(&servers, &[("mysql", "5.7.22"), ("mariadb", "10.11")]);
    assert_eq!(find(&all, "redo_capacity").values, [Some("256M".to_owned()), Some("128M".to_owned())]);
    assert_eq!(find(&all, "redo_capacity").verdict, Verdict::Different);
}

#[test]
fn an_age_that_nobody_asked_for_and_data_that_are_larger_are_differences() {
    let servers = [server("mysql", None, &[]), server("mariadb", None, &[])];
    let all = foreseen(&servers, &[("mysql", "5.5.34"), ("mariadb", "10.11")]);
    assert_eq!(find(&all, "version_age").verdict, Verdict::Different);
    let size = |data_bytes, form: &str| {
        BTreeMap::from([(0, Size { data_bytes, index_bytes: 16 << 20, form: form.to_owned() })])
    };
    let (small, large) = (size(100 << 20, "InnoDB, Compact"), size(150 << 20, "InnoDB, Dynamic"));
    let known = [
        Known { sizes: Some(&small), ..Known::default() },
        Known { sizes: Some(&large), ..Known::default() },
    ];
    let all = conditions(&servers, &known);
    assert_eq!(find(&all, "data_size").verdict, Verdict::Different);
    assert_eq!(find(&all, "data_form").verdict, Verdict::Different);
    assert_eq!(find(&all, "index_size").verdict, Verdict::Same);
}

#[test]
fn builds_of_a_distribution_and_of_the_vendor_are_told_apart() {
    let servers =
        [server("mariadb-a", None, &[]), server("mariadb-b", None, &[]), server("mysql", None, &[])];
    let description = |product: &str, comment: &str| crate::provision::ServerDescription {
        product: product.to_owned(),
        variables: BTreeMap::from([("version_comment".to_owned(), comment.to_owned())]),
        ..crate::provision::ServerDescription::default()
    };
    let of = |builds: [(&str, &str); 3]| {
        let descriptions = builds.map(|(product, comment)| description(product, comment));
        let known: Vec<_> = descriptions
            .iter()
            .map(|description| Known { description: Some(description), ..Known::default() })
            .collect();
        find(&conditions(&servers, &known), "build").clone()
    };
    let debian = ("mariadb", "Debian 12");
    let vendor = ("mariadb", "mariadb.org binary distribution");
    let mysql = ("mysql", "MySQL Community Server - GPL");
    let mixed = of([debian, vendor, mysql]);
    assert_eq!(mixed.verdict, Verdict::Different);
    assert_eq!(mixed.sentence(&["a", "b", "c"]), "build: Debian 12 with a; the vendor's own with b, c");
    // nobody builds both products alike
    assert_eq!(of([debian, debian, mysql]).verdict, Verdict::OnPurpose);
    assert_eq!(of([vendor, vendor, mysql]).verdict, Verdict::Same);
}
