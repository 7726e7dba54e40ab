//! Which process of this machine, if any, is the server at the other end of a connection.
//!
//! Neither its address nor what the server says about itself tells: a loopback address may lead through a
//! tunnel or into a container, where the process number that the server reports may belong to another
//! process. But the kernel knows who holds the other end of a connection.

use crate::provision::NoProcess;
use load::{
    client::Connection,
    spec::{Address, Target},
};
use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    os::unix::fs::MetadataExt,
    path::Path,
};

/// Words of a command line among which the server's program is: behind a loader, its option and that option's
/// value.
const PROGRAM_WORDS: usize = 4;
/// States of a socket as `/proc/net/tcp` and `/proc/net/unix` have them.
const ESTABLISHED: &str = "01";
const LISTENING: &str = "00010000";

/// The process of the server at the other end of `connection`, which leads to `target`.
///
/// # Errors
/// [`NoProcess`].
pub fn process_of(connection: &mut Connection, target: &Target) -> Result<u32, NoProcess> {
    let end = match &target.address {
        Address::Unix(path) => listener(path),
        Address::Tcp { host, port } => {
            let is_local =
                host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
            if !is_local {
                return Err(NoProcess::Elsewhere);
            }
            client_port(connection).and_then(|client| other_end(*port, client))
        }
    };
    holder(end.ok_or(NoProcess::Behind)?)
}

/// A socket of this network namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Socket {
    inode: u64,
    /// Its owner; `None`: not told.
    user: Option<u32>,
}

/// The port from which the server sees this connection come.
fn client_port(connection: &mut Connection) -> Option<u16> {
    let ask = "SELECT HOST FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()";
    let answer = connection.query(ask).ok()?;
    answer.first_value()?.rsplit_once(':')?.1.parse().ok()
}

fn other_end(port: u16, client: u16) -> Option<Socket> {
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|file| {
        let text = fs::read_to_string(file).ok()?;
        text.lines().find_map(|line| tcp_socket(line, port, client))
    })
}

/// The socket of a line, if it is the end at `port` of a connection from `client` on the loopback interface.
fn tcp_socket(line: &str, port: u16, client: u16) -> Option<Socket> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [_, local, remote, state, _, _, _, user, _, inode, ..] = words.as_slice() else { return None };
    let (local, remote) = (end(local)?, end(remote)?);
    let is_it = *state == ESTABLISHED
        && (local.1, remote.1) == (port, client)
        && local.0.is_loopback()
        && remote.0.is_loopback();
    is_it.then_some(Socket { inode: inode.parse().ok()?, user: user.parse().ok() })
}

/// `0100007F:0CEA`: the address in words of the machine's byte order, and the port.
fn end(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| {
        let digits = address.get(at * 8..at * 8 + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = if address.len() == 8 {
        IpAddr::V4(Ipv4Addr::from(word(0)?))
    } else {
        let bytes: Vec<u8> = (0..4).map(word).collect::<Option<Vec<_>>>()?.concat();
        let v6 = Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?);
        v6.to_ipv4_mapped().map_or(IpAddr::V6(v6), IpAddr::V4)
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?))
}

/// The socket that listens at a path.
fn listener(path: &Path) -> Option<Socket> {
    let wanted = path.canonicalize().ok()?;
    let text = fs::read_to_string("/proc/net/unix").ok()?;
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, _, _, flags, _, _, inode, bound, ..] = words.as_slice() else { return None };
        let is_it = *flags == LISTENING && Path::new(bound).canonicalize().is_ok_and(|path| path == wanted);
        is_it.then_some(Socket { inode: inode.parse().ok()?, user: None })
    })
}

/// The server process that holds a socket. Where that cannot be seen, the only process that it can be.
fn holder(socket: Socket) -> Result<u32, NoProcess> {
    let link = format!("socket:[{}]", socket.inode);
    let mut hidden = Vec::new();
    for pid in server_processes() {
        match fs::read_dir(format!("/proc/{pid}/fd")) {
            Ok(files) => {
                let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
                if links.any(|each| each.as_os_str() == link.as_str()) {
                    return Ok(pid);
                }
            }
            Err(_) if socket.user.is_none_or(|user| user_of(pid) == Some(user)) => hidden.push(pid),
            Err(_) => {}
        }
    }
    match hidden.as_slice() {
        [] => Err(NoProcess::Behind),
        [pid] => Ok(*pid),
        _ => Err(NoProcess::Hidden),
    }
}

fn user_of(pid: u32) -> Option<u32> {
    fs::metadata(format!("/proc/{pid}")).ok().map(|metadata| metadata.uid())
}

/// Every process of this machine that is a server by its program's name.
fn server_processes() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| is_server(*pid)).collect()
}

fn is_server(pid: u32) -> bool {
    let Ok(words) = fs::read(format!("/proc/{pid}/cmdline")) else { return false };
    // The first word is the loader's name where a server runs through one of its own.
    let words = String::from_utf8_lossy(&words);
    let mut names = words.split('\0').take(PROGRAM_WORDS).filter_map(|word| Path::new(word).file_name());
    names.any(|name| name == "mysqld" || name == "mariadbd")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_other_end_is_known_by_both_ports_on_loopback() {
        let little = cfg!(target_endian = "little");
        let loopback = if little { "0100007F" } else { "7F000001" };
        let mapped =
            if little { "0000000000000000FFFF00000100007F" } else { "00000000000000000000FFFF7F000001" };
        let line = |local: &str, remote: &str, state: &str| {
            format!(
                "  5: {local}:0CEA {remote}:D431 {state} 00000000:00000000 00:00000000 00000000 112 0 4711 1"
            )
        };
        let found = Some(Socket { inode: 4711, user: Some(112) });
        assert_eq!(tcp_socket(&line(loopback, loopback, "01"), 3306, 54321), found);
        assert_eq!(tcp_socket(&line(mapped, mapped, "01"), 3306, 54321), found);
        assert_eq!(tcp_socket(&line(loopback, loopback, "0A"), 3306, 54321), None);
        assert_eq!(tcp_socket(&line(loopback, loopback, "01"), 3306, 54322), None);
        assert_eq!(tcp_socket(&line("0200000A", loopback, "01"), 3306, 54321), None);
        assert_eq!(tcp_socket("  sl  local_address rem_address   st", 3306, 54321), None);
    }
}
