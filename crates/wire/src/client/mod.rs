//! The client's side: log in, send commands, read replies.
//!
//! ```text
//! Handshake::new ──advance──▶ StartTls? ──advance──▶ Ready(Session)
//! Session ──query/execute/...──▶ receive until Done
//! ```

mod change_user;
mod handshake;
mod outcome;
mod reply;
mod row;
mod session;
mod statement;

pub use handshake::{Handshake, Step};
pub use outcome::{Progress, Reply};
pub use row::{Column, Row, Sink, Values};
pub use session::Session;
pub use statement::{Prepared, Statement};

use std::{fmt, sync::Arc};

/// The largest packet, header included, that [`Handshake::advance`] and [`Session::receive`] leave with the
/// caller because it is not complete. A receive buffer of at least this size never stalls.
pub const BUFFER_MIN: usize = 4096;

/// Who logs in, and what the two sides agree on.
#[derive(Clone)]
pub struct Options {
    /// Account.
    pub user: String,
    /// Its password; empty: none.
    pub password: String,
    /// Schema to use.
    pub database: Option<String>,
    /// Attributes of the connection, shown in `performance_schema.session_connect_attrs`.
    pub attributes: Vec<(String, String)>,
    /// Whether TLS is wanted.
    pub tls: TlsWish,
    /// Where the password may go in a form that the server can read.
    pub trust: Trust,
    /// zlib compression where the server has it.
    pub compress: bool,
    /// Whether LOAD DATA LOCAL may be used at all. Even then only an announced file is sent.
    pub local_infile: bool,
    /// Affected rows of UPDATE are those found, not those changed.
    pub found_rows: bool,
    /// Several statements in one query.
    pub multi_statements: bool,
    /// OK instead of EOF after rows where the server knows it: fewer packets.
    pub deprecate_eof: bool,
    /// MariaDB's extended capabilities: an execution does not repeat the column definitions that are known.
    pub mariadb_extended: bool,
    /// Character set and collation of the connection, by number.
    pub charset: u8,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            user: String::new(),
            password: String::new(),
            database: None,
            attributes: Vec::new(),
            tls: TlsWish::Never,
            trust: Trust::default(),
            compress: false,
            local_infile: false,
            found_rows: false,
            multi_statements: false,
            deprecate_eof: true,
            mariadb_extended: true,
            charset: crate::constants::CHARSET_UTF8MB4,
        }
    }
}

/// Hides the password.
impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("user", &self.user)
            .field("database", &self.database)
            .field("tls", &self.tls)
            .field("compress", &self.compress)
            .finish_non_exhaustive()
    }
}

/// How far whoever answers is trusted with the password. Without any of it a server gets proofs that the
/// client knows the password, and never the password itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    /// TLS, where it is spoken, has verified who the server is.
    pub verified: bool,
    /// A server that nobody has verified may have the password, readable on the way where it asks so.
    pub cleartext: bool,
    /// A server that nobody has verified may have the password, encrypted with the key that it sends.
    pub ask_key: bool,
    /// The server's RSA key, known beforehand (PEM).
    pub key: Option<Arc<[u8]>>,
}

/// Whether TLS is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsWish {
    /// No.
    #[default]
    Never,
    /// Where the server offers it.
    IfOffered,
    /// Yes, or an error.
    Require,
}

/// What carries the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// TCP without TLS, so far.
    Tcp,
    /// A Unix socket.
    Unix,
}
