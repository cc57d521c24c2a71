//! Networks as their users write them, with operators and methods on tensors. No kernel was tuned for those in
//! `written/unseen.rs` before they were first measured.

mod sequences;
mod unseen;
mod vision;

use crate::papers;
use sequences::*;
use taper::prelude::*;
use vision::*;

/// What a network receives: values, or tokens below this number, in this shape for each example.
pub(crate) enum Input {
    Values(&'static [usize]),
    Tokens(&'static [usize], i64),
}

/// Returns the input of a network; `None` if it is not one of these.
pub(crate) fn input(model: &str) -> Option<Input> {
    use Input::{Tokens, Values};
    Some(match model {
        "vit" | "convnext" | "mixer" | "mobilenet-v3" | "inception" | "squeezenet" => {
            Values(&[3, 32, 32])
        }
        "gru" | "rnn" => Values(&[50, 64]),
        "tagger" => Tokens(&[30], 5000),
        "vae" => Values(&[784]),
        "dcgan" => Values(&[1, 32, 32]),
        "translation" => Tokens(&[32], 1000),
        "gated" => Values(&[32, 256]),
        "odd" => Values(&[3, 27, 27]),
        "skip-gram" => Tokens(&[7], 20_000),
        "graph" => Values(&[128]),
        "style" => Values(&[3, 64, 64]),
        "mlp-batch-norm" => Values(&[784]),
        "super-resolution" | "conv-autoencoder" => Values(&[1, 32, 32]),
        "text-cnn" => Tokens(&[50], 5000),
        "policy" => Values(&[4]),
        "encoder" => Values(&[64, 256]),
        "bottleneck" => Values(&[256, 56, 56]),
        "point-net" => Values(&[3, 512]),
        "audio" => Values(&[1, 8000]),
        "deep" => Values(&[128]),
        "segmentation" => Values(&[3, 48, 48]),
        "pooling-attention" => Values(&[32, 64]),
        "experts" => Values(&[128]),
        _ => return papers::input(model),
    })
}

pub(crate) fn net(model: &str) -> Sequential {
    match model {
        "vit" => seq![Vit::new()],
        "convnext" => seq![
            conv(3, 64, 2, 2),
            ConvNext::new(),
            ConvNext::new(),
            ConvNext::new(),
            Mean,
            Linear::new(64, 10)
        ],
        "mixer" => mixer(),
        "mobilenet-v3" => mobilenet_v3(),
        "gru" => seq![
            Gru(GRU::new(64, 128).num_layers(2).batch_first(true)),
            Linear::new(128, 10)
        ],
        "tagger" => seq![Tagger::new(), Linear::new(128, 10)],
        "vae" => seq![Vae::new()],
        "dcgan" => seq![Gan::new()],
        "translation" => seq![Translation::new()],
        "gated" => seq![Gated::new()],
        "odd" => odd(),
        "skip-gram" => seq![SkipGram::new()],
        "graph" => seq![Graph::new(2708, 128)],
        "style" => style(),
        "mlp-batch-norm" => batch_norm_mlp(),
        "super-resolution" => super_resolution(),
        "text-cnn" => seq![TextCnn::new()],
        "policy" => seq![Linear::new(4, 128), ReLU, Linear::new(128, 2)],
        "encoder" => seq![Encoder(TransformerEncoder::new(6, || encoder_layer(
            256, 1024
        )))],
        "bottleneck" => seq![Bottleneck::new()],
        _ if papers::input(model).is_some() => papers::net(model),
        _ => unseen::net(model),
    }
}

pub(crate) type Loss = fn(&Tensor, &Tensor) -> Tensor;

/// Returns the loss for a network's output, the target, and the learning rate.
pub(crate) fn task(output: &Tensor) -> (Loss, Tensor, f64) {
    match output.dims() {
        // It is the loss.
        [] => (|output, _| output.clone(), output.zeros_like(), 1e-4),
        [count, classes] => {
            let labels: Vec<i64> = (0..*count).map(|i| (i % classes) as i64).collect();
            (
                cross_entropy,
                tensor(labels).to_device(output.device()),
                0.01,
            )
        }
        _ => (mse_loss, output.zeros_like(), 0.01),
    }
}

fn conv(inputs: usize, outputs: usize, size: usize, stride: usize) -> Conv2d {
    Conv2d::new(inputs, outputs, size).stride(stride)
}

/// The mean over an image's pixels.
#[derive(Parameters)]
struct Mean;

impl Layer for Mean {
    fn forward(&self, x: &Tensor) -> Tensor {
        x.mean((2, 3))
    }
}

#[derive(Parameters)]
struct Vae {
    encoder: Sequential,
    mean: Linear,
    log_variance: Linear,
    decoder: Sequential,
}

impl Vae {
    fn new() -> Self {
        Vae {
            encoder: seq![Linear::new(784, 400), ReLU],
            mean: Linear::new(400, 20),
            log_variance: Linear::new(400, 20),
            decoder: seq![Linear::new(20, 400), ReLU, Linear::new(400, 784)],
        }
    }
}

impl Layer for Vae {
    /// Returns the loss.
    fn forward(&self, x: &Tensor) -> Tensor {
        let (x, h) = (x.sigmoid(), self.encoder.forward(x));
        let (mean, log_variance) = (self.mean.forward(&h), self.log_variance.forward(&h));
        let z = &mean + (&log_variance * 0.5).exp() * mean.randn_like();
        let divergence = -0.5 * (&log_variance + 1.0 - mean.sqr() - log_variance.exp()).sum_all();
        let found = self.decoder.forward(&z);
        BCEWithLogitsLoss::new()
            .reduction(Reduction::Sum)
            .forward(&found, &x)
            + divergence
    }
}

/// Returns a network with channel counts such as 17 and 50.
fn odd() -> Sequential {
    seq![
        conv(3, 17, 3, 1).padding(1),
        ReLU,
        conv(17, 50, 3, 2).padding(1),
        ReLU,
        conv(50, 50, 3, 1).padding(1),
        ReLU,
        Mean,
        Linear::new(50, 7)
    ]
}

/// Two graph convolutions with a dense matrix of neighbours.
#[derive(Parameters)]
struct Graph {
    neighbours: Buffer,
    first: Linear,
    second: Linear,
}

impl Graph {
    fn new(nodes: usize, features: usize) -> Self {
        Graph {
            neighbours: Buffer::new(&(rand((nodes, nodes)) / nodes as f64)),
            first: Linear::new(features, 64),
            second: Linear::new(64, 7),
        }
    }
}

impl Layer for Graph {
    fn forward(&self, x: &Tensor) -> Tensor {
        let neighbours = self.neighbours.tensor();
        let h = neighbours.matmul(&self.first.forward(x)).relu();
        neighbours.matmul(&self.second.forward(&h))
    }
}

fn batch_norm_mlp() -> Sequential {
    let layer = |inputs| {
        seq![
            Linear::new(inputs, 512),
            BatchNorm1d::new(512),
            ReLU,
            Dropout::new(0.2)
        ]
    };
    seq![layer(784), layer(512), layer(512), Linear::new(512, 10)]
}
