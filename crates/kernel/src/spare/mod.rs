//! A spare kernel that waits, warmed, until somebody starts or restarts a kernel.
//!
//! ```text
//!  Jupyter ── starts ──> taper kernel          taper __standby
//!                         door.rs ── socket ──> process.rs
//!                           │  connection file, folder, environment, output streams
//!                           └─ lives as long as the spare does, and the other way round
//! ```
//!
//! A start of a session is seconds of rust-analyzer. The spare has them behind it. The process that
//! Jupyter started becomes its *door*: it hands over what it was started with and waits; when one of
//! the two ends, the connection between them does, and so does the other. A spare serves one kernel
//! in its life, so nothing of an earlier use is in it.
//!
//! There is one spare at most, held by a lock. It is started by `taper lab` and by each kernel once
//! that stands, leaves when nobody wanted it for a while, and never serves a kernel for which it was
//! not made ([`offer`]). `TAPER_STANDBY=0` switches all of it off.

mod descriptors;
mod process;
mod proxy;
mod registry;

pub use process::{ARGUMENT, run};
pub use proxy::adopt;

use anyhow::{Context, Result};
use std::process::{Command, Stdio};
use std::time::Duration;
use taper_session::workspace;

/// `0`: no spare. Another number: so many minutes a spare waits.
const VARIABLE: &str = "TAPER_STANDBY";
const MINUTES: f64 = 10.0;

/// How long a spare waits to be wanted; `None` when switched off.
fn patience() -> Option<Duration> {
    let minutes = std::env::var(VARIABLE).ok();
    let minutes = minutes
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(MINUTES);
    (minutes > 0.0).then(|| Duration::from_secs_f64(60.0 * minutes))
}

/// Starts a spare, unless there is one; it belongs to nobody.
pub fn start() -> Result<()> {
    if patience().is_none() {
        return Ok(());
    }
    let mut command = Command::new(taper_host::process::program()?);
    workspace::leave(&mut command);
    command
        .arg(ARGUMENT)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // It starts itself a second time and ends, so that it is nobody's child.
    command.status().context("starting a spare kernel")?;
    Ok(())
}

/// Starts a spare a little later: the student's first cells go first.
pub fn start_later() {
    if patience().is_none() {
        return;
    }
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(2));
        if let Err(error) = start() {
            eprintln!("taper: {error:#}");
        }
    });
}
