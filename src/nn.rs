//! Layers, and what every model can do with its parameters.
//!
//! - [`Parameter`] is a tensor that training changes; [`Mode`] is the switch between training and
//!   evaluation.
//! - [`Parameters`] is what a model has: a walk over its fields, from which come
//!   `named_parameters`, `to_device`, `train`, `eval` and its description. Derive it.
//! - [`Layer`] is a model that maps one tensor to one tensor; [`Sequential`] chains layers.
//!
//! A layer is a struct in a file of its own: parameters in fields of type [`Parameter`], settings
//! in fields of plain types, `Parameters` derived or written by hand, and one `forward`.

mod activation;
mod containers;
mod flatten;
mod layer;
mod lazy_linear;
mod linear;
mod mode;
mod parameter;
mod parameters;
mod sequential;

pub use activation::{ReLU, Sigmoid, Tanh};
pub use flatten::Flatten;
pub use layer::Layer;
pub use lazy_linear::LazyLinear;
pub use linear::Linear;
pub use mode::Mode;
pub use parameter::Parameter;
pub use parameters::Parameters;
#[doc(hidden)]
pub use parameters::describe_model;
pub use sequential::Sequential;
pub use taper_macros::Parameters;

/// Prints a layer, in `{:?}` and below a cell, as it describes itself.
macro_rules! print_as_described {
    ($($layer:ty),* $(,)?) => {$(
        impl std::fmt::Debug for $layer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::nn::Parameters::describe(self))
            }
        }

        impl $crate::show::Show for $layer {
            fn show_text(&self) -> String {
                $crate::nn::Parameters::describe(self)
            }
        }
    )*};
}
use print_as_described;
