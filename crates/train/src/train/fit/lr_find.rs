//! A search for a learning rate.

use super::finite::unless_divergence;
use super::panics::caught;
use super::{Fit, Loaders, STEP_LOSS};
use crate::data::{AnyLoader, BatchData, DataModule};
use crate::error::{Result, refuse};
use crate::notebook::{MimeBundle, Show, check_interrupt};
use crate::plot::{Figure, Scale, plot};
use crate::tensor::{generator_state, restore_generator};
use crate::train::model::{AnyModel, Steps, steps};
use crate::train::snapshot::Snapshot;
use crate::train::{Module, Trainer, parallel};
use std::ops::RangeInclusive;
use std::panic::resume_unwind;

/// The maximum number of steps of a search.
const STEPS: usize = 100;
/// The weight of the earlier losses in the running mean.
const SMOOTHING: f64 = 0.9;
/// The first steps, whose running mean is still uncertain.
const UNCERTAIN: usize = 10;
/// A loss above this multiple of the smallest ends the search.
const EXPLODED: f64 = 4.0;

/// The losses at increasing learning rates: the result of [`Trainer::lr_find`]. A notebook shows the
/// plot. From Smith, 2017.
///
/// ```
/// use taper::prelude::*;
///
/// let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);
/// let found = Trainer::new(1).lr_find(&mut model, &Digits::new(), 1e-5..=10.0)?;
/// let lr = found.suggestion().expect("the loss falls");
/// assert!((1e-3..10.0).contains(&lr), "{lr}: {found:?}");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LrFinder {
    /// The learning rate of each step.
    pub lrs: Vec<f64>,
    /// The loss of each step, smoothed: a running mean.
    pub losses: Vec<f64>,
}

impl LrFinder {
    /// Returns the learning rate at which the loss falls fastest on its way to the minimum; `None` if it
    /// does not fall. The first ten steps do not count.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LrFinder::default().suggestion(), None);
    /// ```
    pub fn suggestion(&self) -> Option<f64> {
        let losses = self.losses.iter().enumerate();
        let (lowest, _) = losses.min_by(|a, b| a.1.total_cmp(b.1))?;
        let slope = |i: usize| self.losses[i + 1] - self.losses[i - 1];
        let steepest = (UNCERTAIN..lowest).min_by(|&i, &j| slope(i).total_cmp(&slope(j)))?;
        self.lrs.get(steepest).copied()
    }

    /// Returns the plot of the losses over the learning rate.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let found = LrFinder { lrs: vec![0.01, 0.1], losses: vec![2.0, 1.0] };
    /// assert_eq!(found.plot().show_text(), "loss over learning rate\nseries 1: 1 at 0.1 (2 points)");
    /// ```
    pub fn plot(&self) -> Figure {
        let figure = plot(&self.lrs, &[&self.losses]);
        let figure = figure
            .xlabel("learning rate")
            .ylabel("loss")
            .xscale(Scale::Log);
        match self.suggestion() {
            Some(lr) => figure.title(format!("suggestion: {lr:.1e}")),
            None => figure,
        }
    }

    /// Adds a step; returns whether the search goes on.
    fn add(&mut self, lr: f64, loss: f64, mean: &mut f64) -> bool {
        *mean = *mean * SMOOTHING + loss * (1.0 - SMOOTHING);
        let steps = self.losses.len() as i32 + 1;
        let smooth = *mean / (1.0 - SMOOTHING.powi(steps));
        let best = self.losses.iter().copied().fold(f64::INFINITY, f64::min);
        if !smooth.is_finite() || (steps > 1 && smooth > EXPLODED * best) {
            return false;
        }
        self.lrs.push(lr);
        self.losses.push(smooth);
        true
    }
}

impl Show for LrFinder {
    fn show_text(&self) -> String {
        self.plot().show_text()
    }

    fn show_bundle(&self) -> MimeBundle {
        self.plot().show_bundle()
    }
}

impl Trainer {
    /// Trains for up to 100 steps with learning rates from one end of the range to the other, equally
    /// spaced on a logarithmic scale, and returns the losses. The search ends early when the loss
    /// explodes. The model is then as it was before; if it has lazy parameters, they are initialised.
    /// Callbacks do not run.
    ///
    /// # Errors
    /// If the range is empty or does not begin above 0, or for the reasons of [`fit`](Self::fit).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut model = Classifier::new(Linear::new(64, 10), 0.1);
    /// # struct Rows;
    /// # impl DataModule for Rows {
    /// #     fn train_dataloader(&self) -> Result<DataLoader> {
    /// #         let data = TensorDataset::new(ones((4, 64)), tensor(&[0, 1, 1, 1]))?;
    /// #         Ok(DataLoader::new(data))
    /// #     }
    /// # }
    /// # let data = Rows;
    /// let before = model.parameter("weight").tensor().to_vec2::<f32>();
    /// let found = Trainer::new(1).lr_find(&mut model, &data, 1e-6..=1.0)?;
    /// assert_eq!(model.parameter("weight").tensor().to_vec2::<f32>(), before);
    /// assert_eq!(found.lrs[0], 1e-6);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn lr_find<M, B, Y>(
        &mut self,
        model: &mut M,
        data: &impl DataModule<B>,
        lrs: RangeInclusive<f64>,
    ) -> Result<LrFinder>
    where
        M: Module<B, Y>,
        B: BatchData,
        Y: BatchData,
    {
        let train = || data.train_loader();
        let range = (*lrs.start(), *lrs.end());
        self.lr_find_model(steps::<M, B, Y>(), model, &train, range)
    }

    fn lr_find_model(
        &mut self,
        steps: &'static dyn Steps,
        model: &mut dyn AnyModel,
        train: &dyn Fn() -> Result<AnyLoader>,
        (from, to): (f64, f64),
    ) -> Result<LrFinder> {
        refuse!(if !(from > 0.0 && from < to && to.is_finite());
            argument("lr_find", format_args!("{from}..={to}"));
            "a range of learning rates above 0", "Write .lr_find(&mut model, &data, 1e-6..=1.0)");
        let loaders = Loaders {
            train: train()?,
            validate: None,
        };
        let has_ranks = self.ranks.is_some();
        let resumed = self.resume_from.take();
        let callbacks = std::mem::take(&mut self.callbacks);
        let mut before = None;
        let search = || {
            let mut fit = Fit::new(self, steps, model, loaders)?;
            before = Some((generator_state(), Snapshot::of(&*fit.model)?));
            fit.find(from, to)
        };
        // A panic leaves no trace either.
        let done = caught(has_ranks, search);
        self.resume_from = resumed;
        self.callbacks = callbacks;
        if let Some((random, snapshot)) = before {
            restore_generator(random);
            snapshot.restore(&*model)?;
        }
        done.unwrap_or_else(|panic| resume_unwind(panic))
    }
}

impl Fit<'_> {
    fn find(&mut self, from: f64, to: f64) -> Result<LrFinder> {
        let (mut found, mut mean) = (LrFinder::default(), 0.0);
        parallel::set_training(self.model, &self.others, true);
        loop {
            for batch in self.train.clone().batches() {
                let step = found.lrs.len();
                if step == STEPS {
                    return Ok(found);
                }
                check_interrupt()?;
                let lr = from * (to / from).powf(step as f64 / (STEPS - 1) as f64);
                self.optimizer.set_lr(lr);
                if !unless_divergence(self.step_on(&*batch?))? {
                    return Ok(found);
                }
                let fetched = self.fetch()?;
                let loss = fetched.values(STEP_LOSS).next().unwrap_or(f64::NAN);
                if !found.add(lr, loss, &mut mean) {
                    return Ok(found);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{BatchNorm1d, Layer, LazyLinear, Linear, ParametersExt, ReLU, Sequential};
    use crate::seq;
    use crate::tensor::{Tensor, manual_seed, rand};
    use crate::train::tests::{Quarters, mlp};
    use crate::train::{Classifier, EarlyStopping};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_search_leaves_no_trace() -> Result<()> {
        let net = seq![
            LazyLinear::new(8),
            BatchNorm1d::new(8),
            ReLU,
            LazyLinear::new(4)
        ];
        let mut model = Classifier::new(net, 0.1);
        model.forward(&rand((2, 2)));
        let values = |model: &Classifier<_>| -> Vec<Vec<f64>> {
            let tensors = model.state_dict().into_iter();
            let elements = |x: Tensor| x.to_dtype(candle_core::DType::F64).to_vec();
            tensors.map(|(_, x)| elements(x)).collect()
        };
        manual_seed(7);
        let before = (values(&model), generator_state());
        let mut trainer = Trainer::new(1);
        let found = trainer.lr_find(&mut model, &Quarters::new(100), 1e-5..=10.0)?;
        assert_eq!((values(&model), generator_state()), before);
        assert!(trainer.history().intervals.is_empty());
        assert!(found.lrs.len() > 50, "{found:?}");
        Ok(())
    }

    #[test]
    fn the_suggestion_trains_well() -> Result<()> {
        manual_seed(1);
        let data = Quarters::new(200);
        let found = Trainer::new(1).lr_find(&mut mlp(0.0), &data, 1e-5..=10.0)?;
        let lr = found.suggestion().expect("the loss falls");
        assert!((1e-3..1.0).contains(&lr), "{lr}: {found:?}");
        assert!(found.plot().show_text().starts_with("suggestion: "));
        let exploded = found.lrs.len() < STEPS || found.losses.last() > found.losses.first();
        assert!(exploded, "{found:?}");
        Ok(())
    }

    #[test]
    fn the_steepest_descent_is_suggested() {
        let lrs: Vec<f64> = (0..30).map(|i| 10f64.powf(i as f64 / 10.0 - 3.0)).collect();
        let losses = |at: usize| -> Vec<f64> {
            let loss = |i: usize| if i < at { 2.0 } else { 1.0 + i as f64 / 1e3 };
            (0..30).map(loss).collect()
        };
        let found = |at| LrFinder {
            lrs: lrs.clone(),
            losses: losses(at),
        };
        assert_eq!(found(20).suggestion(), Some(lrs[19]));
        assert_eq!(found(5).suggestion(), None, "too early");
        assert_eq!(found(0).suggestion(), None, "it rises");
    }

    #[test]
    fn an_invalid_range_is_refused() {
        for (from, to) in [
            (0.0, 1.0),
            (1.0, 0.1),
            (-1.0, 1.0),
            (1e-3, f64::INFINITY),
            (f64::NAN, 1.0),
        ] {
            let found = Trainer::new(1).lr_find(&mut mlp(0.0), &Quarters::new(8), from..=to);
            let message = found.unwrap_err().to_string();
            assert!(
                message.starts_with("lr_find: expected a range"),
                "{message}"
            );
            assert_eq!(message.lines().count(), 2);
        }
    }

    #[test]
    fn a_panic_leaves_model_and_trainer_as_they_were() {
        /// Panics in its fifth pass.
        #[derive(taper_macros::Parameters)]
        struct Panics {
            #[parameters(skip)]
            passes: Arc<AtomicUsize>,
        }
        impl Layer for Panics {
            fn forward(&self, x: &Tensor) -> Tensor {
                assert!(
                    self.passes.fetch_add(1, Ordering::Relaxed) < 4,
                    "on purpose"
                );
                x.clone()
            }
        }
        let net = seq![
            Linear::new(2, 4),
            Panics {
                passes: Arc::default()
            }
        ];
        let mut model = Classifier::new(net, 0.1);
        let weight = |model: &Classifier<Sequential>| -> Vec<Vec<f32>> {
            model.parameters()[0].tensor().to_vec2()
        };
        let before = weight(&model);
        let mut trainer = Trainer::new(1)
            .callback(EarlyStopping::new("val_loss", 1))
            .resume_from("checkpoint");
        let find = || trainer.lr_find(&mut model, &Quarters::new(100), 1e-3..=1.0);
        assert!(catch_unwind(AssertUnwindSafe(find)).is_err());
        assert_eq!(weight(&model), before);
        assert_eq!(trainer.callbacks.len(), 1);
        assert!(trainer.resume_from.is_some());
    }
}
