//! Servers whose TLS is not what the user asked for: each is refused with the reason and a way out, within a
//! time that has a limit, and nothing goes over the network unencrypted.

use crate::{
    program::{self, Home},
    server::{Fault, Hostile, Left},
};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::{ServerConfig, crypto::ring, pki_types::PrivateKeyDer};
use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

/// What a server answers to whom it has let in.
const INSIDE: &str = "said behind the login";
/// How the login of an unencrypted connection can be told.
const USER: &[u8] = b"somebody";
/// A bit more than the limit of a login, for a busy machine.
const BOUND: Duration = Duration::from_secs(45);

const LOAD: &[&str] = &["load", "oltp_point_select"];
const PREPARE: &[&str] = &["prepare", "oltp_point_select", "--rows=10"];

/// A server, and the file of the authority that its user trusts.
struct Case {
    server: Hostile,
    ca: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Wrong {
    Nothing,
    Expired,
    NotYet,
    OtherHost,
    OtherAuthority,
    SelfSigned,
}

fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
    let mut params = CertificateParams::new(Vec::new()).expect("no names");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let key = KeyPair::generate().expect("a key");
    (params.self_signed(&key).expect("an authority").pem(), Issuer::new(params, key))
}

fn case(directory: &Path, wrong: Wrong, left: Option<Left>) -> Case {
    let (trusted, issuer) = authority("trusted");
    let ca = directory.join(format!("{wrong:?}.pem"));
    std::fs::write(&ca, trusted).expect("a file");
    let key = KeyPair::generate().expect("a key");
    let host = if wrong == Wrong::OtherHost { "elsewhere.example" } else { "127.0.0.1" };
    let mut params = CertificateParams::new(vec![host.to_owned()]).expect("a name");
    match wrong {
        Wrong::Expired => params.not_after = date_time_ymd(2020, 1, 1),
        Wrong::NotYet => params.not_before = date_time_ymd(2999, 1, 1),
        _ => {}
    }
    let made = match wrong {
        Wrong::SelfSigned => params.self_signed(&key),
        Wrong::OtherAuthority => params.signed_by(&key, &authority("other").1),
        _ => params.signed_by(&key, &issuer),
    };
    Case { server: offering(&made.expect("a certificate"), &key, left), ca }
}

/// A server with this certificate.
fn offering(made: &Certificate, key: &KeyPair, left: Option<Left>) -> Hostile {
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("versions").with_no_client_auth();
    let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let chain = vec![made.der().clone()];
    let config = Arc::new(builder.with_single_cert(chain, key).expect("a certificate and its key"));
    Hostile::new(Fault::Encrypts(config, INSIDE, left))
}

impl Case {
    fn url(&self, mode: &str) -> String {
        let ca =
            if mode.starts_with("verify") { format!("&ssl-ca={}", self.ca.display()) } else { String::new() };
        format!("{}?ssl-mode={mode}{ca}", self.server.url())
    }

    fn run(&self, home: &Home, mode: &str, command: &[&str]) -> program::Ended {
        let ended = home.prony(&[command, &["--url", &self.url(mode)]].concat());
        assert_eq!(ended.code, Some(2), "{mode}: {}", ended.said());
        assert!(ended.took < BOUND, "{mode}: {:?} {}", ended.took, ended.said());
        let address = self.server.address().to_string();
        assert!(ended.said().contains(&address), "{mode}: no {address} in {}", ended.said());
        ended
    }

    /// Whether the server let the client in.
    fn lets_in(&self, home: &Home, mode: &str) {
        let ended = self.run(home, mode, PREPARE);
        assert!(ended.said().contains(INSIDE), "{mode}: {}", ended.said());
    }

    /// Whether the client turned away, with these words.
    fn is_refused(&self, home: &Home, mode: &str, words: &[&str]) {
        for command in [LOAD, PREPARE] {
            let said = self.run(home, mode, command).said();
            assert!(!said.contains(INSIDE), "{mode}: {said}");
            for word in words {
                assert!(said.contains(word), "{mode}: no {word} in {said}");
            }
        }
    }

    /// Whether anybody has logged in without TLS.
    fn heard_a_login(&self) -> bool {
        self.server.heard().windows(USER.len()).any(|window| window == USER)
    }
}

#[test]
fn each_wrong_certificate_is_refused_with_what_is_wrong_and_what_to_do() {
    let home = Home::new();
    // what is wrong, what `verify_ca` and `verify_identity` say about it; nothing: they are content
    let cases: [(Wrong, &[&str], &[&str]); 6] = [
        (Wrong::Nothing, &[], &[]),
        (Wrong::Expired, &["expired", "days ago: renew"], &["expired", "days ago: renew"]),
        (Wrong::NotYet, &["becomes valid only in", "clock"], &["becomes valid only in", "clock"]),
        (Wrong::OtherHost, &[], &["elsewhere.example", "127.0.0.1", "ssl-mode=verify_ca"]),
        (Wrong::OtherAuthority, &["no CA in `ssl-ca`"], &["no CA in `ssl-ca`"]),
        (Wrong::SelfSigned, &["no CA in `ssl-ca`"], &["no CA in `ssl-ca`"]),
    ];
    for (wrong, ca, identity) in cases {
        let case = case(home.path(), wrong, None);
        for (mode, words) in [("verify_ca", ca), ("verify_identity", identity)] {
            match words {
                [] => case.lets_in(&home, mode),
                words => case.is_refused(&home, mode, words),
            }
        }
        // these verify nothing, as their names say, but encrypt
        for mode in ["required", "preferred"] {
            case.lets_in(&home, mode);
        }
        assert!(!case.heard_a_login(), "{wrong:?}");
    }
}

#[test]
fn a_certificate_that_signed_itself_is_trusted_where_the_user_names_it_unless_it_is_an_authoritys() {
    let home = Home::new();
    for is_authority in [false, true] {
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a name");
        if is_authority {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        }
        let key = KeyPair::generate().expect("a key");
        let made = params.self_signed(&key).expect("a certificate");
        let ca = home.file("self.pem", &made.pem());
        let case = Case { server: offering(&made, &key, None), ca };
        for mode in ["verify_ca", "verify_identity"] {
            if is_authority {
                case.is_refused(&home, mode, &["CA:TRUE", "CA:FALSE"]);
            } else {
                case.lets_in(&home, mode);
            }
        }
    }
}

#[test]
fn a_handshake_that_breaks_off_is_told_and_only_preferred_goes_on_without_tls() {
    let home = Home::new();
    // before its first byte, within its first message, within its certificate
    for bytes in [0, 50, 400] {
        let case = case(home.path(), Wrong::Nothing, Some(Left { bytes, closes: true }));
        for mode in ["required", "verify_ca", "verify_identity"] {
            case.is_refused(&home, mode, &["the TLS handshake", "error log"]);
        }
        assert!(!case.heard_a_login(), "{bytes}");
        case.lets_in(&home, "preferred");
        assert!(case.heard_a_login(), "{bytes}");
    }
}

#[test]
#[ignore = "long: half a minute"]
fn a_handshake_that_falls_silent_is_given_up_and_no_mode_goes_on_without_tls() {
    let home = Home::new();
    let case = case(home.path(), Wrong::Nothing, Some(Left { bytes: 50, closes: false }));
    std::thread::scope(|scope| {
        for mode in ["required", "verify_ca", "preferred"] {
            let (home, case) = (&home, &case);
            scope.spawn(move || case.is_refused(home, mode, &["did not reply in time"]));
        }
    });
    assert!(!case.heard_a_login());
}
