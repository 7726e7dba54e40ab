//! A hostile server against the client's side; see `wire::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::fuzz::client_reads(data));
