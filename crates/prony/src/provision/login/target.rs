//! Where a server is and how to log in: from a URL, the environment and an option file.
//!
//! `mysql://user:password@host:port/database?ssl-mode=verify_ca&ssl-ca=/path&socket=/path&compress=1`;
//! `mariadb://` means the same. What a URL leaves out comes from the environment, then from the option file.
//! TLS is off unless asked for: it changes what is measured. `cleartext-password=1`,
//! `get-server-public-key=1` and `server-public-key-path=/path` say where the password itself may go.

use super::client_options::{self, Options};
use crate::provision::Error;
use load::spec::{Address, Secret, Target, Tls, TlsMode, Trust};
use std::path::{Path, PathBuf};
use url::Url;

/// Port of MySQL's protocol.
pub const DEFAULT_PORT: u16 = 3306;

/// The server that `url` names, else the environment (`PRONY_URL`), else the option file. Password: of the
/// URL, else `PRONY_PASSWORD`, else `MYSQL_PWD`, else of the option file where that one means the same user.
/// `option_file` is read instead of `~/.my.cnf`, and must be there.
///
/// # Errors
/// [`Error::NoAddress`] if nothing names a server, [`Error::Address`] and [`Error::OptionFile`] for mistakes.
/// No message has a password in it.
pub fn resolve(url: Option<&str>, option_file: Option<&Path>) -> Result<Target, Error> {
    Sources { url, option_file, variable: &|name| std::env::var(name).ok().filter(|value| !value.is_empty()) }
        .resolve()
}

/// A password that goes to a server that nothing but a study names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entrusted {
    /// Where the server is.
    pub address: Address,
    /// Where the password comes from: a variable of the environment, or `~/.my.cnf`.
    pub source: &'static str,
}

/// Whether the server at a study's `url` gets a password that is not the study's own, though neither
/// `PRONY_URL` nor the option file names that server: whoever wrote the study then chooses who gets it.
///
/// # Errors
/// As [`resolve`].
pub fn entrusted(url: &str) -> Result<Option<Entrusted>, Error> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    Sources { url: Some(url), option_file: None, variable: &variable }.entrusted()
}

/// `target` with the password that environment or option file have for its user.
///
/// # Errors
/// As [`resolve`].
pub(in crate::provision) fn with_password(target: Target) -> Result<Target, Error> {
    let mut url = Url::parse("mysql://localhost/").expect("a URL");
    // A URL with a host takes any user.
    let _ = url.set_username(&target.user);
    Ok(Target { password: resolve(Some(url.as_str()), None)?.password, ..target })
}

/// `url` without its password, for messages and the store. Text that is no URL is shortened rather than shown
/// whole.
#[must_use]
pub fn without_password(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("mysql", url));
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((login, host)) => {
            let user = login.split(':').next().unwrap_or_default();
            let at = if user.is_empty() { "" } else { "@" };
            format!("{scheme}://{user}{at}{host}{path}")
        }
        // A password with / ? or # in it, not escaped: what looks like host and path is a part of it.
        None if path.contains('@') && authority.contains(':') => {
            format!("{scheme}://{}:(hidden)", authority.split(':').next().unwrap_or_default())
        }
        None => url.to_owned(),
    }
}

/// `target` as a URL without its password.
#[must_use]
pub fn shown(target: &Target) -> String {
    let database = target.database.as_deref().unwrap_or_default();
    match &target.address {
        Address::Tcp { .. } => format!("mysql://{}@{}/{database}", target.user, target.address),
        Address::Unix(path) => {
            format!("mysql://{}@localhost/{database}?socket={}", target.user, path.display())
        }
    }
}

struct Sources<'a> {
    url: Option<&'a str>,
    option_file: Option<&'a Path>,
    variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Sources<'_> {
    fn resolve(&self) -> Result<Target, Error> {
        let options = self.options()?;
        let url = self.url.map(str::to_owned).or_else(|| (self.variable)("PRONY_URL"));
        let mut draft = match &url {
            Some(url) => Draft::of_url(url)?,
            None => Draft::of_options_alone(&options)?,
        };
        draft.take_tls_from(&options)?;
        draft.take_trust_from(&options)?;
        let user_in_file = options.get("user");
        let user = draft.user.clone().or_else(|| user_in_file.cloned()).unwrap_or_else(|| self.login_name());
        let found = self.password_beside(&options, &user).map(|(password, _)| password);
        let password = draft.password.clone().or(found);
        Ok(draft.into_target(user, password))
    }

    /// The password that a URL without one gets, and where it comes from.
    fn password_beside(&self, options: &Options, user: &str) -> Option<(String, &'static str)> {
        let variables = ["PRONY_PASSWORD", "MYSQL_PWD"].into_iter();
        let mut found = variables.filter_map(|name| Some(((self.variable)(name)?, name)));
        found.next().or_else(|| {
            let is_of_user = options.get("user").is_none_or(|name| name == user);
            options.get("password").filter(|_| is_of_user).map(|password| (password.clone(), "~/.my.cnf"))
        })
    }

    fn entrusted(&self) -> Result<Option<Entrusted>, Error> {
        let options = self.options()?;
        let target = self.resolve()?;
        let Some(draft) = self.url.map(Draft::of_url).transpose()?.filter(|draft| draft.password.is_none())
        else {
            return Ok(None);
        };
        let by_file = Draft::of_options_alone(&options).ok();
        let by_variable = (self.variable)("PRONY_URL").and_then(|url| Draft::of_url(&url).ok());
        let is_known = [by_file, by_variable].iter().flatten().any(|known| known.address == draft.address);
        let source =
            self.password_beside(&options, &target.user).filter(|(password, _)| !password.is_empty());
        Ok(source
            .filter(|_| !is_known)
            .map(|(_, source)| Entrusted { address: target.address.clone(), source }))
    }

    fn options(&self) -> Result<Options, Error> {
        if let Some(file) = self.option_file {
            return client_options::read(file);
        }
        let usual = (self.variable)("HOME").map(|home| PathBuf::from(home).join(".my.cnf"));
        match usual.filter(|file| file.is_file()) {
            Some(file) => client_options::read(&file),
            None => Ok(Options::new()),
        }
    }

    /// As the clients of MySQL do.
    fn login_name(&self) -> String {
        if rustix::process::geteuid().is_root() {
            return "root".to_owned();
        }
        let named = ["USER", "LOGNAME"].iter().find_map(|name| (self.variable)(name));
        named.unwrap_or_else(|| "root".to_owned())
    }
}

/// What is wrong with an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// It is no URL.
    #[error("{0}; characters like / ? # @ in a password must be escaped (%2F %3F %23 %40)")]
    Url(url::ParseError),
    /// It is the URL of something else.
    #[error("it must begin with mysql:// or mariadb://")]
    Scheme,
    /// `mysql:host`.
    #[error("two slashes must follow mysql:")]
    Slashes,
    /// `mysql://user:a#b@host`.
    #[error("it contains a #; in a password, write %23")]
    Fragment,
    /// `mysql://host/one/two`.
    #[error("a single database name must follow the host, without further slashes")]
    Path,
    /// An unknown parameter. Its name may be a piece of a password that was not escaped, so it is not
    /// repeated.
    #[error(
        "it has an unknown parameter after the question mark; the known ones are socket, ssl-mode, ssl-ca, \
         ssl-cert, ssl-key, compress, cleartext-password, get-server-public-key and server-public-key-path"
    )]
    Parameter,
    /// This parameter is on or off.
    #[error("{0} must be 0 or 1")]
    Switch(&'static str),
    /// There is no such mode.
    #[error("ssl-mode must be disabled, preferred, required, verify_ca or verify_identity")]
    TlsMode,
    /// It is no port.
    #[error("its port is not a number from 0 to 65535")]
    Port,
}

/// A target in the making.
struct Draft {
    address: Address,
    user: Option<String>,
    password: Option<String>,
    database: Option<String>,
    mode: Option<TlsMode>,
    tls: Tls,
    trust: Trust,
    compress: bool,
}

impl Draft {
    fn new(address: Address) -> Self {
        let (user, password, database, mode) = (None, None, None, None);
        let (tls, trust) = (Tls::default(), Trust::default());
        Self { address, user, password, database, mode, tls, trust, compress: false }
    }

    fn of_url(text: &str) -> Result<Self, Error> {
        let wrong = |reason: Wrong| Error::Address { what: without_password(text), reason };
        let url = Url::parse(text).map_err(|error| wrong(Wrong::Url(error)))?;
        if !["mysql", "mariadb"].contains(&url.scheme()) {
            return Err(wrong(Wrong::Scheme));
        }
        if url.cannot_be_a_base() {
            return Err(wrong(Wrong::Slashes));
        }
        if url.fragment().is_some() {
            return Err(wrong(Wrong::Fragment));
        }
        let host = match url.host_str().unwrap_or_default().trim_matches(['[', ']']) {
            "" => "127.0.0.1".to_owned(),
            host => decoded(host),
        };
        let mut draft = Self::new(Address::Tcp { host, port: url.port().unwrap_or(DEFAULT_PORT) });
        draft.user = Some(decoded(url.username())).filter(|user| !user.is_empty());
        draft.password = url.password().map(decoded);
        draft.database = database_in(url.path()).map_err(wrong)?;
        for (name, value) in url.query_pairs() {
            draft.take_parameter(&name.replace('_', "-"), &value).map_err(wrong)?;
        }
        Ok(draft)
    }

    fn take_parameter(&mut self, name: &str, value: &str) -> Result<(), Wrong> {
        let truth = |name| truth(value).ok_or(Wrong::Switch(name));
        match name {
            "socket" => self.address = Address::Unix(value.into()),
            "ssl-mode" => self.mode = Some(tls_mode(value)?),
            "ssl-ca" => self.tls.ca = Some(value.into()),
            "ssl-cert" => self.tls.certificate = Some(value.into()),
            "ssl-key" => self.tls.key = Some(value.into()),
            "compress" => self.compress = truth("compress")?,
            // the reference client's own name beside ours
            "cleartext-password" | "enable-cleartext-plugin" => {
                self.trust.cleartext_password = truth("cleartext-password")?;
            }
            "get-server-public-key" => {
                self.trust.get_server_public_key = truth("get-server-public-key")?;
            }
            "server-public-key-path" => self.trust.server_public_key = Some(value.into()),
            _ => return Err(Wrong::Parameter),
        }
        Ok(())
    }

    /// Only where a file names a place: a load never runs on whatever happens to listen on the usual port.
    fn of_options_alone(options: &Options) -> Result<Self, Error> {
        let (host, port, socket) = (options.get("host"), options.get("port"), options.get("socket"));
        let port = match port.map(|text| text.parse()) {
            Some(Ok(port)) => Some(port),
            Some(Err(_)) => return Err(in_option_file(Wrong::Port)),
            None => None,
        };
        // As with the clients, localhost means the socket where there is one.
        let local = host.is_none_or(|host| host == "localhost");
        let address = match (socket, host) {
            (Some(socket), _) if local => Address::Unix(socket.into()),
            (_, None) if port.is_none() => return Err(Error::NoAddress),
            (_, host) => {
                let host = host.map_or("127.0.0.1", String::as_str).to_owned();
                Address::Tcp { host, port: port.unwrap_or(DEFAULT_PORT) }
            }
        };
        let mut draft = Self::new(address);
        draft.database = options.get("database").cloned();
        draft.compress = options.get("compress").is_some_and(|value| truth(value).unwrap_or(true));
        Ok(draft)
    }

    /// What the file says of TLS holds where the URL says nothing of it.
    fn take_tls_from(&mut self, options: &Options) -> Result<(), Error> {
        if self.mode.is_some() || self.tls != Tls::default() {
            return Ok(());
        }
        for name in ["ssl-mode", "ssl-ca", "ssl-cert", "ssl-key"] {
            if let Some(value) = options.get(name).filter(|value| !value.is_empty()) {
                self.take_parameter(name, value).map_err(in_option_file)?;
            }
        }
        Ok(())
    }

    /// The same for where the password itself may go.
    fn take_trust_from(&mut self, options: &Options) -> Result<(), Error> {
        if self.trust != Trust::default() {
            return Ok(());
        }
        for name in ["enable-cleartext-plugin", "get-server-public-key", "server-public-key-path"] {
            if let Some(value) = options.get(name) {
                self.take_parameter(name, value).map_err(in_option_file)?;
            }
        }
        Ok(())
    }

    fn into_target(self, user: String, password: Option<String>) -> Target {
        let implied = if self.tls.ca.is_some() {
            TlsMode::VerifyCa
        } else if self.tls.certificate.is_some() {
            TlsMode::Required
        } else {
            TlsMode::Disabled
        };
        Target {
            address: self.address,
            user,
            password: Secret::new(password.unwrap_or_default()),
            database: self.database,
            tls: Tls { mode: self.mode.unwrap_or(implied), ..self.tls },
            trust: self.trust,
            compress: self.compress,
        }
    }
}

fn in_option_file(reason: Wrong) -> Error {
    Error::Address { what: "the option file".to_owned(), reason }
}

fn database_in(path: &str) -> Result<Option<String>, Wrong> {
    let name = path.trim_start_matches('/').trim_end_matches('/');
    if name.contains('/') {
        return Err(Wrong::Path);
    }
    Ok(Some(decoded(name)).filter(|name| !name.is_empty()))
}

/// MySQL's names of the modes, in any case, with `-` for `_`.
fn tls_mode(text: &str) -> Result<TlsMode, Wrong> {
    match text.to_ascii_lowercase().replace('-', "_").as_str() {
        "disabled" | "0" | "off" | "false" => Ok(TlsMode::Disabled),
        "preferred" => Ok(TlsMode::Preferred),
        "required" | "1" | "on" | "true" => Ok(TlsMode::Required),
        "verify_ca" => Ok(TlsMode::VerifyCa),
        "verify_identity" => Ok(TlsMode::VerifyIdentity),
        _ => Err(Wrong::TlsMode),
    }
}

fn truth(text: &str) -> Option<bool> {
    match text {
        "" | "1" | "true" | "on" | "yes" => Some(true),
        "0" | "false" | "off" | "no" => Some(false),
        _ => None,
    }
}

/// `%2F` becomes `/`; a percent sign that begins no such code stays.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut plain = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while let Some(&byte) = bytes.get(index) {
        let code = bytes.get(index + 1..index + 3).and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| byte == b'%') {
            Some(value) => {
                plain.push(value);
                index += 3;
            }
            None => {
                plain.push(byte);
                index += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn resolve_with(
        url: Option<&str>,
        file: Option<&str>,
        variables: &[(&str, &str)],
    ) -> Result<Target, Error> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("my.cnf");
        fs::write(&path, file.unwrap_or_default()).unwrap();
        let variable = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Sources { url, option_file: Some(&path), variable: &variable }.resolve()
    }

    #[test]
    fn a_url_says_it_all() {
        let url = "mariadb://ada:p%40ss%2Fword@[::1]:3307/my%20data?ssl-mode=VERIFY_IDENTITY&ssl-ca=/ca.pem&\
                   compress=1";
        let target = resolve_with(Some(url), None, &[]).unwrap();
        assert_eq!(target.address, Address::Tcp { host: "::1".into(), port: 3307 });
        assert_eq!((target.user.as_str(), target.password.reveal()), ("ada", "p@ss/word"));
        assert_eq!(target.database.as_deref(), Some("my data"));
        assert_eq!((target.tls.mode, target.tls.ca), (TlsMode::VerifyIdentity, Some("/ca.pem".into())));
        assert!(target.compress);
        let socket = resolve_with(Some("mysql://ada@localhost/test?socket=/run/m.sock"), None, &[]).unwrap();
        assert_eq!(socket.address, Address::Unix("/run/m.sock".into()));
        assert_eq!(socket.tls.mode, TlsMode::Disabled);
        assert_eq!(shown(&socket), "mysql://ada@localhost/test?socket=/run/m.sock");
    }

    #[test]
    fn what_is_missing_comes_from_environment_then_file_of_the_same_user() {
        let file = Some("[client]\nuser=ada\npassword=of_file\nhost=db.example\nssl-ca=/ca.pem\n");
        let password = |url, variables: &[(&str, &str)]| {
            resolve_with(url, file, variables).unwrap().password.reveal().to_owned()
        };
        assert_eq!(password(Some("mysql://h/"), &[]), "of_file");
        assert_eq!(
            password(Some("mysql://ada@h/"), &[("PRONY_PASSWORD", "one"), ("MYSQL_PWD", "two")]),
            "one"
        );
        assert_eq!(password(Some("mysql://ada@h/"), &[("MYSQL_PWD", "two")]), "two");
        assert_eq!(password(Some("mysql://bob@h/"), &[]), "", "the file's password is another user's");
        let alone = resolve_with(None, file, &[]).unwrap();
        assert_eq!(alone.address, Address::Tcp { host: "db.example".into(), port: DEFAULT_PORT });
        assert_eq!(alone.tls.mode, TlsMode::VerifyCa);
        let by_variable = resolve_with(None, None, &[("PRONY_URL", "mysql://eve@h:1/")]).unwrap();
        assert_eq!(by_variable.user, "eve");
        assert!(matches!(resolve_with(None, None, &[]), Err(Error::NoAddress)));
    }

    #[test]
    fn a_url_says_where_the_password_itself_may_go_and_so_may_the_file() {
        let url = "mysql://ada@h/?cleartext-password=1&server-public-key-path=/key.pem";
        let target = resolve_with(Some(url), None, &[]).unwrap();
        assert!(target.trust.cleartext_password && !target.trust.get_server_public_key);
        assert_eq!(target.trust.server_public_key, Some("/key.pem".into()));
        let file = Some("[client]\nloose-get-server-public-key\nenable_cleartext_plugin = 0\n");
        let by_file = resolve_with(Some("mysql://ada@h/"), file, &[]).unwrap().trust;
        assert_eq!(by_file, Trust { get_server_public_key: true, ..Trust::default() });
        let both =
            resolve_with(Some("mysql://ada@h/?get_server_public_key=0&cleartext-password=1"), file, &[]);
        assert_eq!(both.unwrap().trust, Trust { cleartext_password: true, ..Trust::default() });
        assert_eq!(resolve_with(Some("mysql://ada@h/"), None, &[]).unwrap().trust, Trust::default());
    }

    #[test]
    fn a_password_that_goes_where_only_a_study_says_is_told() {
        let entrusted = |url, file: &str, variables: &[(&str, &str)]| {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("my.cnf");
            fs::write(&path, file).unwrap();
            let variable = |name: &str| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            };
            Sources { url: Some(url), option_file: Some(&path), variable: &variable }.entrusted().unwrap()
        };
        let address = Address::Tcp { host: "evil.example".into(), port: 3306 };
        let to = |source| Some(Entrusted { address: address.clone(), source });
        let url = "mysql://ada@evil.example/test";
        let secret = [("MYSQL_PWD", "secret")];
        assert_eq!(entrusted(url, "", &secret), to("MYSQL_PWD"));
        assert_eq!(entrusted(url, "[client]\nhost=mine\npassword=x\n", &[]), to("~/.my.cnf"));
        assert_eq!(entrusted(url, "[client]\nuser=bob\npassword=x\n", &[]), None, "another user's");
        assert_eq!(entrusted(url, "", &[]), None, "there is none");
        assert_eq!(entrusted("mysql://ada:own@evil.example/test", "", &secret), None, "the study's own");
        assert_eq!(
            entrusted(url, "[client]\nhost=evil.example\npassword=x\n", &[]),
            None,
            "the user's server"
        );
        let named = [secret[0], ("PRONY_URL", "mysql://evil.example/other")];
        assert_eq!(entrusted(url, "", &named), None, "the user names it");
    }

    #[test]
    fn no_message_repeats_a_password_however_wrong_the_url_is() {
        let urls = [
            "mysql://ada:secret@host:port/db",
            "mysql://ada:secr/et@host/db",
            "mysql://ada:12?secret@host/db",
            "mysql://ada:12#secret@host/db",
            "postgres://ada:secret@host/db",
            "mysql://ada:secret@host/db/more",
            "mysql://ada:secret@host/db?nonsense=1",
            "mysql:ada:secret@host",
            "ada:secret@host",
        ];
        for url in urls {
            let message = resolve_with(Some(url), None, &[]).unwrap_err().to_string();
            assert!(!message.contains("secr") && !message.contains("et@"), "{url}: {message}");
            assert_ne!(without_password(url), url);
        }
        let plain = "mysql://ada@host:3306/db?ssl-ca=/x@y";
        assert_eq!(without_password(plain), plain);
        assert_eq!(without_password("mysql://ada:secret@host:1/db"), "mysql://ada@host:1/db");
    }
}
