//! Tests of all layers together.

mod initial_values;
mod precision;

use super::testing::{Refusing, refuse};
use super::*;
use crate::error::attempt;
use crate::seq;
use crate::tensor::{ones, zeros};
use std::fmt::Debug;

/// Returns the message with which `compute` is refused.
pub(super) fn message_of<T: Debug>(compute: impl FnOnce() -> T) -> String {
    attempt(compute).unwrap_err().to_string()
}

/// Returns layers that require a certain shape, each with shapes that it must refuse.
fn refusing() -> Vec<Refusing> {
    let row = |shapes: &[&[usize]]| shapes.iter().map(|shape| shape.to_vec()).collect();
    let no_images: &[&[usize]] = &[&[], &[4], &[8, 8], &[1, 1, 1, 8, 8]];
    let with = |more: &[&[usize]]| row(&[no_images, more].concat());
    vec![
        (Box::new(Linear::new(3, 2)), row(&[&[], &[2], &[3, 2]])),
        (Box::new(LazyLinear::new(2)), row(&[&[]])),
        (
            Box::new(Conv2d::new(3, 2, 5)),
            with(&[&[1, 1, 8, 8], &[1, 3, 4, 8], &[1, 3, 8, 0]]),
        ),
        (Box::new(LazyConv2d::new(2, 5)), with(&[])),
        (
            Box::new(BatchNorm1d::new(3)),
            row(&[&[], &[3], &[2, 4], &[2, 3, 4, 5]]),
        ),
        (
            Box::new(LazyBatchNorm1d::new()),
            row(&[&[], &[3], &[2, 3, 4, 5]]),
        ),
        (
            Box::new(BatchNorm2d::new(3)),
            with(&[&[3, 5, 5], &[2, 4, 5, 5], &[2, 3, 0, 5]]),
        ),
        (Box::new(LazyBatchNorm2d::new()), with(&[&[3, 5, 5]])),
        (Box::new(LayerNorm::new(3)), row(&[&[], &[2, 4], &[3, 1]])),
        (
            Box::new(MaxPool2d::new(2)),
            with(&[&[1, 1, 1, 8], &[1, 1, 8, 1]]),
        ),
        (
            Box::new(AvgPool2d::new(2)),
            with(&[&[1, 1, 1, 8], &[1, 1, 8, 1]]),
        ),
        (
            Box::new(AdaptiveAvgPool2d::new(2)),
            with(&[&[1, 1, 0, 8], &[1, 1, 8, 0]]),
        ),
        (Box::new(PixelShuffle::new(2)), with(&[&[1, 3, 2, 2]])),
        (
            Box::new(InstanceNorm2d::new(3)),
            row(&[&[], &[3], &[2, 5], &[2, 5, 5], &[1, 4, 5, 5]]),
        ),
        (Box::new(Flatten), row(&[&[]])),
    ]
}

#[test]
fn every_layer_refuses_wrong_shapes_with_its_name_and_what_it_takes() {
    refuse(refusing());
}

#[test]
fn layers_for_any_shape_take_any_shape() {
    let layers: [&dyn Layer; 9] = [
        &ReLU,
        &Sigmoid,
        &Tanh,
        &GELU,
        &SiLU,
        &Hardswish,
        &Mish,
        &Softplus::new(),
        &Dropout::new(0.5),
    ];
    for layer in layers {
        for shape in [vec![], vec![0], vec![3], vec![2, 1, 3]] {
            assert_eq!(
                layer.forward(&ones(shape.clone())).dims(),
                shape,
                "{layer:?}"
            );
        }
    }
}

#[test]
fn a_chain_names_the_layer_that_refuses() {
    let net = seq![Linear::new(4, 3), ReLU, Linear::new(2, 1)];
    let message = message_of(|| net.forward(&zeros((1, 4))));
    let first =
        "Linear(in_features=2, out_features=1, bias=true) cannot take an input of shape [1, 3]";
    assert_eq!(message.lines().next(), Some(first));
}

#[test]
fn an_optional_layer_is_the_identity() {
    let x = zeros((2, 3));
    let layer: Option<Linear> = None;
    assert_eq!(layer.forward(&x).dims(), [2, 3]);
    let net = seq![Some(Linear::new(3, 4)), layer];
    assert_eq!(net.forward(&x).dims(), [2, 4]);
}
