//! The models by their names, with their data, losses and optimisers.

use crate::images::{
    UNet, cifar, dense, depthwise, leaf, lenet, lenet_relu, resnet, resnet18, vgg,
};
use crate::sequences::{Gpt, Lstm, Mlp};
use burn::nn::loss::{BinaryCrossEntropyLossConfig, CrossEntropyLossConfig};
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer, SgdConfig};
use burn::prelude::*;
use burn::tensor::Distribution;

/// A network from its input to logits.
pub trait Network: Module + 'static {
    type Input: Clone + 'static;
    type Output;

    fn forward(&self, x: Self::Input) -> Self::Output;
}

/// A model with the one batch on which it works.
pub struct Model {
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "a test compares it with PyTorch's")
    )]
    pub parameters: usize,
    /// A call is one training step and returns its loss, or computes the output and returns `None`.
    pub step: Box<dyn FnMut() -> Option<f32>>,
}

/// Returns a model with random parameters, and its batch of random examples.
pub fn model(name: &str, batch: usize, device: Device, inference: bool) -> Model {
    device.seed(0);
    // Without autodiff, batch normalisation and dropout are in evaluation mode.
    let device = if inference { device } else { device.autodiff() };
    let task = Task {
        name,
        batch,
        inference,
        device: &device,
    };
    match name {
        "mlp" => task.vectors(Mlp::new(&[784, 256, 10], &device)),
        "mlp-norm" => task.vectors(Mlp::new(&[784, 256, 10], &device).with_norm(256, &device)),
        "lenet" => task.images([1, 28, 28], lenet(&device)),
        "lenet-relu" => task.images([1, 28, 28], lenet_relu(&device)),
        "leaf" => task.images([3, 128, 128], leaf(&device)),
        "cifar" => task.images([3, 32, 32], cifar(&device)),
        "resnet" => task.images([64, 32, 32], resnet(&device)),
        "mlp-wide" => task.vectors(Mlp::new(&[784, 1024, 1024, 10], &device)),
        "vgg" => task.images([3, 32, 32], vgg(&device)),
        "depthwise" => task.images([3, 32, 32], depthwise(&device)),
        "resnet18-16" => task.images([3, 32, 32], resnet18(16, &device)),
        "resnet18-64" => task.images([3, 32, 32], resnet18(64, &device)),
        "dense" => task.images([3, 32, 32], dense(&device)),
        "unet" => task.masks(UNet::new(&device)),
        "lstm" => task.classify(Lstm::new(&device), task.normal([batch, 32, 64]), 10),
        "gpt-128" => task.tokens(Gpt::new(128, &device), 64),
        "gpt-256" => task.tokens(Gpt::new(256, &device), 128),
        _ => panic!("there is no model {name}"),
    }
}

struct Task<'a> {
    name: &'a str,
    batch: usize,
    inference: bool,
    device: &'a Device,
}

impl Task<'_> {
    fn vectors<N: Network<Input = Tensor<2>, Output = Tensor<2>>>(&self, net: N) -> Model {
        self.classify(net, self.normal([self.batch, 784]), 10)
    }

    fn images<N>(&self, shape: [usize; 3], net: N) -> Model
    where
        N: Network<Input = Tensor<4>, Output = Tensor<2>>,
    {
        let [channels, height, width] = shape;
        let classes = if self.name == "leaf" { 2 } else { 10 };
        let x = self.normal([self.batch, channels, height, width]);
        self.classify(net, x, classes)
    }

    /// Returns a model that predicts a class for each example. The targets are the classes in turn.
    fn classify<N>(&self, net: N, x: N::Input, classes: i64) -> Model
    where
        N: Network<Output = Tensor<2>>,
    {
        let y = Tensor::<1, Int>::arange(0..self.batch as i64, self.device);
        self.cross_entropy(net, x, y.remainder_scalar(classes))
    }

    /// Returns a model that predicts at each position the token of the input there.
    fn tokens(&self, net: Gpt, steps: usize) -> Model {
        let tokens = Distribution::Uniform(0.0, 65.0);
        let x = Tensor::<2, Int>::random([self.batch, steps], tokens, self.device);
        self.cross_entropy(net, x.clone(), x.flatten(0, 1))
    }

    fn cross_entropy<N>(&self, net: N, x: N::Input, y: Tensor<1, Int>) -> Model
    where
        N: Network<Output = Tensor<2>>,
    {
        let loss = CrossEntropyLossConfig::new().init(self.device);
        self.model_of(net, x, move |logits| loss.forward(logits, y.clone()))
    }

    /// Returns a model that predicts for each pixel whether it belongs to an object.
    fn masks(&self, net: UNet) -> Model {
        let config = BinaryCrossEntropyLossConfig::new().with_logits(true);
        let loss = config.init(self.device);
        let y = Tensor::<4, Int>::zeros([self.batch, 1, 48, 48], self.device);
        let x = self.normal([self.batch, 3, 48, 48]);
        self.model_of(net, x, move |logits| loss.forward(logits, y.clone()))
    }

    fn normal<const D: usize>(&self, shape: [usize; D]) -> Tensor<D> {
        Tensor::random(shape, Distribution::Normal(0.0, 1.0), self.device)
    }

    fn model_of<N: Network>(
        &self,
        net: N,
        x: N::Input,
        loss: impl Fn(N::Output) -> Tensor<1> + 'static,
    ) -> Model {
        let parameters = net.num_params();
        if self.inference {
            let step = Box::new(move || {
                net.forward(x.clone());
                None
            });
            return Model { parameters, step };
        }
        let (mut optimizer, rate) = self.optimizer();
        // The optimiser takes the network and returns it with new parameters.
        let mut kept = Some(net);
        let step = Box::new(move || {
            let net = kept.take()?;
            let loss = loss(net.forward(x.clone()));
            let gradients = GradientsParams::from_grads(loss.backward(), &net);
            kept = Some(optimizer.step(rate, net, gradients));
            Some(loss.into_scalar())
        });
        Model { parameters, step }
    }

    /// Returns PyTorch's optimiser for the model, with PyTorch's settings, and the learning rate.
    fn optimizer(&self) -> (ModuleOptimizer, f64) {
        if ["mlp-norm", "mlp-wide", "gpt-128", "gpt-256"].contains(&self.name) {
            let config = AdamWConfig::new()
                .with_epsilon(1e-8)
                .with_weight_decay(0.01);
            return (config.init(), 0.001);
        }
        (SgdConfig::new().init(), 0.01)
    }
}
