//! Optimisers, which update parameters from their gradients, and schedules for the learning rate.
//!
//! An optimiser is created for the parameters of one model: `SGD::new(model.parameters(), 0.1)`. It
//! holds the parameters themselves, not their values: so it also updates them after the model has
//! moved to another device, and lazy parameters once they have values.
//!
//! Groups of parameters can have different settings: `add_param_group`. A step that fails changes
//! nothing.

#[doc(inline)]
pub use taper_extra::{LBFGS, OneCycle, ReduceOnPlateau};
#[doc(inline)]
pub use taper_nn::optim::*;
