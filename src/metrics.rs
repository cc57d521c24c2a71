//! Metrics of predictions: how many are right, how well scores separate classes, how well boxes and texts fit.
//!
//! They are computed on the CPU in double precision, from all predictions at once or, as [`Confusion`], batch by batch.
//! [`accuracy`](crate::train::accuracy) and the losses are on the device of the predictions.

#[doc(inline)]
pub use taper_extra::{average_precision, roc_auc};
#[doc(inline)]
pub use taper_train::metrics::*;
