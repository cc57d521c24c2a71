//! What evaluates the Rust of a cell: a trait, and the engines that implement it.
//!
//! - [`interface`] is the trait: what both engines can do;
//! - [`mod@own`] uses the crate `taper-engine`, and is the default;
//! - `evcxr` uses the released evcxr, with the feature `evcxr`.

#[cfg(feature = "evcxr")]
mod evcxr;
mod interface;
mod own;

use anyhow::{Result, bail};
pub(crate) use interface::{Code, Engine, How, Ran, Running, Start};
pub(crate) use own::Own;
use std::any::Any;

/// The variable that chooses the engine: `taper`, the default, or `evcxr`.
pub(crate) const VARIABLE: &str = "TAPER_ENGINE";

const DOES_NOT_START: &str = "the compiler of cells does not start";
#[cfg(not(feature = "evcxr"))]
const NO_EVCXR: &str = "this `taper` was built without evcxr, which TAPER_ENGINE chooses: build it with `cargo install --locked \
    --path cli --features evcxr`, or unset TAPER_ENGINE";

/// Returns whether the user has chosen our own engine.
pub fn is_own() -> bool {
    std::env::var_os(VARIABLE).is_none_or(|engine| engine != "evcxr")
}

/// Starts the engine that the user has chosen.
pub(super) fn start(start: &Start) -> Result<Box<dyn Engine>> {
    match std::env::var_os(VARIABLE) {
        #[cfg(feature = "evcxr")]
        Some(engine) if engine == "evcxr" => Ok(Box::new(evcxr::Evcxr::start(start)?)),
        #[cfg(not(feature = "evcxr"))]
        Some(engine) if engine == "evcxr" => bail!(NO_EVCXR),
        Some(engine) if !engine.is_empty() && engine != "taper" => {
            bail!("TAPER_ENGINE is {engine:?}: expected `taper` or `evcxr`")
        }
        _ => Ok(Box::new(Own::start(start)?)),
    }
}

/// Returns our own engine, which can do more than another.
pub(crate) fn own(engine: &mut dyn Engine) -> Option<&mut Own> {
    let engine: &mut dyn Any = engine;
    engine.downcast_mut()
}
