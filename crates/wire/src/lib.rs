//! The MySQL client/server protocol without I/O, clock or threads; both sides.
//!
//! The caller owns socket and buffers: received bytes go in, bytes to send are appended to a `Vec<u8>`. So
//! one state machine serves a blocking connection, an event loop with 10,000 of them, a test that tears the
//! stream at every byte, and a fuzzer.
//!
//! * [`client`]: log in ([`client::Handshake`]), then send commands and read replies ([`client::Session`]).
//! * [`server`]: enough of the other side for scripted fakes and a null server.
//!
//! Nothing that the peer says is trusted: no memory is reserved because of a stated length, and every buffer
//! has a bound. The protocol is described in MySQL's source documentation
//! ("Client/Server Protocol") and in MariaDB's knowledge base ("Clients & Utilities, Server Client
//! Protocol"); comments say where the two differ.
#![forbid(unsafe_code)]

pub mod auth;
pub mod client;
mod compression;
pub mod constants;
pub mod error;
pub mod fuzz;
pub mod packet;
mod scramble;
pub mod server;
pub mod value;

pub use error::{Error, ServerError};
pub use value::{ColumnKind, Date, DateTime, Time, Value};
