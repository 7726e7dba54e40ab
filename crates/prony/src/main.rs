//! The command; everything is in the library.
fn main() {}
