//! A spare kernel, started and warmed before it is needed.
//!
//! ```text
//!  Jupyter ── starts ──> taper kernel           taper __standby
//!                         proxy.rs ── socket ──> process.rs
//!                           │  connection file, folder, environment, output streams
//!                           └─ when one of the two processes ends, so does the other
//! ```
//!
//! When a session starts, rust-analyzer needs several seconds, which the spare has already spent. The
//! process that Jupyter started becomes a *proxy*: it sends its connection file, folder and environment
//! to the spare (handover.rs) and waits. A spare serves only one kernel, so it contains no state of an
//! earlier kernel.
//!
//! There is one spare at most, which holds a lock in a folder that only its user can open
//! (registry.rs). `taper lab` starts the spare, and so does each kernel after its own start (launch.rs).
//! The spare ends when it has not been needed for a while (settings.rs), and serves only kernels for
//! which it was started: same image, program, tools and variables (fingerprint.rs). `TAPER_STANDBY=0`
//! disables spares.

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
