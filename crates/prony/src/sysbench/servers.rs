//! Where connections go: hosts, ports, sockets and TLS of the command line.

use super::line::{Line, Mistake, switch};
use load::{
    hub::Way,
    spec::{Address, Secret, Target, Tls, TlsMode, Trust},
};
use std::path::{Path, PathBuf};

/// Sockets that MySQL's client library and distributions use where the host is `localhost`.
const SOCKETS: [&str; 4] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
    "/var/run/mysqld/mysqld.sock",
];

/// Ways to servers, and how messages name each.
#[derive(Debug, Clone, Default)]
pub(super) struct Servers {
    pub(super) ways: Vec<Way>,
    pub(super) places: Vec<String>,
}

/// The servers of a command line, in the order in which connections take them.
pub(super) fn of(line: &Line) -> Result<Servers, Mistake> {
    let mut servers = Servers { ways: Vec::new(), places: Vec::new() };
    for address in addresses(line)? {
        let place = match &address {
            Address::Tcp { host, port } => format!("host '{host}', port {port}"),
            Address::Unix(path) => format!("socket '{}'", path.display()),
        };
        let target = target(line, address)?;
        servers.ways.push(Way::to(&target).map_err(|error| Mistake::Server(place.clone(), error))?);
        servers.places.push(place);
    }
    Ok(servers)
}

fn addresses(line: &Line) -> Result<Vec<Address>, Mistake> {
    let sockets = line.list("mysql-socket");
    if !sockets.is_empty() {
        return Ok(sockets.iter().map(|path| Address::Unix(PathBuf::from(path))).collect());
    }
    let mut found = Vec::new();
    for host in line.list("mysql-host") {
        for port in line.list("mysql-port") {
            let port = port.parse().map_err(|_| Mistake::Unusable("mysql-port", port))?;
            // as MySQL's client library has it: `localhost` is the Unix socket, where there is one
            let socket = SOCKETS.iter().find(|path| host == "localhost" && Path::new(path).exists());
            found.push(match socket {
                Some(path) if !line.is_given("mysql-port") => Address::Unix(PathBuf::from(path)),
                _ => Address::Tcp { host: host.clone(), port },
            });
        }
    }
    Ok(found)
}

/// Where 1.0.20 looks for the client's certificate and its key.
const CLIENT_FILES: [&str; 2] = ["client-cert.pem", "client-key.pem"];

fn target(line: &Line, address: Address) -> Result<Target, Mistake> {
    let path = |name: &str| Some(line.text(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    let (mut certificate, mut key) = (path("mysql-ssl-cert"), path("mysql-ssl-key"));
    let is_shown = CLIENT_FILES.iter().all(|file| Path::new(file).is_file());
    if is_shown && certificate.is_none() && key.is_none() && line.is_on("mysql-ssl") {
        [certificate, key] = CLIENT_FILES.map(|file| Some(PathBuf::from(file)));
    }
    let mode = match line.text("mysql-ssl").to_ascii_uppercase().as_str() {
        "DISABLED" => TlsMode::Disabled,
        "PREFERRED" => TlsMode::Preferred,
        "REQUIRED" => TlsMode::Required,
        "VERIFY_CA" => TlsMode::VerifyCa,
        "VERIFY_IDENTITY" => TlsMode::VerifyIdentity,
        other => match switch(&other.to_ascii_lowercase()) {
            Some(true) => TlsMode::Required,
            Some(false) => TlsMode::Disabled,
            None => return Err(Mistake::Unusable("mysql-ssl", line.text("mysql-ssl"))),
        },
    };
    Ok(Target {
        address,
        user: line.text("mysql-user"),
        password: Secret::new(line.text("mysql-password")),
        database: Some(line.text("mysql-db")).filter(|name| !name.is_empty()),
        tls: Tls { mode, ca: path("mysql-ssl-ca"), certificate, key },
        trust: Trust { get_server_public_key: line.is_on("prony-get-server-public-key"), ..Trust::default() },
        compress: line.is_on("mysql-compression")
            || line.list("mysql-compression-algorithms").iter().any(|name| name == "zlib"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_take_ports_in_turn_then_hosts_unless_there_are_sockets() {
        let of = |words: &[&str]| -> Vec<String> {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            let line = Line::read(&words).expect("a line");
            addresses(&line).expect("addresses").iter().map(ToString::to_string).collect()
        };
        let hosts = ["--mysql-host=a,b", "--mysql-port=1,2"];
        assert_eq!(of(&hosts), ["a:1", "a:2", "b:1", "b:2"]);
        assert_eq!(of(&[hosts[0], hosts[1], "--mysql-socket=/x,/y"]).len(), 2);
        assert_eq!(of(&["--mysql-host=localhost", "--mysql-port=3306"]), ["localhost:3306"]);
    }
}
