use super::*;
use crate::family::spoken;
use std::io::Write as _;

/// A data directory of MariaDB 10.11.6 with one database, as far as it is looked at.
fn mariadb(directory: &Path) {
    for inner in ["mysql", "my@002dshop", "empty", "#sql_tmp"] {
        fs::create_dir_all(directory.join(inner)).unwrap();
    }
    let mut frm = vec![0; 64];
    frm[..2].copy_from_slice(&[0xfe, 0x01]);
    frm[51..55].copy_from_slice(&101_106_u32.to_le_bytes());
    fs::write(directory.join("mysql/db.frm"), frm).unwrap();
    fs::write(
        directory.join("mysql/user.frm"),
        "TYPE=VIEW, and more than sixty letters so that it has all offsets",
    )
    .unwrap();
    let mut ibdata = File::create(directory.join("ibdata1")).unwrap();
    let mut page = vec![0_u8; 64];
    page[54..58].copy_from_slice(&0x15_u32.to_be_bytes());
    ibdata.write_all(&page).unwrap();
    ibdata.set_len(12 << 20).unwrap();
    for file in ["aria_log_control", "auto.cnf", "host.pid", "host.err", "tc.log", "ddl_recovery.log"] {
        fs::write(directory.join(file), "1").unwrap();
    }
    for table in ["orders.frm", "orders.ibd", "old#P#p0.ibd", "a@0024b.frm", "#sql-1.frm", "FTS_1_CONFIG.ibd"]
    {
        fs::write(directory.join("my@002dshop").join(table), "x").unwrap();
    }
}

fn told(directory: &Path) -> String {
    spoken().read_copy(directory, None).unwrap_err().to_string()
}

#[test]
fn what_wrote_a_directory_and_what_it_holds_is_read_from_its_files() {
    let home = tempfile::tempdir().unwrap();
    mariadb(home.path());
    let data = spoken().read_copy(home.path(), None).unwrap();
    assert_eq!((data.product.as_str(), data.version.as_str()), ("mariadb", "10.11.6"));
    assert_eq!((data.database.as_str(), data.kind), ("my-shop", CopyKind::Stopped));
    assert_eq!(data.tables, ["a$b", "old", "orders"]);
    assert!(data.has_all && data.settings.is_empty(), "{:?}", data.settings);
    assert!(data.check_unchanged().is_ok());
    // what a backup says is older than what the files say: it was restored, and upgraded
    fs::write(home.path().join("xtrabackup_info"), "uuid = 1\nserver_version = 10.6.9-MariaDB-log\n")
        .unwrap();
    assert_eq!(spoken().read_copy(home.path(), None).unwrap().version, "10.11.6");
    fs::write(home.path().join("mysql_upgrade_info"), "11.4.2-MariaDB\0").unwrap();
    assert_eq!(spoken().read_copy(home.path(), None).unwrap().version, "11.4.2");
    assert!(matches!(data.check_unchanged(), Err(CopyError::Changed { .. })));
    // the server's own files are no part of the data
    let before = spoken().read_copy(home.path(), None).unwrap();
    fs::write(home.path().join("mysqld-auto.cnf"), "{}").unwrap();
    assert!(before.check_unchanged().is_ok());
    assert!(is_of_server(Path::new("mysqld-auto.cnf")) && !is_of_server(Path::new("tc.log")));
    assert!(!is_of_server(Path::new("my@002dshop/auto.cnf")));
}

#[test]
fn settings_that_files_demand_are_taken_from_them() {
    let home = tempfile::tempdir().unwrap();
    mariadb(home.path());
    File::options().write(true).open(home.path().join("ibdata1")).unwrap().set_len(10 << 20).unwrap();
    File::create(home.path().join("ibdata2")).unwrap().set_len(3 << 20).unwrap();
    for undo in ["undo001", "undo002", "undo_003"] {
        fs::write(home.path().join(undo), "").unwrap();
    }
    let settings = spoken().read_copy(home.path(), None).unwrap().settings;
    assert_eq!(settings["innodb_data_file_path"], "ibdata1:10M;ibdata2:3M:autoextend");
    assert_eq!(settings["innodb_undo_tablespaces"], "2");
    fs::remove_file(home.path().join("ibdata2")).unwrap();
    let backup = "[mysqld]\ninnodb_page_size=8192\ninnodb_data_file_path=ibdata1:10M:autoextend\n";
    fs::write(home.path().join("backup-my.cnf"), backup).unwrap();
    let settings = spoken().read_copy(home.path(), None).unwrap().settings;
    assert_eq!(settings["innodb_page_size"], "8192");
    assert_eq!(settings["innodb_data_file_path"], "ibdata1:10M:autoextend");
}

#[test]
fn a_backup_says_whether_it_is_prepared() {
    let home = tempfile::tempdir().unwrap();
    mariadb(home.path());
    let kind = |text: &str| {
        fs::write(home.path().join("xtrabackup_checkpoints"), format!("backup_type = {text}\n")).unwrap();
        spoken().read_copy(home.path(), None).map(|data| data.kind)
    };
    assert_eq!(kind("full-backuped").unwrap(), CopyKind::Unprepared);
    assert_eq!(kind("log-applied").unwrap(), CopyKind::Prepared);
    assert_eq!(kind("full-prepared").unwrap(), CopyKind::Prepared);
    let error = kind("incremental").unwrap_err().to_string();
    assert!(error.contains("mariadb-backup --prepare") && error.contains("--incremental-dir"), "{error}");
}

#[test]
fn what_cannot_be_used_is_told() {
    let home = tempfile::tempdir().unwrap();
    assert!(told(&home.path().join("none")).contains("cannot read"));
    assert!(told(home.path()).contains("has no ibdata1"));
    mariadb(home.path());
    fs::write(home.path().join("ibdata1.qp"), "").unwrap();
    assert!(told(home.path()).contains("compressed or encrypted (ibdata1.qp)"));
    fs::remove_file(home.path().join("ibdata1.qp")).unwrap();

    let link = home.path().join("my@002dshop/far.isl");
    fs::write(&link, "/data/far.ibd\n").unwrap();
    assert!(told(home.path()).contains("outside of the copy (/data/far.ibd)"));
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("/data/shop2", home.path().join("shop2")).unwrap();
    assert!(told(home.path()).contains("/data/shop2"));
    fs::remove_file(home.path().join("shop2")).unwrap();

    fs::create_dir(home.path().join("blog")).unwrap();
    fs::write(home.path().join("blog/posts.ibd"), "").unwrap();
    assert!(told(home.path()).contains("more than one database; set `database` to one of: blog, my-shop"));
    assert_eq!(spoken().read_copy(home.path(), Some("blog")).unwrap().tables, ["posts"]);
    let error = spoken().read_copy(home.path(), Some("shop")).unwrap_err().to_string();
    assert!(error.contains("no database `shop`") && error.contains("blog, my-shop"), "{error}");
    for directory in ["blog", "my@002dshop"] {
        fs::remove_dir_all(home.path().join(directory)).unwrap();
    }
    assert!(told(home.path()).contains("no database but those of the server"));

    fs::remove_dir_all(home.path().join("mysql")).unwrap();
    assert!(told(home.path()).contains("cannot tell which server wrote it"));
}

#[test]
fn a_file_outside_that_a_data_dictionary_names_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let elsewhere = home.path().join("far.ibd");
    fs::write(&elsewhere, "").unwrap();
    let copy = home.path().join("copy");
    fs::create_dir_all(copy.join("shop")).unwrap();
    fs::write(copy.join("shop/orders.ibd"), "").unwrap();
    File::create(copy.join("ibdata1")).unwrap().set_len(12 << 20).unwrap();
    let dictionary = |path: &str| {
        let mut bytes = vec![0; 8];
        bytes.extend(80_033_u32.to_be_bytes());
        bytes.extend(format!("\0\0./shop/orders.ibd\u{1}x{path}\u{2}").into_bytes());
        fs::write(copy.join("mysql.ibd"), bytes).unwrap();
        spoken().read_copy(&copy, None)
    };
    let data = dictionary("/nowhere/at/all.ibd").unwrap();
    assert_eq!((data.product.as_str(), data.version.as_str(), data.has_all), ("mysql", "8.0.33", false));
    let error = dictionary(&elsewhere.display().to_string()).unwrap_err().to_string();
    assert!(error.contains("far.ibd") && error.contains("outside"), "{error}");
}

#[test]
fn servers_read_what_is_theirs_and_no_newer() {
    let of = |product: &str, version: &str| Copied {
        copy: "/copy".into(),
        database: "shop".to_owned(),
        product: product.to_owned(),
        version: version.to_owned(),
        kind: CopyKind::Stopped,
        bytes: 0,
        stamp: String::new(),
        settings: BTreeMap::new(),
        tables: Vec::new(),
        has_all: true,
    };
    let mariadb = of("mariadb", "10.11.6");
    for version in ["10.11", "10.11.2-MariaDB", "11.4.5-MariaDB"] {
        assert!(mariadb.check_server("mariadb", version).is_ok(), "{version}");
    }
    let refused = |data: &Copied, product: &str, version: &str| {
        data.check_server(product, version).unwrap_err().to_string()
    };
    assert!(refused(&mariadb, "mariadb", "10.6.19").contains("10.11.6 or newer"));
    assert!(refused(&mariadb, "mysql", "8.0.33").contains("load a dump"));
    let mysql = of("mysql", "8.0.33");
    assert!(mysql.check_server("mysql", "8.0").is_ok() && mysql.check_server("mysql", "8.4.2").is_ok());
    assert!(refused(&mysql, "mysql", "8.0.15").contains("8.0.33 or newer"));
    assert!(refused(&mysql, "mysql", "9.7.1").contains("start MySQL 8.4 on it first"));
    assert!(refused(&of("mysql", "5.6.24"), "mysql", "8.0.33").contains("start MySQL 5.7"));
    assert_eq!(mysql.upgrade("8.0.40"), Upgrade::None);
    assert_eq!(mysql.upgrade("8.4.2"), Upgrade::ByServer);
    assert_eq!(of("mysql", "5.6.24").upgrade("5.7.22"), Upgrade::ByProgram);
    assert_eq!(mariadb.upgrade("11.4.5-MariaDB"), Upgrade::ByProgram);
    assert_eq!(mariadb.upgrade("10.11.19-MariaDB"), Upgrade::None);
}
