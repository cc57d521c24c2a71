//! Reads notebook files and the settings in their metadata, and writes them as Python's nbformat would.

pub(crate) mod error;
mod integers;
pub(crate) mod layout;
pub(crate) mod nbgrader;
pub(crate) mod notebook;
pub(crate) mod percent;
pub(crate) mod tags;
pub(crate) mod tolerance;
pub(crate) mod write;

#[cfg(test)]
mod tests;
