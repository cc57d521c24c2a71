//! Layers, and the traits of models, which list, move, save and load their parameters.
//!
//! - [`Parameter`] is a tensor that training changes; a [`Buffer`] belongs to the model's state too,
//!   but no optimiser changes it; [`Mode`] is the switch between training and evaluation.
//! - [`Parameters`] is the trait of models: it visits their fields. Derive it.
//!   [`ParametersExt`] has the methods that are built on it: `named_parameters`, `replicate`, `train`,
//!   `eval`, `summary`, `save_parameters`, `load_parameters` and so on.
//! - [`Layer`] is a model that maps one tensor to one tensor; [`Sequential`] chains layers.
//!
//! # A layer
//!
//! A layer is a struct, a derive and a `forward`. Parameters are fields of type [`Parameter`], settings
//! are fields of plain types.
//!
//! ```
//! use taper::prelude::*;
//!
//! #[derive(Parameters)]
//! struct Affine { scale: Parameter, offset: f64 }
//!
//! impl Layer for Affine {
//!     fn forward(&self, x: &Tensor) -> Tensor {
//!         x * self.scale.tensor() + self.offset
//!     }
//! }
//!
//! let affine = Affine { scale: Parameter::new(&ones(1)), offset: 0.5 };
//! assert_eq!(format!("{affine:?}"), "Affine(offset=0.5)");
//! ```

#[doc(inline)]
pub use taper_extra::{
    AdaptiveMaxPool1d, AdaptiveMaxPool2d, AvgPool3d, BagMode, Bilinear, CTCLoss, Conv3d,
    CosineEmbeddingLoss, EmbeddingBag, GRUCell, GaussianNLLLoss, HingeEmbeddingLoss, LSTMCell,
    LocalResponseNorm, MaxPool3d, MultiMarginLoss, PReLU, PoissonNLLLoss, RNNCell, SpectralNorm,
    Triple, TripletMarginLoss, WeightNorm,
};
#[doc(inline)]
pub use taper_nn::nn::*;
