//! Training: the interface of a model, and the loop that trains it.
//!
//! - A [`Module`] is a model with a loss; [`Classifier`] makes one of any network that returns logits.
//! - A [`Trainer`] fits a module to a [`DataModule`](crate::data::DataModule), on one device or
//!   several, and keeps a [`History`]; it also validates, tests and predicts. A [`Callback`] runs
//!   between steps and can stop the training, as [`EarlyStopping`] does.
//! - A [`Search`] trains with many settings of hyperparameters, and orders them by a score.
//! - [`split_and_load`] and [`DataParallel`] are the parts for a training loop of your own;
//!   [`Accuracy`] counts right predictions over several devices.

mod accuracy;
mod averaged;
mod callback;
mod checkpoint;
mod classifier;
mod early_stopping;
mod evaluate;
mod fit;
mod history;
mod metrics;
mod model;
mod module;
mod parallel;
mod recorder;
mod search;
mod snapshot;
#[cfg(test)]
mod tests;
mod trainer;
mod unfinished;

pub use accuracy::{Accuracy, accuracy};
pub use averaged::AveragedWeights;
pub use callback::{Callback, EpochEnd, FitEnd, Flow, Step};
pub use checkpoint::Checkpoint;
pub use classifier::Classifier;
pub use early_stopping::EarlyStopping;
pub use fit::LrFinder;
pub use history::{Epoch, History, Interval};
pub use metrics::Metrics;
pub(crate) use model::{AnyModel, Steps, steps};
pub use module::Module;
pub use parallel::{DataParallel, Gradients, split_and_load};
pub use search::{Search, SearchResults, Trial};
pub use trainer::Trainer;
