//! Training: the interface of a model, and the loop that trains it.
//!
//! - A [`Module`] is a model with a loss; [`Classifier`] makes one of any network that returns logits.
//! - A [`Trainer`] fits a module to a [`DataModule`](crate::data::DataModule), on one device or
//!   several, and keeps a [`History`]; it also validates, tests and predicts. A [`Callback`] runs
//!   between steps and can stop the training, as [`EarlyStopping`] does.
//! - A [`Search`] trains with many settings of hyperparameters, and orders them by a score.
//! - [`split_and_load`] and [`DataParallel`] are the parts for a training loop of your own;
//!   [`Accuracy`] counts right predictions over several devices.

#[doc(inline)]
pub use taper_extra::AveragedWeights;
#[doc(inline)]
pub use taper_train::train::*;
