//! `taper test`: executes notebooks and compares their outputs, or grades them.

use super::evaluator;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Execute notebooks and compare with the outputs stored in them.
///
/// Floating-point numbers may differ by a relative 1e-5 or an absolute 1e-8, integers not at all; the
/// metadata {"taper": {"rtol": …, "atol": …, "counts": …}} of a notebook or a cell sets other tolerances, and with
/// "ignore": "times" measured times and rates are not compared. Of images only their presence counts. Cell
/// tags: skip-execution, raises-exception, nbval-ignore-output, nbval-skip, rust-1.95 for outputs that are compared with
/// this release of Rust only; or a comment line: // NBVAL_IGNORE_OUTPUT.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Arguments {
    /// Notebooks, and folders in which to look for them.
    #[arg(default_value = "notebooks", value_name = "NOTEBOOK|FOLDER")]
    pub(crate) notebooks: Vec<PathBuf>,

    /// How many notebooks to run at the same time. Each needs 240 MB of memory for its kernel and the process of
    /// its cells, and more while cells compile or train. Together they compute with as many threads as there are
    /// cores.
    #[arg(short, long, default_value_t = 1, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) jobs: u16,

    /// Grade the notebooks instead, by the tests and points of this notebook, which was made with nbgrader.
    #[arg(long, value_name = "ASSIGNMENT", conflicts_with = "outputs")]
    pub(crate) grade: Option<PathBuf>,

    /// With --grade: the time limit for a cell, in seconds.
    #[arg(
        long,
        default_value_t = 300,
        value_name = "SECONDS",
        requires = "grade"
    )]
    pub(crate) timeout: u64,

    /// With --grade: run nothing, and print the notebook that grading runs in place of the submission. nbgrader's
    /// configuration uses it.
    #[arg(long, requires = "grade", conflicts_with = "score")]
    pub(crate) prepare: bool,

    /// With --grade: run nothing, and print as JSON the points of a prepared submission that nbgrader has run.
    #[arg(long, requires = "grade")]
    pub(crate) score: bool,

    /// Do not run the cells: take their outputs from this log of an exported program.
    #[arg(long, value_name = "LOG")]
    pub(crate) outputs: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if let (Some(assignment), [submission]) = (&arguments.grade, &arguments.notebooks[..]) {
        let asked = match (arguments.prepare, arguments.score) {
            (true, _) => Some(taper_notebook::prepared(assignment, submission)?),
            (_, true) => Some(taper_notebook::scored(assignment, submission)?),
            _ => None,
        };
        if let Some(asked) = asked {
            println!("{asked}");
            return Ok(ExitCode::SUCCESS);
        }
    }
    let start = evaluator(arguments.outputs.as_deref())?;
    let (jobs, from_log) = (arguments.jobs.into(), arguments.outputs.is_some());
    if let Some(assignment) = &arguments.grade {
        let limit = Duration::from_secs(arguments.timeout);
        let notebooks = &arguments.notebooks;
        return taper_notebook::grade(assignment, notebooks, limit, jobs);
    }
    taper_notebook::test(&arguments.notebooks, from_log, jobs, &*start)
}
