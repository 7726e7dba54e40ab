//! The accounts and the schema that Prony makes in a server of its own, in the words of each generation.

use crate::{
    family,
    plan::Authentication,
    provision::software::{
        Software,
        version::{Build, Version},
    },
};
use load::{
    client::{self, Connection},
    spec::{Address, Target},
};
use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

/// How long a login may take.
const WAIT: Duration = Duration::from_secs(30);

/// The hosts from which it logs in. Over the socket it comes from the first; over TCP from the second,
/// whichever of this machine's own addresses a load connects from; with resolved names from the first. In a
/// network namespace it comes from the third, which belongs to nobody. The last is for load hosts on other
/// machines, which reach no server that was not told to listen to them.
const ACCOUNT_HOSTS: [&str; 4] = ["localhost", "127.%", "198.18.%", "%"];

/// Those for a server at this address.
pub(in crate::provision) fn hosts(address: IpAddr) -> &'static [&'static str] {
    let is_own = match address {
        IpAddr::V4(address) => address.is_loopback() || address.octets()[..2] == [198, 18],
        IpAddr::V6(address) => address.is_loopback(),
    };
    &ACCOUNT_HOSTS[..if is_own { 3 } else { 4 }]
}

/// SQL for the server's `init_file`, a statement on each line: Prony's account with `password`, its `schema`,
/// and no way in for others. The binary log stays free of it.
pub(in crate::provision) fn statements(
    software: &Software,
    (account, hosts): (&str, &[&str]),
    schema: &str,
    password: &str,
) -> String {
    let mut lines = vec!["SET sql_log_bin=0;".to_owned()];
    // Fresh servers let root, and old ones anybody, in without a password.
    if software.is_mariadb() && software.numbers() >= Version::new(10, 4, 0) {
        lines.push("DELETE FROM mysql.global_priv WHERE User='';".to_owned());
        lines.push(
            "UPDATE mysql.global_priv SET Priv=JSON_SET(Priv,'$.account_locked',TRUE) WHERE User='root';"
                .to_owned(),
        );
    } else {
        lines.push("DELETE FROM mysql.user WHERE User IN ('','root');".to_owned());
    }
    lines.push("FLUSH PRIVILEGES;".to_owned());
    for host in hosts {
        let who = format!("'{account}'@'{host}'");
        if has_create_user(software) {
            lines.push(format!("CREATE USER {who} IDENTIFIED BY '{password}';"));
            lines.push(format!("GRANT ALL PRIVILEGES ON *.* TO {who} WITH GRANT OPTION;"));
        } else {
            lines.push(format!(
                "GRANT ALL PRIVILEGES ON *.* TO {who} IDENTIFIED BY '{password}' WITH GRANT OPTION;"
            ));
        }
    }
    lines.push(format!("CREATE DATABASE IF NOT EXISTS `{schema}`;"));
    lines.join("\n") + "\n"
}

/// The same for data with accounts of their own, which stay: Prony's account, whether or not it is there.
pub(in crate::provision) fn foreign(
    software: &Software,
    (account, hosts): (&str, &[&str]),
    password: &str,
) -> String {
    let mut lines = vec!["SET sql_log_bin=0;".to_owned()];
    for host in hosts {
        let who = format!("'{account}'@'{host}'");
        if has_if_exists(software) {
            lines.push(format!("DROP USER IF EXISTS {who};"));
            lines.push(format!("CREATE USER {who} IDENTIFIED BY '{password}';"));
            lines.push(format!("GRANT ALL PRIVILEGES ON *.* TO {who} WITH GRANT OPTION;"));
        } else {
            lines.push(format!(
                "GRANT ALL PRIVILEGES ON *.* TO {who} IDENTIFIED BY '{password}' WITH GRANT OPTION;"
            ));
        }
    }
    lines.join("\n") + "\n"
}

/// Whether a server removes an account only where it is there.
fn has_if_exists(software: &Software) -> bool {
    let from = if software.is_mariadb() { Version::new(10, 1, 3) } else { Version::new(5, 7, 8) };
    software.numbers() >= from
}

/// MySQL 8.0 has no `GRANT ... IDENTIFIED BY`; 5.5 can do either, but its sql_mode may forbid the one that
/// makes accounts.
fn has_create_user(software: &Software) -> bool {
    software.is_mariadb() || software.numbers() >= Version::new(5, 7, 0)
}

/// Name of the account that is checked by this plug-in.
fn name(plugin: Authentication) -> &'static str {
    match plugin {
        Authentication::MysqlNativePassword => "prony_native",
        Authentication::CachingSha2Password => "prony_caching",
        Authentication::Sha256Password => "prony_sha256",
        Authentication::Ed25519 => "prony_ed25519",
    }
}

/// Why a server of this build has no accounts that this plug-in checks; `None`: it has.
#[must_use]
pub fn no_plugin(build: Build<'_>, plugin: Authentication) -> Option<String> {
    let Build { product, version } = build;
    let is_mariadb = product == "mariadb";
    let from = match (plugin, is_mariadb) {
        (Authentication::MysqlNativePassword | Authentication::Sha256Password, false) => "5.7",
        (Authentication::CachingSha2Password, false) => "8.0",
        (Authentication::MysqlNativePassword | Authentication::Ed25519, true) => "10.4",
        _ => return Some(format!("{product} does not have {}", plugin.name())),
    };
    // on, as it is there by default
    let below = (plugin == Authentication::MysqlNativePassword && !is_mariadb).then_some("8.4");
    let has = build.is_between(None, Some(from), below);
    let until = below.map_or_else(String::new, |below| format!(" and below {below}"));
    (!has).then(|| format!("it takes {product} {from} or newer{until}; this is {version}"))
}

/// How to log in to a server with an account that this plug-in checks, where `target` is its owner. The
/// account is made if it is not there, and whether it was made.
///
/// # Errors
/// What the server says.
pub fn log_in_by(plugin: Authentication, target: &Target) -> Result<(Target, bool), client::Error> {
    let own = Target { user: name(plugin).to_owned(), ..target.clone() };
    if Connection::open(&own, WAIT).is_ok() {
        return Ok((own, false));
    }
    let mut owner = Connection::open(target, WAIT)?;
    let password = family::spoken().literal(target.password.reveal());
    let identified = match plugin {
        Authentication::Ed25519 => {
            // where it is there already, and where it cannot be had, the statement below tells
            let _ = owner.query("INSTALL SONAME 'auth_ed25519'");
            format!("VIA ed25519 USING PASSWORD({password})")
        }
        Authentication::MysqlNativePassword if is_mariadb(&mut owner)? => {
            format!("VIA mysql_native_password USING PASSWORD({password})")
        }
        plugin => format!("WITH {} BY {password}", plugin.name()),
    };
    let address = match &target.address {
        Address::Tcp { host, .. } => host.parse().ok(),
        Address::Unix(_) => None,
    };
    for host in hosts(address.unwrap_or(Ipv4Addr::LOCALHOST.into())) {
        let who = format!("'{}'@'{host}'", own.user);
        // one with the password of another server, whose files it came with
        let _ = owner.query(&format!("DROP USER {who}"));
        owner.query(&format!("CREATE USER {who} IDENTIFIED {identified}"))?;
        owner.query(&format!("GRANT ALL PRIVILEGES ON *.* TO {who}"))?;
    }
    Ok((own, true))
}

fn is_mariadb(connection: &mut Connection) -> Result<bool, client::Error> {
    let answer = connection.query("SELECT VERSION()")?;
    Ok(answer.first_value().is_some_and(|version| version.contains("MariaDB")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Authentication::{CachingSha2Password, Ed25519, MysqlNativePassword, Sha256Password};

    #[test]
    fn what_a_server_cannot_check_is_known_beforehand() {
        let of = |product, version, plugin| no_plugin(Build { product, version }, plugin);
        assert_eq!(of("mariadb", "10.11.6", Ed25519), None);
        assert_eq!(of("mysql", "8.0.33", CachingSha2Password), None);
        assert_eq!(
            [of("mysql", "5.7.44", MysqlNativePassword), of("mysql", "9.7.0", Sha256Password)],
            [None, None]
        );
        let told = of("mysql", "9.7.0", MysqlNativePassword).unwrap();
        assert!(told.contains("below 8.4") && told.contains("9.7.0"), "{told}");
        for (product, version, plugin) in [
            ("mariadb", "10.3.39", Ed25519),
            ("mariadb", "10.11.6", CachingSha2Password),
            ("mysql", "5.7.44", CachingSha2Password),
            ("mysql", "8.0.33", Ed25519),
        ] {
            assert!(of(product, version, plugin).is_some(), "{product} {version}: {plugin:?}");
        }
    }
}
