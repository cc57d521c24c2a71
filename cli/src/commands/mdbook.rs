//! `taper mdbook`: what mdBook calls, by book/book.toml.

use anyhow::{Context, Result};
use std::io::{Read, Write};
use std::process::ExitCode;
use taper_book as book;

#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    step: Option<Step>,
}

/// Without one: chapters in, pages out, both as mdBook's JSON.
#[derive(Debug, clap::Subcommand)]
enum Step {
    /// Whether pages can be made for this renderer of mdBook
    Supports { renderer: String },
    /// Put pictures, notebooks and the documentation beside the pages
    Render,
}

pub fn run(arguments: &Arguments) -> Result<ExitCode> {
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
    read.context("reading what mdBook says")?;
    Ok(input)
}
