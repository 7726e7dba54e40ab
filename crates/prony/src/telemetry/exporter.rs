//! The machine of a server elsewhere, as a Prometheus node_exporter there tells it:
//! `http://host:9100/metrics`, in the text format that
//! <https://prometheus.io/docs/instrumenting/exposition_formats/> describes. Its figures get the names that
//! this machine's own have.

use super::counts::{Counts, Source};
use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{TcpStream, ToSocketAddrs as _},
    time::Duration,
};

/// How long connecting, and each wait for bytes, may take.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// Bytes of an answer; a machine with thousands of interfaces tells about 2 MB.
const ANSWER_MAX: u64 = 16 << 20;
/// Disks and interfaces that are told at most.
const NAMES_MAX: usize = 16;

/// Counters of disks and interfaces: name there, label that says which, path here.
const LABELLED: &[(&str, &str, &str, &str)] = &[
    ("node_disk_reads_completed_total", "device", "disk", "reads"),
    ("node_disk_read_bytes_total", "device", "disk", "read_bytes"),
    ("node_disk_read_time_seconds_total", "device", "disk", "read_seconds"),
    ("node_disk_writes_completed_total", "device", "disk", "writes"),
    ("node_disk_written_bytes_total", "device", "disk", "written_bytes"),
    ("node_disk_write_time_seconds_total", "device", "disk", "write_seconds"),
    ("node_disk_io_time_seconds_total", "device", "disk", "busy"),
    ("node_disk_flush_requests_total", "device", "disk", "flushes"),
    ("node_disk_flush_requests_time_seconds_total", "device", "disk", "flush_seconds"),
    ("node_network_receive_bytes_total", "device", "network", "received_bytes"),
    ("node_network_transmit_bytes_total", "device", "network", "sent_bytes"),
    ("node_network_receive_packets_total", "device", "network", "received_packets"),
    ("node_network_transmit_packets_total", "device", "network", "sent_packets"),
];

/// Counters of the machine.
const COUNTERS: &[(&str, &str)] = &[
    ("node_context_switches_total", "context_switches"),
    ("node_intr_total", "interrupts"),
    ("node_pressure_cpu_waiting_seconds_total", "pressure/cpu_some"),
    ("node_pressure_io_waiting_seconds_total", "pressure/io_some"),
    ("node_pressure_io_stalled_seconds_total", "pressure/io_full"),
    ("node_pressure_memory_waiting_seconds_total", "pressure/memory_some"),
    ("node_pressure_memory_stalled_seconds_total", "pressure/memory_full"),
];

/// Levels of the machine.
const LEVELS: &[(&str, &str)] = &[
    ("node_procs_running", "run_queue"),
    ("node_procs_blocked", "blocked"),
    ("node_memory_MemAvailable_bytes", "memory_available_bytes"),
    ("node_memory_Dirty_bytes", "dirty_bytes"),
];

/// A node_exporter.
pub(super) struct Exporter {
    prefix: String,
    url: String,
}

impl Exporter {
    pub(super) fn new(prefix: &str, url: String) -> Self {
        Self { prefix: prefix.to_owned(), url }
    }
}

impl Source for Exporter {
    fn read(&mut self) -> Option<Counts> {
        let text = fetch(&self.url).ok()?;
        Some(counts(&text, &self.prefix))
    }
}

/// Host with its port, and path.
fn parts(url: &str) -> Option<(String, String)> {
    let url = url::Url::parse(url).ok().filter(|url| url.scheme() == "http")?;
    let host = url.host_str().filter(|host| !host.is_empty())?;
    let port = url.port_or_known_default()?;
    let path = if url.path() == "/" { "/metrics" } else { url.path() };
    Some((format!("{host}:{port}"), path.to_owned()))
}

/// The body of the answer. HTTP/1.0, so that it is neither chunked nor kept open.
fn fetch(url: &str) -> std::io::Result<String> {
    let fault = |text: &str| std::io::Error::other(text.to_owned());
    let (host, path) = parts(url).ok_or_else(|| fault("not an address"))?;
    let address = host.to_socket_addrs()?.next().ok_or_else(|| fault("no such host"))?;
    let mut stream = TcpStream::connect_timeout(&address, WAIT_MAX)?;
    stream.set_read_timeout(Some(WAIT_MAX))?;
    stream.set_write_timeout(Some(WAIT_MAX))?;
    // in one piece: there are small servers that read only once
    let request = format!("GET {path} HTTP/1.0\r\nHost: {host}\r\nAccept: text/plain\r\n\r\n");
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(|| fault("no answer of HTTP"))?;
    let status = head.split_ascii_whitespace().nth(1);
    if status == Some("200") { Ok(body.to_owned()) } else { Err(fault("it answers with an error")) }
}

fn counts(text: &str, prefix: &str) -> Counts {
    let mut cpu: BTreeMap<&str, f64> = BTreeMap::new();
    let mut counted = Vec::new();
    let (mut levels, mut boot) = (Vec::new(), 0);
    for sample in text.lines().filter_map(Sample::parse) {
        let Sample { name, value, .. } = sample;
        if name == "node_cpu_seconds_total" {
            let kind = match sample.label("mode").as_deref() {
                Some("user" | "nice") => "cpu_user",
                Some("system" | "irq" | "softirq") => "cpu_system",
                Some("idle") => "cpu_idle",
                Some("iowait") => "cpu_iowait",
                Some("steal") => "cpu_steal",
                _ => continue,
            };
            *cpu.entry(kind).or_default() += value;
        } else if name == "node_boot_time_seconds" {
            boot = value as u64;
        } else if let Some((_, path)) = COUNTERS.iter().find(|(known, _)| *known == name) {
            counted.push((format!("{prefix}/{path}"), value));
        } else if let Some((_, path)) = LEVELS.iter().find(|(known, _)| *known == name) {
            levels.push((format!("{prefix}/{path}"), value));
        } else if let Some((_, label, group, path)) = LABELLED.iter().find(|(known, ..)| *known == name)
            && value > 0.0
            && let Some(device) = sample.label(label).filter(|device| is_device(device))
        {
            counted.push((format!("{prefix}/{group}/{device}/{path}"), value));
        }
    }
    let mut counts = Counts::new(boot);
    counts.counters.extend(cpu.into_iter().map(|(kind, value)| (format!("{prefix}/{kind}"), value)));
    counts.counters.extend(counted.into_iter().take(NAMES_MAX * LABELLED.len()));
    counts.levels = levels;
    counts
}

/// Not one that is made of others or has nothing behind it.
fn is_device(name: &str) -> bool {
    !["loop", "ram", "zram", "sr", "dm-", "md", "veth", "docker", "br-"]
        .iter()
        .any(|kind| name.starts_with(kind))
}

/// A line of the text format.
#[derive(Debug, PartialEq)]
struct Sample<'a> {
    name: &'a str,
    labels: &'a str,
    value: f64,
}

impl<'a> Sample<'a> {
    /// `name{label="value",...} 1.5e3 TIME`; `None` for comments and what is no number.
    fn parse(line: &'a str) -> Option<Self> {
        let line = line.trim();
        if line.starts_with('#') {
            return None;
        }
        let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
        let (name, rest) = line.split_at(end);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(inner) => {
                let end = end_of_labels(inner)?;
                (&inner[..end], &inner[end + 1..])
            }
            None => ("", rest),
        };
        let value: f64 = rest.split_ascii_whitespace().next()?.parse().ok()?;
        (!name.is_empty() && value.is_finite()).then_some(Self { name, labels, value })
    }

    fn label(&self, name: &str) -> Option<String> {
        let mut rest = self.labels;
        while let Some((found, after)) = rest.split_once("=\"") {
            let (value, length) = unquoted(after)?;
            if found.trim_matches([',', ' ']) == name {
                return Some(value);
            }
            rest = after.get(length..)?;
        }
        None
    }
}

/// Where the brace is that closes the labels: not one inside quotes.
fn end_of_labels(text: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    for (at, character) in text.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(at),
            _ => {}
        }
    }
    None
}

/// A value up to its closing quote, and how many bytes it takes with that.
fn unquoted(text: &str) -> Option<(String, usize)> {
    let mut value = String::new();
    let mut escaped = false;
    for (at, character) in text.char_indices() {
        match character {
            'n' if escaped => value.push('\n'),
            _ if escaped => value.push(character),
            '\\' => {
                escaped = true;
                continue;
            }
            '"' => return Some((value, at + 1)),
            _ => value.push(character),
        }
        escaped = false;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{net::TcpListener, thread};

    const TEXT: &str = r#"# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu="0",mode="idle"} 1000.5
node_cpu_seconds_total{cpu="1",mode="idle"} 2000.25
node_cpu_seconds_total{cpu="0",mode="user"} 10
node_cpu_seconds_total{cpu="0",mode="nice"} 1
node_cpu_seconds_total{mode="softirq",cpu="0"} 4 1395066363000
node_cpu_guest_seconds_total{cpu="0",mode="user"} 99
node_disk_io_time_seconds_total{device="nvme0n1"} 1.25e+02
node_disk_io_time_seconds_total{device="loop3"} 5
node_network_receive_bytes_total{device="odd \"}\\ name"} 7
node_filesystem_readonly{device="/dev/x",mountpoint="/a}b"} 0
node_procs_running 3
node_scrape_collector_success{collector="x"} NaN
node_boot_time_seconds 1.7e+09
go_gc_duration_seconds{quantile="0"} +Inf
broken{a="b
"#;

    #[test]
    fn the_text_of_an_exporter_becomes_figures_of_a_machine() {
        let counts = counts(TEXT, "m");
        assert_eq!(counts.life, 1_700_000_000);
        assert_eq!(counts.levels, [("m/run_queue".to_owned(), 3.0)]);
        let counters: BTreeMap<String, f64> = counts.counters.into_iter().collect();
        let expected = [
            ("m/cpu_idle", 3000.75),
            ("m/cpu_system", 4.0),
            ("m/cpu_user", 11.0),
            ("m/disk/nvme0n1/busy", 125.0),
            ("m/network/odd \"}\\ name/received_bytes", 7.0),
        ];
        assert_eq!(counters, expected.map(|(path, value)| (path.to_owned(), value)).into());
    }

    #[test]
    fn addresses_are_checked_and_completed() {
        assert_eq!(parts("http://h"), Some(("h:80".to_owned(), "/metrics".to_owned())));
        assert_eq!(parts("http://h:1234/m"), Some(("h:1234".to_owned(), "/m".to_owned())));
        assert_eq!((parts("https://h/metrics"), parts("h:9100")), (None, None));
    }

    #[test]
    fn it_is_asked_over_http() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            for answer in [
                "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nnode_procs_running 7\n",
                "HTTP/1.1 404 Not Found\r\n\r\n",
            ] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut request = [0; 256];
                let length = stream.read(&mut request).unwrap();
                assert!(request[..length].starts_with(b"GET /metrics HTTP/1.0\r\n"));
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        let mut exporter = Exporter::new("m", format!("http://127.0.0.1:{port}/metrics"));
        assert_eq!(exporter.read().unwrap().levels, [("m/run_queue".to_owned(), 7.0)]);
        assert!(exporter.read().is_none(), "an error is no answer");
        server.join().unwrap();
        assert!(exporter.read().is_none(), "nobody is there");
    }
}
