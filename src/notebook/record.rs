//! Display records, and who reads them.

use super::bundle::MimeBundle;
use serde_json::Value;
use std::io::Write;
use std::sync::OnceLock;

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
pub(super) enum Host {
    /// The Taper kernel or `taper run`.
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

/// One line: record separator, secret, JSON (which holds no raw control characters).
pub(super) fn write_record(secret: &str, record: &Value) {
    let line = format!("\x1e{secret} {record}\n");
    // Output that nobody reads any more is no reason to fail a cell.
    let _ = std::io::stdout().lock().write_all(line.as_bytes());
}

pub(super) fn write_evcxr_blocks(bundle: &MimeBundle) {
    let mut blocks = String::new();
    for (mime_type, content) in bundle.data() {
        let content = content.as_str().unwrap_or_default();
        blocks += &format!("EVCXR_BEGIN_CONTENT {mime_type}\n{content}\nEVCXR_END_CONTENT\n");
    }
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(blocks.as_bytes());
    let _ = stdout.flush();
}
