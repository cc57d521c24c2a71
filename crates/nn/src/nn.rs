//! Layers, and the traits of models, which list, move, save and load their parameters.
//!
//! # How the fields of a model are visited
//!
//! [`Parameters::visit`] passes the fields of a model to a [`Visitor`], in order and with their names.
//! Models, lists, options and boxes pass the visitor on to the values inside; parameters, buffers, modes
//! and plain data are the ends of the walk. [`Parameters::visit_mut`] does the same for a
//! [`VisitorMut`], which may replace tensors. The methods of a model are visitors:
//!
//! | visitor | collects or does | for |
//! |---|---|---|
//! | `State` | parameters and buffers with dotted names, tied ones once | names, counts, files, optimisers |
//! | `Description` | names, settings and parts | `describe`, `{:?}`, the value below a cell |
//! | `EachMode` | reads or switches each mode | `train`, `eval` |
//! | `SetFrozen` | freezes or unfreezes each parameter and mode | `freeze`, `unfreeze` |
//! | `Replacement` | moves, converts or copies each tensor once | `to_device`, `to_dtype`, `replicate` |
//! | `Weights` | collects the weights of linear layers | `lora`, `quantize` |
//!
//! Only the derived methods are compiled for each model, and they only pass the fields on. The visitors
//! are trait objects, compiled once with Taper, so that a cell that defines or uses a model compiles
//! quickly.

#[cfg(test)]
mod bad_inputs;
mod buffer;
#[doc(hidden)]
pub mod check;
mod containers;
mod describe;
mod evaluating;
#[doc(hidden)]
pub mod files;
mod fused;
mod fusible;
mod init;
mod kv_cache;
mod layer;
mod layer_macro;
mod layers;
mod linear_weights;
mod load;
mod lora;
#[cfg(test)]
mod masked_nan;
mod mode;
mod parameter;
mod parameters;
mod parameters_ext;
mod placement;
mod prefix;
mod quantize;
mod shapes;
mod spec;
mod state;
mod summary;
#[cfg(any(feature = "testing", test))]
#[doc(hidden)]
pub mod testing;
#[cfg(test)]
mod tests;
mod visitor;

#[doc(hidden)]
pub use crate::ops::same_device;
pub use crate::ops::{
    AttentionMask, BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, Interpolation,
    KLDivLoss, L1Loss, MSELoss, NLLLoss, PaddingMode, Pair, Reduction, SmoothL1Loss,
    bce_with_logits, cross_entropy, huber_loss, kl_div, l1_loss, mse_loss, nll_loss,
    scaled_dot_product_attention, smooth_l1_loss,
};
pub use buffer::Buffer;
#[doc(hidden)]
pub use evaluating::evaluating;
pub use init::Init;
pub use kv_cache::KvCache;
#[doc(hidden)]
pub use layer::CopyLayer;
pub use layer::Layer;
pub use layers::*;
#[doc(hidden)]
pub use layers::{
    affine::initial, convolution::check_channels, gates::Gates, pool1d::as_rows, recurrent::State,
};
pub use load::{LoadOptions, LoadReport};
pub use lora::{Lora, LoraConfig, lora};
pub use mode::Mode;
pub use parameter::Parameter;
pub use parameters::Parameters;
#[doc(hidden)]
pub use parameters::visit_field;
pub use parameters_ext::ParametersExt;
pub use quantize::{Quantization, quantize};
pub use shapes::{Shapes, check_shapes};
#[doc(hidden)]
pub use state::{StateEntry, state_of};
pub use summary::Summary;
#[doc(hidden)]
pub use summary::{first_not_finite, record_output};
/// Implements [`Parameters`](trait@Parameters) for a struct of layers and plain data, and with it `Debug`
/// and [`Show`](crate::notebook::Show), which print the model's description.
///
/// - `#[parameters(skip)]` above a field excludes it; a copy of the model contains a clone of the field.
/// - `#[parameters(flatten)]` above a field that is a model treats that model's fields as the struct's
///   own.
/// - `#[describe(…)]` above the struct lists the settings to print; see
///   [`describe`](method@Parameters::describe).
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
///     net: seq![Linear::new(2, 1)],
///     lr: 0.1,
///     history: Default::default(),
/// };
/// assert_eq!(model.named_parameters()[0].0, "net.0.weight");
/// ```
///
/// ```compile_fail
/// # use taper::prelude::*;
/// #[derive(Parameters)]
/// enum NotAStruct { One }
/// ```
pub use taper_macros::Parameters;
pub use visitor::{Visitor, VisitorMut};
