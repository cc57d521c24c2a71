//! Why the book cannot be built.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// An error of another crate.
pub(crate) type Source = Box<dyn std::error::Error + Send + Sync>;

/// An error of the book: what was expected and found, then what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The input is not what mdBook sends to a preprocessor or a renderer.
    #[error(
        "expected a book from mdBook on standard input: {reason}\n\
         mdBook calls this command; build the book with `taper book build`"
    )]
    NotFromMdBook {
        /// What is missing, or the error of the JSON parser.
        reason: String,
    },
    /// Chapters that cannot be rendered; all of them are listed.
    #[error("{}", lines(.0))]
    Chapters(Vec<ChapterError>),
    /// `cargo install mdbook` has failed.
    #[error(
        "mdBook {version} could not be installed; check the connection, then run the same command again. \
         `cargo install mdbook` printed:\n{stderr}"
    )]
    Install {
        /// The version of mdBook that the book needs.
        version: &'static str,
        /// What cargo printed.
        stderr: String,
    },
    /// There is no browser that can print the book.
    #[error(
        "expected Chromium or Chrome, which prints the PDF; install it, or set CHROMIUM to its path"
    )]
    NoBrowser,
    /// The browser has not printed the book.
    #[error("Chromium has not written the PDF; it printed:\n{stderr}")]
    Pdf {
        /// What the browser printed.
        stderr: String,
    },
    /// A model that a published page cannot run.
    #[error("the model of cell {cell} cannot be part of a page: {reason}")]
    Model {
        /// The id of the cell.
        cell: String,
        /// What the page cannot do.
        reason: String,
    },
    /// `cargo doc` has failed.
    #[error(
        "The crate's documentation could not be built; `cargo doc --package taper` printed:\n{stderr}"
    )]
    Rustdoc {
        /// What cargo printed.
        stderr: String,
    },
    /// A program could not be started.
    #[error("starting {program}")]
    Start {
        /// Its name.
        program: &'static str,
        /// Why it did not start.
        source: io::Error,
    },
    /// mdBook did not build the book.
    #[error("mdBook could not build the book; it printed why")]
    Build,
    /// The server cannot listen on its port.
    #[error("expected port {port} to be free; choose another one with --port")]
    Port {
        /// The port.
        port: u16,
        /// Why the server cannot listen on the port.
        source: io::Error,
    },
    /// The system returned no random bytes for the secrets of the server.
    #[error("expected random bytes from the system, but it has none")]
    Random,
    /// A file or a folder could not be read or written.
    #[error("{operation} {}", path.display())]
    Io {
        /// The operation that failed: `reading`.
        operation: &'static str,
        /// The file or the folder.
        path: PathBuf,
        /// Why that failed.
        source: io::Error,
    },
    /// The cache, its lock or another process cannot be used.
    #[error(transparent)]
    Host(Source),
}

impl Error {
    pub(crate) fn not_from_mdbook(reason: impl ToString) -> Error {
        Error::NotFromMdBook {
            reason: reason.to_string(),
        }
    }

    pub(crate) fn host(source: impl Into<Source>) -> Error {
        Error::Host(source.into())
    }

    /// Returns a function that wraps the I/O error of an operation on a file or a folder.
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        move |source| Error::Io {
            operation,
            path: path.to_owned(),
            source,
        }
    }
}

/// What is wrong with a chapter.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChapterError {
    /// The notebook is not below the folder of the notebooks.
    #[error(
        "{}: is outside of the notebooks\nMove it into {}, or set `notebooks` in book.toml",
        file.display(),
        notebooks.display()
    )]
    Outside {
        /// The notebook.
        file: PathBuf,
        /// The folder of the notebooks.
        notebooks: PathBuf,
    },
    /// Two notebooks would have the same page, because page names have no number.
    #[error(
        "{first}.ipynb and {second}.ipynb would both be the page {page}.html\nRename one of them"
    )]
    SamePage {
        /// The path of the page.
        page: String,
        /// The path of a notebook.
        first: String,
        /// The path of another notebook.
        second: String,
    },
    /// The notebook, or the file with its outputs on a GPU, cannot be read.
    #[error(transparent)]
    Unreadable(Source),
    /// The list of given values contains a value that the chapter does not have.
    #[error(
        "{notebook}.ipynb: {number} is listed as given, but no text needs it\nRemove the line from the list"
    )]
    UnusedGiven {
        /// The path of the notebook.
        notebook: String,
        /// The number as it is listed.
        number: String,
    },
    /// A cell cannot be rendered.
    #[error("{notebook}.ipynb, cell {cell}: {}", problem.to_string().replace('\n', "\n  "))]
    Cell {
        /// The path of the notebook.
        notebook: String,
        /// The id of the cell.
        cell: String,
        /// What is wrong.
        problem: CellError,
    },
}

/// What is wrong with a cell: a line with the problem and a line with what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CellError {
    /// A link to a notebook that is not in the book.
    #[error(
        "links to {path}, which is not a page of the book\n\
         Name a notebook of book/src/SUMMARY.md, relative to this one"
    )]
    MissingPage {
        /// The path in the link.
        path: String,
    },
    /// A link to a heading or a cell that does not exist.
    #[error("links to {link}, but there is no such heading or cell\n{}", anchor_advice(similar.as_deref()))]
    MissingAnchor {
        /// The link.
        link: String,
        /// A similar anchor of that page.
        similar: Option<String>,
    },
    /// A number that links to a cell which does not print it.
    #[error("says {number}, but the cell {cell} prints {}\nCorrect the text, or link to the cell that prints it", printed(*nearest))]
    StaleNumber {
        /// The number in the text.
        number: String,
        /// The id of the cell.
        cell: String,
        /// The value in its outputs that is nearest to the number.
        nearest: Option<f64>,
    },
    /// A number that looks measured, and links to no cell.
    #[error(
        "says {number} (\"{near}\"), which looks measured and is not a link\n\
         Link it to the cell that prints it: [{number}](#cell-id=…); if no cell does, add it to book/given.txt with its source"
    )]
    NoEvidence {
        /// The number in the text.
        number: String,
        /// The words around it.
        near: String,
    },
    /// A link `[chapter](…)` to a page without a number.
    #[error("calls {link} a chapter, but it has no number\nUse its name as the text of the link")]
    NoNumber {
        /// The link.
        link: String,
    },
    /// A link `[figure](…)` to a cell without a figure.
    #[error(
        "refers to the figure {link}, but that cell has none\n\
         Write #cell-id= and the id of a cell that begins with `// Figure: ` and a caption"
    )]
    NoFigure {
        /// The link.
        link: String,
    },
    /// A link to a file that does not exist.
    #[error("links to {path}, which does not exist\nThe path is relative to the notebook")]
    MissingFile {
        /// The path in the link.
        path: String,
    },
    /// A link to a file outside of the folder of the notebooks.
    #[error(
        "links to {path}, which is not in the folder of the notebooks\n\
         Move it there, or link to it on the web"
    )]
    OutsideFile {
        /// The path in the link.
        path: String,
    },
    /// A link that leads out of a page that is a single file.
    #[error("links to {path}, which is not part of the page: the link becomes plain text")]
    NotInPage {
        /// The path in the link.
        path: String,
    },
    /// An image without alternative text (`alt`).
    #[error(
        "shows {url} without a description\n\
         Write it between the brackets: ![what it shows]({url})"
    )]
    NoDescription {
        /// The image's address.
        url: String,
    },
    /// An image file that cannot be read.
    #[error("shows {url}, which cannot be read: {source}\nThe path is relative to the notebook")]
    UnreadableImage {
        /// The image's address.
        url: String,
        /// Why it cannot be read.
        source: io::Error,
    },
    /// An image on another site.
    #[error(
        "shows {url}, which is not a file of the course\n\
         The book loads nothing from the web: put the image beside the notebook"
    )]
    ExternalImage {
        /// The image's address.
        url: String,
    },
    /// An attachment that the cell does not have.
    #[error(
        "shows the attachment {name}, which does not exist\nDrop the image onto the cell again"
    )]
    MissingAttachment {
        /// Its name.
        name: String,
    },
    /// An image file or an attachment that the book cannot show.
    #[error("shows {name}, which {problem}")]
    ImageFile {
        /// Its name.
        name: String,
        /// What is wrong with it.
        problem: ImageError,
    },
    /// An image among the outputs that the book cannot show.
    #[error("shows an image that {0}")]
    ImageOutput(ImageError),
    /// A formula that KaTeX does not accept.
    #[error("has a formula that cannot be rendered: ${formula}$\n{message}")]
    Formula {
        /// The formula.
        formula: String,
        /// The message of KaTeX.
        message: String,
    },
    /// An output with a formula that KaTeX does not accept.
    #[error(
        "shows a formula that cannot be rendered: {message}\nCorrect it, and run the notebook again"
    )]
    FormulaOutput {
        /// The message of KaTeX.
        message: String,
    },
}

/// What is wrong with an image.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The book does not support its format.
    #[error("is not an image that the book supports\nMake it an SVG, PNG, JPEG or GIF")]
    UnknownFormat,
    /// Its data is not valid base64.
    #[error("is not base64\nRun the notebook again")]
    NotBase64,
    /// Its content does not match its format.
    #[error("is not {expected}\nRun the notebook again, or replace the file")]
    WrongFormat {
        /// The media type that was expected.
        expected: &'static str,
    },
    /// It is not SVG.
    #[error("is not valid SVG: {0}\nRun the notebook again, or replace the file")]
    NotSvg(String),
    /// It is an SVG with neither a width and a height nor a viewBox.
    #[error("is an SVG without a size\nGive its <svg> a width and a height, or a viewBox")]
    NoSize,
}

fn printed(nearest: Option<f64>) -> String {
    nearest.map_or_else(|| "no number".into(), |value| format!("at nearest {value}"))
}

fn anchor_advice(similar: Option<&str>) -> String {
    similar.map_or_else(
        || {
            "A heading's anchor is its text with - for blanks; a cell's is cell-id= and its id"
                .into()
        },
        |similar| format!("Did you mean #{similar}?"),
    )
}

/// Lists errors, each with the chain of its causes.
fn lines(errors: &[ChapterError]) -> String {
    let mut text = String::new();
    for error in errors {
        let separator = if text.is_empty() { "" } else { "\n" };
        let _ = write!(text, "{separator}{error}");
        let mut cause = std::error::Error::source(error);
        while let Some(error) = cause {
            let _ = write!(text, ": {error}");
            cause = error.source();
        }
    }
    text
}
