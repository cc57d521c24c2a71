//! Training on one batch by a module that makes its own steps.

use super::Fit;
use crate::data::AnyBatch;
use crate::error::{Result, refuse};
use crate::tensor::{GradStore, draw_seed, with_seed};
use crate::train::{parallel, recorder};
use std::slice;

impl Fit<'_> {
    /// Lets the module train on a batch; see [`Module::manual_step`](crate::train::Module::manual_step).
    pub(super) fn manual_step(&mut self, batch: &dyn AnyBatch) -> Result<()> {
        self.check_manual()?;
        let examples = batch.examples()?;
        let share = self.train.share(self.batch);
        let parts = parallel::split(batch, &self.trainer.in_use)?;
        let Some(part) = parts.first() else {
            return Ok(());
        };
        let (steps, model) = (self.steps, &*self.model);
        let optimizers = match self.optimizer.parts() {
            Some(parts) => parts,
            None => slice::from_mut(&mut self.optimizer),
        };
        let (loss, metrics) = with_seed(draw_seed(), || {
            let step = || steps.manual(model, &**part, optimizers);
            recorder::collect(examples, || self.trainer.in_precision(step))
        });
        let loss = loss.detach();
        let checked = self.check_loss(&loss, batch);
        if checked.is_ok() {
            self.flow = self.on_step(batch, &loss, &mut GradStore::empty(), self.step + 1)?;
        }
        self.step += 1;
        self.end_of_batch(share, metrics, loss, (examples, examples));
        checked
    }

    fn check_manual(&self) -> Result<()> {
        let trainer = &self.trainer;
        let found = match () {
            _ if !self.others.is_empty() || self.ranks.is_some() => "several devices or processes",
            _ if trainer.accumulate > 1 => "accumulate_grad_batches",
            _ if trainer.clip > 0.0 => "gradient_clip_val",
            _ => return Ok(()),
        };
        refuse!(argument("Trainer", found);
            "settings that do not concern the module's own steps, as automatic_optimization() is false",
            "Leave it out: manual_step computes the gradients, clips them (clip_gradients) and steps")
    }
}

#[cfg(test)]
mod tests {
    use crate::data::{Batch, DataLoader, TensorDataset};
    use crate::error::Result;
    use crate::nn::{Layer, Linear, Parameters, ParametersExt, mse_loss};
    use crate::optim::{Optimizer, Optimizers, SGD};
    use crate::tensor::{Tensor, ones, with_seed, zeros};
    use crate::train::{Checkpoint, Module, Trainer};

    /// Two layers, each trained by its own optimiser and loss.
    #[derive(Parameters)]
    struct Two {
        a: Linear,
        b: Linear,
    }

    impl Layer for Two {
        fn forward(&self, x: &Tensor) -> Tensor {
            self.a.forward(x)
        }
    }

    impl Module for Two {
        fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
            mse_loss(y_hat, y)
        }

        fn automatic_optimization(&self) -> bool {
            false
        }

        fn configure_optimizers(&self) -> Box<dyn Optimizer> {
            let optimizers = Optimizers::new()
                .with(SGD::new(self.a.parameters(), 0.1))
                .with(SGD::new(self.b.parameters(), 0.2).momentum(0.5));
            Box::new(optimizers)
        }

        fn manual_step(&self, batch: &Batch, optimizers: &mut [Box<dyn Optimizer>]) -> Tensor {
            let loss = mse_loss(&self.a.forward(&batch.x), &batch.y);
            optimizers[0].step(&loss.backward());
            let second = mse_loss(&self.b.forward(&batch.x), &(&batch.y * 2.0));
            optimizers[1].step(&second.backward());
            self.plot("second", &second, true);
            loss
        }
    }

    fn data() -> Result<DataLoader> {
        let data = TensorDataset::new(ones((8, 1)), ones((8, 1)))?;
        Ok(DataLoader::new(data).batch_size(4))
    }

    fn model() -> Two {
        with_seed(1, || Two {
            a: Linear::new(1, 1),
            b: Linear::new(1, 1),
        })
    }

    #[test]
    fn each_optimiser_makes_its_steps() -> Result<()> {
        let mut model = model();
        let history = Trainer::new(20).fit(&mut model, &data()?)?;
        assert!(history.last("train_loss") < Some(1e-3), "{history:?}");
        assert!(history.last("train_second") < Some(1e-3), "{history:?}");
        assert_eq!(
            history.intervals.last().map(|interval| interval.step),
            Some(40)
        );
        let y = model.b.forward(&ones((1, 1))).item();
        assert!((y - 2.0).abs() < 0.05);
        Ok(())
    }

    #[test]
    fn it_continues_after_a_checkpoint() -> Result<()> {
        let path = crate::train::tests::temporary("manual");
        let mut whole = model();
        Trainer::new(4).fit(&mut whole, &data()?)?;
        Trainer::new(2)
            .callback(Checkpoint::new(&path))
            .fit(&mut model(), &data()?)?;
        let mut parts = Two {
            a: Linear::new(1, 1),
            b: Linear::new(1, 1),
        };
        Trainer::new(4)
            .resume_from(&path)
            .fit(&mut parts, &data()?)?;
        let values = |model: &Two| {
            model.forward(&zeros((1, 1))).item() + model.b.forward(&ones((1, 1))).item()
        };
        assert_eq!(values(&whole), values(&parts));
        std::fs::remove_file(path)?;
        Ok(())
    }

    #[test]
    fn settings_of_the_gradients_are_refused() -> Result<()> {
        let error = Trainer::new(1)
            .gradient_clip_val(1.0)
            .fit(&mut model(), &data()?);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("found gradient_clip_val\n"), "{error}");
        Ok(())
    }
}
