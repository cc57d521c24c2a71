//! Losses with a margin: of distances, similarities and scores.

use crate::error::refuse;
use crate::ops::{Reduction, check, reduce, reduced, same_device, same_shape};
use crate::tensor::{Raw, Tensor};
use candle_core::Result;

composed_loss!(
    /// The loss of distances between pairs: the distance `x` of a similar pair, `y = 1`, and `max(margin - x, 0)` of a
    /// dissimilar one, `y = -1`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = HingeEmbeddingLoss::new().reduction(Reduction::None);
    /// let loss = loss.forward(&tensor(&[0.25, 0.25, 2.0]), &tensor(&[1.0, -1.0, -1.0]));
    /// assert_eq!(loss.to_vec1::<f32>(), [0.25, 0.75, 0.0]);
    /// ```
    HingeEmbeddingLoss {
        /// Sets the distance that dissimilar pairs should have at least; 1 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = HingeEmbeddingLoss::new().margin(2.0).forward(&tensor(0.5), &tensor(-1.0));
        /// assert_eq!(loss.item(), 1.5);
        /// ```
        margin: f64 = 1.0,
    }
    /// Returns the loss of distances and of targets that are 1 or -1.
    ///
    /// # Shapes
    /// Any, the same for both.
    ///
    /// # Panics
    /// If the shapes, types or devices differ; for a mean, if the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(HingeEmbeddingLoss::new().forward(&zeros(2), &ones(2)).item(), 0.0);
    /// ```
    forward(x, y)
);

impl HingeEmbeddingLoss {
    fn compute(&self, x: &Raw, y: &Raw) -> Result<Raw> {
        let name = "HingeEmbeddingLoss";
        same_shape(name, x, y)?;
        check::floating(&name, x)?;
        reduced(name, [x, y], self.reduction, |[x, y]| {
            let apart = y.ne(1.0).where_cond((self.margin - x).relu(), 0.0);
            Ok(apart + y.ne(-1.0).where_cond(x, 0.0))
        })
    }
}

composed_loss!(
    /// The loss of the cosine between two vectors: `1 - cos` of a similar pair, `y = 1`, and `max(cos - margin, 0)` of a
    /// dissimilar one, `y = -1`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (a, b) = (tensor(&[[1.0, 0.0], [1.0, 0.0]]), tensor(&[[0.0, 1.0], [2.0, 0.0]])); // (2, 2) each
    /// let loss = CosineEmbeddingLoss::new().reduction(Reduction::None);
    /// assert_eq!(loss.forward(&a, &b, &tensor(&[1.0, -1.0])).to_vec1::<f32>(), [1.0, 1.0]);
    /// ```
    CosineEmbeddingLoss {
        /// Sets the cosine that dissimilar pairs should have at most; 0 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[1.0, 0.0]);
        /// let loss = CosineEmbeddingLoss::new().margin(0.25).forward(&x, &x, &tensor(-1.0));
        /// assert_eq!(loss.item(), 0.75);
        /// ```
        margin: f64 = 0.0,
    }
    /// Returns the loss of pairs of vectors and of targets that are 1 or -1.
    ///
    /// # Shapes
    /// `(batch, features)` for both vectors and `(batch,)` for the targets; the batch may be missing.
    ///
    /// # Panics
    /// If the shapes, types or devices do not fit; for a mean, if the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = ones((2, 3));
    /// assert!(CosineEmbeddingLoss::new().forward(&x, &x, &ones(2)).item().abs() < 1e-6);
    /// ```
    forward(a, b, y)
);

impl CosineEmbeddingLoss {
    fn compute(&self, a: &Raw, b: &Raw, y: &Raw) -> Result<Raw> {
        let name = "CosineEmbeddingLoss";
        vectors(name, &[a, b])?;
        targets(name, a, y)?;
        reduced(name, [a, b, y], self.reduction, |[a, b, y]| {
            let square = |x: &Tensor| x.sqr().sum(-1) + 1e-12;
            let cosine = (a * b).sum(-1) / (square(a) * square(b)).sqrt();
            let apart = y.eq(-1.0).where_cond((&cosine - self.margin).relu(), 0.0);
            Ok(apart + y.eq(1.0).where_cond(1.0 - &cosine, 0.0))
        })
    }
}

composed_loss!(
    /// The loss of triplets: an anchor should be closer to a positive example than to a negative one, by a margin:
    /// `max(|a - p| - |a - n| + margin, 0)`. From Balntas et al., 2016.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (a, p, n) = (tensor(&[[0.0]]), tensor(&[[2.0]]), tensor(&[[-2.5]])); // (1, 1) each
    /// let loss = TripletMarginLoss::new().forward(&a, &p, &n);
    /// assert!((loss.item() - 0.5).abs() < 1e-5);
    /// ```
    TripletMarginLoss {
        /// Sets the margin; 1 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = zeros((2, 3));
        /// assert_eq!(TripletMarginLoss::new().margin(0.5).forward(&x, &x, &x).item(), 0.5);
        /// ```
        margin: f64 = 1.0,
        /// Sets the degree of the distance; 2, the Euclidean distance, by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (x, n) = (zeros((1, 2)), ones((1, 2)));
        /// let loss = TripletMarginLoss::new().p(1.0).margin(3.0).forward(&x, &x, &n);
        /// assert!((loss.item() - 1.0).abs() < 1e-5);
        /// ```
        p: f64 = 2.0,
        /// Sets whether the distance between the positive and the negative example counts where it is the smaller one;
        /// `false` by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (a, x) = (zeros((1, 1)), ones((1, 1)));
        /// let loss = TripletMarginLoss::new().swap(true).forward(&a, &x, &x);
        /// assert!((loss.item() - 2.0).abs() < 1e-5);
        /// ```
        swap: bool = false,
        /// Sets the value that is added to each difference; 1e-6 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = zeros((2, 3));
        /// assert_eq!(TripletMarginLoss::new().eps(0.001).forward(&x, &x, &x).item(), 1.0);
        /// ```
        eps: f64 = 1e-6,
    }
    /// Returns the loss of anchors, positive and negative examples.
    ///
    /// # Shapes
    /// `(batch, features)` for all three; the batch may be missing.
    ///
    /// # Panics
    /// If the shapes, types or devices differ, or the margin is not positive; for a mean, if the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = zeros((2, 3));
    /// assert_eq!(TripletMarginLoss::new().forward(&x, &x, &x).item(), 1.0);
    /// ```
    forward(anchor, positive, negative)
);

impl TripletMarginLoss {
    fn compute(&self, a: &Raw, p: &Raw, n: &Raw) -> Result<Raw> {
        let name = "TripletMarginLoss";
        vectors(name, &[a, p, n])?;
        if self.margin <= 0.0 {
            let advice = "Use a positive value; 1.0 is common";
            refuse!(argument(name, self.margin); "a margin above 0", advice);
        }
        reduced(name, [a, p, n], self.reduction, |[a, p, n]| {
            let mut far = self.distance(a, n);
            if self.swap {
                far = far.minimum(self.distance(p, n));
            }
            Ok((self.distance(a, p) - far + self.margin).relu())
        })
    }

    fn distance(&self, a: &Tensor, b: &Tensor) -> Tensor {
        let difference = a - b + self.eps;
        match self.p == 2.0 {
            true => difference.norm(-1),
            false => difference.abs().pow(self.p).sum(-1).pow(1.0 / self.p),
        }
    }
}

composed_loss!(
    /// The loss of scores for classes: the score of the right class should exceed each other score by a margin. It is
    /// the mean over the classes of `max(margin - x[y] + x[j], 0)^p`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = MultiMarginLoss::new().forward(&tensor(&[[3.0, 2.5]]), &tensor(&[0]));
    /// assert_eq!(loss.item(), 0.25);
    /// ```
    MultiMarginLoss {
        /// Sets the margin; 1 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = MultiMarginLoss::new().margin(2.0).forward(&zeros((1, 2)), &tensor(&[0]));
        /// assert_eq!(loss.item(), 1.0);
        /// ```
        margin: f64 = 1.0,
        /// Sets the exponent; 1 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let loss = MultiMarginLoss::new().p(2.0).margin(2.0).forward(&zeros((1, 2)), &tensor(&[0]));
        /// assert_eq!(loss.item(), 2.0);
        /// ```
        p: f64 = 1.0,
        ; weight: Option<Tensor>
    }
    /// Returns the loss of scores, `(batch, classes)`, and of classes, integers `(batch,)`; the batch may be missing.
    ///
    /// # Panics
    /// If the shapes, types or devices do not fit, or a class is out of range; for a mean, if the batch is empty.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = MultiMarginLoss::new().forward(&tensor(&[[0.0, 9.0]]), &tensor(&[1]));
    /// assert_eq!(loss.item(), 0.0);
    /// ```
    forward(x, y)
);

impl MultiMarginLoss {
    /// Sets the weight of each class, `(classes,)`. An example whose class has the weight 0 does not count, also if its
    /// scores are NaN.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let loss = MultiMarginLoss::new().weight(&tensor(&[4.0, 1.0]));
    /// assert_eq!(loss.forward(&zeros((1, 2)), &tensor(&[0])).item(), 2.0);
    /// ```
    pub fn weight(mut self, weight: &Tensor) -> Self {
        self.weight = Some(weight.detach());
        self
    }

    fn compute(&self, x: &Raw, y: &Raw) -> Result<Raw> {
        let name = "MultiMarginLoss";
        check::floating(&name, x)?;
        if x.rank() < 2 && y.rank() < 2 && y.elem_count() == 1 {
            // One example, without a batch.
            let (row, class) = (x.reshape((1, x.elem_count()))?, y.reshape(1)?);
            let loss = Self {
                reduction: Reduction::None,
                ..self.clone()
            }
            .compute(&row, &class)?;
            return reduce(name, &loss.reshape(y.dims())?, self.reduction);
        }
        let &[batch, classes] = x.dims() else {
            let expected = "Expected scores (batch, classes)";
            return Err(check::wrong_shape(&name, x, expected));
        };
        if y.dims() != [batch] {
            let expected = format!("one class for each of {batch} examples");
            let advice = "Pass integers of shape (batch,)";
            refuse!(shape(name, y.dims()); expected, advice);
        }
        same_device(name, x, y)?;
        reduced(name, [x], self.reduction, |[x]| {
            let (mut x, y) = (x.clone(), Tensor::from_raw_ref(y));
            let weight = self.weight.as_ref().map(|weight| {
                let weight = weight.to_dtype(x.dtype()).index_select(y, 0);
                weight.unsqueeze(1) // (batch, 1)
            });
            if let Some(weight) = &weight {
                // Where the weight is 0, the scores may be NaN.
                x = x.masked_fill(&weight.eq(0.0), 0.0);
            }
            let places = y.unsqueeze(1);
            let right = x.gather(&places, 1); // (batch, 1)
            let mut losses = (self.margin - right + &x).relu().pow(self.p);
            if let Some(weight) = weight {
                losses *= weight;
            }
            let others = 1.0 - crate::ops::one_hot(y, classes).to_dtype(x.dtype());
            Ok((losses * others).sum(1) / classes as f64) // (batch,)
        })
    }
}

/// Checks that all are vectors of one shape, type and device.
fn vectors(loss: &str, all: &[&Raw]) -> Result<()> {
    let first = all[0];
    check::floating(&loss, first)?;
    if !matches!(first.rank(), 1 | 2) {
        let expected = "Expected vectors (batch, features)";
        return Err(check::wrong_shape(&loss, first, expected));
    }
    all[1..].iter().try_for_each(|x| same_shape(loss, first, x))
}

/// Checks that there is a target for each vector.
fn targets(loss: &str, x: &Raw, y: &Raw) -> Result<()> {
    let expected = &x.dims()[..x.rank() - 1];
    refuse!(if y.dims() != expected; shape(loss, y.dims());
        "targets of shape {expected:?}, one for each pair",
        "Pass 1 for a similar pair and -1 for another");
    same_device(loss, x, y)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{tensor, zeros};

    fn message(compute: impl FnOnce() -> Tensor) -> String {
        attempt(compute).unwrap_err().to_string()
    }

    #[test]
    fn wrong_inputs_are_explained() {
        let x = zeros((2, 3));
        assert_eq!(
            message(|| CosineEmbeddingLoss::new().forward(&x, &x, &zeros(3))),
            "CosineEmbeddingLoss: expected targets of shape [2], one for each pair, found shape [3]\n\
             Pass 1 for a similar pair and -1 for another"
        );
        let text = message(|| TripletMarginLoss::new().forward(&x, &zeros(3), &x));
        assert!(text.contains("do not fit targets of shape [3]"), "{text}");
        let text = message(|| TripletMarginLoss::new().margin(0.0).forward(&x, &x, &x));
        assert!(text.contains("a margin above 0, found 0"), "{text}");
        let text = message(|| HingeEmbeddingLoss::new().forward(&x, &zeros(3)));
        assert!(text.starts_with("HingeEmbeddingLoss: "), "{text}");
        let text = message(|| MultiMarginLoss::new().forward(&x, &tensor(&[0])));
        assert!(text.contains("one class for each of 2 examples"), "{text}");
        let text = message(|| MultiMarginLoss::new().forward(&x, &tensor(&[0, 3])));
        assert!(text.contains('3'), "{text}");
    }
}
