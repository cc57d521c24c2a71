//! What evaluates the Rust of a cell: a trait, and the engines that implement it.
//!
//! - [`interface`] is the trait; [`input`] passes a cell's request for input on, [`output`] turns what cells print into
//!   records;
//! - [`own`] uses the crate `taper-engine`, and is the default;
//! - `evcxr` uses the released evcxr, with the feature `evcxr`.

#[cfg(feature = "evcxr")]
mod evcxr;
mod input;
mod interface;
mod output;
mod own;
mod tables;

use crate::error::{Error, Result};
pub(crate) use interface::{Engine, EngineEvent, How, Start};
use own::Own;

/// The variable that chooses the engine: `taper`, the default, or `evcxr`.
pub(crate) const VARIABLE: &str = "TAPER_ENGINE";

/// Starts the engine that the user has chosen.
pub(super) fn start(start: &Start) -> Result<Box<dyn Engine>> {
    match std::env::var_os(VARIABLE) {
        #[cfg(feature = "evcxr")]
        Some(engine) if engine == "evcxr" => Ok(Box::new(evcxr::Evcxr::start(start)?)),
        #[cfg(not(feature = "evcxr"))]
        Some(engine) if engine == "evcxr" => Err(Error::NoEvcxr),
        Some(engine) if !engine.is_empty() && engine != "taper" => Err(Error::Engine(engine)),
        _ => Ok(Box::new(Own::start(start)?)),
    }
}
