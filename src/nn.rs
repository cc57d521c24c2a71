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
mod describe;
pub(crate) mod files;
mod init;
mod layer;
mod layers;
mod loss;
mod mode;
mod parameter;
mod parameters;
mod parameters_ext;
mod placement;
mod spec;
mod state;
mod summary;
#[cfg(test)]
mod tests;
mod visitor;

pub use buffer::Buffer;
pub use init::Init;
#[doc(hidden)]
pub use layer::CopyLayer;
pub use layer::Layer;
pub use layers::{
    AdaptiveAvgPool2d, AvgPool2d, BatchNorm1d, BatchNorm2d, Conv2d, Dropout, Embedding, Flatten,
    GELU, LayerNorm, LazyBatchNorm1d, LazyBatchNorm2d, LazyConv2d, LazyLinear, Linear, MaxPool2d,
    ReLU, Sequential, SiLU, Sigmoid, Softmax, Tanh,
};
pub(crate) use loss::same_device;
pub use loss::{bce_with_logits, cross_entropy, huber_loss, l1_loss, mse_loss};
pub use mode::Mode;
pub use parameter::Parameter;
pub use parameters::Parameters;
#[doc(hidden)]
pub use parameters::visit_field;
pub use parameters_ext::ParametersExt;
pub(crate) use state::{StateEntry, state_of};
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
pub use visitor::{Visitor, VisitorMut};
