//! Mixed examples: mixup and cutmix.

use crate::data::{Batch, Dataset};
use crate::error::{Result, attempt, raise, refuse};
use crate::ops::one_hot;
use crate::tensor::{Tensor, random_beta, random_unit};
use candle_core::DType;
use std::fmt;
use std::sync::Arc;

macro_rules! mixing {
    ($(#[$doc:meta])* $name:ident, $mix:path) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $name {
            dataset: Arc<dyn Dataset>,
            num_classes: usize,
            alpha: f64,
        }

        impl $name {
            /// Creates a data set that mixes the batches of another one, whose targets are class indices.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            #[doc = concat!("let data = ", stringify!($name), "::new(Digits::new().train()?, 10);")]
            /// let batch = data.get(&[0, 1, 2])?;
            /// assert_eq!(batch.y.dims(), [3, 10]); // probabilities
            /// # Ok::<(), Error>(())
            /// ```
            pub fn new(dataset: impl Dataset + 'static, num_classes: usize) -> Self {
                let dataset = Arc::new(dataset);
                Self { dataset, num_classes, alpha: 1.0 }
            }

            setters! {
                /// Sets the parameter of the beta distribution from which the shares are drawn. With the default 1, all
                /// shares have equal probability; a smaller `alpha` draws more of them close to 0 and 1.
                ///
                /// ```
                /// use taper::prelude::*;
                ///
                #[doc = concat!("let data = ", stringify!($name), "::new(Digits::new().train()?, 10).alpha(0.2);")]
                /// assert_eq!(data.len(), 1437);
                /// # Ok::<(), Error>(())
                /// ```
                pub fn alpha(self, alpha: f64): self.alpha = alpha;
            }
        }

        impl Dataset for $name {
            fn len(&self) -> usize {
                self.dataset.len()
            }

            fn get(&self, indices: &[usize]) -> Result<Batch> {
                let batch = self.dataset.get(indices)?;
                mixed(stringify!($name), &batch, (self.num_classes, self.alpha), $mix)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let Self { num_classes, alpha, .. } = self;
                write!(f, concat!(stringify!($name), "({} classes, alpha {})"), num_classes, alpha)
            }
        }
    };
}

mixing!(
    /// Mixes each example of a batch with the one before it: `λ·x + (1 − λ)·x'`, with one share `λ` for the whole batch. Its
    /// target is `λ` for its own class and `1 − λ` for the other's. From Zhang et al., 2018 (*mixup*).
    ///
    /// It wraps the data set for training. [`cross_entropy`](crate::ops::cross_entropy) takes the targets, and
    /// `accuracy` compares with the likelier class.
    ///
    /// # Shapes
    /// Inputs `(batch, …)` of floating-point numbers; class indices `(batch,)` become probabilities `(batch, classes)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// struct Mixed;
    ///
    /// impl DataModule for Mixed {
    ///     fn train_dataloader(&self) -> Result<DataLoader> {
    ///         let data = MixUp::new(Digits::new().train()?, 10).alpha(0.2);
    ///         Ok(DataLoader::new(data).batch_size(64).shuffle(true))
    ///     }
    /// }
    ///
    /// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
    /// assert!(Trainer::new(1).fit(&mut model, &Mixed)?.last("train_loss").is_some());
    /// # Ok::<(), Error>(())
    /// ```
    MixUp,
    mix_up
);

mixing!(
    /// Replaces a rectangle of each image of a batch by the same rectangle of the image before it, at one place for the
    /// whole batch. Its target is the share of its own pixels for its class, and the rest for the other's. From Yun et al., 2019 (*CutMix*).
    ///
    /// It wraps the data set for training, as [`MixUp`] does.
    ///
    /// # Shapes
    /// Images `(batch, …, height, width)` of floating-point numbers; class indices `(batch,)` become probabilities
    /// `(batch, classes)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let images = tensor(&[0.0, 1.0]).reshape((2, 1, 1, 1)).repeat((1, 1, 8, 8)); // (2, 1, 8, 8)
    /// let data = CutMix::new(TensorDataset::new(images, tensor(&[0, 1]))?, 2);
    /// let Batch { x, y } = data.all()?;
    /// let ones = x.i(0).mean_all().item(); // of the rectangle of the other image
    /// assert!((y.i((0, 1)).item() - ones).abs() < 1e-6);
    /// # Ok::<(), Error>(())
    /// ```
    CutMix,
    cut_mix
);

/// Mixes the inputs of a batch. Takes the share of each example's own values, and returns the share that it has.
type Mix = fn(&Tensor, f64) -> (Tensor, f64);

fn mixed(name: &str, batch: &Batch, settings: (usize, f64), mix: Mix) -> Result<Batch> {
    let (num_classes, alpha) = settings;
    refuse!(if !(alpha > 0.0 && alpha.is_finite()); argument(name, alpha);
        "an alpha above 0", "Use .alpha(0.2), for instance");
    refuse!(if !batch.x.dtype().is_float(); dtype(name, batch.x.dtype());
        "inputs of floating-point numbers",
        "Convert them in the data set: x.to_dtype(DType::F32)");
    attempt(|| {
        let y = one_hot(&batch.y, num_classes).to_dtype(DType::F32); // (batch, classes)
        let (x, share) = mix(&batch.x, random_beta(alpha));
        let y = &y * share + y.roll(1, 0) * (1.0 - share);
        Batch { x, y }
    })
}

fn mix_up(x: &Tensor, share: f64) -> (Tensor, f64) {
    (x * share + x.roll(1, 0) * (1.0 - share), share)
}

fn cut_mix(x: &Tensor, share: f64) -> (Tensor, f64) {
    let (height, width) = match *x.dims() {
        [_, .., height, width] if height * width > 0 => (height, width),
        ref dims => raise!(shape("CutMix", dims);
            "images (batch, …, height, width)", "Use MixUp for other inputs"),
    };
    // Half of each side, so that the rectangle has 1 - share of the pixels where it is not cut off.
    let half = 0.5 * (1.0 - share).sqrt();
    let side = |length: usize| {
        let centre = (random_unit() * length as f64) as usize;
        let half = (half * length as f64) as usize;
        (centre.saturating_sub(half), (centre + half).min(length))
    };
    let ((left, right), (top, bottom)) = (side(width), side(height));
    let is_own = |i: usize| {
        let (row, column) = (i / width, i % width);
        let is_in = (top..bottom).contains(&row) && (left..right).contains(&column);
        f32::from(u8::from(!is_in))
    };
    let own: Vec<f32> = (0..height * width).map(is_own).collect();
    let own = Tensor::from_vec_on(own, (height, width), x.device()).to_dtype(x.dtype());
    let replaced = (right - left) * (bottom - top);
    let share = 1.0 - replaced as f64 / (height * width) as f64;
    (x * &own + x.roll(1, 0) * (1.0 - own), share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::TensorDataset;
    use crate::tensor::{randint, randn, tensor, with_seed, zeros};

    fn images() -> (TensorDataset, Tensor) {
        let x = with_seed(5, || randn((4, 3, 6, 8)));
        let data = TensorDataset::new(x.clone(), tensor(&[2, 0, 1, 1])).unwrap();
        (data, x)
    }

    /// Returns the share of the first example's own class, whose neighbour has another one.
    fn share(y: &Tensor) -> f64 {
        y.i((0, 2)).item()
    }

    #[test]
    fn mixup_is_the_formula() -> Result<()> {
        let (data, x) = images();
        let mut shares = vec![];
        for seed in 0..20 {
            let batch = with_seed(seed, || MixUp::new(data.clone(), 3).all())?;
            let own = share(&batch.y);
            let expected = &x * own + x.index_select(&tensor(&[3, 0, 1, 2]), 0) * (1.0 - own);
            assert!((batch.x - expected).abs().max_all().item() < 1e-6);
            let rest = 1.0 - own;
            let y = tensor(&[
                [0.0, rest, own],
                [own, 0.0, rest],
                [rest, own, 0.0],
                [0.0, 1.0, 0.0],
            ]);
            assert!((batch.y - y).abs().max_all().item() < 1e-6);
            shares.push(own);
        }
        assert!(
            shares.iter().any(|it| *it < 0.3) && shares.iter().any(|it| *it > 0.7),
            "{shares:?}"
        );
        Ok(())
    }

    #[test]
    fn cutmix_replaces_a_rectangle_and_counts_its_pixels() -> Result<()> {
        let (data, x) = images();
        let mut areas = std::collections::BTreeSet::new();
        for seed in 0..50 {
            let Batch { x: mixed, y } = with_seed(seed, || CutMix::new(data.clone(), 3).all())?;
            let changed = mixed.ne(&x).to_dtype(DType::F32); // (4, 3, 6, 8)
            let rectangle = changed.i((0, 0)); // (6, 8), the same in each example and channel
            assert_eq!((&changed - &rectangle).abs().max_all().item(), 0.0);
            let (rows, columns) = (rectangle.max(1), rectangle.max(0));
            assert_eq!(
                (rows.unsqueeze(1) * columns - &rectangle)
                    .abs()
                    .max_all()
                    .item(),
                0.0
            );
            let other = x.index_select(&tensor(&[3, 0, 1, 2]), 0);
            let expected = &x * (1.0 - &rectangle) + other * &rectangle;
            assert_eq!((mixed - expected).abs().max_all().item(), 0.0);
            let area = rectangle.sum_all().item();
            assert!((share(&y) - (1.0 - area / 48.0)).abs() < 1e-6);
            areas.insert(area as usize);
        }
        assert!(areas.len() > 8 && areas.contains(&0), "{areas:?}");
        Ok(())
    }

    /// The sides are shortened by the square root of the rest, as in torchvision: three quarters for 0.5625.
    #[test]
    fn the_sides_of_the_rectangle_follow_the_share() {
        let x = with_seed(1, || randn((2, 1, 32, 64)));
        let shares = (0..200).map(|seed| with_seed(seed, || cut_mix(&x, 0.4375)).1);
        assert_eq!(shares.fold(1.0, f64::min), 0.4375);
        let (same, share) = cut_mix(&x, 1.0);
        assert!(share == 1.0 && same.eq(&x).all(..).item() == 1.0);
    }

    #[test]
    fn alpha_chooses_the_spread_of_the_shares() -> Result<()> {
        let (data, _) = images();
        let far = |alpha| -> Result<usize> {
            let data = MixUp::new(data.clone(), 3).alpha(alpha);
            let shares = (0..200).map(|seed| Ok(share(&with_seed(seed, || data.all())?.y)));
            let shares = shares.collect::<Result<Vec<f64>>>()?;
            Ok(shares.iter().filter(|it| !(0.1..0.9).contains(*it)).count())
        };
        // Of these distributions, 0.67, 0.2 and 0.00 are outside.
        let [small, one, large] = [far(0.2)?, far(1.0)?, far(20.0)?];
        assert!(
            (110..165).contains(&small) && (20..62).contains(&one) && large == 0,
            "{small} {one} {large}"
        );
        Ok(())
    }

    #[test]
    fn inputs_that_cannot_be_mixed_are_refused() {
        let data = |x: Tensor, y: Tensor| TensorDataset::new(x, y).unwrap();
        let classes = || with_seed(1, || randint(0, 3, 4));
        for (batch, expected) in [
            (
                MixUp::new(data(zeros((4, 2)), classes()), 3)
                    .alpha(0.0)
                    .all(),
                "MixUp: expected an alpha above 0, found 0",
            ),
            (
                MixUp::new(data(zeros((4, 2)), classes()), 3)
                    .alpha(f64::NAN)
                    .all(),
                "found NaN",
            ),
            (
                MixUp::new(data(zeros((4, 2)).to_dtype(DType::U8), classes()), 3).all(),
                "found u8",
            ),
            (
                MixUp::new(data(zeros((4, 2)), zeros(4)), 3).all(),
                "expected class indices",
            ),
            (
                MixUp::new(data(zeros((4, 2)), tensor(&[0, 1, 2, 3])), 3).all(),
                "class 3",
            ),
            (
                CutMix::new(data(zeros((4, 2)), classes()), 3).all(),
                "images (batch, …, height, width)",
            ),
        ] {
            let error = batch.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
            assert_eq!(error.lines().count(), 2, "{error}");
        }
    }
}
