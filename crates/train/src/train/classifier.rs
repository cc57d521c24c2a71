//! A network with the loss and the accuracy of classification.

use super::{Module, accuracy};
use crate::data::Batch;
use crate::erased::Erased;
use crate::error::Result;
use crate::nn::{Layer, Parameter, Parameters, ParametersExt, Visitor, VisitorMut, cross_entropy};
use crate::notebook::Show;
use crate::optim::{Optimizer, plain_sgd};
use crate::tensor::Tensor;
use std::sync::Arc;

/// Makes a [`Module`] of a network that returns a logit for each class: its loss is the cross-entropy,
/// and it plots the accuracy as well. From d2l's chapter *The Base Classification Model*.
///
/// The logits are `(batch, classes)` with a class for each example, or `(batch, classes, …)` with a
/// class for each position, a pixel or a word for instance.
///
/// Rust has no subclasses, so this wraps the network: any layer, `seq![…]` or your own struct.
/// It adds nothing to the names of the parameters.
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![Flatten, LazyLinear::new(10)];
/// let model = Classifier::new(net, 0.1).optimizer(Adam::new);
/// let y = model.forward(&zeros((2, 1, 8, 8))); // (2, 10)
/// assert_eq!(model.net.len(), 2);
/// ```
pub struct Classifier<N> {
    /// The network.
    pub net: N,
    lr: f64,
    optimizer: Erased<MakeOptimizer>,
}

type MakeOptimizer = Arc<dyn Fn(Vec<Parameter>, f64) -> Box<dyn Optimizer> + Send + Sync>;

/// Keeps the function where a cell does not compile how it is dropped.
#[inline(never)]
fn kept(make: MakeOptimizer) -> Erased<MakeOptimizer> {
    Erased::new(make)
}

#[inline(never)]
fn same(make: &Erased<MakeOptimizer>) -> Erased<MakeOptimizer> {
    make.clone()
}

#[inline(never)]
fn plain() -> Erased<MakeOptimizer> {
    kept(Arc::new(plain_sgd))
}

impl<N> Classifier<N> {
    /// Wraps a network, to be trained by plain [`SGD`](crate::optim::SGD) with this learning rate.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3), 0.1);
    /// assert_eq!(model.num_parameters(), 9);
    /// ```
    pub fn new(net: N, lr: f64) -> Self {
        Self {
            net,
            lr,
            optimizer: plain(),
        }
    }

    /// Sets the optimiser, by the function that creates it from the parameters and the learning rate.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let model = Classifier::new(Linear::new(2, 3), 0.1).optimizer(Adam::new);
    /// let model = Classifier::new(Linear::new(2, 3), 0.1)
    ///     .optimizer(|parameters, lr| SGD::new(parameters, lr).momentum(0.9));
    /// assert_eq!(model.configure_optimizers().lr(), 0.1);
    /// ```
    pub fn optimizer<O: Optimizer + 'static>(
        mut self,
        make: impl Fn(Vec<Parameter>, f64) -> O + Send + Sync + 'static,
    ) -> Self {
        let make = move |parameters, lr| Box::new(make(parameters, lr)) as Box<dyn Optimizer>;
        self.optimizer = kept(Arc::new(make));
        self
    }

    // Defined in addition to `Layer::forward`, for editors that do not expand the derives of the net.
    /// Returns the logits of the network: `(batch, classes)`.
    ///
    /// # Panics
    /// If the shape of the input does not fit the network.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = Classifier::new(Linear::new(2, 3), 0.1).forward(&zeros((4, 2)));
    /// assert_eq!(y.dims(), [4, 3]);
    /// ```
    pub fn forward(&self, input: &Tensor) -> Tensor
    where
        N: Layer,
    {
        self.net.forward(input)
    }
}

impl<N: Layer + 'static> Layer for Classifier<N> {
    fn forward(&self, input: &Tensor) -> Tensor {
        self.net.forward(input)
    }
}

impl<N: Layer + 'static> Module for Classifier<N> {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        cross_entropy(y_hat, y)
    }

    fn training_step(&self, batch: &Batch) -> Tensor {
        let y_hat = self.forward(&batch.x);
        let loss = self.loss(&y_hat, &batch.y);
        self.plot("loss", &loss, true);
        self.plot("accuracy", &accuracy(&y_hat, &batch.y), true);
        loss
    }

    fn validation_step(&self, batch: &Batch) {
        let y_hat = self.forward(&batch.x);
        self.plot("loss", &self.loss(&y_hat, &batch.y), false);
        self.plot("accuracy", &accuracy(&y_hat, &batch.y), false);
    }

    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        (self.optimizer)(self.parameters(), self.lr)
    }
}

impl<N: Parameters> Parameters for Classifier<N> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        self.net.visit(visitor);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        self.net.visit_mut(visitor)
    }

    fn shallow_copy(&self) -> Self {
        Self {
            net: self.net.shallow_copy(),
            lr: self.lr,
            optimizer: same(&self.optimizer),
        }
    }
}

impl<N: Parameters> Show for Classifier<N> {
    fn show_text(&self) -> String {
        format!("Classifier, lr {}: {}", self.lr, self.net.describe())
    }
}
