//! Asks a server what it is. A server that knows nothing but the protocol gets an almost empty description, not an error.

use super::ServerDescription;
use load::client::{Connection, Error};
use std::collections::BTreeMap;

/// What the server at the other end of `connection` says of itself; `name` is its name in the plan. Origin, program and
/// process number stay empty: only who started it knows them.
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
