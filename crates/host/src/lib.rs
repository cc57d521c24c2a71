//! What the machine has, and what every other crate of the command needs from it.
//!
//! - [`cache`]: the folders in which Taper keeps what it can make again, [`lock`]: one writer at a time;
//! - [`checkout`]: the clone that holds the crate `taper` and the notebooks;
//! - [`toolchain`]: the Rust on the PATH, [`python`]: a Python and environments made with it,
//!   [`gpu`]: the GPU and the settings with which `taper` is compiled for it;
//! - [`checks`]: what must be there before something long begins;
//! - [`process`]: our own program as another process, [`progress`]: how far a long step is,
//!   [`digest`]: names made of content.

pub mod cache;
pub mod checkout;
pub mod checks;
pub mod digest;
pub mod error;
pub mod gpu;
pub mod lock;
pub mod process;
pub mod progress;
pub mod python;
pub mod toolchain;

pub use error::Error;
