//! `taper book build` and `taper book serve`

use anyhow::{Context, Result, bail};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use taper_book::{self as book, mdbook};
use taper_host::checkout;
use taper_host::progress::Console;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Write the book's pages (default: into book/output/html)
    Build {
        /// Another folder for `html` with the pages in it
        #[arg(long, value_name = "FOLDER")]
        dest_dir: Option<PathBuf>,
    },
    /// Serve the book on this machine; pages follow when a notebook is saved
    Serve {
        /// The port on which the book is served
        #[arg(long, default_value_t = 3000)]
        port: u16,
        /// Open a browser
        #[arg(long)]
        open: bool,
    },
}

/// Becomes mdBook, so that Ctrl-C and other signals reach it directly.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = checkout::folder()?.join("book");
    if !folder.join("book.toml").exists() {
        bail!(
            "There is no book in {}: run this command from a complete clone of Taper.",
            folder.display()
        );
    }
    // Asked first: a newer build may replace this program on disk while mdBook is installed.
    let taper = std::env::current_exe().context("finding this program")?;
    let mut progress = Console::new();
    let program = mdbook::ensure(&mut progress)?;
    book::document(taper_session::image_key()?.sources, &mut progress)?;
    drop(progress);
    let mut command = mdbook::command(&program, &taper);
    complete(&mut command, &arguments.what, folder)?;
    let error = command.exec();
    Err(error).with_context(|| format!("starting {}", program.display()))
}

fn complete(command: &mut Command, what: &What, folder: PathBuf) -> Result<()> {
    match what {
        What::Build { dest_dir } => {
            command.arg("build").arg(folder);
            if let Some(folder) = dest_dir {
                // Relative to the current folder; mdBook would take it relative to the book's.
                command.arg("--dest-dir").arg(std::path::absolute(folder)?);
            }
        }
        What::Serve { port, open } => {
            command.args([
                "serve",
                "--hostname",
                "127.0.0.1",
                "--port",
                &port.to_string(),
            ]);
            if *open {
                command.arg("--open");
            }
            command.arg(folder);
        }
    }
    Ok(())
}
