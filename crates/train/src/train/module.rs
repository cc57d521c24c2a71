//! A model that can be trained.

use super::recorder;
use crate::data::{Batch, BatchData};
use crate::nn::{Layer, ParametersExt};
use crate::optim::{Optimizer, plain_sgd};
use crate::tensor::Tensor;

/// A model with a loss, which a [`Trainer`](super::Trainer) can train.
///
/// `forward` comes from [`Layer`], so a module can be a part of another. Only `loss` must be
/// implemented in addition. From d2l's chapter *Object-Oriented Design for Implementation*.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct LinearRegression { net: Linear, lr: f64 }
///
/// impl Layer for LinearRegression {
///     fn forward(&self, x: &Tensor) -> Tensor {
///         self.net.forward(x)
///     }
/// }
///
/// impl Module for LinearRegression {
///     fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
///         mse_loss(y_hat, y)
///     }
///
///     fn configure_optimizers(&self) -> Box<dyn Optimizer> {
///         Box::new(SGD::new(self.parameters(), self.lr))
///     }
/// }
///
/// let model = LinearRegression { net: LazyLinear::new(1), lr: 0.03 };
/// let batch = Batch { x: ones((4, 2)), y: zeros((4, 1)) };
/// assert_eq!(model.training_step(&batch).dims(), [0; 0]);
/// ```
///
/// # Other batches
///
/// A model of sequences, pairs or masks is a module for its own type of batches, a
/// [`BatchData`]: `forward` takes the input of a batch, `loss` its target. In a pair `(x, y)`, these
/// are `x` and `y`; in other types, both are the whole batch. A model with several outputs returns a
/// tuple and states its type: `impl Module<Batch, (Tensor, Tensor)>`. The data set and the loader have
/// the same type of batches; the trainer is used as for a [`Batch`].
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(BatchData)]
/// struct Masked { x: Tensor, mask: Tensor, y: Tensor } // each (batch, length)
///
/// struct Sums; // sequences, and a mask of the elements that count
///
/// impl Dataset<Masked> for Sums {
///     fn len(&self) -> usize { 256 }
///
///     fn get(&self, indices: &[usize]) -> Result<Masked> {
///         let shape = (indices.len(), 4);
///         let (x, mask) = (randn(shape), rand(shape).gt(0.5).to_dtype(DType::F32));
///         Ok(Masked { y: (&x * &mask).sum_keepdim(1), x, mask })
///     }
/// }
///
/// #[derive(Parameters)]
/// struct Model { output: Linear }
///
/// impl Layer<Masked> for Model {
///     fn forward(&self, batch: &Masked) -> Tensor {
///         self.output.forward(&(&batch.x * &batch.mask)) // (batch, 1)
///     }
/// }
///
/// impl Module<Masked> for Model {
///     fn loss(&self, y_hat: &Tensor, batch: &Masked) -> Tensor {
///         mse_loss(y_hat, &batch.y)
///     }
/// }
///
/// manual_seed(0);
/// let mut model = Model { output: Linear::new(4, 1) };
/// let history = Trainer::new(10).fit(&mut model, &DataLoader::new(Sums))?;
/// assert!(history.last("train_loss") < Some(0.01));
/// # Ok::<(), Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model for batches of type `{B}`",
    label = "has no `Module` for these batches",
    note = "a model and the data that it is trained on have the same type of batches",
    note = "`Classifier::new(net, lr)` makes a `Module` of a network that takes and returns one tensor"
)]
pub trait Module<B: BatchData = Batch, Y: BatchData = Tensor>:
    Layer<B::Input, Y> + 'static
{
    /// Returns how far the predictions are from the targets: a scalar, the mean over the batch.
    ///
    /// # Panics
    /// If their shapes do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3), 0.1);
    /// let loss = model.loss(&zeros((1, 3)), &tensor(&[2]));
    /// assert!((loss.item() - 3f64.ln()).abs() < 1e-6);
    /// ```
    fn loss(&self, y_hat: &Y, y: &B::Target) -> Tensor;

    /// Returns the loss of a training batch, from which the gradients are computed.
    ///
    /// # Panics
    /// If the batch does not fit the model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3), 0.1);
    /// let batch = Batch { x: zeros((1, 2)), y: tensor(&[2]) };
    /// let gradients = model.training_step(&batch).backward();
    /// assert!(gradients.get(&model.parameters()[0].tensor()).is_some());
    /// ```
    fn training_step(&self, batch: &B) -> Tensor {
        let y_hat = self.forward(batch.input());
        let loss = self.loss(&y_hat, batch.target());
        self.plot("loss", &loss, true);
        loss
    }

    /// Plots the metrics of a validation batch; by default the loss.
    ///
    /// # Panics
    /// If the batch does not fit the model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3), 0.1);
    /// let batch = Batch { x: zeros((1, 2)), y: tensor(&[2]) };
    /// model.validation_step(&batch); // a Classifier plots the accuracy as well
    /// ```
    fn validation_step(&self, batch: &B) {
        let y_hat = self.forward(batch.input());
        self.plot("loss", &self.loss(&y_hat, batch.target()), false);
    }

    /// Creates the optimiser for this model; by default [`SGD`](crate::optim::SGD) with the learning rate 0.1.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Classifier::new(Linear::new(2, 3), 0.5).configure_optimizers().lr(), 0.5);
    /// ```
    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        plain_sgd(self.parameters(), 0.1)
    }

    /// Returns whether the trainer computes the gradients of [`training_step`](Self::training_step) and makes the steps, as by
    /// default. If not, it calls [`manual_step`](Self::manual_step).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Classifier::new(Linear::new(2, 3), 0.5).automatic_optimization());
    /// ```
    fn automatic_optimization(&self) -> bool {
        true
    }

    /// Trains on a batch with the optimisers of [`configure_optimizers`](Self::configure_optimizers), and returns the loss to
    /// record, if [`automatic_optimization`](Self::automatic_optimization) is false: for several losses and optimisers, as
    /// in a GAN. The trainer then does not clip or accumulate gradients, and uses one device.
    ///
    /// # Panics
    /// If the batch does not fit the model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// #[derive(Parameters)]
    /// struct Gan { generator: Linear, discriminator: Linear }
    ///
    /// impl Layer for Gan {
    ///     fn forward(&self, noise: &Tensor) -> Tensor {
    ///         self.generator.forward(noise)
    ///     }
    /// }
    ///
    /// impl Module for Gan {
    ///     fn loss(&self, fake: &Tensor, _: &Tensor) -> Tensor {
    ///         let logits = self.discriminator.forward(fake);
    ///         bce_with_logits(&logits, &logits.ones_like())
    ///     }
    ///
    ///     fn automatic_optimization(&self) -> bool { false }
    ///
    ///     fn configure_optimizers(&self) -> Box<dyn Optimizer> {
    ///         let optimizers = Optimizers::new()
    ///             .with(Adam::new(self.generator.parameters(), 0.01))
    ///             .with(Adam::new(self.discriminator.parameters(), 0.01));
    ///         Box::new(optimizers)
    ///     }
    ///
    ///     fn manual_step(&self, batch: &Batch, optimizers: &mut [Box<dyn Optimizer>]) -> Tensor {
    ///         let fake = self.forward(&randn((batch.len(), 4)));
    ///         let loss = self.loss(&fake, &batch.y);
    ///         optimizers[0].step(&loss.backward());
    ///         let (real, fake) = (self.discriminator.forward(&batch.x), self.discriminator.forward(&fake.detach()));
    ///         let other = bce_with_logits(&real, &real.ones_like()) + bce_with_logits(&fake, &fake.zeros_like());
    ///         optimizers[1].step(&other.backward());
    ///         self.plot("discriminator", &other, true);
    ///         loss
    ///     }
    /// }
    ///
    /// let mut gan = Gan { generator: Linear::new(4, 2), discriminator: Linear::new(2, 1) };
    /// let data = DataLoader::new(TensorDataset::new(randn((64, 2)), zeros(64))?);
    /// let history = Trainer::new(2).fit(&mut gan, &data)?;
    /// assert!(history.last("train_discriminator").is_some());
    /// # Ok::<(), Error>(())
    /// ```
    fn manual_step(&self, batch: &B, optimizers: &mut [Box<dyn Optimizer>]) -> Tensor {
        let loss = self.training_step(batch);
        let gradients = loss.backward();
        optimizers
            .iter_mut()
            .for_each(|optimizer| optimizer.step(&gradients));
        loss
    }

    /// Adds a metric to the trainer's board and to its history: as `train_…` if `train` is true,
    /// averaged over the examples of an interval, else as `val_…`, averaged over the examples of the
    /// validation set. Does nothing without a trainer.
    ///
    /// The value stays on its device until the trainer fetches many at once, so plotting does not slow
    /// the step down.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// #[derive(Parameters)]
    /// struct Net { output: Linear }
    ///
    /// impl Layer for Net {
    ///     fn forward(&self, x: &Tensor) -> Tensor {
    ///         self.output.forward(&x.flatten_from(1)) // (batch, 10)
    ///     }
    /// }
    ///
    /// impl Module for Net {
    ///     fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
    ///         self.plot("largest", &y_hat.max_all(), true);
    ///         cross_entropy(y_hat, y)
    ///     }
    /// }
    ///
    /// let history = Trainer::new(1).fit(&mut Net { output: LazyLinear::new(10) }, &Digits::new())?;
    /// assert!(history.last("train_largest").is_some());
    /// # Ok::<(), Error>(())
    /// ```
    fn plot(&self, key: &str, value: &Tensor, train: bool) {
        recorder::plot(key, value, train);
    }
}
