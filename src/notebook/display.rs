//! How a figure, a table or a value gets from a cell to the page.
//!
//! A *display record* is a MIME bundle with an optional display id. Where it goes depends on who
//! runs the program:
//!
//! - under the Taper kernel the record is written to standard output as one framed line, which the
//!   kernel turns into `display_data`, `update_display_data`, `execute_result` or `clear_output`;
//! - under stock `evcxr_jupyter` the same call prints that kernel's `EVCXR_BEGIN_CONTENT` blocks,
//!   and what would update in place shows its final state only;
//! - in a plain program nothing is printed: save a figure with its own `save` method.
//!
//! The frame begins with a control character and a secret that the kernel draws anew for every
//! process, so no text that a cell prints can be mistaken for it.

mod handle;
pub(crate) mod live;
mod pace;
mod terminal;
#[cfg(test)]
pub(crate) mod testing;

pub use handle::{LiveDisplay, display_live};

use crate::kernel;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::sync::OnceLock;

/// A value in several representations, keyed by MIME type (`"text/plain"`, `"image/svg+xml"`, …).
///
/// The front end shows the richest one it can. Always include `text/plain`: terminals, screen
/// readers and diffs read it.
///
/// ```
/// use taper::display::MimeBundle;
///
/// let bundle = MimeBundle::text("3 rows").with("text/html", "<b>3</b> rows");
/// assert_eq!(bundle.get("text/html"), Some("<b>3</b> rows"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MimeBundle {
    data: Map<String, Value>,
}

impl MimeBundle {
    /// A bundle whose only representation so far is plain text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::default().and("text/plain", text.into())
    }

    /// Adds (or replaces) the representation for one MIME type.
    pub fn with(self, mime_type: &str, content: impl Into<String>) -> Self {
        self.and(mime_type, content.into())
    }

    fn and(mut self, mime_type: &str, content: String) -> Self {
        self.data
            .insert(mime_type.to_owned(), Value::String(content));
        self
    }

    /// The representation for one MIME type, if the bundle has it.
    pub fn get(&self, mime_type: &str) -> Option<&str> {
        self.data.get(mime_type).and_then(Value::as_str)
    }
}

/// Shows a bundle below the cell, like IPython's `display`.
///
/// Several calls in one cell give several outputs, in order.
///
/// ```
/// use taper::display::{MimeBundle, display};
///
/// display(&MimeBundle::text("shown in a notebook, silent in a test"));
/// ```
pub fn display(bundle: &MimeBundle) {
    emit("display", bundle);
}

/// Removes what the cell has shown so far, like IPython's `clear_output`; with `wait`, only when the
/// next output comes, so that nothing flickers. Does nothing outside the Taper kernel.
///
/// Something that changes in place is easier with [`display_live`].
///
/// ```
/// use taper::display::{MimeBundle, clear_output, display};
///
/// for step in 0..3 {
///     clear_output(true);
///     display(&MimeBundle::text(format!("step {step}")));
/// }
/// ```
pub fn clear_output(wait: bool) {
    send_record(&json!({ "op": "clear", "wait": wait }));
    kernel::turn_page();
}

/// Shows a bundle as the value of the cell (Jupyter's `Out[n]`).
pub(crate) fn result(bundle: &MimeBundle) {
    emit("result", bundle);
}

fn emit(op: &str, bundle: &MimeBundle) {
    match Host::current() {
        Host::Taper { secret } => write_record(secret, &json!({ "op": op, "data": bundle.data })),
        Host::Evcxr => write_evcxr_blocks(bundle),
        Host::Plain => {}
    }
}

/// Sends one record to the Taper kernel; does nothing anywhere else.
pub(crate) fn send_record(record: &Value) {
    if let Host::Taper { secret } = Host::current() {
        write_record(secret, record);
    }
}

/// The secret of a log, where there is nobody to hide from.
const LOG: &str = "log";

/// From now on displays go to standard output as they would to the kernel, but not if somebody has
/// been asked already who runs this program.
pub(crate) fn begin_log() {
    let secret = LOG.to_owned();
    let _ = HOST.set(Host::Taper { secret });
}

/// Whether somebody reads records: the kernel, `taper run`, or later the reader of a log.
pub(crate) fn is_recorded() -> bool {
    matches!(Host::current(), Host::Taper { .. })
}

static HOST: OnceLock<Host> = OnceLock::new();

/// Who runs this program, and so where displays go.
#[derive(Debug)]
enum Host {
    /// The Taper kernel or `taper run`.
    Taper { secret: String },
    /// Stock `evcxr_jupyter` or the evcxr REPL.
    Evcxr,
    /// An ordinary program.
    Plain,
}

impl Host {
    fn current() -> &'static Host {
        HOST.get_or_init(|| {
            if let Ok(secret) = std::env::var("TAPER_DISPLAY") {
                Host::Taper { secret }
            } else if std::env::var_os("EVCXR_IS_RUNTIME").is_some() {
                Host::Evcxr
            } else {
                Host::Plain
            }
        })
    }
}

/// One line: record separator, secret, JSON (which holds no raw control characters).
fn write_record(secret: &str, record: &Value) {
    let line = format!("\x1e{secret} {record}\n");
    // Output that nobody reads any more is no reason to fail a cell.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

fn write_evcxr_blocks(bundle: &MimeBundle) {
    let mut blocks = String::new();
    for (mime_type, content) in &bundle.data {
        let content = content.as_str().unwrap_or_default();
        blocks += &format!("EVCXR_BEGIN_CONTENT {mime_type}\n{content}\nEVCXR_END_CONTENT\n");
    }
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(blocks.as_bytes());
    let _ = stdout.flush();
}
