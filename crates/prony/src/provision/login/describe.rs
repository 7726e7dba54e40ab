//! Asks a server what it is. A server that knows nothing but the protocol gets an almost empty description,
//! not an error.

use crate::provision::ServerDescription;
use load::client::{Connection, Error};
use std::collections::BTreeMap;

/// Variables that name a process, its place or a moment, not how a server works.
const NOT_SETTINGS: &[&str] = &[
    "admin_address",
    "admin_port",
    "aria_log_dir_path",
    "auto_generate_certs",
    "basedir",
    "character_sets_dir",
    "datadir",
    "extra_port",
    "general_log_file",
    "gtid_binlog_pos",
    "gtid_current_pos",
    "gtid_executed",
    "gtid_purged",
    "hostname",
    "identity",
    "innodb_buffer_pool_filename",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_temp_data_file_path",
    "innodb_tmpdir",
    "innodb_undo_directory",
    "insert_id",
    "last_insert_id",
    "lc_messages_dir",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "mysqlx_port",
    "mysqlx_socket",
    "pid_file",
    "plugin_dir",
    "port",
    "pseudo_thread_id",
    "rand_seed1",
    "rand_seed2",
    "relay_log_basename",
    "relay_log_index",
    "replica_load_tmpdir",
    "report_host",
    "report_port",
    "secure_file_priv",
    "server_id",
    "server_uid",
    "server_uuid",
    "slave_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "ssl_ca",
    "ssl_cert",
    "ssl_key",
    "timestamp",
    "tmpdir",
];

/// Whether a variable says how a server works: others are different at every start, or on every machine.
#[must_use]
pub fn is_setting(variable: &str) -> bool {
    !NOT_SETTINGS.contains(&variable)
}

/// What the server at the other end of `connection` says about itself; `name` is its name in the plan.
/// Origin, program and process number stay empty: only the code that started it knows them.
///
/// # Errors
/// Where the connection breaks. What the server refuses to say stays empty.
pub fn describe(connection: &mut Connection, name: &str) -> Result<ServerDescription, Error> {
    let variables = pairs(connection, "SHOW GLOBAL VARIABLES")?;
    let variable = |name: &str| variables.get(name).map(String::as_str).unwrap_or_default();
    // MariaDB's greeting has 5.5.5- before the version, for the sake of old replicas.
    let greeted = connection.server_version();
    let greeted = greeted.strip_prefix("5.5.5-").unwrap_or(greeted).to_owned();
    let version = match variable("version") {
        "" => greeted,
        version => version.to_owned(),
    };
    let parts = ["version_comment", "version_compile_machine", "version_compile_os"].map(variable);
    let build: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    Ok(ServerDescription {
        name: name.to_owned(),
        product: product(&version, variable("version_comment")),
        build: build.join(", "),
        version,
        status_before: status(connection)?,
        variables,
        ..ServerDescription::default()
    })
}

/// `SHOW GLOBAL STATUS`; empty where the server refuses.
///
/// # Errors
/// Where the connection breaks.
pub fn status(connection: &mut Connection) -> Result<BTreeMap<String, String>, Error> {
    pairs(connection, "SHOW GLOBAL STATUS")
}

/// The first two columns of what `sql` yields; nothing where the server refuses.
///
/// # Errors
/// Where the connection breaks.
pub fn pairs(connection: &mut Connection, sql: &str) -> Result<BTreeMap<String, String>, Error> {
    let answer = match connection.query(sql) {
        Err(Error::Server { .. }) => return Ok(BTreeMap::new()),
        answer => answer?,
    };
    let pair = |row: &Vec<Option<String>>| match row.as_slice() {
        [Some(name), value, ..] => Some((name.clone(), value.clone().unwrap_or_default())),
        _ => None,
    };
    Ok(answer.rows().iter().filter_map(pair).collect())
}

/// The product's name; a build that does not name itself is MySQL's (`Source distribution`).
fn product(version: &str, comment: &str) -> String {
    let text = format!("{version} {comment}").to_lowercase();
    let known = ["mariadb", "percona", "tidb", "mysql"].into_iter().find(|name| text.contains(name));
    known.unwrap_or("mysql").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_told_apart_by_what_they_say() {
        assert_eq!(product("10.11.19-MariaDB-0+deb12u1", "Debian 12"), "mariadb");
        assert_eq!(product("8.0.15", "MySQL Community Server - GPL"), "mysql");
        assert_eq!(product("8.0.36-28", "Percona Server (GPL), Release 28"), "percona");
        assert_eq!(product("8.0.15", "Source distribution"), "mysql");
    }
}
