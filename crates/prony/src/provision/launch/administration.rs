//! A way into a server of Prony's own that its load cannot fill: the port that it reserves for
//! administrators. Telemetry uses it.

use crate::provision::{
    settings::plain_name,
    software::{Software, version::Version},
};
use std::{collections::BTreeMap, net::IpAddr};

/// Whether this server, with this configuration, gets such a port: MariaDB where a thread pool might be
/// stuck, MySQL from the first version that has one. A study's own setting takes precedence.
pub(in crate::provision) fn has_port(software: &Software, settings: &BTreeMap<String, String>) -> bool {
    let value =
        |name: &str| settings.iter().find(|(known, _)| plain_name(known) == name).map(|(_, value)| value);
    if software.is_mariadb() {
        let is_pool = value("thread_handling").is_some_and(|value| value.contains("pool"));
        return is_pool && value("extra_port").is_none();
    }
    software.numbers() >= Version::new(8, 0, 14)
        && value("admin_address").is_none()
        && value("admin_port").is_none()
}

/// The lines of its option file for `port` at `host`.
pub(in crate::provision) fn lines(software: &Software, host: IpAddr, port: u16) -> String {
    if software.is_mariadb() {
        format!("extra_port = {port}\nextra_max_connections = 4\n")
    } else {
        format!("admin_address = {host}\nadmin_port = {port}\n")
    }
}
