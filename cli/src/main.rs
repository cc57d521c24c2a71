//! The command `taper`: set-up, Jupyter kernel, headless runner and book.

mod commands;
mod data;
mod download;
mod program_name;
mod setup;

use clap::Parser;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;
use taper_host::error::{DISK_FULL, is_disk_full};

/// Learn deep learning by running it, in Rust.
#[derive(Debug, Parser)]
#[command(name = "taper", bin_name = "taper", version)]
enum Taper {
    /// Set up what is missing and open JupyterLab
    Lab(commands::lab::Arguments),
    /// Set up what is missing: JupyterLab, the kernel, the compiled packages
    Setup(commands::setup::Arguments),
    /// Write the chapters into a folder; files that were edited stay
    Course(commands::course::Arguments),
    /// Prepare a class on this machine: JupyterHub, nbgrader and the compiled packages
    Class(commands::class::Arguments),
    /// Execute notebooks; stop at the first error
    Run(commands::run::Arguments),
    /// Execute notebooks and compare with the outputs stored in them
    Test(commands::test::Arguments),
    /// Show which exercises of the chapters you have solved
    Exercises(commands::exercises::Arguments),
    /// List the data sets that can be downloaded, or download one
    Data(commands::data::Arguments),
    /// Export notebooks as a plain cargo project, or one as a file `.rs`
    Export(commands::export::Arguments),
    /// Make a notebook of a file `.rs`
    Import(commands::import::Arguments),
    /// Write a notebook as one page that needs no server
    Publish(commands::publish::Arguments),
    /// Move the compiled packages to another machine
    Image(commands::image::Arguments),
    /// Build or serve the book, whose pages are the notebooks
    Book(commands::book::Arguments),
    /// Render notebooks as pages, for mdBook
    Mdbook(commands::mdbook::Arguments),
    /// Run a command that compiles for NVIDIA GPUs, such as cargo
    Cuda(commands::cuda::Arguments),
    /// Check the installation, and name the next step for what is missing
    Doctor,
    /// Check Taper on an NVIDIA GPU and write a report
    GpuCheck(commands::gpu_check::Arguments),
    /// Print a notebook as text, for `git diff`
    #[command(hide = true)]
    NotebookText(commands::notebook_text::Arguments),
    /// Write the cell that sets parameters, for papermill: a request in, an answer out, both as JSON
    #[command(hide = true)]
    Parameters,
    /// Run a session behind two pipes: cells in, events out, both as lines of JSON
    #[command(hide = true)]
    Events(commands::events::Arguments),
    /// Run the kernel, as Jupyter starts it
    Kernel(commands::kernel::Arguments),
}

fn main() -> ExitCode {
    #[cfg(carries)]
    taper_host::checkout::carry(taper_host::checkout::Carried {
        id: env!("TAPER_CARRIED_ID"),
        archive: include_bytes!(concat!(env!("OUT_DIR"), "/carried.tar.gz")),
    });
    end_if_output_is_closed();
    let arguments: Vec<OsString> = std::env::args_os().collect();
    run_as(&arguments).unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        if is_disk_full(&error) {
            eprintln!("{DISK_FULL}");
        }
        ExitCode::FAILURE
    })
}

/// Ends the process without the report of a panic when the standard output cannot be written: after `| head`, or on a full
/// disk. Rust's macros panic then.
fn end_if_output_is_closed() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload_as_str().unwrap_or_default();
        let Some(error) = message.strip_prefix("failed printing to stdout: ") else {
            return report(panic);
        };
        if !error.starts_with("Broken pipe") {
            // To standard error, which may be closed too.
            let _ = writeln!(
                std::io::stderr(),
                "error: cannot write to the standard output: {error}"
            );
        }
        std::process::exit(1);
    }));
}

/// Runs the command, or the task of a helper process: helper processes are this program too, recognised
/// by its name or its first argument.
fn run_as(arguments: &[OsString]) -> anyhow::Result<ExitCode> {
    if let Some(ended) = taper_session::hook(arguments) {
        return ended;
    }
    match arguments.get(1) {
        Some(first) if first == taper_notebook::WORKER_ARGUMENT => {
            let start = commands::evaluator(None)?;
            taper_notebook::run_worker(&arguments[2..], &*start)
        }
        _ => run_command(&Taper::parse()),
    }
}

fn run_command(command: &Taper) -> anyhow::Result<ExitCode> {
    match command {
        Taper::Lab(arguments) => commands::lab::run(arguments),
        Taper::Setup(arguments) => commands::setup::run(arguments),
        Taper::Course(arguments) => commands::course::run(arguments),
        Taper::Class(arguments) => commands::class::run(arguments),
        Taper::Data(arguments) => commands::data::run(arguments),
        Taper::Run(arguments) => commands::run::run(arguments),
        Taper::Test(arguments) => commands::test::run(arguments),
        Taper::Exercises(arguments) => commands::exercises::run(arguments),
        Taper::Export(arguments) => commands::export::run(arguments),
        Taper::Import(arguments) => commands::import::run(arguments),
        Taper::Publish(arguments) => commands::publish::run(arguments),
        Taper::Image(arguments) => commands::image::run(arguments),
        Taper::Book(arguments) => commands::book::run(arguments),
        Taper::Mdbook(arguments) => commands::mdbook::run(arguments),
        Taper::Cuda(arguments) => commands::cuda::run(arguments),
        Taper::GpuCheck(arguments) => commands::gpu_check::run(arguments),
        Taper::Doctor => commands::doctor::run(),
        Taper::NotebookText(arguments) => commands::notebook_text::run(arguments),
        Taper::Parameters => commands::parameters::run(),
        Taper::Events(arguments) => commands::events::run(arguments),
        Taper::Kernel(arguments) => commands::kernel::run(arguments),
    }
}
