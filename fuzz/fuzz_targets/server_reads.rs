//! A hostile client against the server's side; see `wire::fuzz`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| wire::fuzz::server_reads(data));
