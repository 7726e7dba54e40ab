//! Agents that are threads of the test, behind real TLS on loopback.

use load::{
    Link, Parts,
    agent::{self, Agent, Event, Host, Limits},
    tls::Identity,
};
use rcgen::{BasicConstraints, CertificateParams, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair};
use std::{
    io,
    net::{Shutdown, TcpListener},
    os::unix::net::UnixStream,
    sync::{Arc, Mutex},
    thread,
};

/// An authority that signs for both sides.
pub(crate) struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let pem = params.self_signed(&key).expect("an authority").pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    fn sign(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        params.extended_key_usages = vec![usage];
        let certificate = params.signed_by(&key, &self.issuer).expect("a certificate").pem();
        let file = |name: &str, text: &str| (name.into(), text.as_bytes().to_vec());
        let (authority, own) = (file("ca.pem", &self.pem), file("certificate.pem", &certificate));
        Identity::new(authority, own, file("key.pem", &key.serialize_pem()))
    }

    pub(crate) fn of_coordinator(&self) -> Arc<Identity> {
        Arc::new(self.sign("coordinator", ExtendedKeyUsagePurpose::ClientAuth))
    }

    pub(crate) fn of_agent(&self, name: &str) -> Identity {
        self.sign(name, ExtendedKeyUsagePurpose::ServerAuth)
    }
}

/// What an agent of a test does and has told.
#[derive(Clone)]
pub(crate) struct Threads {
    pub(crate) limits: Limits,
    pub(crate) told: Arc<Mutex<Vec<String>>>,
    /// The part's end of what leads to the threads that carry it out.
    pub(crate) running: Arc<Mutex<Vec<UnixStream>>>,
}

impl Threads {
    pub(crate) fn allowing(targets: &[&str]) -> Self {
        let targets = targets.iter().map(|target| (*target).to_owned()).collect();
        let limits = Limits { targets, ..Limits::default() };
        Self { limits, told: Arc::default(), running: Arc::default() }
    }

    /// Serves on a port of its own, whose address is returned.
    pub(crate) fn serve(&self, identity: Identity) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let agent = self.clone();
        thread::spawn(move || agent::serve(&listener, &identity, agent));
        address
    }
}

impl Agent for Threads {
    fn host(&self) -> Host {
        let limits = self.limits.clone();
        Host { name: "a-test".to_owned(), processors: 2, limits, ..Host::default() }
    }

    fn start(&self) -> io::Result<Link> {
        let (here, there) = UnixStream::pair()?;
        self.running.lock().expect("no panic").push(there.try_clone()?);
        thread::spawn(move || {
            let from = there.try_clone().expect("a socket");
            // whoever asked may be gone
            let _ = load::part::serve(from, there, None, None);
        });
        Ok(Link {
            name: "a part".to_owned(),
            process: None,
            from: Box::new(here.try_clone()?),
            to: Box::new(here.try_clone()?),
            end: Box::new(move || {
                // it is closed already where the other end is gone
                let _ = here.shutdown(Shutdown::Both);
                "its socket was closed".to_owned()
            }),
            host: None,
        })
    }

    fn tell(&self, event: &Event<'_>) {
        self.told.lock().expect("no panic").push(format!("{event:?}"));
    }
}

/// Carries loads out at these agents.
pub(crate) fn loader(addresses: Vec<String>, identity: Arc<Identity>) -> Parts {
    Parts::new(addresses.len() as u32, move |of| {
        let call = |address: &String| {
            let called = agent::call(address, &identity, ("a test", 1));
            called.map_err(|failure| load::Error::Part { part: format!("agent {address}"), failure })
        };
        addresses.iter().take(of as usize).map(call).collect()
    })
}

/// So many agents that allow every port of this machine, and what carries loads out at them.
pub(crate) fn agents(count: u32) -> Parts {
    let authority = Authority::new();
    let serve = |_| Threads::allowing(&["127.0.0.1:*"]).serve(authority.of_agent("127.0.0.1"));
    loader((0..count).map(serve).collect(), authority.of_coordinator())
}
