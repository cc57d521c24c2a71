//! `taper run`: executes notebooks.

use super::evaluator;
use std::path::PathBuf;
use std::process::ExitCode;
use taper_notebook::{Destination, RunOptions};

/// Execute notebooks from a fresh start, cell by cell.
///
/// Stops a notebook at its first failing cell, prints the cell, its line and the error, and exits
/// with 1. Without --inplace or --output nothing is written. A notebook that fails or is
/// interrupted is not written either: its file stays as it was, byte for byte.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// The notebooks.
    #[arg(required = true, value_name = "NOTEBOOK")]
    pub(crate) notebooks: Vec<PathBuf>,

    /// Write the outputs into the notebooks.
    #[arg(long, conflicts_with = "output")]
    pub(crate) inplace: bool,

    /// Write the notebook with its outputs to this file.
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Write the outputs to a file beside the notebook, as those of the GPU with this name: the book shows both.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["inplace", "output"])]
    pub(crate) machine: Option<String>,

    /// How many notebooks to run at the same time. Each needs 240 MB of memory for its kernel and the process of
    /// its cells, and more while cells compile or train. Together they compute with as many threads as there are
    /// cores.
    #[arg(short, long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: u16,

    /// Continue after a cell that fails, write its error as its output, and exit with 0.
    #[arg(long)]
    pub(crate) allow_errors: bool,

    /// Set a parameter of the notebook, as `lr=0.1`: a cell after the one with the tag `parameters` sets it, as
    /// papermill does. May be repeated.
    #[arg(short, long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    pub(crate) parameters: Vec<(String, String)>,

    /// Do not run the cells: take their outputs from this log of an exported program.
    #[arg(long, value_name = "LOG")]
    pub(crate) outputs: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let start = evaluator(arguments.outputs.as_deref())?;
    let options = RunOptions {
        destination: destination(arguments),
        allow_errors: arguments.allow_errors,
        from_log: arguments.outputs.is_some(),
        parameters: arguments.parameters.clone(),
    };
    let jobs = arguments.jobs.into();
    taper_notebook::run(&arguments.notebooks, &options, jobs, &*start)
}

fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected a name and a value, as in lr=0.1".to_owned()),
    }
}

fn destination(arguments: &Arguments) -> Destination {
    if let Some(machine) = &arguments.machine {
        Destination::Machine(machine.clone())
    } else if let Some(file) = &arguments.output {
        Destination::File(file.clone())
    } else if arguments.inplace {
        Destination::Inplace
    } else {
        Destination::None
    }
}
