//! `taper gpu-check`: runs the programs that need an NVIDIA card one after the other, and writes one report of them.
//!
//! 1. `programs` builds them into a folder, on this machine or for another one.
//! 2. `steps` lists them, the most important first, each with a limit.
//! 3. `report` holds what they print; it is written after each.
//! 4. `store` makes a report into the outputs beside the chapters, and into tables.

mod programs;
mod report;
mod steps;
mod store;

use anyhow::{Context, Result, bail};
use programs::Programs;
use report::Report;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use taper_host::checkout;
use taper_host::gpu::smi::{self, Answer};
use taper_host::progress::{Console, Progress};

/// Check Taper on an NVIDIA GPU: layers, PyTorch's samples; with --all, speed beside PyTorch, and the chapters.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Measure too: networks beside PyTorch, the chapters, products, transfers
    #[arg(long)]
    all: bool,
    /// The file for the report
    #[arg(long, value_name = "FILE", default_value = "gpu-report.json")]
    report: PathBuf,
    /// Leave out the comparison with PyTorch, which downloads 4 GB the first time
    #[arg(long)]
    no_pytorch: bool,
    /// How long the programs may run, all together
    #[arg(long, value_name = "MINUTES", default_value_t = 10)]
    minutes: u64,
    /// Only build, into this folder: its program `run` checks another machine, which needs no Rust
    #[arg(long, value_name = "FOLDER")]
    prepare: Option<PathBuf>,
    /// Run the programs of this folder
    #[arg(long, value_name = "FOLDER", hide = true, conflicts_with = "prepare")]
    prepared: Option<PathBuf>,
    /// Store the outputs of this report beside the chapters, and print it with its tables
    #[arg(long, value_name = "REPORT", conflicts_with_all = ["prepare", "prepared", "all"])]
    store: Option<PathBuf>,
    /// `cpu` tries everything without a card
    #[arg(long, value_name = "DEVICE", default_value = "cuda", value_parser = ["cuda", "cpu"])]
    device: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(report) = &arguments.store {
        return store::store(&Report::read(report)?);
    }
    let mut progress = Console::new();
    let programs = match &arguments.prepared {
        Some(folder) => {
            let programs = Programs::read(folder)?;
            is_there(&programs.device)?;
            programs
        }
        None => build(arguments, &mut progress)?,
    };
    if let Some(folder) = &arguments.prepare {
        progress.line(&format!(
            "On a machine with a card and PyTorch: {}/run --report FILE",
            folder.display()
        ));
        return Ok(ExitCode::SUCCESS);
    }
    let file = std::path::absolute(&arguments.report)
        .with_context(|| format!("the report {}", arguments.report.display()))?;
    let mut report = Report::of_this_machine(&programs);
    let end = Instant::now() + Duration::from_secs(60 * arguments.minutes);
    for step in steps::steps(arguments, &programs)? {
        progress.line(&format!("{} …", step.title));
        report.steps.push(step.run(end)?);
        report.write(&file)?;
    }
    let failed = report.failed();
    progress.line(&format!(
        "{}: {}",
        file.display(),
        match failed {
            0 => "no step failed".to_owned(),
            _ => format!("{failed} of {} steps failed", report.steps.len()),
        }
    ));
    report.summary().for_each(|line| progress.line(&line));
    Ok(match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Returns an error with the reason if there is no card.
fn is_there(device: &str) -> Result<()> {
    if device == "cpu" {
        return Ok(());
    }
    match smi::ask() {
        Answer::Works(_) => Ok(()),
        Answer::NoDriver => bail!(
            "There is no NVIDIA driver (no nvidia-smi), so nothing can be checked. On a machine with an NVIDIA card, \
             install its driver, 580 or newer. --prepare FOLDER builds the programs for such a machine."
        ),
        Answer::NoCard => bail!("The NVIDIA driver finds no GPU, so nothing can be checked."),
        Answer::Broken(said) => bail!("The NVIDIA driver does not work: {said}"),
    }
}

fn build(arguments: &Arguments, progress: &mut dyn Progress) -> Result<Programs> {
    let home = checkout::folder()?;
    if !home.join("benches/gpu/check.rs").exists() {
        bail!(
            "There are no checks in {}: run this command from a complete clone of Taper.",
            home.display()
        );
    }
    let folder = match &arguments.prepare {
        Some(folder) => folder.clone(),
        None => {
            is_there(&arguments.device)?;
            taper_host::cache::folder()?.join("gpu-check")
        }
    };
    let folder = std::path::absolute(folder)?;
    let installs_pytorch = arguments.all && !arguments.no_pytorch && arguments.prepare.is_none();
    // Where the programs find no cuDNN, they compute without.
    let feature = (arguments.device != "cpu").then_some("cudnn");
    Programs::build(&home, &folder, feature, installs_pytorch, progress)
}
