//! Load hosts elsewhere: an agent runs parts of loads for their conductor, one load at a time, over TLS in
//! which both sides show a certificate. `gate` is the agent's side, `caller` the other; both know the
//! frames of a load in parts, but nothing of their contents except the load itself.
//!
//! The agent speaks first and says who it is, so that another version is noticed before anything else is
//! said. The caller then says for which run it calls, and what for. An agent belongs to one run until all of
//! its connections are closed.

mod caller;
mod gate;
mod sealed;

pub use crate::host::{Host, Limits};
pub use caller::{Hold, call, hold};
pub use gate::{Agent, Event, serve};

use crate::{
    error::{Forbidden, PartFailure},
    spec::{Arrival, Spec, Stream},
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Time limit for a handshake, and for an answer that takes no work.
const ANSWER_MAX: Duration = Duration::from_secs(10);
/// How long the conductor of a load may be silent before the agent ends the load. More than a load's last
/// replies and reports take.
const SILENCE_MAX: Duration = Duration::from_secs(15);

/// Where agents listen if nothing else is said.
pub const PORT: u16 = 7433;

/// An agent's address in full; the port may be left out. `None`: not a valid address.
#[must_use]
pub fn address(text: &str) -> Option<String> {
    let is_host = |host: &str| {
        !host.is_empty() && !host.contains(|letter: char| letter.is_whitespace() || "/@,".contains(letter))
    };
    let text = text.trim();
    // an IPv6 address stands in brackets
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok().filter(|&port| port > 0)?),
        _ => (text, PORT),
    };
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_right = is_host(bare) && (bare.contains(':') == (bare != host));
    is_right.then(|| format!("{host}:{port}"))
}

/// What a load asks of each agent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Wants {
    /// Where its connections go.
    pub targets: Vec<String>,
    /// How many, idle ones included.
    pub connections: u32,
    /// Starts per second; `None`: nothing limits them.
    pub rate: Option<f64>,
    /// Warm-up and measurement.
    pub time: Duration,
    /// Whether it plays a script.
    pub script: bool,
}

impl Wants {
    /// What a load of so many parts asks of one.
    #[must_use]
    pub fn of(spec: &Spec, parts: u32) -> Self {
        let targets = spec.ways().map(|target| target.address.to_string()).collect();
        Self { targets, ..Self::of_streams(&spec.streams, spec.warm_up + spec.interval, parts) }
    }

    /// The sum over these streams, wherever they go.
    #[must_use]
    pub fn of_streams(streams: &[Stream], time: Duration, parts: u32) -> Self {
        let parts = parts.max(1);
        let connections: u32 = streams.iter().map(|stream| stream.connections + stream.idle).sum();
        let rates: Option<Vec<f64>> = streams.iter().map(rate).collect();
        Self {
            targets: Vec::new(),
            connections: connections.div_ceil(parts),
            rate: rates.map(|rates| rates.iter().sum::<f64>() / f64::from(parts)),
            time,
            script: streams.iter().any(|stream| stream.workload.script().is_some()),
        }
    }

    /// What asks as much as both.
    #[must_use]
    pub fn or(mut self, other: Self) -> Self {
        self.targets.extend(other.targets);
        Self {
            targets: self.targets,
            connections: self.connections.max(other.connections),
            rate: self.rate.zip(other.rate).map(|(one, two)| one.max(two)),
            time: self.time.max(other.time),
            script: self.script || other.script,
        }
    }
}

/// Most starts per second of a stream; `None`: as many as the server completes.
fn rate(stream: &Stream) -> Option<f64> {
    let wait = match &stream.arrival {
        Arrival::Closed => return None,
        Arrival::Open { rate, .. } => return Some(rate.peak()),
        Arrival::Paced { every, .. } => *every,
        Arrival::Think(_) | Arrival::Waits(_) => stream.arrival.wait_mean(&stream.workload),
    };
    Some(f64::from(stream.connections) / wait.as_secs_f64().max(1e-9))
}

impl Limits {
    /// Whether a load may ask so much.
    ///
    /// # Errors
    /// What it may not.
    pub fn check(&self, wants: &Wants) -> Result<(), Forbidden> {
        if let Some(target) = wants.targets.iter().find(|target| !self.allows(target)) {
            return Err(Forbidden::Target { target: target.clone(), allowed: self.targets.join(", ") });
        }
        if wants.script && !self.scripts {
            return Err(Forbidden::Script);
        }
        if let Some(most) = self.connections.filter(|&most| wants.connections > most) {
            return Err(Forbidden::Connections { asked: wants.connections, most });
        }
        match (self.rate, wants.rate) {
            (Some(most), None) => return Err(Forbidden::Unlimited { most }),
            (Some(most), Some(rate)) if rate > most as f64 => {
                return Err(Forbidden::Rate { asked: rate.ceil() as u64, most });
            }
            _ => {}
        }
        match self.time.filter(|&most| wants.time > most) {
            Some(most) => Err(Forbidden::Time { asked: wants.time.as_secs(), most: most.as_secs() }),
            None => Ok(()),
        }
    }

    /// Names are compared as they are written: what a name leads to is the agent's business.
    fn allows(&self, target: &str) -> bool {
        self.targets.iter().any(|allowed| {
            let host = |of: &str| of.rsplit_once(':').map(|(host, _)| host.to_lowercase());
            allowed.eq_ignore_ascii_case(target)
                || allowed.ends_with(":*") && !target.starts_with('/') && host(allowed) == host(target)
        })
    }
}

/// What a caller says first.
#[derive(Debug, Serialize, Deserialize)]
struct Call {
    /// The run, in words for another caller who finds the agent busy.
    run: String,
    /// Tells runs of the same name apart.
    token: u64,
    purpose: Purpose,
}

/// What an agent is called for.
#[derive(Debug, Serialize, Deserialize)]
enum Purpose {
    /// Reserve the agent for the run, which will ask for no more than this.
    Hold(Wants),
    /// To carry out a part of a load.
    Load,
}

/// What the agent answers.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    /// It does; this is what it is.
    Welcome(Host),
    /// It does not.
    Refused(PartFailure),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_is_called_by_host_and_port() {
        for (text, expected) in [
            ("a", Some("a:7433")),
            (" a.example.com:1 ", Some("a.example.com:1")),
            ("10.0.0.7:7500", Some("10.0.0.7:7500")),
            ("[::1]:7500", Some("[::1]:7500")),
            ("[fe80::1]", Some("[fe80::1]:7433")),
            ("::1", None),
            ("a:0", None),
            ("a:port", None),
            (":7433", None),
            ("user@a:7433", None),
            ("", None),
        ] {
            assert_eq!(address(text).as_deref(), expected, "{text}");
        }
    }
}
