//! Lists of layers on images, because Burn has no sequential container.

use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::{
    AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig, AvgPool2d, AvgPool2dConfig, MaxPool2d,
    MaxPool2dConfig,
};
use burn::nn::{BatchNorm, BatchNormConfig, PaddingConfig2d};
use burn::prelude::*;
use burn::tensor::activation::{relu, sigmoid};

/// A layer from images to images.
#[derive(Module, Debug)]
pub enum Layer {
    Conv(Conv2d),
    Norm(BatchNorm),
    Relu(burn::nn::Relu),
    Sigmoid(burn::nn::Sigmoid),
    Max(MaxPool2d),
    Average(AvgPool2d),
    Global(AdaptiveAvgPool2d),
    Sum(Sum),
    Joined(Joined),
}

impl Layer {
    pub fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        match self {
            Layer::Conv(conv) => conv.forward(x),
            Layer::Norm(norm) => norm.forward(x),
            Layer::Relu(_) => relu(x),
            Layer::Sigmoid(_) => sigmoid(x),
            Layer::Max(pool) => pool.forward(x),
            Layer::Average(pool) => pool.forward(x),
            Layer::Global(pool) => pool.forward(x),
            Layer::Sum(sum) => sum.forward(x),
            Layer::Joined(joined) => joined.forward(x),
        }
    }
}

/// Applies layers, each to the output of the one before.
pub fn forward(layers: &[Layer], x: Tensor<4>) -> Tensor<4> {
    layers.iter().fold(x, |x, layer| layer.forward(x))
}

/// A residual block: the output of the body is added to the input, or to a shortcut of it.
#[derive(Module, Debug)]
pub struct Sum {
    body: Vec<Layer>,
    /// Empty, or the layers of the shortcut.
    shortcut: Vec<Layer>,
}

impl Sum {
    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        relu(forward(&self.body, x.clone()) + forward(&self.shortcut, x))
    }
}

/// A dense block: the output of the body is concatenated to the input.
#[derive(Module, Debug)]
pub struct Joined {
    body: Vec<Layer>,
}

impl Joined {
    fn forward(&self, x: Tensor<4>) -> Tensor<4> {
        Tensor::cat(vec![x.clone(), forward(&self.body, x)], 1)
    }
}

pub fn sum(body: Vec<Layer>, shortcut: Vec<Layer>) -> Layer {
    Layer::Sum(Sum { body, shortcut })
}

pub fn joined(body: Vec<Layer>) -> Layer {
    Layer::Joined(Joined { body })
}

pub fn relu_layer() -> Layer {
    Layer::Relu(burn::nn::Relu::new())
}

pub fn sigmoid_layer() -> Layer {
    Layer::Sigmoid(burn::nn::Sigmoid::new())
}

pub fn max_pool(size: usize, stride: usize) -> Layer {
    let config = MaxPool2dConfig::new([size, size]).with_strides([stride, stride]);
    Layer::Max(config.init())
}

pub fn average_pool(size: usize) -> Layer {
    Layer::Average(AvgPool2dConfig::new([size, size]).init())
}

/// Returns a layer that computes the mean of each channel.
pub fn global_pool() -> Layer {
    Layer::Global(AdaptiveAvgPool2dConfig::new([1, 1]).init())
}

pub fn norm(channels: usize, device: &Device) -> Layer {
    Layer::Norm(BatchNormConfig::new(channels).init(device))
}

/// Returns a convolution with a bias.
pub fn conv(channels: [usize; 2], size: usize, padding: usize, device: &Device) -> Layer {
    Layer::Conv(config(channels, size, padding).init(device))
}

/// Returns a convolution without a bias, with batch normalisation after it.
pub fn conv_norm(channels: [usize; 2], size: usize, stride: usize, device: &Device) -> Vec<Layer> {
    let config = config(channels, size, size / 2).with_bias(false);
    let conv = config.with_stride([stride, stride]).init(device);
    vec![Layer::Conv(conv), norm(channels[1], device)]
}

/// Returns a convolution of each channel by itself, with batch normalisation after it.
pub fn depthwise_norm(channels: usize, stride: usize, device: &Device) -> Vec<Layer> {
    let config = config([channels, channels], 3, 1).with_bias(false);
    let conv = config.with_groups(channels).with_stride([stride, stride]);
    vec![Layer::Conv(conv.init(device)), norm(channels, device)]
}

fn config(channels: [usize; 2], size: usize, padding: usize) -> Conv2dConfig {
    let padding = PaddingConfig2d::Explicit(padding, padding, padding, padding);
    Conv2dConfig::new(channels, [size, size]).with_padding(padding)
}
