//! Display records, and the host that reads them.

use super::bundle::MimeBundle;
use serde_json::Value;
use std::io::Write;
use std::sync::OnceLock;

/// Sends a record to the Taper kernel. Does nothing under other hosts.
pub(crate) fn send_record(record: &Value) {
    if let Host::Taper { secret } = Host::current() {
        write_record(secret, record);
    }
}

/// The secret in the records of a log, which need no protection.
const LOG: &str = "log";

/// Writes all displays from now on to standard output in the format for the kernel. Has no effect if the
/// host is already known.
pub(crate) fn begin_log() {
    let secret = LOG.to_owned();
    let _ = HOST.set(Host::Taper { secret });
}

/// Returns whether records are read: by the kernel, by `taper run`, or later from a log.
pub(crate) fn is_recorded() -> bool {
    matches!(Host::current(), Host::Taper { .. })
}

static HOST: OnceLock<Host> = OnceLock::new();

/// The program that runs this one, which decides where displays go.
#[derive(Debug)]
pub(super) enum Host {
    /// The Taper kernel, `taper run`, or a log that is read later.
    Taper { secret: String },
    /// Stock `evcxr_jupyter` or the evcxr REPL.
    Evcxr,
    /// An ordinary program.
    Plain,
}

impl Host {
    pub(super) fn current() -> &'static Host {
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

/// Writes a record as one line: record separator, secret, JSON (which contains no control characters).
pub(super) fn write_record(secret: &str, record: &Value) {
    let line = format!("\x1e{secret} {record}\n");
    // A closed standard output must not fail the cell.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

/// Writes a bundle in the format of stock `evcxr_jupyter`.
pub(super) fn write_evcxr_blocks(bundle: &MimeBundle) {
    let mut blocks = String::new();
    for (mime_type, content) in bundle.data() {
        let Some(content) = content.as_str() else {
            continue;
        };
        blocks += &format!("EVCXR_BEGIN_CONTENT {mime_type}\n{content}\nEVCXR_END_CONTENT\n");
    }
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(blocks.as_bytes());
    let _ = stdout.flush();
}
