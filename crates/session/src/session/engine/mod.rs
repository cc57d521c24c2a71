//! What evaluates the Rust of a cell: a trait, and the two engines that implement it.
//!
//! - [`interface`] is the trait; [`input`] passes a cell's request for input on;
//! - [`own`] uses the crate `taper-engine`;
//! - [`evcxr`] hides evcxr; nothing outside of that folder names it.

mod evcxr;
mod input;
mod interface;
mod own;

use crate::error::Result;
use evcxr::Evcxr;
pub(crate) use interface::{Engine, EngineEvent, Start};
use own::Own;

/// The variable that chooses the engine: `taper` or `evcxr`.
const VARIABLE: &str = "TAPER_ENGINE";

/// Starts the engine that the user has chosen. The first cell of a new image needs evcxr, because the image
/// contains what that engine compiles.
pub(super) fn start(start: &Start) -> Result<Box<dyn Engine>> {
    let is_own = std::env::var_os(VARIABLE).is_some_and(|engine| engine == "taper");
    match &start.library {
        Some(library) if is_own => Ok(Box::new(Own::start(start, library)?)),
        library => Ok(Box::new(Evcxr::start(start.work, library.as_deref())?)),
    }
}
