//! Python: which one there is, and environments of Taper's own.

pub mod environment;
pub mod interpreter;
