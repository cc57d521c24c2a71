//! Compares the outputs of a run with those stored in the notebook.

mod diff;
mod numbers;
pub(crate) mod outputs;
pub(crate) mod text;
mod times;

#[cfg(test)]
mod tests;
