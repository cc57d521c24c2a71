//! Metrics of predictions: how many are right, how well boxes and texts fit.

mod boxes;
mod classes;
mod text;

pub use boxes::{Detections, box_iou, mean_average_precision, nms};
pub use classes::{Average, Confusion};
pub use text::{bleu, perplexity};
