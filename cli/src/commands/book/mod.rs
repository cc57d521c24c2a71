//! `taper book build` and `taper book serve`

mod cells;

use crate::commands::publish;
use anyhow::{Context, Result, bail};
use cells::Cells;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use taper_book::{self as book, mdbook};
use taper_host::checkout;
use taper_host::progress::Console;
use taper_host::python::interpreter;
use taper_notebook::MachineOutputs;

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
        /// Write the whole course to `taper.epub` beside the pages of each language too
        #[arg(long)]
        epub: bool,
    },
    /// Run notebooks, and store what their sliders show at each position, for the book: `NN-name.frames.json`
    Frames {
        /// The notebooks
        #[arg(required = true)]
        notebooks: Vec<PathBuf>,
        /// The positions of a slider
        #[arg(long, default_value_t = 13)]
        positions: u16,
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
    match &arguments.what {
        What::Build {
            dest_dir,
            pdf,
            epub,
        } => {
            let tools = Tools::prepare(None)?;
            // Relative to the current folder; mdBook would take it relative to the book's.
            let pages = match dest_dir {
                Some(folder) => std::path::absolute(folder)?,
                None => tools.folder.join("output"),
            };
            let command = || mdbook::command(&tools.program, &tools.taper);
            book::build(&tools.folder, &pages, &command)?;
            let pages = pages.join("html");
            if *epub {
                write_epub(&tools.folder, &pages)?;
            }
            if *pdf {
                println!("Printing the course, which takes some minutes.");
                println!("{}", book::write_pdf(&pages)?.display());
            }
            Ok(ExitCode::SUCCESS)
        }
        What::Frames {
            notebooks,
            positions,
        } => {
            let mut notebooks = notebooks.iter();
            notebooks.try_for_each(|notebook| write_frames(notebook, *positions))?;
            Ok(ExitCode::SUCCESS)
        }
        What::Serve { port, open, book } => serve(Tools::prepare(book.as_deref())?, *port, *open),
    }
}

/// What builds a book.
struct Tools {
    /// The folder of the book.
    folder: PathBuf,
    /// mdBook.
    program: PathBuf,
    /// This program, which mdBook calls.
    taper: PathBuf,
}

impl Tools {
    /// Installs mdBook and documents the crate, if that has not been done. `book` is another folder than the checkout's.
    fn prepare(book: Option<&Path>) -> Result<Tools> {
        let folder = match book {
            Some(folder) => std::path::absolute(folder)?,
            None => checkout::folder()?.join("book"),
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
        Ok(Tools {
            folder,
            program,
            taper,
        })
    }
}

fn write_frames(notebook: &Path, positions: u16) -> Result<()> {
    let text =
        fs::read_to_string(notebook).with_context(|| format!("reading {}", notebook.display()))?;
    let ran = publish::outputs_of(notebook, &text, positions)?;
    let frames = MachineOutputs::with(book::FRAMES, &ran);
    if frames.is_empty() {
        bail!("{} has no slider", notebook.display());
    }
    let file = MachineOutputs::frames_path(notebook);
    fs::write(&file, frames.layout()).with_context(|| format!("writing {}", file.display()))?;
    println!("{}", file.display());
    Ok(())
}

/// Writes the whole course as an EPUB beside its pages, with Python, which has an HTML parser and a writer of zip files.
fn write_epub(book: &Path, pages: &Path) -> Result<()> {
    let python = interpreter::find()?;
    let mut epub = Command::new(&python.program);
    let status = epub.arg(book.join("epub.py")).arg(pages).status();
    match status.context("starting Python")?.success() {
        true => Ok(()),
        false => bail!("book/epub.py could not write the EPUB; it printed why"),
    }
}

fn serve(tools: Tools, port: u16, open: bool) -> Result<ExitCode> {
    let Tools {
        folder,
        program,
        taper,
    } = tools;
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
