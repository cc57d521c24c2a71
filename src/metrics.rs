//! Metrics of predictions: how many are right, how well scores separate classes, how well boxes and texts fit.
//!
//! They are computed on the CPU in double precision, from all predictions at once or, as [`Confusion`], batch by batch.
//! [`accuracy`](crate::train::accuracy) and the losses are on the device of the predictions.

mod boxes;
mod classes;
mod ranking;
mod text;

pub use boxes::{Detections, box_iou, mean_average_precision, nms};
pub use classes::{Average, Confusion};
pub use ranking::{average_precision, roc_auc};
pub use text::{bleu, perplexity};
