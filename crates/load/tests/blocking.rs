//! The blocking client against servers that do what a real one cannot be made to do: certificates of every
//! kind, TLS that fails, silence.

use load::{
    client::{Connection, Error},
    spec::{Address, Secret, Target, Tls, TlsMode},
};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::{
    RootCertStore, ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
    server::WebPkiClientVerifier,
};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};
use tempfile::TempDir;
use wire::{
    ColumnKind,
    constants::{capability, column_type},
    server::{CAPABILITIES, ColumnDefinition, Finish, Greeting, Request},
};

const PATIENCE: Duration = Duration::from_secs(5);

/// An authority, a certificate of it for `name`, and one for clients; also as files.
struct Certificates {
    files: TempDir,
    server: Vec<CertificateDer<'static>>,
    server_key: Vec<u8>,
    roots: RootCertStore,
}

fn certificates(name: &str) -> Certificates {
    let files = tempfile::tempdir().expect("directory");
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("key");
    let authority = params.self_signed(&key).expect("authority");
    let issuer = Issuer::new(params, key);
    let leaf = |name: &str| {
        let key = KeyPair::generate().expect("key");
        let params = CertificateParams::new(vec![name.to_owned()]).expect("a name");
        (params.signed_by(&key, &issuer).expect("certificate"), key)
    };
    let (server, server_key) = leaf(name);
    let (client, client_key) = leaf("a client");
    for (file, text) in [
        ("ca.pem", authority.pem()),
        ("client.pem", client.pem()),
        ("client.key", client_key.serialize_pem()),
    ] {
        std::fs::write(files.path().join(file), text).expect("file");
    }
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).expect("root");
    Certificates { files, server: vec![server.der().clone()], server_key: server_key.serialize_der(), roots }
}

impl Certificates {
    fn config(&self, ask_client: bool) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().expect("versions");
        let key = PrivateKeyDer::try_from(self.server_key.clone()).expect("key");
        let roots = Arc::new(self.roots.clone());
        let builder = if ask_client {
            let verifier =
                WebPkiClientVerifier::builder_with_provider(roots, provider).build().expect("verifier");
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        Arc::new(builder.with_single_cert(self.server.clone(), key).expect("certificate"))
    }

    fn tls(&self, mode: TlsMode) -> Tls {
        let verifies = matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity);
        Tls { mode, ca: verifies.then(|| self.files.path().join("ca.pem")), ..Tls::default() }
    }
}

/// Listens, and gives each connection to `serve` in a thread of its own.
fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    listen_at("127.0.0.1:0", serve)
}

fn listen_at(place: &str, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind(place).expect("a free port");
    let address = listener.local_addr().expect("address");
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// A server with TLS that lets everybody in and answers each query with `yes`.
fn serve(mut stream: TcpStream, config: &Arc<ServerConfig>) {
    let mut out = Vec::new();
    let greeting = Greeting { capabilities: CAPABILITIES | capability::SSL, ..Greeting::default() };
    let mut server = wire::server::Connection::new(&greeting, &mut out);
    stream.write_all(&out).expect("greeting");
    if asks_for_tls(&mut stream, &mut server) {
        let tls = ServerConnection::new(Arc::clone(config)).expect("TLS");
        answer(&mut StreamOwned::new(tls, stream), &mut server);
    } else {
        answer(&mut stream, &mut server);
    }
}

/// Whether the login begins with the request for TLS, which is short; then that is read.
fn asks_for_tls(stream: &mut TcpStream, server: &mut wire::server::Connection) -> bool {
    const LENGTH: usize = 36;
    let mut header = [0; LENGTH];
    if stream.peek(&mut header).unwrap_or(0) < LENGTH || usize::from(header[0]) + 4 != LENGTH {
        return false;
    }
    stream.read_exact(&mut header).expect("it is there");
    matches!(server.next(&header), Ok((LENGTH, Some(Request::StartTls))))
}

fn answer(stream: &mut (impl Read + Write), server: &mut wire::server::Connection) {
    let (mut input, mut out) = (Vec::new(), Vec::new());
    loop {
        let mut piece = [0; 4096];
        let Ok(count @ 1..) = stream.read(&mut piece) else { return };
        input.extend_from_slice(&piece[..count]);
        while let Ok((used, Some(request))) = server.next(&input) {
            match request {
                Request::Login(_) => server.reply().ok(&mut out, &Finish::default()),
                Request::Query(_) => {
                    let kind = ColumnKind { code: column_type::VAR_STRING, unsigned: false };
                    server.reply().columns(&mut out, &[ColumnDefinition { name: "c", kind }]);
                    server.reply().text_row(&mut out, &[Some(b"yes")]);
                    server.reply().end_rows(&mut out, &Finish::default());
                }
                _ => {}
            }
            input.drain(..used);
        }
        if stream.write_all(&out).is_err() {
            return;
        }
        out.clear();
    }
}

fn target(address: SocketAddr, tls: Tls) -> Target {
    Target {
        address: Address::Tcp { host: address.ip().to_string(), port: address.port() },
        user: "somebody".into(),
        password: Secret::new("secret"),
        database: None,
        tls,
        trust: load::spec::Trust::default(),
        compress: false,
    }
}

fn open(address: SocketAddr, tls: Tls) -> Result<bool, Error> {
    let mut connection = Connection::open(&target(address, tls), PATIENCE)?;
    assert_eq!(connection.query("SELECT 'yes'").expect("answer").first_value(), Some("yes"));
    Ok(connection.is_encrypted())
}

#[test]
fn each_tls_mode_verifies_what_it_says() {
    let right = certificates("127.0.0.1");
    let other_name = certificates("elsewhere.example");
    for (server, right_name) in [(&right, true), (&other_name, false)] {
        let config = server.config(false);
        let address = listen(move |stream| serve(stream, &config));
        assert!(!open(address, server.tls(TlsMode::Disabled)).expect("disabled"));
        for mode in [TlsMode::Preferred, TlsMode::Required, TlsMode::VerifyCa] {
            assert!(open(address, server.tls(mode)).expect("encrypted"), "{mode:?}");
        }
        match open(address, server.tls(TlsMode::VerifyIdentity)) {
            Ok(encrypted) => assert!(encrypted && right_name),
            Err(error) => assert!(!right_name && error.to_string().contains("alternative names"), "{error}"),
        }
        // Somebody else's authority.
        let strangers = certificates("127.0.0.1");
        for mode in [TlsMode::VerifyCa, TlsMode::VerifyIdentity] {
            assert!(matches!(open(address, strangers.tls(mode)), Err(Error::Tls(_))), "{mode:?}");
        }
    }
}

#[test]
fn a_client_certificate_is_shown_where_the_server_asks() {
    let certificates = certificates("127.0.0.1");
    let config = certificates.config(true);
    let address = listen(move |stream| serve(stream, &config));
    let path = |name: &str| Some(certificates.files.path().join(name));
    let required = Tls { mode: TlsMode::Required, ..Tls::default() };
    assert!(open(address, required.clone()).is_err());
    let shown = Tls { certificate: path("client.pem"), key: path("client.key"), ..required.clone() };
    assert!(open(address, shown).expect("certificate"));
    let half = Tls { certificate: path("client.pem"), ..required.clone() };
    assert!(open(address, half).expect_err("no key").to_string().contains("needs both"));
    let missing = Tls { certificate: path("nowhere.pem"), key: path("client.key"), ..required };
    assert!(open(address, missing).expect_err("no file").to_string().contains("nowhere.pem"));
}

#[test]
fn preferred_goes_on_without_tls_where_it_fails_and_the_others_say_why() {
    // What yaSSL does with a client that speaks TLS 1.2 and later: an alert, `protocol version`.
    let address = listen(move |mut stream| {
        let mut out = Vec::new();
        let greeting = Greeting { capabilities: CAPABILITIES | capability::SSL, ..Greeting::default() };
        let mut server = wire::server::Connection::new(&greeting, &mut out);
        stream.write_all(&out).expect("greeting");
        if asks_for_tls(&mut stream, &mut server) {
            stream.write_all(&[21, 3, 1, 0, 2, 2, 70]).expect("alert");
            // An unread request would turn the close into a reset, which may overtake the alert.
            let _ = stream.read(&mut [0; 4096]);
        } else {
            answer(&mut stream, &mut server);
        }
    });
    assert!(!open(address, Tls { mode: TlsMode::Preferred, ..Tls::default() }).expect("without"));
    let error = open(address, Tls { mode: TlsMode::Required, ..Tls::default() }).expect_err("no TLS");
    assert!(error.to_string().contains("yaSSL"), "{error}");
}

#[test]
fn ipv6_works() {
    let config = certificates("::1").config(false);
    let address = listen_at("[::1]:0", move |stream| serve(stream, &config));
    assert!(!open(address, Tls::default()).expect("IPv6"));
    assert!(open(address, Tls { mode: TlsMode::Required, ..Tls::default() }).expect("IPv6 and TLS"));
}

/// A server that logs in and never answers; `lives`: it does answer `SELECT 1`.
fn silent_to_queries(lives: bool) -> SocketAddr {
    listen(move |mut stream| {
        let (mut input, mut out) = (Vec::new(), Vec::new());
        let mut server = wire::server::Connection::new(&Greeting::default(), &mut out);
        loop {
            if stream.write_all(&out).is_err() {
                return;
            }
            out.clear();
            let mut piece = [0; 4096];
            let Ok(count @ 1..) = stream.read(&mut piece) else { return };
            input.extend_from_slice(&piece[..count]);
            while let Ok((used, Some(request))) = server.next(&input) {
                let answers = matches!(request, Request::Login(_))
                    || (lives && matches!(request, Request::Query(b"SELECT 1")));
                if answers {
                    server.reply().ok(&mut out, &Finish::default());
                }
                input.drain(..used);
            }
        }
    })
}

#[test]
fn a_statement_without_an_answer_ends_at_its_limit_and_before_where_the_server_hangs() {
    let ask = |lives, limit, quiet| {
        let target = target(silent_to_queries(lives), Tls::default());
        let mut connection = Connection::open(&target, PATIENCE).expect("it logs in");
        connection.set_timeout(limit);
        connection.set_quiet(quiet);
        let begun = Instant::now();
        (connection.query("SELECT 2"), begun.elapsed())
    };
    let (limit, quiet) = (Duration::from_secs(3), Duration::from_secs(1));
    let (answer, took) = ask(true, Some(limit), quiet);
    assert!(matches!(answer, Err(Error::TimedOut)), "a server that lives may take its time: {answer:?}");
    assert!(took >= limit && took < 4 * limit, "{took:?}");
    let (answer, took) = ask(false, None, Duration::from_millis(300));
    assert!(matches!(answer, Err(Error::Hangs { .. })), "{answer:?}");
    assert!(took < PATIENCE, "{took:?}");
}

#[test]
fn the_whole_login_has_one_limit_however_slowly_it_goes() {
    let dribbling = listen(|mut stream| {
        let header = [0, 0x0f, 0, 0, 10];
        for byte in header.iter().chain(std::iter::repeat(&b'8')) {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(10));
        }
    });
    let limit = Duration::from_millis(500);
    let begun = Instant::now();
    let opened = Connection::open(&target(dribbling, Tls::default()), limit);
    assert!(matches!(opened, Err(Error::TimedOut)), "{opened:?}");
    assert!(begun.elapsed() < 2 * limit, "{:?}", begun.elapsed());
}

#[test]
fn silence_and_refusal_are_told_apart() {
    let silent = listen(|stream| {
        thread::sleep(PATIENCE);
        drop(stream);
    });
    let begun = Instant::now();
    let opened = Connection::open(&target(silent, Tls::default()), Duration::from_millis(200));
    assert!(matches!(opened, Err(Error::TimedOut)), "{opened:?}");
    assert!(begun.elapsed() < Duration::from_secs(2));

    let closing = listen(drop);
    assert!(matches!(open(closing, Tls::default()), Err(Error::Closed)));

    let full = listen(|mut stream| {
        stream.write_all(b"\x17\0\0\0\xff\x10\x04Too many connections").expect("refusal");
    });
    match open(full, Tls::default()) {
        Err(Error::Server { code: 1040, message, .. }) => assert_eq!(message, "Too many connections"),
        other => panic!("{other:?}"),
    }

    let nobody = TcpListener::bind("127.0.0.1:0").expect("port").local_addr().expect("address");
    let error = open(nobody, Tls::default()).expect_err("nobody listens");
    assert!(matches!(&error, Error::Connect { .. }) && error.to_string().contains("127.0.0.1"), "{error}");
}
