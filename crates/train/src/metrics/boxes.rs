//! Metrics of boxes around objects.

use crate::erased::outlined;
use crate::error::{OrRaise, Result, problem, refuse};
use crate::tensor::Tensor;
use candle_core::DType;

/// Returns the intersection over union of each pair of boxes.
///
/// # Shapes
/// Boxes `(n, 4)` and `(m, 4)`, each with its left, top, right and bottom edge; the result is `(n, m)`, of `f32`.
///
/// # Panics
/// If the boxes have another shape.
///
/// ```
/// use taper::prelude::*;
///
/// let a = tensor(&[[0.0, 0.0, 2.0, 2.0]]); // (1, 4)
/// let b = tensor(&[[1.0, 0.0, 3.0, 2.0], [5.0, 5.0, 6.0, 6.0]]); // (2, 4)
/// assert_eq!(box_iou(&a, &b).to_vec2::<f32>(), [[1.0 / 3.0, 0.0]]);
/// ```
#[track_caller]
pub fn box_iou(a: &Tensor, b: &Tensor) -> Tensor {
    let (a, b) = (
        corners("box_iou", a).or_raise(),
        corners("box_iou", b).or_raise(),
    );
    let values = a.iter().flat_map(|a| b.iter().map(|b| iou(a, b) as f32));
    Tensor::from_vec(values.collect::<Vec<f32>>(), (a.len(), b.len()))
}

/// Returns the indices of the boxes that remain when, from the highest score on, each box removes the others that overlap it
/// by more than `threshold`: non-maximum suppression. The indices are in order of the scores.
///
/// # Shapes
/// Boxes `(n, 4)`, each with its left, top, right and bottom edge, and scores `(n,)`.
///
/// # Panics
/// If the shapes do not fit.
///
/// ```
/// use taper::prelude::*;
///
/// let boxes = tensor(&[[0.0, 0.0, 2.0, 2.0], [0.1, 0.0, 2.1, 2.0], [5.0, 5.0, 6.0, 6.0]]); // (3, 4)
/// assert_eq!(nms(&boxes, &tensor(&[0.6, 0.9, 0.8]), 0.5), [1, 2]);
/// ```
#[track_caller]
pub fn nms(boxes: &Tensor, scores: &Tensor, threshold: f64) -> Vec<usize> {
    suppressed(boxes, scores, threshold).or_raise()
}

fn suppressed(boxes: &Tensor, scores: &Tensor, threshold: f64) -> Result<Vec<usize>> {
    let all = corners("nms", boxes)?;
    let mut kept: Vec<usize> = vec![];
    for i in by_score("nms", scores, all.len())? {
        if kept.iter().all(|k| iou(&all[*k], &all[i]) <= threshold) {
            kept.push(i);
        }
    }
    Ok(kept)
}

/// The boxes of an image: those that a model has found, and the right ones.
///
/// ```
/// use taper::prelude::*;
///
/// let boxes = tensor(&[[0.0, 0.0, 2.0, 2.0]]); // (1, 4)
/// let image = Detections {
///     boxes: boxes.clone(),
///     scores: tensor(&[0.9]),
///     classes: tensor(&[3]),
///     true_boxes: boxes,
///     true_classes: tensor(&[3]),
/// };
/// assert_eq!(mean_average_precision(&[image], &[0.5]), 1.0);
/// ```
pub struct Detections {
    /// The boxes found, `(n, 4)`: left, top, right and bottom edge.
    pub boxes: Tensor,
    /// Their scores, `(n,)`.
    pub scores: Tensor,
    /// Their classes, integers `(n,)`.
    pub classes: Tensor,
    /// The right boxes, `(m, 4)`.
    pub true_boxes: Tensor,
    /// Their classes, integers `(m,)`.
    pub true_classes: Tensor,
}

outlined!(Clone Debug for Detections { boxes, scores, classes, true_boxes, true_classes });

/// Returns the mean average precision of detections: the mean over the classes and over the thresholds of intersection over
/// union, as for the COCO data set, where precision is the highest at each recall or beyond, at 101 values of the recall. At
/// most 100 boxes of an image count.
///
/// COCO's thresholds are 0.5, 0.55, … 0.95; Pascal VOC has the single threshold 0.5.
///
/// # Panics
/// If the shapes of an image do not fit.
///
/// ```
/// use taper::prelude::*;
///
/// let image = Detections {
///     boxes: tensor(&[[0.0, 0.0, 2.0, 2.0], [5.0, 5.0, 6.0, 6.0]]),
///     scores: tensor(&[0.9, 0.8]),
///     classes: tensor(&[0, 0]),
///     true_boxes: tensor(&[[5.0, 5.0, 6.0, 6.0]]),
///     true_classes: tensor(&[0]),
/// };
/// assert_eq!(mean_average_precision(&[image], &[0.5]), 0.5); // the first box is wrong
/// ```
#[track_caller]
pub fn mean_average_precision(images: &[Detections], thresholds: &[f64]) -> f64 {
    let images = images.iter().map(|image| Image::of(image).or_raise());
    mean(&images.collect::<Vec<_>>(), thresholds)
}

/// The boxes of an image by class, those found in order of their scores.
struct Image {
    found: Vec<(i64, f64, Corners)>,
    right: Vec<(i64, Corners)>,
}

impl Image {
    fn of(image: &Detections) -> Result<Self> {
        let name = "mean_average_precision";
        let (boxes, right) = (
            corners(name, &image.boxes)?,
            corners(name, &image.true_boxes)?,
        );
        let scores = image.scores.to_dtype(DType::F64).to_vec::<f64>();
        let classes = |classes: &Tensor, count: usize| match classes.dims() == [count] {
            true => Ok(classes.to_dtype(DType::I64).to_vec::<i64>()),
            false => Err(problem!(shape(name, classes.dims());
                "{count} classes", "Pass one for each box")),
        };
        let order = by_score(name, &image.scores, boxes.len())?;
        let found = classes(&image.classes, boxes.len())?;
        Ok(Self {
            found: order
                .into_iter()
                .map(|i| (found[i], scores[i], boxes[i]))
                .collect(),
            right: classes(&image.true_classes, right.len())?
                .into_iter()
                .zip(right)
                .collect(),
        })
    }
}

fn mean(images: &[Image], thresholds: &[f64]) -> f64 {
    let mut classes: Vec<i64> = { images.iter() }
        .flat_map(|image| image.right.iter().map(|(class, _)| *class))
        .collect();
    classes.sort_unstable();
    classes.dedup();
    let pairs = classes
        .iter()
        .flat_map(|class| thresholds.iter().map(move |t| (*class, *t)));
    let values: Vec<f64> = pairs
        .map(|(class, t)| precision_of(images, class, t))
        .collect();
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the average precision of a class at a threshold.
fn precision_of(images: &[Image], class: i64, threshold: f64) -> f64 {
    let mut hits: Vec<(f64, bool)> = vec![];
    let mut all = 0;
    for image in images {
        let right: Vec<&Corners> = { image.right.iter() }
            .filter(|(own, _)| *own == class)
            .map(|(_, corners)| corners)
            .collect();
        all += right.len();
        let mut taken = vec![false; right.len()];
        for (_, score, found) in image
            .found
            .iter()
            .filter(|(own, ..)| *own == class)
            .take(100)
        {
            // The right box that fits best, of those that no better detection has.
            let free = (0..right.len()).filter(|i| !taken[*i]);
            let best = free
                .map(|i| (i, iou(found, right[i])))
                .filter(|(_, overlap)| *overlap >= threshold)
                .max_by(|a, b| a.1.total_cmp(&b.1));
            if let Some((i, _)) = best {
                taken[i] = true;
            }
            hits.push((*score, best.is_some()));
        }
    }
    hits.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut found = 0;
    let mut curve: Vec<(f64, f64)> = vec![]; // recall and precision
    for (i, (_, hit)) in hits.iter().enumerate() {
        found += *hit as usize;
        curve.push((found as f64 / all as f64, found as f64 / (i + 1) as f64));
    }
    let precision_at = |recall: f64| {
        let beyond = curve.iter().filter(|(own, _)| *own >= recall);
        beyond.map(|(_, precision)| *precision).fold(0.0, f64::max)
    };
    (0..=100)
        .map(|i| precision_at(i as f64 / 100.0))
        .sum::<f64>()
        / 101.0
}

type Corners = [f64; 4];

fn corners(caller: &str, boxes: &Tensor) -> Result<Vec<Corners>> {
    match boxes.dims() {
        [_, 4] => {
            let values = boxes.detach().to_dtype(DType::F64).to_vec::<f64>();
            Ok(values.as_chunks().0.to_vec())
        }
        other => refuse!(shape(caller, other);
            "boxes (n, 4)", "Pass the left, top, right and bottom edge of each box"),
    }
}

/// Returns the indices of scores, the highest first.
fn by_score(caller: &str, scores: &Tensor, count: usize) -> Result<Vec<usize>> {
    refuse!(if scores.dims() != [count]; shape(caller, scores.dims());
        "{count} scores", "Pass one for each box");
    let scores = scores.detach().to_dtype(DType::F64).to_vec::<f64>();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    Ok(order)
}

fn iou(a: &Corners, b: &Corners) -> f64 {
    let area = |c: &Corners| (c[2] - c[0]).max(0.0) * (c[3] - c[1]).max(0.0);
    let inside = [
        a[0].max(b[0]),
        a[1].max(b[1]),
        a[2].min(b[2]),
        a[3].min(b[3]),
    ];
    let union = area(a) + area(b) - area(&inside);
    match union > 0.0 {
        true => area(&inside) / union,
        false => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{tensor, zeros};

    /// pycocotools 2.0.11: tests/reference/metrics.py.
    #[test]
    fn it_agrees_with_coco() {
        let first = Detections {
            boxes: tensor(&[
                [0.0, 0.0, 4.0, 4.0],
                [1.0, 1.0, 5.0, 5.0],
                [6.0, 6.0, 9.0, 9.0],
                [0.0, 5.0, 3.0, 8.0],
            ]),
            scores: tensor(&[0.9, 0.6, 0.8, 0.3]),
            classes: tensor(&[0, 0, 1, 1]),
            true_boxes: tensor(&[[0.0, 0.0, 4.0, 5.0], [6.0, 6.0, 9.0, 8.5]]),
            true_classes: tensor(&[0, 1]),
        };
        let second = Detections {
            boxes: tensor(&[
                [2.0, 2.0, 6.0, 7.0],
                [7.0, 1.0, 9.0, 4.0],
                [0.0, 0.0, 2.0, 2.0],
            ]),
            scores: tensor(&[0.7, 0.95, 0.5]),
            classes: tensor(&[0, 1, 1]),
            true_boxes: tensor(&[
                [2.0, 2.5, 6.0, 7.0],
                [7.0, 1.0, 9.0, 4.0],
                [1.0, 8.0, 3.0, 10.0],
            ]),
            true_classes: tensor(&[0, 1, 0]),
        };
        let images = [first, second];
        let coco: Vec<f64> = (0..10).map(|i| 0.5 + 0.05 * f64::from(i)).collect();
        for (thresholds, want) in [
            (&coco[..], 0.6747524752475248),
            (&[0.5], 0.8316831683168316),
            (&[0.75], 0.8316831683168316),
        ] {
            let got = mean_average_precision(&images, thresholds);
            assert!((got - want).abs() < 1e-9, "{got}, not {want}");
        }
    }

    #[test]
    fn wrong_shapes_are_explained() {
        let message = attempt(|| box_iou(&zeros((2, 3)), &zeros((2, 4))));
        assert_eq!(
            message.unwrap_err().to_string(),
            "box_iou: expected boxes (n, 4), found shape [2, 3]\n\
             Pass the left, top, right and bottom edge of each box"
        );
        assert!(attempt(|| nms(&zeros((2, 4)), &zeros(3), 0.5)).is_err());
        assert_eq!(nms(&zeros((0, 4)), &zeros(0), 0.5), [0usize; 0]);
    }
}
