//! `taper book build` and `taper book serve`

mod cells;

use anyhow::{Context, Result, bail};
use cells::Cells;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
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
    /// Write the book's pages in all languages (default: into book/output/html)
    Build {
        /// Write the pages into the folder `html` of this folder instead
        #[arg(long, value_name = "FOLDER")]
        dest_dir: Option<PathBuf>,
        /// Print the whole course to `taper.pdf` beside the pages too; needs Chromium, and takes some minutes
        #[arg(long)]
        pdf: bool,
        /// Write the whole course to `taper.epub` beside the pages too
        #[arg(long)]
        epub: bool,
    },
    /// Serve the book on this machine, with cells that run; a page is updated when its notebook is saved
    Serve {
        /// The port on which the book is served; 0 for a free one
        #[arg(long, default_value_t = 3000)]
        port: u16,
        /// Open a browser
        #[arg(long)]
        open: bool,
        /// Another book: a folder with `book.toml`, beside the folder `notebooks`
        #[arg(long, value_name = "FOLDER")]
        book: Option<PathBuf>,
    },
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let folder = match &arguments.what {
        What::Serve {
            book: Some(folder), ..
        } => std::path::absolute(folder)?,
        _ => checkout::folder()?.join("book"),
    };
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
    match &arguments.what {
        What::Build {
            dest_dir,
            pdf,
            epub,
        } => {
            // Relative to the current folder; mdBook would take it relative to the book's.
            let pages = match dest_dir {
                Some(folder) => std::path::absolute(folder)?,
                None => folder.join("output"),
            };
            book::build(&folder, &pages, &|| mdbook::command(&program, &taper))?;
            write_whole(&pages.join("html"), *pdf, *epub)
        }
        What::Serve { port, open, .. } => serve(program, taper, folder, *port, *open),
    }
}

/// Writes files with the whole course, made of its pages.
fn write_whole(pages: &Path, pdf: bool, epub: bool) -> Result<ExitCode> {
    if epub {
        println!("{}", book::write_epub(pages)?.display());
    }
    if pdf {
        println!("Printing the course, which takes some minutes.");
        println!("{}", book::write_pdf(pages)?.display());
    }
    Ok(ExitCode::SUCCESS)
}

fn serve(
    program: PathBuf,
    taper: PathBuf,
    folder: PathBuf,
    port: u16,
    open: bool,
) -> Result<ExitCode> {
    let opened = Mutex::new(None);
    book::serve(book::Options {
        notebooks: folder.with_file_name("notebooks"),
        book: folder,
        port,
        mdbook: Box::new(move || mdbook::command(&program, &taper)),
        start: Box::new(|folder| Ok(Box::new(Cells::new(folder)))),
        announce: Box::new(move |address| {
            // The book is served even if standard output is closed.
            let _ = writeln!(
                std::io::stdout(),
                "Open this address in your browser; it works once:\n    {address}\n\
                 Enter prints another address, Ctrl-C ends the server."
            );
            let mut opened = opened
                .lock()
                .expect("no code panics while it holds the lock");
            if open && opened.is_none() {
                *opened = open_browser(address);
            }
        }),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Opens a browser; returns the file that redirects it to the address. Other users can read the arguments of a
/// process, so the browser is started with the name of a file that only this user can read.
fn open_browser(address: &str) -> Option<tempfile::NamedTempFile> {
    let page = format!(
        "<!DOCTYPE html><title>Taper</title><meta http-equiv=\"refresh\" content=\"0; url={address}\">"
    );
    let mut named = tempfile::Builder::new();
    let mut file = named.prefix("taper-").suffix(".html").tempfile().ok()?;
    file.write_all(page.as_bytes()).ok()?;
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let started = Command::new(program)
        .arg(file.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if started.is_err() {
        println!("No browser was found ({program}): open the address yourself.");
    }
    Some(file)
}
