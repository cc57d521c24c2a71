//! `taper mdbook`: the preprocessor and renderer that mdBook calls, as `book/book.toml` configures.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::process::ExitCode;
use taper_book as book;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    step: Option<Step>,
}

/// The steps of the renderer. Without a step, the command is the preprocessor: it reads chapters and writes
/// pages, both as mdBook's JSON.
#[derive(Debug, clap::Subcommand)]
enum Step {
    /// Report whether the preprocessor supports this renderer of mdBook
    Supports { renderer: String },
    /// Write images, notebooks and the documentation next to the pages
    Render,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    match &arguments.step {
        Some(Step::Supports { renderer }) if renderer == "html" => {}
        Some(Step::Supports { .. }) => return Ok(ExitCode::FAILURE),
        Some(Step::Render) => book::write_files(&input()?)?,
        None => {
            let pages = book::preprocess(&input()?)?;
            std::io::stdout().write_all(pages.as_bytes())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn input() -> Result<String> {
    let mut input = String::new();
    let read = std::io::stdin().read_to_string(&mut input);
    read.context("reading the request of mdBook")?;
    Ok(input)
}
