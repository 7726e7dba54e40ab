//! The MySQL client/server protocol without I/O, clock or threads; both sides.
#![forbid(unsafe_code)]
