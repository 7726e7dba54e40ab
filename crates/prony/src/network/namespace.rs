//! Network namespaces: each server in one of its own, joined to the machine and to others by pairs of
//! virtual Ethernet devices, on which netem delays packets. It needs root, the programs `ip`, `tc` and
//! `unshare`, and a kernel that has netem.
//!
//! A namespace has no name and no mount: a process of Prony's holds it, which cannot outlive Prony, and the
//! server that is in it. With the last of them it goes, and its devices with it, so that `kill -9` leaves
//! nothing to be swept.

use super::{Shape, WhyRelay};
use crate::provision::{
    Namespace,
    trampoline::{self, Bond},
};
use load::{
    client::{Connection, Error},
    spec::Target,
};
use std::{
    fs::{self, File},
    io::{self, BufRead as _, BufReader, Write as _},
    net::{Ipv4Addr, UdpSocket},
    path::{Path, PathBuf},
    process::{Child, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

/// Environment variable with another queueing discipline in the words of `tc`, where `{delay}` stands for the
/// time of one way and `{rate}` for the bandwidth: for a network that is lossy as well, or a kernel without
/// netem.
const DISCIPLINE_VARIABLE: &str = "PRONY_TC";
/// A queue longer than all packets that can be under way, since a packet that finds it full is lost.
const DISCIPLINE: &str = "netem delay {delay} limit 1000000";
/// What comes behind it where the bandwidth is stated.
const NARROW: &str = " rate {rate}";
/// How often the last words of a connection that has been closed are sent, in the namespace of who writes it.
const ORPHAN_RETRIES: &str = "/proc/sys/net/ipv4/tcp_orphan_retries";
/// Pairs have addresses of 198.18.0.0/16, which is set apart for measuring (RFC 2544), four for each pair.
const PAIRS: u32 = 1 << 14;
/// Pairs that a process has before it takes numbers that another one began with.
const PAIRS_OF_PROCESS: u32 = 32;

/// A network namespace for one server.
#[derive(Debug)]
pub struct Node {
    holder: Child,
    namespace: Namespace,
}

/// The queueing discipline of each end, as `tc` takes it.
#[must_use]
pub fn discipline(shape: Shape) -> String {
    let own = std::env::var(DISCIPLINE_VARIABLE).ok().filter(|text| !text.trim().is_empty());
    let usual = || format!("{DISCIPLINE}{}", shape.bandwidth.map_or("", |_| NARROW));
    let us = format!("{}us", shape.round_trip.as_nanos() as f64 / 2e3);
    let bits = format!("{}bit", shape.bandwidth.map_or(0, |bytes| bytes.saturating_mul(8)));
    own.unwrap_or_else(usual).replace("{delay}", &us).replace("{rate}", &bits)
}

/// Whether servers can have network namespaces on this machine, found out by doing it.
///
/// # Errors
/// Why not.
pub fn possible(launcher: &Path) -> Result<(), WhyRelay> {
    if !rustix::process::geteuid().is_root() {
        return Err(WhyRelay::NotRoot);
    }
    let missing = ["ip", "tc", "unshare"].into_iter().find(|name| !trampoline::is_program(name));
    if let Some(missing) = missing {
        return Err(WhyRelay::NoProgram(missing.to_owned()));
    }
    let node = Node::start(launcher).map_err(|error| WhyRelay::NoNamespace(error.to_string()))?;
    let narrow = Shape { round_trip: Duration::from_millis(1), bandwidth: Some(1 << 20) };
    queue(launcher, Some(&node.namespace.file), "lo", narrow)
        .map_err(|error| WhyRelay::NoDiscipline(last_words(&error.to_string()).to_owned()))
}

impl Node {
    /// Makes a namespace that the machine reaches without delay.
    ///
    /// # Errors
    /// What the kernel, or one of the programs, says.
    pub fn start(launcher: &Path) -> io::Result<Self> {
        let mut command = trampoline::command(launcher, Bond::Owner, "unshare", None);
        command.args(["--net", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let holder = trampoline::spawn(command, Bond::Owner)?;
        let file = PathBuf::from(format!("/proc/{}/ns/net", holder.id()));
        let mut node = Self { holder, namespace: Namespace { file, address: Ipv4Addr::LOCALHOST } };
        answer(&mut node.holder)?;
        ip(launcher, Some(&node.namespace.file), "link set lo up")?;
        // what servers left unsaid when they ended would otherwise keep the namespace for minutes, telling it
        // to nobody
        node.within(|| fs::write(ORPHAN_RETRIES, "1"))?;
        node.namespace.address = join(launcher, None, &node, Shape::default())?;
        Ok(node)
    }

    /// Does something in it, on a thread of its own, which alone is moved there.
    fn within<T: Send>(&self, what: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let done = scope.spawn(|| {
                File::open(&self.namespace.file).and_then(|file| trampoline::move_into(&file))?;
                what()
            });
            done.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// How a server gets into it, and where the machine then reaches it.
    #[must_use]
    pub fn namespace(&self) -> &Namespace {
        &self.namespace
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        // it may have ended by itself
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Waits until the holder is what it is to be: then it says what it hears.
fn answer(holder: &mut Child) -> io::Result<()> {
    let mut line = String::new();
    if let (Some(input), Some(output)) = (holder.stdin.as_mut(), holder.stdout.as_mut()) {
        // one that has ended cannot be told; its own words are below
        let _ = writeln!(input);
        BufReader::new(output).read_line(&mut line)?;
    }
    if !line.is_empty() {
        return Ok(());
    }
    let mut words = String::new();
    if let Some(complaint) = holder.stderr.as_mut() {
        BufReader::new(complaint).read_line(&mut words)?;
    }
    let _ = holder.wait();
    Err(io::Error::other(words.trim().to_owned()))
}

/// Puts a network of this shape between two namespaces, or the machine (`None`) and one. Returns the address
/// at which `from` then reaches `to`.
///
/// # Errors
/// What the kernel, or one of the programs, says.
pub fn join(launcher: &Path, from: Option<&Node>, to: &Node, shape: Shape) -> io::Result<Ipv4Addr> {
    let (number, [near, far]) = addresses()?;
    let (one, other) = (format!("prony{number}"), format!("far{number}"));
    let here = from.map(|node| node.namespace.file.as_path());
    let there = Some(to.namespace.file.as_path());
    ip(launcher, here, &format!("link add {one} type veth peer name {other} netns {}", to.holder.id()))?;
    for (namespace, device, address) in [(here, &one, near), (there, &other, far)] {
        ip(launcher, namespace, &format!("address add {address}/30 dev {device}"))?;
        ip(launcher, namespace, &format!("link set {device} up"))?;
        if !shape.is_plain() {
            queue(launcher, namespace, device, shape)?;
        }
    }
    Ok(far)
}

/// A number that no other pair of this machine has, and its two addresses.
fn addresses() -> io::Result<(u32, [Ipv4Addr; 2])> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    for _ in 0..PAIRS {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let number = (std::process::id() * PAIRS_OF_PROCESS + count) % PAIRS;
        let base = u32::from(Ipv4Addr::new(198, 18, 0, 0)) + 4 * number;
        let ends = [Ipv4Addr::from(base + 1), Ipv4Addr::from(base + 2)];
        // an address that this machine has can be bound to
        if UdpSocket::bind((ends[0], 0)).is_err() {
            return Ok((number, ends));
        }
    }
    Err(io::Error::other("all addresses of 198.18.0.0/16 are in use on this machine"))
}

fn queue(launcher: &Path, namespace: Option<&Path>, device: &str, shape: Shape) -> io::Result<()> {
    let words = format!("qdisc add dev {device} root {}", discipline(shape));
    execute(launcher, namespace, "tc", &words)
}

/// Of a complaint, what is said of the reason.
fn last_words(said: &str) -> &str {
    said.rsplit("Error: ").next().unwrap_or(said).trim_end_matches('.')
}

fn ip(launcher: &Path, namespace: Option<&Path>, words: &str) -> io::Result<()> {
    execute(launcher, namespace, "ip", words)
}

/// Runs a program in a namespace, or, without one, on the machine.
fn execute(launcher: &Path, namespace: Option<&Path>, program: &str, words: &str) -> io::Result<()> {
    trampoline::run(launcher, namespace, program, words.split_whitespace())
        .map_err(|error| io::Error::other(format!("{program} {words}: {error}")))
}

/// A connection that is opened in the namespace `from`, and stays there.
///
/// # Errors
/// As [`Connection::open`].
pub(super) fn open_in(from: &Node, target: &Target, wait: Duration) -> Result<Connection, Error> {
    let entered = from.within(|| -> io::Result<_> { Ok(Connection::open(target, wait)) });
    entered.map_err(|source| Error::Connect { address: target.address.to_string(), source })?
}
