//! Whether new connections will run out of ports, known before the load: a closed TCP connection keeps its
//! port for a minute (TIME_WAIT), so one address of a client can open only a few hundred connections per
//! second.

use load::{
    Spec,
    spec::{Address, Arrival, ConnectionMode, Stream},
};
use std::{fmt, fs, net::IpAddr, time::Duration};

/// How long the kernel keeps a closed connection's port; fixed in Linux (TCP_TIMEWAIT_LEN).
const TIME_WAIT: Duration = Duration::from_secs(60);
/// How soon it may be used again where tcp_tw_reuse is on: when the clock of TCP timestamps has moved on.
const REUSE: Duration = Duration::from_secs(1);
/// More connections than any machine opens in a second, for lack of a better estimate of a closed loop.
const RATE_MAX: f64 = 50_000.0;

/// What the kernel says about ports.
struct Kernel {
    /// Ports for outgoing connections of one address.
    ports: f64,
    /// tcp_tw_reuse: 0 never, 1 always, 2 on loopback.
    reuse: u32,
}

impl Kernel {
    fn read() -> Option<Self> {
        let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
        let mut numbers = range.split_whitespace().map(|number| number.parse::<f64>().ok());
        let (low, high) = (numbers.next()??, numbers.next()??);
        let reuse = fs::read_to_string("/proc/sys/net/ipv4/tcp_tw_reuse").ok()?.trim().parse().ok()?;
        Some(Self { ports: high - low + 1.0, reuse })
    }
}

/// New connections will run out of ports.
#[derive(Debug, Clone, PartialEq)]
pub struct FewPorts {
    /// Most connections that the load opens, per second.
    pub opened_per_second: f64,
    /// How long each keeps its port after it is closed.
    pub held: Duration,
    /// Addresses that the load connects from.
    pub addresses: usize,
    /// Ports of all of them.
    pub ports: f64,
    /// Connections that they allow, per second.
    pub possible_per_second: f64,
    /// Addresses that would do, where the server is on this machine.
    pub enough: Option<u32>,
}

impl fmt::Display for FewPorts {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses = match self.addresses {
            1 => "one address".to_owned(),
            several => format!("{several} addresses"),
        };
        let remedy = match self.enough {
            Some(enough) => {
                let sources: Vec<String> = (2..2 + enough).map(|last| format!("127.0.0.{last}")).collect();
                format!("give it more addresses, --source {}", sources.join(","))
            }
            None => "give it more source addresses of this machine (--source ADDRESS,...), or set sysctl \
                     net.ipv4.tcp_tw_reuse=1"
                .to_owned(),
        };
        write!(
            to,
            "ports may run out: this load opens up to {:.0} connections per second, each keeps its port for \
             {} s after it is closed, and {addresses} with {} ports allow {:.0} per second. {remedy}, or \
             connect by Unix socket",
            self.opened_per_second,
            self.held.as_secs(),
            self.ports,
            self.possible_per_second
        )
    }
}

/// Whether the ports will not suffice; `login` is how long one connection takes to open.
#[must_use]
pub fn few_ports(spec: &Spec, login: Duration) -> Option<FewPorts> {
    let Address::Tcp { host, .. } = &spec.target.address else { return None };
    assess(spec, login, is_loopback(host), &Kernel::read()?)
}

pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn assess(spec: &Spec, login: Duration, loopback: bool, kernel: &Kernel) -> Option<FewPorts> {
    let rate: f64 = spec.streams.iter().map(|stream| opened_per_second(stream, login)).sum();
    let held = match kernel.reuse {
        1 => REUSE,
        2 if loopback => REUSE,
        _ => TIME_WAIT,
    };
    let addresses = spec.sources.len().max(1);
    let ports = kernel.ports * addresses as f64;
    let kept: u32 = spec.streams.iter().map(|stream| stream.connections + stream.idle).sum();
    let free = (ports - f64::from(kept)).max(0.0);
    let time = held.min(spec.warm_up + spec.interval).as_secs_f64();
    if rate * time <= free {
        return None;
    }
    let needed = ((rate * time + f64::from(kept)) / kernel.ports).ceil();
    Some(FewPorts {
        opened_per_second: rate,
        held,
        addresses,
        ports,
        possible_per_second: free / time,
        enough: loopback.then_some((needed as u32).clamp(2, 8)),
    })
}

/// New connections in a second: at most what the connections can open one after the other.
fn opened_per_second(stream: &Stream, login: Duration) -> f64 {
    let each = login.as_secs_f64().max(1e-6);
    let busy = (f64::from(stream.connections) / each).min(RATE_MAX);
    let (transactions, statements) = match stream.connect {
        ConnectionMode::Long => return 0.0,
        ConnectionMode::Transactions(count) => (1.0 / f64::from(count.max(1)), 1.0),
        ConnectionMode::Statement => (1.0, statements_of(stream)),
    };
    let starts = match &stream.arrival {
        Arrival::Open { rate, .. } => rate.peak(),
        Arrival::Paced { every, .. } => f64::from(stream.connections) / every.as_secs_f64().max(1e-6),
        Arrival::Closed | Arrival::Think(_) | Arrival::Waits(_) => f64::INFINITY,
    };
    (starts * transactions * statements).min(busy)
}

/// Statements of the longest transaction.
fn statements_of(stream: &Stream) -> f64 {
    let of = |transaction: &load::spec::Transaction| {
        let is_statement = |step: &&load::spec::Step| matches!(step, load::spec::Step::Statement(_));
        transaction.steps.iter().filter(is_statement).count()
    };
    stream.workload.transactions().iter().map(of).max().unwrap_or(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::spec::{Gaps, Rate, Target, Tls, Workload};

    fn spec(connect: ConnectionMode, rate: Option<f64>, seconds: u64) -> Spec {
        let address = Address::Tcp { host: "db".to_owned(), port: 3306 };
        let (user, password, tls) = ("user".to_owned(), Default::default(), Tls::default());
        let trust = Default::default();
        let target = Target { address, user, password, database: None, tls, trust, compress: false };
        let workload = Workload::new("none", 1, Vec::new());
        let arrival = match rate.map(Rate::Constant) {
            Some(rate) => Arrival::Open { rate, gaps: Gaps::Poisson, lateness_max: None },
            None => Arrival::Closed,
        };
        let stream = Stream { arrival, connect, ..Stream::new("main", workload, 100) };
        Spec::new(target, vec![stream], Duration::ZERO, Duration::from_secs(seconds))
    }

    const LOGIN: Duration = Duration::from_millis(1);
    const ORDINARY: Kernel = Kernel { ports: 28_232.0, reuse: 2 };

    #[test]
    fn short_connections_run_out_of_ports_and_lasting_ones_do_not() {
        let each = ConnectionMode::Transactions(1);
        let says =
            |spec: &Spec, loopback| assess(spec, LOGIN, loopback, &ORDINARY).map(|few| few.to_string());
        assert_eq!(says(&spec(ConnectionMode::Long, None, 600), false), None);
        // 470 in a second is what one address can do for long
        assert_eq!(says(&spec(each, Some(400.0), 600), false), None);
        let text = says(&spec(each, Some(1000.0), 600), false).expect("a remark");
        for part in ["1000 connections per second", "60 s", "28232 ports", "469 per second", "tcp_tw_reuse"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        // a short load is over before the ports are
        assert_eq!(says(&spec(each, Some(1000.0), 20), false), None);
        assert_eq!(says(&spec(ConnectionMode::Transactions(100), Some(1000.0), 600), false), None);
        let closed = says(&spec(each, None, 600), true).expect("50,000 in a second are too many");
        assert!(closed.contains("--source 127.0.0.2,127.0.0.3"), "{closed}");
        assert_eq!(says(&spec(each, Some(10_000.0), 600), true), None, "loopback uses ports again after 1 s");
    }

    #[test]
    fn more_addresses_have_more_ports() {
        let mut asked = spec(ConnectionMode::Transactions(1), Some(1000.0), 600);
        asked.sources = (2..5).map(|last| IpAddr::from([10, 0, 0, last])).collect();
        assert_eq!(assess(&asked, LOGIN, false, &ORDINARY), None);
    }
}
