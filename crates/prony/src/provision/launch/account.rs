//! The account and the schema that Prony makes in a server of its own, in the words of each generation.

use crate::provision::software::{Software, version::Version};

/// Over the socket it comes from the first, over TCP from the second, whichever of this machine's own
/// addresses a load connects from; with names resolved from the first. In a network namespace it comes from
/// the third, which is nobody's address.
const ACCOUNT_HOSTS: [&str; 3] = ["localhost", "127.%", "198.18.%"];

/// SQL for the server's `init_file`, a statement on each line: Prony's account with `password`, its `schema`,
/// and no way in for others. The binary log stays free of it.
pub(in crate::provision) fn statements(
    software: &Software,
    account: &str,
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
    for host in ACCOUNT_HOSTS {
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

/// MySQL 8.0 has no `GRANT ... IDENTIFIED BY`; 5.5 can do either, but its sql_mode may forbid the one that
/// makes accounts.
fn has_create_user(software: &Software) -> bool {
    software.is_mariadb() || software.numbers() >= Version::new(5, 7, 0)
}
