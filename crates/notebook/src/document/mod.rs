//! A notebook file: reading it, what its metadata asks for, and writing it as Python's nbformat would.

pub(crate) mod error;
mod integers;
pub(crate) mod layout;
pub(crate) mod nbgrader;
pub(crate) mod notebook;
pub(crate) mod tags;
pub(crate) mod tolerance;
pub(crate) mod write;

#[cfg(test)]
mod tests;
