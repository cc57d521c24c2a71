//! A model that can be trained.

use super::recorder;
use crate::data::Batch;
use crate::nn::{Layer, ParametersExt};
use crate::optim::{Optimizer, Sgd};
use candle_core::{Device, Result, Tensor};

/// A model with a loss: all that a [`Trainer`](super::Trainer) needs to know.
///
/// `forward` is that of [`Layer`], so a module can be a part of another. Only `loss` must be written
/// besides. From d2l's chapter *Object-Oriented Design for Implementation*.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct LinearRegression { net: LazyLinear, lr: f64 }
///
/// impl Layer for LinearRegression {
///     fn forward(&self, x: &Tensor) -> Result<Tensor> {
///         self.net.forward(x)
///     }
/// }
///
/// impl Module for LinearRegression {
///     fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Result<Tensor> {
///         mse_loss(y_hat, y)
///     }
///
///     fn configure_optimizers(&self) -> Box<dyn Optimizer> {
///         Box::new(Sgd::new(self.parameters(), self.lr))
///     }
/// }
///
/// let model = LinearRegression { net: LazyLinear::new(1), lr: 0.03 };
/// let batch = Batch { x: ones((4, 2), &cpu())?, y: zeros((4, 1), &cpu())? };
/// assert_eq!(model.training_step(&batch)?.dims(), [0; 0]);
/// # Ok::<(), Error>(())
/// ```
pub trait Module: Layer + 'static {
    /// How far the predictions are from the targets: one number, a mean over the batch.
    ///
    /// # Errors
    /// If their shapes do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3)?, 0.1);
    /// let loss = model.loss(&zeros((1, 3), &cpu())?, &tensor(&[2], &cpu())?)?;
    /// assert!((loss.to_scalar::<f32>()? - 3f32.ln()).abs() < 1e-6);
    /// # Ok::<(), Error>(())
    /// ```
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Result<Tensor>;

    /// The loss of a training batch, from which the gradients are computed.
    ///
    /// # Errors
    /// If the model cannot take the batch.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3)?, 0.1);
    /// let batch = Batch { x: zeros((1, 2), &cpu())?, y: tensor(&[2], &cpu())? };
    /// let gradients = model.training_step(&batch)?.backward()?;
    /// # Ok::<(), Error>(())
    /// ```
    fn training_step(&self, batch: &Batch) -> Result<Tensor> {
        let y_hat = self.forward(&batch.x)?;
        let loss = self.loss(&y_hat, &batch.y)?;
        self.plot("loss", &loss, true);
        Ok(loss)
    }

    /// Plots how good the model is on a batch that it is not trained on: the loss.
    ///
    /// # Errors
    /// If the model cannot take the batch.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3)?, 0.1);
    /// let batch = Batch { x: zeros((1, 2), &cpu())?, y: tensor(&[2], &cpu())? };
    /// model.validation_step(&batch)?; // a Classifier's plots the accuracy as well
    /// # Ok::<(), Error>(())
    /// ```
    fn validation_step(&self, batch: &Batch) -> Result<()> {
        let y_hat = self.forward(&batch.x)?;
        self.plot("loss", &self.loss(&y_hat, &batch.y)?, false);
        Ok(())
    }

    /// The optimiser for this model; plain [`Sgd`] with the learning rate 0.1 unless written.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Classifier::new(Linear::new(2, 3)?, 0.5).configure_optimizers().lr(), 0.5);
    /// # Ok::<(), Error>(())
    /// ```
    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        Box::new(Sgd::new(self.parameters(), 0.1))
    }

    /// Puts a number on the trainer's board and into its history, as `train_…` or `val_…`, averaged
    /// over the batches of an interval. Does nothing without a trainer.
    ///
    /// The number stays on its device until the trainer fetches many at once, so a look at it slows
    /// nothing down.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3)?, 0.1);
    /// model.plot("norm", &tensor(1.0, &cpu())?, true); // from within training_step
    /// # Ok::<(), Error>(())
    /// ```
    fn plot(&self, key: &str, value: &Tensor, train: bool) {
        recorder::note(key, value, train);
    }
}

/// A [`Module`] whose type is not known. The training loop works on it, so that it is compiled here,
/// once, and not in each cell that trains a model.
pub(super) trait Model: Layer {
    fn step(&self, batch: &Batch) -> Result<Tensor>;

    fn validate(&self, batch: &Batch) -> Result<()>;

    fn optimizer(&self) -> Box<dyn Optimizer>;

    fn copied_to(&self, device: &Device) -> Result<Box<dyn Model>>;
}

impl<M: Module> Model for M {
    fn step(&self, batch: &Batch) -> Result<Tensor> {
        self.training_step(batch)
    }

    fn validate(&self, batch: &Batch) -> Result<()> {
        self.validation_step(batch)
    }

    fn optimizer(&self) -> Box<dyn Optimizer> {
        self.configure_optimizers()
    }

    fn copied_to(&self, device: &Device) -> Result<Box<dyn Model>> {
        Ok(Box::new(self.replicate(device)?))
    }
}
