//! Notebook files without Jupyter: runs them, compares their outputs, exports them as programs.
//!
//! A notebook is read from its file and its cells go, one after the other, to an evaluator that the caller
//! passes in ([`StartEvaluator`](run::StartEvaluator)); what they show is kept as Jupyter would keep it. [`run`] has all of
//! this. [`commands`] is what a person calls: `taper run` writes the outputs into the file, `taper test`
//! compares them with those in the file. [`export`] makes a cargo project of notebooks, and reads what its
//! programs have shown. [`gpu_outputs`] are the outputs of another machine, beside the notebook's own.
//!
//! Nothing here knows how a cell is compiled.

pub mod commands;
pub mod export;
pub mod gpu_outputs;
pub mod run;

#[cfg(test)]
mod testing;
