//! Compiles cells: what evcxr and rust-analyzer find in place of cargo, rustup and the source of Rust's
//! library.
//!
//! Both are made for projects: evcxr lets cargo look at 150 packages for each cell, of which none
//! has changed; rust-analyzer reads every source that cargo names, and all of Rust's library: 27
//! MB, of which 16 are the intrinsics of processors, and packages of which a cell can name the
//! types of four. That was most of a start, of a kernel's memory and of a small cell. So they are
//! shown less, through the places where they look ([`environment`]):
//!
//! - `$RUST_SRC_PATH` is a folder with links to `core`, `alloc` and `std` ([`library`]);
//! - `$CARGO_HOME/bin/cargo`, which rust-analyzer prefers to every other, is this very program under
//!   the name of cargo ([`stand_in`]). It leaves packages out of what `cargo metadata` says
//!   ([`metadata`]), and compiles a cell without cargo where nothing but the cell is new ([`cell`]);
//! - `rustup`, first on the `$PATH`, is this program too, and returns the paths of that cargo and of
//!   the session's compiler to evcxr.
//!
//! The path of a cell: the first time cargo compiles it, and calls the [`recorder`] in place of rustc.
//! From then on the recorded call is made again ([`replay`]), without what the cell does not need
//! ([`lighten`]), with the [`linker`] named directly and with an [`outline`] of `taper` for it to read, and what rustc
//! says is passed on as cargo would ([`messages`]). rustc was started when the cell was received ([`early`]). What
//! evcxr writes around a cell is improved before ([`source`]). Before each call of cargo, the versions that the image
//! has are kept ([`versions`]).
//!
//! In a spare kernel that was adopted, all of these have the environment of the kernel ([`adopted`]).
//!
//! An interrupt ends the whole of it ([`group`]).
//!
//! Whatever must be right rather than quick is passed on to the real ones ([`tools`]).

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
pub(crate) use memory::{CARGO_HOME as CARGO_HOME_PLACEHOLDER, FOLDER as ANSWERS};
pub(crate) use stand_in::StandIn;
pub(crate) use tools::flags;
pub(crate) use variables::packages;
pub use variables::{STORED as STORED_CARGO_HOME, cargo_home};
