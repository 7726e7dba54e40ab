//! Numbers of the protocol, under the names that the protocol's description gives them.

/// Capability flags: what both sides can do. Bits 32 and above are MariaDB's own.
pub mod capability {
    /// The client is a MySQL one; MariaDB 10.2+ leaves the bit out of its greeting to say that it has
    /// extended flags.
    pub const LONG_PASSWORD: u64 = 1;
    /// Affected rows are those found, not those changed.
    pub const FOUND_ROWS: u64 = 1 << 1;
    /// Longer column flags.
    pub const LONG_FLAG: u64 = 1 << 2;
    /// A schema is named at login.
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    /// zlib compression.
    pub const COMPRESS: u64 = 1 << 5;
    /// LOAD DATA LOCAL.
    pub const LOCAL_FILES: u64 = 1 << 7;
    /// The protocol of 4.1 and later: the only one spoken here.
    pub const PROTOCOL_41: u64 = 1 << 9;
    /// TLS after the greeting.
    pub const SSL: u64 = 1 << 11;
    /// The status flags in OK are meant.
    pub const TRANSACTIONS: u64 = 1 << 13;
    /// Authentication of 4.1.
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    /// Several statements in one query.
    pub const MULTI_STATEMENTS: u64 = 1 << 16;
    /// Several results of one query.
    pub const MULTI_RESULTS: u64 = 1 << 17;
    /// Several results of one execution.
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    /// Authentication plug-ins.
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    /// Attributes of the connection at login.
    pub const CONNECT_ATTRS: u64 = 1 << 20;
    /// The authentication response may be longer than 255 bytes.
    pub const PLUGIN_AUTH_LENENC: u64 = 1 << 21;
    /// OK instead of EOF.
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// MariaDB: one execution of a statement with many rows of parameters.
    pub const MARIADB_STMT_BULK_OPERATIONS: u64 = 1 << 34;
    /// MariaDB: column definitions of an execution are left out where the client has them already.
    pub const MARIADB_CACHE_METADATA: u64 = 1 << 36;
}

/// Status flags of OK and EOF.
pub mod status {
    /// A transaction is open.
    pub const IN_TRANSACTION: u16 = 1;
    /// Each statement commits by itself.
    pub const AUTOCOMMIT: u16 = 1 << 1;
    /// Another result follows.
    pub const MORE_RESULTS: u16 = 1 << 3;
    /// Backslashes do not escape.
    pub const NO_BACKSLASH_ESCAPES: u16 = 1 << 9;
}

/// First byte of a command packet.
pub mod command {
    /// Good-bye.
    pub const QUIT: u8 = 0x01;
    /// Change the schema.
    pub const INIT_DB: u8 = 0x02;
    /// SQL text.
    pub const QUERY: u8 = 0x03;
    /// A line of figures, as text.
    pub const STATISTICS: u8 = 0x09;
    /// Are you there?
    pub const PING: u8 = 0x0e;
    /// Log in again on the same connection.
    pub const CHANGE_USER: u8 = 0x11;
    /// Prepare a statement.
    pub const STMT_PREPARE: u8 = 0x16;
    /// Execute a prepared statement.
    pub const STMT_EXECUTE: u8 = 0x17;
    /// A part of a long parameter; has no reply.
    pub const STMT_SEND_LONG_DATA: u8 = 0x18;
    /// Forget a prepared statement; has no reply.
    pub const STMT_CLOSE: u8 = 0x19;
    /// Forget long parameters and cursors of a prepared statement.
    pub const STMT_RESET: u8 = 0x1a;
    /// Switch multi-statements on or off.
    pub const SET_OPTION: u8 = 0x1b;
    /// Forget the session's state, keep the login.
    pub const RESET_CONNECTION: u8 = 0x1f;
    /// MariaDB: execute a prepared statement once for each of many rows of parameters.
    pub const STMT_BULK_EXECUTE: u8 = 0xfa;
}

/// Types of columns and parameters.
pub mod column_type {
    /// DECIMAL of old servers.
    pub const DECIMAL: u8 = 0;
    /// TINYINT.
    pub const TINY: u8 = 1;
    /// SMALLINT.
    pub const SHORT: u8 = 2;
    /// INT.
    pub const LONG: u8 = 3;
    /// FLOAT.
    pub const FLOAT: u8 = 4;
    /// DOUBLE.
    pub const DOUBLE: u8 = 5;
    /// NULL and nothing else.
    pub const NULL: u8 = 6;
    /// TIMESTAMP.
    pub const TIMESTAMP: u8 = 7;
    /// BIGINT.
    pub const LONGLONG: u8 = 8;
    /// MEDIUMINT.
    pub const INT24: u8 = 9;
    /// DATE.
    pub const DATE: u8 = 10;
    /// TIME.
    pub const TIME: u8 = 11;
    /// DATETIME.
    pub const DATETIME: u8 = 12;
    /// YEAR.
    pub const YEAR: u8 = 13;
    /// DATE, a server's internal form.
    pub const NEWDATE: u8 = 14;
    /// VARCHAR.
    pub const VARCHAR: u8 = 15;
    /// BIT.
    pub const BIT: u8 = 16;
    /// BLOB and TEXT.
    pub const BLOB: u8 = 252;
    /// VARCHAR as results have it.
    pub const VAR_STRING: u8 = 253;
    /// CHAR.
    pub const STRING: u8 = 254;
}

/// Column flag: the number has no sign.
pub const COLUMN_UNSIGNED: u16 = 1 << 5;
/// `utf8mb4_general_ci`: known to every server from 5.5.3 on.
pub const CHARSET_UTF8MB4: u8 = 45;
