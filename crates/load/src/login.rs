//! How the connections of a load log in: addresses resolved, certificates read, once for all of them.

use crate::{
    client,
    error::Error,
    secrets::{Credentials, Secrets},
    socket::{Ended, Patience, Unconnected, ended, reach},
    spec::{Address, Spec, Target, TlsMode, is_used},
    stop::Stop,
    tls::Connector,
    transport::Peer,
};
use std::{net::IpAddr, sync::Arc, time::Duration};

/// Who no server knows, and what he says.
const STRANGER: (&str, &str) = ("prony_stranger", "not a password");
/// How long the server's address may take to answer at all.
const REACH_MAX: Duration = Duration::from_secs(10);

/// How connections of this load log in at one server.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub(crate) peer: Peer,
    pub(crate) options: Arc<wire::client::Options>,
    pub(crate) tls: Option<Connector>,
    /// See [`crate::Spec::sources`].
    pub(crate) sources: Vec<IpAddr>,
}

/// How to log in to each server; a server that no stream uses is not contacted.
pub(crate) fn logins(spec: &Spec, secrets: &Secrets, stop: &Stop) -> Result<Vec<Option<Login>>, Error> {
    let is_wanted = |server| is_used(&spec.streams, server, spec.members.len());
    let login = |(number, target)| {
        let wanted = is_wanted(number).then(|| login(target, &secrets.of_way(number), spec, stop));
        wanted.transpose()
    };
    let mut logins: Vec<Option<Login>> = spec.ways().enumerate().map(login).collect::<Result<_, _>>()?;
    let stranger = is_wanted(logins.len()).then(|| stranger(spec, secrets, stop)).transpose()?;
    logins.push(stranger);
    Ok(logins)
}

/// The way of [`crate::spec::Destination::Stranger`].
fn stranger(spec: &Spec, secrets: &Secrets, stop: &Stop) -> Result<Login, Error> {
    let mut known = login(&spec.target, &secrets.of_way(0), spec, stop)?;
    let options = Arc::make_mut(&mut known.options);
    (options.user, options.password) = (STRANGER.0.to_owned(), STRANGER.1.to_owned());
    Ok(known)
}

/// Resolves the address to one that answers, so that thousands of connections do not each try a dead one
/// first.
fn login(target: &Target, credentials: &Credentials, spec: &Spec, stop: &Stop) -> Result<Login, Error> {
    let unreachable = |reason: String| Error::Unreachable { address: target.address.to_string(), reason };
    let peer = match &target.address {
        Address::Unix(path) => Peer::Unix(path.clone()),
        Address::Tcp { host, port } => match reach(host, *port, Patience::new(REACH_MAX, Some(stop))) {
            Ok(address) => Peer::Tcp(address),
            Err(Unconnected::Name(error) | Unconnected::Nobody(_, error)) => {
                let is_stopped = ended(&error) == Some(Ended::Stopped);
                return Err(if is_stopped { Error::Interrupted } else { unreachable(error.to_string()) });
            }
        },
    };
    let failed = |source| Error::Tls { address: target.address.to_string(), source };
    let tls = Connector::new(target, credentials).map_err(failed)?;
    let mut options = client::options(target, credentials);
    // whether "preferred" comes to TLS depends on the server: asked once, so that all connections are of one
    // kind
    if target.tls.mode == TlsMode::Preferred {
        let probe = client::Connection::open_until(target, credentials, REACH_MAX, stop);
        match probe {
            Ok(probe) if !probe.is_encrypted() => options.tls = wire::client::TlsWish::Never,
            Ok(_) => {}
            Err(client::Error::Stopped) => return Err(Error::Interrupted),
            Err(error) => return Err(unreachable(error.to_string())),
        }
    }
    Ok(Login { peer, options: Arc::new(options), tls, sources: spec.sources.clone() })
}
