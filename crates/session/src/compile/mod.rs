//! Compiles cells: what evcxr and rust-analyzer find in place of cargo, rustup and the source of Rust's
//! library.
//!
//! evcxr and rust-analyzer are made for projects. For each cell, evcxr lets cargo check 150 packages,
//! none of which has changed. rust-analyzer reads every source that cargo names, although a cell can
//! name the types of only four of these packages, and all of Rust's library: 27 MB, of which 16 are
//! processor intrinsics. This took most of the time of a start and of a small cell, and most of a
//! kernel's memory. So both are shown less, in the places where they look ([`environment`]):
//!
//! - `$RUST_SRC_PATH` is a folder with links to `core`, `alloc` and `std` ([`library`]);
//! - `$CARGO_HOME/bin/cargo`, which rust-analyzer prefers to every other, is this program under the name
//!   of cargo ([`stand_in`]). It leaves packages out of the output of `cargo metadata` ([`metadata`]),
//!   and compiles a cell without cargo where nothing but the cell is new ([`cell`]);
//! - `rustup`, first on the `$PATH`, is this program too, and returns the paths of that cargo and of
//!   the session's compiler to evcxr.
//!
//! The path of a cell: the first time cargo compiles it, and calls the [`recorder`] in place of rustc.
//! From then on the recorded call is made again ([`replay`]), without what the cell does not need
//! ([`lighten`]). It calls the linker directly ([`linker`]), which reads only an [`outline`] of `taper`.
//! rustc's messages are passed on as cargo would ([`messages`]). rustc was started when the cell was
//! received ([`early`]), and the code that evcxr writes around a cell is improved before it is compiled
//! ([`source`]). Before each call of cargo, a lock file that evcxr has emptied is restored
//! ([`versions`]).
//!
//! In a spare kernel that was adopted, all these processes have the environment of the kernel whose
//! place it takes ([`adopted`]).
//!
//! An interrupt ends all processes that compile a cell ([`group`]).
//!
//! All other calls are passed on to the real programs ([`tools`]).

mod adopted;
mod basis;
mod cell;
mod children;
mod early;
mod environment;
mod group;
mod kept;
mod library;
mod lighten;
mod linker;
mod memory;
mod messages;
mod metadata;
mod outline;
mod question;
mod recorder;
mod replay;
mod source;
mod stand_in;
mod tools;
mod variables;
mod versions;
mod waiting;

pub(crate) use adopted::Changes;
pub(crate) use cell::MESSAGES;
pub(crate) use children::{leave, leave_builds, leave_with_toolchain};
pub(crate) use early::Early;
pub(crate) use environment::{enter, prepare};
pub(crate) use group::Compilation;
pub(crate) use kept::KEEP_VARIABLE as KEEP_CELLS;
pub(crate) use library::show as show_library;
pub(crate) use memory::{CARGO_HOME as CARGO_HOME_PLACEHOLDER, FOLDER as ANSWERS, PACKAGES};
pub(crate) use messages::is_error;
pub(crate) use stand_in::StandIn;
pub(crate) use tools::FLAGS;
pub(crate) use variables::packages;
pub use variables::{STORED as STORED_CARGO_HOME, cargo_home};
