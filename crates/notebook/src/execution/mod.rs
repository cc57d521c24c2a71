//! Runs the cells of one notebook and keeps their outputs as Jupyter would.

pub(crate) mod execute;
mod late;
mod outputs;
pub(crate) mod start;

#[cfg(test)]
mod tests;
