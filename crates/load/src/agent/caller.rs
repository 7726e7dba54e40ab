//! The conductor's side: calls an agent, learns what it is, and gets a [`Link`] to a process on it that runs
//! a part of the load.

use super::{
    ANSWER_MAX, Answer, Call, Host, Purpose, Wants,
    sealed::{self, Closer, Ear, Mouth},
};
use crate::{
    clock::Moment,
    error::PartFailure,
    frame::{self, Hello, Said, Told},
    parts::Link,
    tls::Identity,
};
use rustls::{ClientConnection, pki_types::ServerName};
use std::{
    io,
    net::{TcpStream, ToSocketAddrs},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{self, RecvTimeoutError, Sender},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

/// How long connecting to one address of an agent may take.
const CONNECT_MAX: Duration = Duration::from_secs(5);
/// How often a held agent hears from its holder.
const SPEAK_EVERY: Duration = Duration::from_secs(2);

/// An agent that belongs to a run until this is dropped.
pub struct Hold {
    /// What it is.
    pub host: Host,
    is_lost: Arc<AtomicBool>,
    closer: Closer,
    over: Option<Sender<()>>,
    speaker: Option<JoinHandle<()>>,
}

impl Hold {
    /// Whether it is gone, or cannot be reached any more.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::Relaxed)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        drop(self.over.take());
        self.closer.close();
        if let Some(speaker) = self.speaker.take() {
            // it has nothing to tell
            let _ = speaker.join();
        }
    }
}

/// Reserves the agent at `address` (`HOST:PORT`) for the run, which will ask for no more than `wants`.
///
/// # Errors
/// Why it is not.
pub fn hold(address: &str, identity: &Identity, run: (&str, u64), wants: Wants) -> Result<Hold, PartFailure> {
    let (host, mut ear, mut mouth, closer) = reach(address, identity, run, Purpose::Hold(wants))?;
    let is_lost = Arc::new(AtomicBool::new(false));
    let (lost, (over, is_over)) = (Arc::clone(&is_lost), mpsc::channel::<()>());
    let speaker = thread::Builder::new().name("hold".to_owned()).spawn(move || {
        while is_over.recv_timeout(SPEAK_EVERY) == Err(RecvTimeoutError::Timeout) {
            let spoken = frame::write(&mut mouth, &Told::Clock(Moment::now()));
            if spoken.is_err() || !matches!(frame::read::<Said>(&mut ear), Ok(Some(_))) {
                lost.store(true, Ordering::Relaxed);
                return;
            }
        }
    });
    let speaker = speaker.map_err(|error| PartFailure::Unreachable { cause: error.to_string() })?;
    Ok(Hold { host, is_lost, closer, over: Some(over), speaker: Some(speaker) })
}

/// Calls the agent at `address` for a part of a load.
///
/// # Errors
/// Why it does not answer, or refuses.
pub fn call(address: &str, identity: &Identity, run: (&str, u64)) -> Result<Link, PartFailure> {
    let (host, ear, mouth, closer) = reach(address, identity, run, Purpose::Load)?;
    // from now on whoever listens looks at the clock
    ear.set_patience(None).map_err(|error| PartFailure::Unreachable { cause: error.to_string() })?;
    Ok(Link {
        name: format!("agent {address}"),
        process: None,
        from: Box::new(ear),
        to: Box::new(mouth),
        end: Box::new(move || {
            closer.close();
            // what became of it is known there only
            String::new()
        }),
        host: Some(host),
    })
}

fn reach(
    address: &str,
    identity: &Identity,
    (run, token): (&str, u64),
    purpose: Purpose,
) -> Result<(Host, Ear, Mouth, Closer), PartFailure> {
    let socket = connect(address).map_err(|error| PartFailure::Unreachable { cause: error.to_string() })?;
    let untrusted = |cause: String| PartFailure::Untrusted { cause };
    let config = identity.client().map_err(|error| untrusted(error.to_string()))?;
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']']);
    let name = ServerName::try_from(identity.name_of(host).to_owned())
        .map_err(|error| untrusted(error.to_string()))?;
    let tls = ClientConnection::new(config, name).map_err(|error| untrusted(error.to_string()))?;
    let (mut ear, mut mouth, closer) = sealed::open(socket, tls.into(), ANSWER_MAX).map_err(failure)?;
    // with TLS 1.3 it is now that one learns whether one's own certificate is accepted
    let hello = frame::read::<Hello>(&mut ear).map_err(failure)?;
    hello.ok_or_else(hung_up)?.check()?;
    let call = Call { run: run.to_owned(), token, purpose };
    frame::write(&mut mouth, &call).map_err(failure)?;
    match frame::read::<Answer>(&mut ear).map_err(failure)?.ok_or_else(hung_up)? {
        Answer::Welcome(host) => Ok((host, ear, mouth, closer)),
        Answer::Refused(failure) => Err(failure),
    }
}

fn connect(address: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "its name has no address");
    for found in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&found, CONNECT_MAX) {
            Ok(socket) => return Ok(socket),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn hung_up() -> PartFailure {
    PartFailure::Mute { end: String::new() }
}

/// What an error of the channel means before the first request.
fn failure(error: io::Error) -> PartFailure {
    let cause = error.to_string();
    if error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>()) {
        return PartFailure::Untrusted { cause };
    }
    match error.kind() {
        io::ErrorKind::InvalidData => PartFailure::Strange { cause },
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            PartFailure::Unanswered { seconds: ANSWER_MAX.as_secs() }
        }
        _ => PartFailure::Unreachable { cause },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
    use rustls::ServerConnection;
    use std::net::TcpListener;

    /// The identities of a coordinator and of an agent at 127.0.0.1.
    fn identities() -> [Identity; 2] {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = params.self_signed(&key).expect("an authority").pem();
        let issuer = Issuer::new(params, key);
        [ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth].map(|usage| {
            let key = KeyPair::generate().expect("a key");
            let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
            params.extended_key_usages = vec![usage];
            let certificate = params.signed_by(&key, &issuer).expect("a certificate").pem();
            let file = |text: &str| ("memory".into(), text.as_bytes().to_vec());
            Identity::new(file(&authority), file(&certificate), file(&key.serialize_pem()))
        })
    }

    /// What a caller concludes from an agent's first message.
    fn called(says: impl FnOnce(&mut Mouth) + Send + 'static) -> Option<PartFailure> {
        let [ours, theirs] = identities();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let agent = thread::spawn(move || {
            let (socket, _) = listener.accept().expect("a caller");
            let tls = ServerConnection::new(theirs.server().expect("ours")).expect("TLS");
            let (mut ear, mut mouth, _) = sealed::open(socket, tls.into(), ANSWER_MAX).expect("a handshake");
            says(&mut mouth);
            mouth.finish();
            // whatever the caller says
            let _ = io::copy(&mut ear, &mut io::sink());
        });
        let failure = hold(&address, &ours, ("a test", 1), Wants::default()).err();
        agent.join().expect("no panic");
        failure
    }

    #[test]
    fn another_version_is_known_by_the_first_thing_that_it_says() {
        let failure = called(|mouth| frame::write(mouth, &Hello::of_another()).expect("a caller"));
        let text = failure.expect("another version").to_string();
        let ours = env!("CARGO_PKG_VERSION");
        for words in ["another version of Prony (0.0.1, protocol 1;", ours, "use the same version everywhere"]
        {
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn one_that_says_nothing_or_nonsense_is_no_agent() {
        assert!(matches!(called(|_| ()), Some(PartFailure::Mute { .. })));
        let nonsense = called(|mouth| {
            use io::Write as _;
            mouth.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").expect("a caller");
        });
        assert!(matches!(nonsense, Some(PartFailure::Strange { .. })), "{nonsense:?}");
    }
}
