//! Layers, and what every model can do with its parameters.
//!
//! - [`Parameter`] is a tensor that training changes; [`Mode`] is the switch between training and
//!   evaluation.
//! - [`Parameters`] is what a model has: a walk over its fields. Derive it. [`ParametersExt`] has what
//!   comes from it: `named_parameters`, `to_device`, `replicate`, `train`, `eval`, `summary`,
//!   `save_parameters`, `load_parameters` and so on.
//! - [`Layer`] is a model that maps one tensor to one tensor; [`Sequential`] chains layers.
//!
//! A layer is a struct in a file of its own: parameters in fields of type [`Parameter`], settings
//! in fields of plain types, `Parameters` derived or written by hand, and one `forward`.

mod buffer;
pub(crate) mod check;
mod containers;
pub(crate) mod files;
mod init;
mod layer;
mod layers;
mod mode;
mod parameter;
mod parameters;
mod parameters_ext;
mod replicate;
mod spec;
mod summary;
#[cfg(test)]
mod tests;

pub(crate) use crate::ops::loss::same_device;
pub use crate::ops::loss::{bce_with_logits, cross_entropy, huber_loss, l1_loss, mse_loss};
pub use buffer::Buffer;
pub use init::Init;
pub use layer::Layer;
#[doc(hidden)]
pub use layer::ReplicateLayer;
pub use layers::{
    AdaptiveAvgPool2d, AvgPool2d, BatchNorm1d, BatchNorm2d, Conv2d, Dropout, Embedding, Flatten,
    GELU, LayerNorm, LazyBatchNorm1d, LazyBatchNorm2d, LazyConv2d, LazyLinear, Linear, MaxPool2d,
    ReLU, Sequential, SiLU, Sigmoid, Softmax, Tanh,
};
pub use mode::Mode;
pub use parameter::Parameter;
pub use parameters::Parameters;
#[doc(hidden)]
pub use parameters::{StateEntry, describe_model};
pub use parameters_ext::ParametersExt;
pub(crate) use parameters_ext::state_of;
pub use replicate::{Copier, Replicate};
pub use summary::Summary;
/// Writes [`Parameters`](trait@Parameters) for a struct of layers and plain data.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Model {
///     net: Sequential,
///     lr: f64,
///     #[parameters(skip)]
///     history: std::collections::VecDeque<f64>,
/// }
///
/// let model = Model {
///     net: seq![Linear::new(2, 1)?],
///     lr: 0.1,
///     history: Default::default(),
/// };
/// assert_eq!(model.named_parameters()[0].0, "net.0.weight");
/// # Ok::<(), Error>(())
/// ```
///
/// ```compile_fail
/// # use taper::prelude::*;
/// #[derive(Parameters)]
/// enum NotAStruct { One }
/// ```
pub use taper_macros::Parameters;

/// Prints a layer, in `{:?}` and below a cell, as it describes itself.
macro_rules! print_as_described {
    ($($layer:ty),* $(,)?) => {$(
        impl std::fmt::Debug for $layer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::nn::Parameters::describe(self))
            }
        }

        impl $crate::notebook::Show for $layer {
            fn show_text(&self) -> String {
                $crate::nn::Parameters::describe(self)
            }
        }
    )*};
}
use print_as_described;
