//! From numbers to estimates: pure functions without I/O or project types.

mod estimate;

pub use estimate::Estimate;
