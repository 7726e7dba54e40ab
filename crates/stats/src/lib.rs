//! From numbers to estimates: pure functions without I/O or project types.
