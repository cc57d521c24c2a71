//! Events of a cell, and the host that receives them.

use super::bundle::MimeBundle;
use serde_json::Value;
use std::io::Write;
use std::sync::OnceLock;

/// Sends an event to the Taper kernel, or writes it into the log. Does nothing under other hosts.
pub(crate) fn send_record(event: &Value) {
    match Host::current() {
        Host::Taper(receiver) => receiver.receive(event),
        Host::Evcxr | Host::Plain => {}
    }
}

/// Writes all displays from now on to standard output, in the format of a log. Has no effect if the host is already
/// known.
pub(crate) fn begin_log() {
    let _ = HOST.set(Host::Taper(Receiver::Log));
}

/// Sends all displays from now on to the kernel.
pub(super) fn set_kernel(receive: Receive) {
    let _ = HOST.set(Host::Taper(Receiver::Kernel(receive)));
}

/// Returns whether events are read: by the kernel, by `taper run`, or later from a log.
pub(crate) fn is_recorded() -> bool {
    matches!(Host::current(), Host::Taper(_))
}

static HOST: OnceLock<Host> = OnceLock::new();

/// The program that runs this one, which decides where displays go.
#[derive(Debug)]
pub(super) enum Host {
    /// The Taper kernel, `taper run`, or a log that is read later.
    Taper(Receiver),
    /// Stock `evcxr_jupyter` or the evcxr REPL.
    Evcxr,
    /// An ordinary program.
    Plain,
}

impl Host {
    pub(super) fn current() -> &'static Host {
        HOST.get_or_init(|| match std::env::var_os("EVCXR_IS_RUNTIME") {
            Some(_) => Host::Evcxr,
            None => Host::Plain,
        })
    }
}

/// The kernel's function that receives an event as JSON, and returns when the kernel has read it.
pub(crate) type Receive = extern "C" fn(text: *const u8, length: usize);

/// Receives events.
#[derive(Debug)]
pub(super) enum Receiver {
    /// The Taper kernel or `taper run`.
    Kernel(Receive),
    /// A log on standard output.
    Log,
}

impl Receiver {
    /// Passes an event on, after all that was printed before. Standard output stays locked meanwhile, so the event is not
    /// in the middle of what another thread prints.
    pub(super) fn receive(&self, event: &Value) {
        let mut output = std::io::stdout().lock();
        // A closed standard output must not fail the cell.
        match self {
            Receiver::Kernel(receive) => {
                let event = event.to_string();
                let _ = output.flush();
                receive(event.as_ptr(), event.len());
            }
            // One line: record separator, JSON (which contains no control characters).
            Receiver::Log => {
                let _ = output.write_all(format!("\x1elog {event}\n").as_bytes());
            }
        }
    }
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
