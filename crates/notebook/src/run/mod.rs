//! The headless front: runs notebooks without Jupyter, for `taper run` and `taper test`.
//!
//! The way of a notebook: [`notebook`] reads the file and says what is wrong with it, [`execute`]
//! gives its cells to an evaluator one after the other ([`file`]: one that was just started), [`outputs`] keeps what they show as Jupyter
//! would, and then either [`save`] writes it back or [`compare`] holds it against what was stored.
//! Several notebooks at once are several processes ([`pool`]): an evaluator is a whole compiler.

use taper_evaluator::evaluator::Evaluator;

pub mod compare;
pub mod diff;
pub mod execute;
pub mod failure;
pub mod file;
pub mod notebook;
pub mod numbers;
pub mod outputs;
pub mod pool;
pub mod problem;
pub mod report;
pub mod save;
pub mod signals;
pub mod tags;

#[cfg(test)]
mod tests_compare;
#[cfg(test)]
mod tests_execute;
#[cfg(test)]
mod tests_files;

/// Starts an evaluator with no variables in it. It is called after the current directory has
/// become the notebook's folder, so relative paths in cells mean what they mean in Jupyter.
pub type StartEvaluator = dyn Fn() -> anyhow::Result<Box<dyn Evaluator>>;
