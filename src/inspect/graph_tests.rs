//! What the tape of a network keeps for its backward pass.

use crate::nn::{GELU, LSTM, Layer, Linear, ParametersExt, ReLU, mse_loss};
use crate::ops::tape::graph_of;
use crate::tensor::{Raw, Tensor, randn, zeros};

fn bytes(tensors: &[&Tensor]) -> usize {
    let raws: Vec<Raw> = tensors.iter().map(|x| x.raw().clone()).collect();
    graph_of(&raws).bytes
}

#[test]
fn what_a_graph_saves_is_counted_once() {
    let net = crate::seq![Linear::new(512, 256), ReLU, Linear::new(256, 1)];
    let (x, y) = (randn((64, 512)), randn((64, 1)));
    let loss = || mse_loss(&net.forward(&x), &y);
    let (a, b) = (loss(), loss());
    // The input, the hidden units, the outputs and the targets.
    let (input, hidden, output) = (64 * 512 * 4, 64 * 256 * 4, 64 * 4);
    let one = bytes(&[&a]);
    assert!(
        (one as i64 - (input + hidden + 2 * output)).abs() < 1000,
        "{one}"
    );
    assert_eq!(bytes(&[&a, &a.clone()]), one);
    let both = bytes(&[&a, &b]);
    assert!(
        (both as i64 - (input + 2 * (hidden + output) + output)).abs() < 2000,
        "{both}"
    );
    assert_eq!(bytes(&[&a.detach(), &x, &net.parameters()[0].tensor()]), 0);
    let found = graph_of(&[a.raw().clone(), b.raw().clone(), x.raw().clone()]);
    assert_eq!((found.tensors, found.is_part), (2, false));
    // A view of the loss.
    assert_eq!(bytes(&[&a.reshape(1)]), one);
}

#[test]
fn what_only_a_backward_pass_knows_is_counted() {
    let x = Linear::new(10, 1000).forward(&zeros((100, 10)));
    let before = bytes(&[&x]);
    let y = GELU.forward(&x);
    // The derivative, and the input for second derivatives.
    let held = bytes(&[&y]) - before;
    assert!(held >= 2 * 100 * 1000 * 4, "{held}, {before}");
    let lstm = LSTM::new(8, 50);
    let (y, _) = lstm.forward(&randn((30, 4, 8)), None);
    assert!(bytes(&[&y]) > 30 * 4 * 50 * 4 * 6, "{}", bytes(&[&y]));
}

#[test]
fn a_long_graph_is_counted_in_part() {
    let mut x = Linear::new(2, 2).forward(&zeros((1, 2)));
    for _ in 0..60_000 {
        x = x.tanh();
    }
    assert!(graph_of(&[x.raw().clone()]).is_part);
}
