//! A spare kernel, started and warmed before it is needed.
//!
//! ```text
//!  Jupyter ── starts ──> taper kernel           taper __standby
//!                         proxy.rs ── socket ──> process.rs
//!                           │  connection file, folder, environment, output streams
//!                           └─ when one of the two processes ends, so does the other
//! ```
//!
//! To start a session takes rust-analyzer several seconds, which the spare has already spent. The
//! process that Jupyter started becomes a *proxy*: it sends the spare what it was started with
//! (handover.rs) and waits. A spare serves one kernel in its life, so no state of an earlier kernel is
//! in it.
//!
//! There is one spare at most, which holds a lock in a folder that only its user can open
//! (registry.rs). `taper lab` starts it, and so does each kernel after its own start (launch.rs). It
//! ends when it has not been needed for a while (settings.rs), and serves only kernels for which it
//! was started: same image, program, tools and variables (fingerprint.rs). `TAPER_STANDBY=0` disables
//! it.

mod fingerprint;
mod handover;
mod launch;
mod peer;
mod process;
mod proxy;
mod registry;
mod settings;

pub use launch::{ARGUMENT, start, start_later};
pub use process::run;
pub use proxy::adopt;
