//! What a client wants.

use super::Login;
use crate::{
    ColumnKind, Error, Value,
    constants::{capability, command},
    error::malformed,
    packet::Reader,
};

/// One command, or the login before all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request<'a> {
    /// Do a TLS handshake on the socket; the login comes through it. Has no reply.
    StartTls,
    /// Log in.
    Login(Login<'a>),
    /// SQL text.
    Query(&'a [u8]),
    /// SQL text to prepare.
    Prepare(&'a [u8]),
    /// Execute a prepared statement.
    Execute(Execute<'a>),
    /// A piece of a long parameter. Has no reply.
    LongData {
        /// Number of the statement.
        statement: u32,
        /// Number of the parameter, from 0.
        parameter: u16,
        /// The piece.
        data: &'a [u8],
    },
    /// Forget a prepared statement. Has no reply.
    Close(u32),
    /// Forget a statement's long data.
    ResetStatement(u32),
    /// Change the schema.
    InitDb(&'a [u8]),
    /// Log in again.
    ChangeUser(ChangeUser<'a>),
    /// Forget the session's state.
    ResetConnection,
    /// Switch an option; 0: multi-statements on, 1: off.
    SetOption(u16),
    /// A line of figures.
    Statistics,
    /// Sign of life.
    Ping,
    /// Good-bye. Has no reply.
    Quit,
    /// Any other command, by number.
    Other(u8),
}

/// Executing a prepared statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Execute<'a> {
    /// Number of the statement.
    pub statement: u32,
    parameters: &'a [u8],
}

/// Logging in again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeUser<'a> {
    /// Account.
    pub user: &'a [u8],
    /// Answer to the challenge of the first login.
    pub response: &'a [u8],
    /// Schema; empty: none.
    pub database: &'a [u8],
    /// The plug-in whose answer it is.
    pub plugin: &'a [u8],
}

impl<'a> Request<'a> {
    #[inline]
    pub(super) fn parse(payload: &'a [u8], capabilities: u64) -> Result<Self, Error> {
        const WHAT: &str = "a command";
        let mut reader = Reader(payload);
        Ok(match reader.u8("the number of a command")? {
            command::QUERY => Self::Query(reader.rest()),
            command::STMT_EXECUTE => {
                let statement = reader.u32(WHAT)?;
                reader.bytes(5, WHAT)?;
                Self::Execute(Execute { statement, parameters: reader.rest() })
            }
            command::STMT_PREPARE => Self::Prepare(reader.rest()),
            command::STMT_SEND_LONG_DATA => Self::LongData {
                statement: reader.u32(WHAT)?,
                parameter: reader.u16(WHAT)?,
                data: reader.rest(),
            },
            command::STMT_CLOSE => Self::Close(reader.u32(WHAT)?),
            command::STMT_RESET => Self::ResetStatement(reader.u32(WHAT)?),
            command::INIT_DB => Self::InitDb(reader.rest()),
            command::CHANGE_USER => Self::ChangeUser(ChangeUser::parse(reader, capabilities)?),
            command::RESET_CONNECTION => Self::ResetConnection,
            command::SET_OPTION => Self::SetOption(reader.u16(WHAT)?),
            command::STATISTICS => Self::Statistics,
            command::PING => Self::Ping,
            command::QUIT => Self::Quit,
            other => Self::Other(other),
        })
    }

    /// Whether the client waits for a reply.
    #[must_use]
    pub fn has_reply(&self) -> bool {
        !matches!(self, Self::StartTls | Self::LongData { .. } | Self::Close(_) | Self::Quit)
    }
}

impl<'a> ChangeUser<'a> {
    fn parse(mut reader: Reader<'a>, capabilities: u64) -> Result<Self, Error> {
        const WHAT: &str = "a change of user";
        let user = reader.nul_bytes(WHAT)?;
        let length = reader.u8(WHAT)?;
        let response = reader.bytes(usize::from(length), WHAT)?;
        let database = reader.nul_bytes(WHAT)?;
        reader.u16(WHAT)?;
        let plugin = match capabilities & capability::PLUGIN_AUTH {
            0 => &[][..],
            _ => reader.nul_bytes(WHAT)?,
        };
        Ok(Self { user, response, database, plugin })
    }
}

impl<'a> Execute<'a> {
    /// The values of `count` parameters. `kinds` holds the types that the client told last for this
    /// statement, and is changed if it tells new ones.
    pub fn parameters(&self, count: u16, kinds: &mut Vec<ColumnKind>) -> Result<Vec<Value<'a>>, Error> {
        const WHAT: &str = "the parameters of an execution";
        let count = usize::from(count);
        let mut reader = Reader(self.parameters);
        if count == 0 {
            return Ok(Vec::new());
        }
        let nulls = reader.bytes(count.div_ceil(8), WHAT)?;
        if reader.u8(WHAT)? != 0 {
            kinds.clear();
            for _ in 0..count {
                let [code, sign] = reader.array(WHAT)?;
                kinds.push(ColumnKind { code, unsigned: sign & 0x80 != 0 });
            }
        }
        if kinds.len() != count {
            return Err(malformed("an execution whose parameter types were never told"));
        }
        let mut values = Vec::with_capacity(count);
        for (index, &kind) in kinds.iter().enumerate() {
            values.push(if nulls[index / 8] & 1 << (index % 8) != 0 {
                Value::Null
            } else {
                Value::take_binary(&mut reader, kind)?
            });
        }
        if reader.is_empty() {
            Ok(values)
        } else {
            Err(malformed("bytes after the last parameter of an execution"))
        }
    }
}
