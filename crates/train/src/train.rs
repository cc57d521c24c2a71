//! Training: the interface of a model, and the loop that trains it.

mod accuracy;
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
pub use callback::{Callback, EpochEnd, FitEnd, Flow, Step};
pub use checkpoint::Checkpoint;
pub use classifier::Classifier;
pub use early_stopping::EarlyStopping;
pub use fit::LrFinder;
pub use history::{Epoch, History, Interval};
pub use metrics::Metrics;
#[doc(hidden)]
pub use model::{AnyModel, Steps, steps};
pub use module::Module;
pub use parallel::{DataParallel, Gradients, split_and_load};
pub use search::{Search, SearchResults, Trial};
pub use trainer::Trainer;
