//! A Python interpreter, and environments of Taper's own.

pub mod environment;
pub mod interpreter;
