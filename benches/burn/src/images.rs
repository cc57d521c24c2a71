//! The networks on images, as in `benches/training/torch_models.py` and `larger.py`.

use crate::layers::*;
use crate::models::Network;
use burn::nn::conv::{Conv2d, Conv2dConfig, ConvTranspose2d, ConvTranspose2dConfig};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::prelude::*;
use burn::tensor::activation::{relu, sigmoid};

/// A CNN: layers on images, then linear layers with an activation between them.
#[derive(Module, Debug)]
pub struct Cnn {
    layers: Vec<Layer>,
    linears: Vec<Linear>,
    has_sigmoid: bool,
    dropout: Dropout,
}

impl Cnn {
    fn new(layers: Vec<Layer>, widths: &[usize], device: &Device) -> Self {
        let linear = |widths: &[usize]| LinearConfig::new(widths[0], widths[1]).init(device);
        Cnn {
            layers,
            linears: widths.windows(2).map(linear).collect(),
            has_sigmoid: false,
            dropout: DropoutConfig::new(0.0).init(),
        }
    }
}

impl Network for Cnn {
    type Input = Tensor<4>;
    type Output = Tensor<2>;

    fn forward(&self, x: Tensor<4>) -> Tensor<2> {
        let mut x = forward(&self.layers, x).flatten(1, 3);
        for (i, linear) in self.linears.iter().enumerate() {
            if i > 0 {
                x = if self.has_sigmoid {
                    sigmoid(x)
                } else {
                    relu(x)
                };
                x = self.dropout.forward(x);
            }
            x = linear.forward(x);
        }
        x
    }
}

pub fn lenet(device: &Device) -> Cnn {
    let net = lenet_with(sigmoid_layer, || average_pool(2), device);
    Cnn {
        has_sigmoid: true,
        ..net
    }
}

pub fn lenet_relu(device: &Device) -> Cnn {
    lenet_with(relu_layer, || max_pool(2, 2), device)
}

fn lenet_with(activation: fn() -> Layer, pool: fn() -> Layer, device: &Device) -> Cnn {
    let layers = vec![
        conv([1, 6], 5, 2, device),
        activation(),
        pool(),
        conv([6, 16], 5, 0, device),
        activation(),
        pool(),
    ];
    Cnn::new(layers, &[400, 120, 84, 10], device)
}

pub fn leaf(device: &Device) -> Cnn {
    let block = |channels: [usize; 2]| {
        [
            conv(channels, 2, 0, device),
            relu_layer(),
            max_pool(4, 2),
            norm(channels[1], device),
        ]
    };
    let layers = [[3, 32], [32, 64], [64, 128]].into_iter().flat_map(block);
    Cnn {
        dropout: DropoutConfig::new(0.2).init(),
        ..Cnn::new(layers.collect(), &[128 * 13 * 13, 100, 10, 2], device)
    }
}

pub fn cifar(device: &Device) -> Cnn {
    let layers = vec![
        conv([3, 6], 5, 0, device),
        relu_layer(),
        max_pool(2, 2),
        conv([6, 16], 5, 3, device),
        relu_layer(),
        conv([16, 16], 5, 0, device),
        relu_layer(),
        max_pool(2, 2),
        conv([16, 16], 3, 0, device),
        relu_layer(),
        max_pool(2, 2),
    ];
    Cnn::new(layers, &[64, 120, 84, 10], device)
}

pub fn resnet(device: &Device) -> Cnn {
    let layers = vec![block(64, 64, 1, device), global_pool()];
    Cnn::new(layers, &[64, 10], device)
}

/// Returns a residual block: the output of two convolutions is added to their input.
fn block(inputs: usize, channels: usize, stride: usize, device: &Device) -> Layer {
    let mut body = conv_norm([inputs, channels], 3, stride, device);
    body.push(relu_layer());
    body.extend(conv_norm([channels, channels], 3, 1, device));
    let shortcut = match stride {
        1 => vec![],
        _ => conv_norm([inputs, channels], 1, stride, device),
    };
    sum(body, shortcut)
}

/// Returns ResNet-18 for small images.
pub fn resnet18(width: usize, device: &Device) -> Cnn {
    let mut layers = conv_norm([3, width], 3, 1, device);
    layers.push(relu_layer());
    let mut inputs = width;
    for (channels, stride) in [(width, 1), (2 * width, 2), (4 * width, 2), (8 * width, 2)] {
        layers.push(block(inputs, channels, stride, device));
        layers.push(block(channels, channels, 1, device));
        inputs = channels;
    }
    layers.push(global_pool());
    Cnn::new(layers, &[inputs, 10], device)
}

pub fn vgg(device: &Device) -> Cnn {
    let block = |[inputs, outputs]: [usize; 2]| {
        [
            conv([inputs, outputs], 3, 1, device),
            relu_layer(),
            conv([outputs, outputs], 3, 1, device),
            relu_layer(),
            max_pool(2, 2),
        ]
    };
    let layers = [[3, 32], [32, 64], [64, 128]].into_iter().flat_map(block);
    Cnn::new(layers.collect(), &[128 * 4 * 4, 256, 10], device)
}

/// Returns a network of depthwise-separable convolutions: first each channel by itself, then all channels of
/// each pixel.
pub fn depthwise(device: &Device) -> Cnn {
    let mut layers = conv_norm([3, 32], 3, 1, device);
    layers.push(relu_layer());
    for (inputs, outputs, stride) in [(32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2)] {
        layers.extend(depthwise_norm(inputs, stride, device));
        layers.push(relu_layer());
        layers.extend(conv_norm([inputs, outputs], 1, 1, device));
        layers.push(relu_layer());
    }
    layers.push(global_pool());
    Cnn::new(layers, &[256, 10], device)
}

pub fn dense(device: &Device) -> Cnn {
    let mut layers = vec![conv([3, 32], 3, 1, device)];
    let mut channels = 32;
    for outputs in [48, 56] {
        for _ in 0..4 {
            let conv = conv([channels, 16], 3, 1, device);
            layers.push(joined(vec![norm(channels, device), relu_layer(), conv]));
            channels += 16;
        }
        layers.extend([norm(channels, device), relu_layer()]);
        layers.extend([conv([channels, outputs], 1, 0, device), average_pool(2)]);
        channels = outputs;
    }
    layers.extend([norm(channels, device), relu_layer(), global_pool()]);
    Cnn::new(layers, &[channels, 10], device)
}

/// A U-Net of three levels, each half the size of the one before. The way up concatenates the features of the
/// way down.
#[derive(Module, Debug)]
pub struct UNet {
    down: Vec<Vec<Layer>>,
    larger: Vec<ConvTranspose2d>,
    up: Vec<Vec<Layer>>,
    head: Conv2d,
}

impl UNet {
    pub fn new(device: &Device) -> Self {
        let block = |[inputs, outputs]: [usize; 2]| {
            let mut layers = conv_norm([inputs, outputs], 3, 1, device);
            layers.push(relu_layer());
            layers.extend(conv_norm([outputs, outputs], 3, 1, device));
            layers.push(relu_layer());
            layers
        };
        let larger = |channels| {
            let config = ConvTranspose2dConfig::new(channels, [2, 2]).with_stride([2, 2]);
            config.init(device)
        };
        UNet {
            down: [[3, 16], [16, 32], [32, 64]].map(block).into(),
            larger: [[64, 32], [32, 16]].map(larger).into(),
            up: [[64, 32], [32, 16]].map(block).into(),
            head: Conv2dConfig::new([16, 1], [1, 1]).init(device),
        }
    }
}

impl Network for UNet {
    type Input = Tensor<4>;
    type Output = Tensor<4>;

    fn forward(&self, mut x: Tensor<4>) -> Tensor<4> {
        let mut levels = vec![];
        for (i, block) in self.down.iter().enumerate() {
            if i > 0 {
                x = max_pool(2, 2).forward(x);
            }
            x = forward(block, x);
            levels.push(x.clone());
        }
        let levels = levels.into_iter().rev().skip(1);
        for ((larger, block), level) in self.larger.iter().zip(&self.up).zip(levels) {
            x = forward(block, Tensor::cat(vec![level, larger.forward(x)], 1));
        }
        self.head.forward(x)
    }
}
