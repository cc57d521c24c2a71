//! The machine: its compilers, its Python, its GPU, its disk and its processes.
//!
//! All that Taper needs from the machine passes through this crate, so that each check, each message with the
//! next step, and the rules for shared folders are written only once. All other crates of the command depend
//! on this crate; it depends on none of them.
//!
//! # What goes in, what comes out
//!
//! The user's variables (`TAPER_CACHE`, `TAPER_HOME`, `PYTHON`, `CC`, `CUDA_HOME`, `PATH`) and the output
//! of programs (`rustc`, `cc`, `nvidia-smi`, `nvcc`, `cargo metadata`, pip) go in. Paths, versions and
//! [`gpu::settings::Settings`] come out, or an error that says what is missing and which command
//! installs it.
//!
//! # The path of the data
//!
//! `taper setup` passes through all files:
//!
//! 1. [`checks`] asks [`toolchain`] for the Rust compiler's version, looks for a C compiler, and compares
//!    the free space of the disk with what a build needs. Nothing long begins before that.
//! 2. [`gpu::decide`] asks the driver ([`gpu::smi`]), finds a CUDA toolkit that fits or installs it
//!    ([`gpu::toolkit`]), writes the folder with which Candle's build scripts compile, and stores the
//!    result as [`gpu::settings()`]. Every later start reads these settings and does not ask the driver.
//! 3. [`python`] finds an interpreter, and creates one environment for each list of packages.
//! 4. What is created is in the [`cache`] folder. A [`lock::Lock`] lets one process write a folder at a
//!    time. Files appear complete or not at all ([`cache::write_atomically`]), and a folder counts only
//!    when the file that is written last exists, so a set-up may be killed at any moment.
//! 5. Programs that take long run below a supervisor ([`process::supervised`]): they end when the set-up
//!    does, and hold its lock until then.
//!
//! # The files, from the bottom up
//!
//! - [`error`]: what errors have in common: the file to which they belong, and a full disk;
//! - [`digest`]: digests as text; [`version`]: versions, compared by their parts; [`progress`]: how a long
//!   step reports to the user;
//! - [`cache`], [`archive`], [`checkout`]: the folder of what Taper can build again, folders as one file, and the
//!   folder with Taper's sources;
//! - [`store`]: a cache that all users of a machine read;
//! - [`lock`], [`process`]: one writer at a time, and programs that end when this process ends;
//! - [`mutex`]: locks between threads;
//! - [`toolchain`], [`components`], [`python`], [`gpu`]: what the machine has installed, or what we install in the
//!   cache;
//! - [`checks`]: whether everything is available.

pub mod archive;
pub mod cache;
pub mod checkout;
pub mod checks;
pub mod components;
pub mod digest;
pub mod error;
pub mod gpu;
pub mod lock;
pub mod mutex;
pub mod process;
pub mod progress;
pub mod python;
pub mod store;
pub mod toolchain;
pub mod version;

#[cfg(windows)]
compile_error!(
    "Taper does not run on Windows itself. Install WSL2 (`wsl --install` in PowerShell), \
     then install and use Taper in the Linux that it starts."
);
