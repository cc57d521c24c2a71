//! Gradients of several batches for one step.

use crate::error::{Result, attempt};
use crate::nn::{Parameters, ParametersExt};
use crate::optim::{try_accumulate, variables};
use crate::tensor::GradStore;

/// The sum of the gradients since the last step, each weighted by the number of examples in its batch.
#[derive(Default)]
pub(super) struct Accumulated {
    sums: Option<GradStore>,
    /// The number of examples of this rank, and of all ranks.
    own: usize,
    total: usize,
}

impl Accumulated {
    /// Adds the mean gradients of a batch. If the batch ends a step, returns the mean over the step's
    /// examples, and the fraction of them that this rank has.
    pub(super) fn add(
        &mut self,
        model: &(impl Parameters + ?Sized),
        mut gradients: GradStore,
        (own, total): (usize, usize),
        ends: bool,
    ) -> Result<Option<(GradStore, f64)>> {
        if ends && self.sums.is_none() {
            return Ok(Some((gradients, own as f64 / total as f64)));
        }
        let parameters = model.parameters();
        let scale = |gradients: &mut GradStore, factor: f64| {
            attempt(|| {
                for x in variables(&parameters) {
                    if let Some(gradient) = gradients.remove(&x) {
                        gradients.insert(&x, gradient * factor);
                    }
                }
            })
        };
        scale(&mut gradients, own as f64)?;
        if let Some(sums) = self.sums.take() {
            try_accumulate(&parameters, &mut gradients, &sums)?;
        }
        self.own += own;
        self.total += total;
        if ends {
            scale(&mut gradients, 1.0 / self.own.max(1) as f64)?;
            let fraction = self.own as f64 / self.total as f64;
            (self.own, self.total) = (0, 0);
            return Ok(Some((gradients, fraction)));
        }
        self.sums = Some(gradients);
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use crate::data::{DataLoader, DataModule, TensorDataset};
    use crate::error::{Problem, Result, of};
    use crate::nn::ParametersExt;
    use crate::tensor::{Tensor, arange, full, manual_seed, with_seed, zeros};
    use crate::train::Trainer;
    use crate::train::tests::mlp;
    use candle_core::{DType, Device};

    /// Examples in order, in batches of this size.
    struct Ordered(Tensor, usize);

    impl DataModule for Ordered {
        fn train_dataloader(&self) -> Result<DataLoader> {
            let classes = arange(0, self.0.dims()[0] as i64);
            let classes = (classes / 20.0).to_dtype(DType::U32);
            let data = TensorDataset::new(self.0.clone(), classes)?;
            Ok(DataLoader::new(data).batch_size(self.1))
        }
    }

    #[test]
    fn accumulated_batches_make_the_step_of_one_batch() -> Result<()> {
        let x = with_seed(3, || crate::tensor::randn((50, 2)));
        let train = |batch_size: usize, accumulate: usize, devices: usize| {
            manual_seed(4);
            let mut model = mlp(0.0);
            let mut trainer = Trainer::new(3)
                .gradient_clip_val(0.5)
                .devices(&vec![Device::Cpu; devices])
                .accumulate_grad_batches(accumulate);
            let history = trainer.fit(&mut model, &Ordered(x.clone(), batch_size))?;
            let steps = history.intervals.last().map(|interval| interval.step);
            let values = model.state_dict().into_iter();
            let values = values.flat_map(|(_, x)| x.to_vec::<f32>());
            Ok::<_, crate::error::Error>((steps, values.collect::<Vec<_>>()))
        };
        let (steps, want) = train(32, 1, 1)?;
        for (batch_size, accumulate, devices) in [(16, 2, 1), (8, 4, 1), (16, 2, 2)] {
            let (same, got) = train(batch_size, accumulate, devices)?;
            assert_eq!(same, steps, "50 examples make 2 steps an epoch");
            for (got, want) in got.iter().zip(&want) {
                assert!((got - want).abs() < 1e-4, "{got} is not {want}");
            }
        }
        Ok(())
    }

    #[test]
    fn an_infinite_loss_is_reported_with_its_step() {
        // The NaN is in batch 5 of 8.
        let rows = |n: usize| zeros((n, 2));
        let wrong = full((1, 2), f64::NAN);
        let x = Tensor::cat(&[rows(17), wrong, rows(14)], 0);
        for (accumulate, log_every, step) in [(1, 3, 5), (2, 3, 3), (4, 8, 2), (3, 5, 2)] {
            let mut trainer = Trainer::new(1)
                .log_every(log_every)
                .accumulate_grad_batches(accumulate);
            let error = trainer.fit(&mut mlp(0.0), &Ordered(x.clone(), 4));
            let error = error.unwrap_err();
            let found = match of(&error).map(|error| &error.problem) {
                Some(Problem::Loss { step, .. }) => *step,
                _ => panic!("{error}"),
            };
            assert_eq!(found, step, "every {accumulate} batches");
        }
    }
}
