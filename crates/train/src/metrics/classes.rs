//! Metrics of predicted classes.

use crate::erased::outlined;
use crate::error::{OrRaise, Result, problem, raise, refuse};
use crate::notebook::Show;
use crate::tensor::Tensor;
use candle_core::DType;

/// The confusion matrix of a classifier, or of a segmentation, and the metrics that follow from it.
///
/// ```
/// use taper::prelude::*;
///
/// let (predicted, classes) = (tensor(&[0, 1, 1, 2, 2, 2]), tensor(&[0, 0, 1, 1, 2, 2]));
/// let mut confusion = Confusion::new(3);
/// confusion.update(&predicted, &classes); // batch by batch
/// assert_eq!(confusion.matrix().to_vec2::<u32>(), [[1, 1, 0], [0, 1, 1], [0, 0, 2]]);
/// assert_eq!(confusion.accuracy(), 4.0 / 6.0);
/// assert_eq!(confusion.recall(Average::Macro), (0.5 + 0.5 + 1.0) / 3.0);
/// ```
pub struct Confusion {
    /// How often a class, the row, was predicted as another, the column.
    counts: Vec<Vec<u64>>,
}

outlined!(Clone Debug for Confusion { counts });

/// How the metric of each class becomes one value.
///
/// ```
/// use taper::prelude::*;
///
/// let mut confusion = Confusion::new(2);
/// confusion.update(&tensor(&[0, 0, 1]), &tensor(&[0, 1, 1]));
/// assert_eq!(confusion.precision(Average::Of(0)), 0.5);
/// assert_eq!(confusion.precision(Average::Micro), 2.0 / 3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// The metric of one class, such as 1, the positive class, of two.
    Of(usize),
    /// The mean over the classes that occur.
    Macro,
    /// The metric of all examples together.
    Micro,
    /// The mean over the classes, each weighted by the number of its examples.
    Weighted,
}

/// The counts of one class: right, predicted wrongly, and missed.
#[derive(Clone, Copy, Default)]
struct Counts {
    right: f64,
    wrong: f64,
    missed: f64,
}

impl Confusion {
    /// Creates a matrix for this many classes.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Confusion::new(10).accuracy().is_nan()); // of no examples
    /// ```
    pub fn new(classes: usize) -> Self {
        Self {
            counts: vec![vec![0; classes]; classes],
        }
    }

    /// Counts predicted and right classes, integers of the same shape. Logits become classes by `argmax`.
    ///
    /// # Panics
    /// If the shapes differ, or a class is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let logits = tensor(&[[0.1, 0.9], [0.8, 0.2]]); // (2, 2)
    /// let mut confusion = Confusion::new(2);
    /// confusion.update(&logits.argmax(1), &tensor(&[1, 1]));
    /// assert_eq!(confusion.accuracy(), 0.5);
    /// ```
    #[track_caller]
    pub fn update(&mut self, predicted: &Tensor, classes: &Tensor) {
        self.count(predicted, classes).or_raise();
    }

    fn count(&mut self, predicted: &Tensor, classes: &Tensor) -> Result<()> {
        refuse!(if predicted.dims() != classes.dims(); shape("Confusion", predicted.dims());
            ("a predicted class for each right one, {:?}", classes.dims()),
            "Turn logits into classes: logits.argmax(1)");
        let (predicted, right) = (self.indices(predicted)?, self.indices(classes)?);
        for (column, row) in predicted.into_iter().zip(right) {
            self.counts[row][column] += 1;
        }
        Ok(())
    }

    fn indices(&self, classes: &Tensor) -> Result<Vec<usize>> {
        if classes.dtype().is_float() {
            let advice = "Turn logits into classes: logits.argmax(1)";
            refuse!(dtype("Confusion", classes.dtype()); "classes", advice);
        }
        let (all, len) = (
            classes.to_dtype(DType::I64).to_vec::<i64>(),
            self.counts.len(),
        );
        let index = |class: i64| match usize::try_from(class) {
            Ok(index) if index < len => Ok(index),
            _ => Err(problem!(index("Confusion", "class", class, len);
                "Create the matrix for more classes")),
        };
        all.into_iter().map(index).collect()
    }

    /// Returns how often each class, the row, was predicted as each class, the column: `(classes, classes)`, as `u32`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut confusion = Confusion::new(2);
    /// confusion.update(&tensor(&[0]), &tensor(&[1]));
    /// assert_eq!(confusion.matrix().to_vec2::<u32>(), [[0, 0], [1, 0]]);
    /// ```
    pub fn matrix(&self) -> Tensor {
        let n = self.counts.len();
        let counts = self.counts.iter().flatten().map(|count| *count as u32);
        Tensor::from_vec(counts.collect::<Vec<u32>>(), (n, n))
    }

    /// Returns the share of right predictions.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut confusion = Confusion::new(2);
    /// confusion.update(&tensor(&[0, 1, 1, 1]), &tensor(&[0, 0, 1, 1]));
    /// assert_eq!(confusion.accuracy(), 0.75);
    /// ```
    pub fn accuracy(&self) -> f64 {
        let all: u64 = self.counts.iter().flatten().sum();
        let right: u64 = (0..self.counts.len()).map(|i| self.counts[i][i]).sum();
        right as f64 / all as f64
    }

    /// Returns the share of the predictions of a class that are right; 0 where a class was never predicted.
    ///
    /// # Panics
    /// If the class of [`Average::Of`] is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut confusion = Confusion::new(2);
    /// confusion.update(&tensor(&[0, 1, 1, 1]), &tensor(&[0, 0, 1, 1]));
    /// assert_eq!(confusion.precision(Average::Of(1)), 2.0 / 3.0);
    /// ```
    #[track_caller]
    pub fn precision(&self, average: Average) -> f64 {
        self.metric(average, |c| ratio(c.right, c.right + c.wrong))
    }

    /// Returns the share of the examples of a class that are found; 0 where it has no examples.
    ///
    /// # Panics
    /// If the class of [`Average::Of`] is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut confusion = Confusion::new(2);
    /// confusion.update(&tensor(&[0, 1, 1, 1]), &tensor(&[0, 0, 1, 1]));
    /// assert_eq!(confusion.recall(Average::Of(0)), 0.5);
    /// ```
    #[track_caller]
    pub fn recall(&self, average: Average) -> f64 {
        self.metric(average, |c| ratio(c.right, c.right + c.missed))
    }

    /// Returns the harmonic mean of precision and recall.
    ///
    /// # Panics
    /// If the class of [`Average::Of`] is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut confusion = Confusion::new(2);
    /// confusion.update(&tensor(&[0, 1, 1, 1]), &tensor(&[0, 0, 1, 1]));
    /// assert_eq!(confusion.f1(Average::Of(1)), 0.8);
    /// ```
    #[track_caller]
    pub fn f1(&self, average: Average) -> f64 {
        self.metric(average, |c| {
            ratio(2.0 * c.right, 2.0 * c.right + c.wrong + c.missed)
        })
    }

    /// Returns intersection over union, also called the Jaccard index: of the examples, or pixels, that have a class or are
    /// predicted as it, the share for which both is true.
    ///
    /// # Panics
    /// If the class of [`Average::Of`] is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut confusion = Confusion::new(2);
    /// confusion.update(&tensor(&[[0, 1], [1, 1]]), &tensor(&[[0, 0], [1, 1]])); // of pixels
    /// assert_eq!(confusion.iou(Average::Of(1)), 2.0 / 3.0);
    /// ```
    #[track_caller]
    pub fn iou(&self, average: Average) -> f64 {
        self.metric(average, |c| ratio(c.right, c.right + c.wrong + c.missed))
    }

    #[track_caller]
    fn metric(&self, average: Average, metric: fn(Counts) -> f64) -> f64 {
        let all: Vec<Counts> = (0..self.counts.len()).map(|i| self.of_class(i)).collect();
        let examples = |counts: &Counts| counts.right + counts.missed;
        match average {
            Average::Of(class) => match all.get(class) {
                Some(counts) => metric(*counts),
                None => raise!(index("Confusion", "class", class as i64, all.len());
                    "Choose a class of the matrix"),
            },
            Average::Macro => {
                // As scikit-learn: a class that neither occurs nor is predicted is left out.
                let known = all.iter().filter(|c| c.right + c.wrong + c.missed > 0.0);
                let values: Vec<f64> = known.map(|counts| metric(*counts)).collect();
                values.iter().sum::<f64>() / values.len() as f64
            }
            Average::Micro => metric(all.iter().fold(Counts::default(), |sum, counts| Counts {
                right: sum.right + counts.right,
                wrong: sum.wrong + counts.wrong,
                missed: sum.missed + counts.missed,
            })),
            Average::Weighted => {
                let sum: f64 = all.iter().map(|c| metric(*c) * examples(c)).sum();
                sum / all.iter().map(examples).sum::<f64>()
            }
        }
    }

    fn of_class(&self, class: usize) -> Counts {
        let right = self.counts[class][class];
        let predicted: u64 = self.counts.iter().map(|row| row[class]).sum();
        let examples: u64 = self.counts[class].iter().sum();
        Counts {
            right: right as f64,
            wrong: (predicted - right) as f64,
            missed: (examples - right) as f64,
        }
    }
}

fn ratio(part: f64, all: f64) -> f64 {
    match all == 0.0 {
        true => 0.0,
        false => part / all,
    }
}

/// Prints precision, recall and F1 of each class.
impl Show for Confusion {
    fn show_text(&self) -> String {
        let mut text = "class  precision  recall     f1  examples".to_owned();
        for i in 0..self.counts.len() {
            let [precision, recall, f1] =
                [Self::precision, Self::recall, Self::f1].map(|of| of(self, Average::Of(i)));
            let examples: u64 = self.counts[i].iter().sum();
            text += &format!("\n{i:5}  {precision:9.3}  {recall:6.3}  {f1:5.3}  {examples:8}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{tensor, zeros};

    /// scikit-learn 1.9: precision_score(y, x, average=…, labels=[0, 1, 2]) and so on, zero_division=0.
    #[test]
    fn it_agrees_with_scikit_learn() {
        let predicted = tensor(&[0, 2, 1, 0, 0, 1, 2, 2, 0, 1]);
        let classes = tensor(&[0, 1, 2, 0, 1, 1, 2, 2, 2, 0]);
        let mut confusion = Confusion::new(3);
        confusion.update(&predicted, &classes);
        let got = |average| {
            [
                confusion.precision(average),
                confusion.recall(average),
                confusion.f1(average),
                confusion.iou(average),
            ]
        };
        for (average, want) in [
            (Average::Of(2), [0.6666666667, 0.5, 0.5714285714, 0.4]),
            (Average::Macro, [0.5, 0.5, 0.4920634921, 0.3333333333]),
            (Average::Micro, [0.5, 0.5, 0.5, 0.3333333333]),
            (Average::Weighted, [0.5166666667, 0.5, 0.5, 0.34]),
        ] {
            for (got, want) in got(average).into_iter().zip(want) {
                assert!((got - want).abs() < 1e-9, "{average:?}: {got}, not {want}");
            }
        }
    }

    #[test]
    fn wrong_inputs_are_explained() {
        let mut confusion = Confusion::new(2);
        let message = attempt(|| confusion.update(&tensor(&[0, 2]), &tensor(&[0, 1])));
        assert_eq!(
            message.unwrap_err().to_string(),
            "Confusion: class 2 is out of range: there are 2, counted from 0\nCreate the matrix for more classes"
        );
        let message = attempt(|| confusion.update(&zeros((2, 2)), &tensor(&[0, 1])));
        assert!(message.unwrap_err().to_string().contains("argmax(1)"));
        assert!(attempt(|| confusion.f1(Average::Of(2))).is_err());
        assert_eq!(confusion.show_text().lines().count(), 3);
    }
}
