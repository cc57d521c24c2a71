//! The models in Taper.

use crate::Step;
use crate::larger::{Gpt, Lstm, UNet, dense, depthwise, resnet18, vgg, wide_mlp};
use crate::nets::{cifar, lenet, lenet_relu};
use crate::papers;
use crate::written::{self, Loss};
use taper::prelude::*;

pub(crate) fn step(model: &str, x: Tensor, y: Tensor, inference: bool) -> Step {
    let mut net = match model {
        "mlp" => seq![Flatten, LazyLinear::new(256), ReLU, LazyLinear::new(10)],
        "mlp-norm" => seq![
            Flatten,
            LazyLinear::new(256),
            LayerNorm::new(256),
            GELU,
            LazyLinear::new(10)
        ],
        "lenet" => lenet(),
        "lenet-relu" => lenet_relu(),
        "leaf" => leaf(),
        "cifar" => cifar(),
        "resnet" => seq![
            Residual::new(64),
            AdaptiveAvgPool2d::new(1),
            Flatten,
            LazyLinear::new(10)
        ],
        "mlp-wide" => wide_mlp(),
        "vgg" => vgg(),
        "depthwise" => depthwise(),
        "resnet18-16" => resnet18(16),
        "resnet18-64" => resnet18(64),
        "dense" => dense(),
        "unet" => seq![UNet::new()],
        "lstm" => seq![Lstm::new()],
        "gpt-128" => seq![Gpt::new(128)],
        "gpt-256" => seq![Gpt::new(256)],
        _ => written::net(model),
    };
    net.to_device(x.device());
    let output = net.forward(&x);
    let (loss, y, rate) = match written::input(model) {
        Some(_) => written::task(&output),
        None if y.dtype().is_float() => (bce_with_logits as Loss, y, 0.01),
        None => (cross_entropy as Loss, y, 0.01),
    };
    if inference {
        net.eval();
        return Box::new(move || {
            no_grad(|| net.forward(&x));
            Ok(())
        });
    }
    let adam = ["mlp-norm", "mlp-wide", "gpt-128", "gpt-256"].contains(&model)
        || papers::input(model).is_some();
    let mut optimizer: Box<dyn Optimizer> = match adam {
        true => Box::new(AdamW::new(net.parameters(), 0.001)),
        false => Box::new(SGD::new(net.parameters(), rate)),
    };
    Box::new(move || {
        let loss = loss(&net.forward(&x), &y);
        optimizer.step(&backward(&loss));
        loss.item();
        Ok(())
    })
}

/// Returns a step that trains LeNet for an epoch, including the data loader.
pub(crate) fn epoch(x: Tensor, y: Tensor, batch: usize) -> Result<Step> {
    let net = lenet();
    net.forward(&x.i(..1));
    let mut optimizer = SGD::new(net.parameters(), 0.01);
    let loader = DataLoader::new(TensorDataset::new(x, y)?)
        .batch_size(batch)
        .shuffle(true);
    Ok(Box::new(move || {
        let mut losses = vec![];
        for batch in &loader {
            let Batch { x, y } = batch?;
            let loss = cross_entropy(&net.forward(&x), &y);
            optimizer.step(&backward(&loss));
            losses.push(loss.detach());
        }
        Tensor::stack(&losses, 0).mean_all().item();
        Ok(())
    }))
}

fn leaf() -> Sequential {
    let block = |filters| {
        seq![
            LazyConv2d::new(filters, 2),
            ReLU,
            MaxPool2d::new(4).stride(2),
            LazyBatchNorm2d::new(),
        ]
    };
    seq![
        block(32),
        block(64),
        block(128),
        Flatten,
        LazyLinear::new(100),
        ReLU,
        Dropout::new(0.2),
        LazyLinear::new(10),
        ReLU,
        Dropout::new(0.2),
        LazyLinear::new(2),
    ]
}

/// A residual block: the output of two convolutions is added to their input.
#[derive(Parameters)]
struct Residual {
    body: Sequential,
}

impl Residual {
    fn new(channels: usize) -> Self {
        let conv = || {
            let conv = Conv2d::new(channels, channels, 3).padding(1);
            conv.bias(false)
        };
        let norm = || BatchNorm2d::new(channels);
        let body = seq![conv(), norm(), ReLU, conv(), norm()];
        Self { body }
    }
}

impl Layer for Residual {
    fn forward(&self, x: &Tensor) -> Tensor {
        (self.body.forward(x) + x).relu()
    }
}
