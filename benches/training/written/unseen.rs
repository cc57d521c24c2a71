//! Networks for which no kernel was tuned before they were first measured.

use super::{Mean, conv};
use taper::prelude::*;

pub(super) fn net(model: &str) -> Sequential {
    match model {
        "rnn" => seq![
            Rnn(RNN::new(64, 128).num_layers(2).batch_first(true)),
            Linear::new(128, 10)
        ],
        "inception" => seq![
            conv(3, 32, 3, 1).padding(1),
            ReLU,
            Inception::new(32),
            Inception::new(64),
            Mean,
            Linear::new(64, 10)
        ],
        "squeezenet" => squeezenet(),
        "conv-autoencoder" => conv_autoencoder(),
        "point-net" => point_net(),
        "audio" => audio(),
        "deep" => deep(),
        "segmentation" => segmentation(),
        "pooling-attention" => seq![PoolingAttention::new(), Linear::new(64, 10)],
        "experts" => seq![Experts::new(), Linear::new(128, 10)],
        _ => panic!("there is no model {model}"),
    }
}

#[derive(Parameters)]
struct Rnn(RNN);

impl Layer for Rnn {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.0.forward(x, None).0.i((.., -1))
    }
}

#[derive(Parameters)]
struct Inception(Vec<Sequential>);

impl Inception {
    fn new(inputs: usize) -> Self {
        let pool = MaxPool2d::new(3).stride(1).padding(1);
        Inception(vec![
            seq![conv(inputs, 16, 1, 1), ReLU],
            seq![
                conv(inputs, 16, 1, 1),
                ReLU,
                conv(16, 24, 3, 1).padding(1),
                ReLU
            ],
            seq![
                conv(inputs, 8, 1, 1),
                ReLU,
                conv(8, 16, 5, 1).padding(2),
                ReLU
            ],
            seq![pool, conv(inputs, 8, 1, 1), ReLU],
        ])
    }
}

impl Layer for Inception {
    fn forward(&self, x: &Tensor) -> Tensor {
        let branches: Vec<Tensor> = self.0.iter().map(|branch| branch.forward(x)).collect();
        cat(&branches, 1)
    }
}

#[derive(Parameters)]
struct Fire {
    squeeze: Sequential,
    one: Sequential,
    three: Sequential,
}

impl Fire {
    fn new(inputs: usize, squeezed: usize, outputs: usize) -> Self {
        Fire {
            squeeze: seq![conv(inputs, squeezed, 1, 1), ReLU],
            one: seq![conv(squeezed, outputs / 2, 1, 1), ReLU],
            three: seq![conv(squeezed, outputs / 2, 3, 1).padding(1), ReLU],
        }
    }
}

impl Layer for Fire {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = self.squeeze.forward(x);
        cat(&[self.one.forward(&x), self.three.forward(&x)], 1)
    }
}

fn squeezenet() -> Sequential {
    seq![
        conv(3, 32, 3, 1).padding(1),
        ReLU,
        MaxPool2d::new(2),
        Fire::new(32, 16, 64),
        Fire::new(64, 16, 64),
        MaxPool2d::new(2),
        Fire::new(64, 32, 128),
        conv(128, 10, 1, 1),
        Mean
    ]
}

fn conv_autoencoder() -> Sequential {
    let up = |inputs, outputs| {
        ConvTranspose2d::new(inputs, outputs, 3)
            .stride(2)
            .padding(1)
            .output_padding(1)
    };
    seq![
        conv(1, 16, 3, 2).padding(1),
        ReLU,
        conv(16, 32, 3, 2).padding(1),
        ReLU,
        conv(32, 64, 3, 2).padding(1),
        ReLU,
        up(64, 32),
        ReLU,
        up(32, 16),
        ReLU,
        up(16, 1),
        Sigmoid
    ]
}

fn point_net() -> Sequential {
    let layer = |inputs, outputs| {
        seq![
            Conv1d::new(inputs, outputs, 1),
            BatchNorm1d::new(outputs),
            ReLU
        ]
    };
    let highest = Lambda::new(|x| x.max(2));
    seq![
        layer(3, 64),
        layer(64, 128),
        layer(128, 256),
        highest,
        Linear::new(256, 128),
        BatchNorm1d::new(128),
        ReLU,
        Linear::new(128, 10)
    ]
}

/// Returns a layer that takes the highest of each four steps.
fn quarter() -> Lambda {
    Lambda::new(|x| {
        let steps = x.dim(2) / 4;
        x.i((.., .., ..4 * steps)).unfold(2, 4, 4).max(3)
    })
}

fn audio() -> Sequential {
    let layer = |inputs, outputs| {
        seq![
            Conv1d::new(inputs, outputs, 3),
            BatchNorm1d::new(outputs),
            ReLU,
            quarter()
        ]
    };
    let first = Conv1d::new(1, 32, 80).stride(16);
    let mean = Lambda::new(|x| x.mean(2));
    seq![
        first,
        BatchNorm1d::new(32),
        ReLU,
        quarter(),
        layer(32, 32),
        layer(32, 64),
        mean,
        Linear::new(64, 10)
    ]
}

fn deep() -> Sequential {
    let mut net = seq![];
    for _ in 0..20 {
        net.push(Linear::new(128, 128));
        net.push(ELU::new());
    }
    net.push(Linear::new(128, 10));
    net
}

fn segmentation() -> Sequential {
    let dilated = |inputs, step| Conv2d::new(inputs, 32, 3).padding(step).dilation(step);
    seq![
        conv(3, 32, 3, 2).padding(1),
        ReLU,
        dilated(32, 1),
        ReLU,
        dilated(32, 2),
        ReLU,
        dilated(32, 4),
        ReLU,
        conv(32, 5, 1, 1),
        Upsample::new(2.0).mode(Interpolation::Bilinear)
    ]
}

#[derive(Parameters)]
struct PoolingAttention(Sequential);

impl PoolingAttention {
    fn new() -> Self {
        PoolingAttention(seq![Linear::new(64, 64), Tanh, Linear::new(64, 1)])
    }
}

impl Layer for PoolingAttention {
    fn forward(&self, x: &Tensor) -> Tensor {
        let weights = self.0.forward(x).softmax(1); // (batch, steps, 1)
        (x * weights).sum(1)
    }
}

/// Four networks, whose outputs are weighted by a fifth one.
#[derive(Parameters)]
struct Experts {
    experts: Vec<Sequential>,
    gate: Linear,
}

impl Experts {
    fn new() -> Self {
        let expert = |_| seq![Linear::new(128, 256), ReLU, Linear::new(256, 128)];
        Experts {
            experts: (0..4).map(expert).collect(),
            gate: Linear::new(128, 4),
        }
    }
}

impl Layer for Experts {
    fn forward(&self, x: &Tensor) -> Tensor {
        let weights = self.gate.forward(x).softmax(1).unsqueeze(2); // (batch, 4, 1)
        let outputs: Vec<Tensor> = self
            .experts
            .iter()
            .map(|expert| expert.forward(x))
            .collect();
        (Tensor::stack(&outputs, 1) * weights).sum(1)
    }
}
