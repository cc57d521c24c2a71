//! A step changes a parameter that a loss has read.

use super::*;
use crate::nn::{Layer, Linear, Parameter, ParametersExt};
use crate::ops::{checkpoint, grad};
use crate::tensor::tensor;
use taper_tensor::testing::message_of;

fn elements(x: &Tensor) -> Vec<f32> {
    x.to_vec()
}

#[test]
fn a_changed_parameter_is_noticed() {
    let w = Parameter::new(&tensor(&[2.0, 3.0]));
    let changes: [&dyn Fn(); 2] = [&|| w.set(&tensor(&[5.0, 5.0])), &|| {
        let mut optimizer = SGD::new(vec![w.clone()], 0.1);
        optimizer.step(&w.tensor().sqr().sum_all().backward());
    }];
    // A kernel reads the parameter, or a view of it.
    let losses: [&dyn Fn() -> Tensor; 3] = [
        &|| w.tensor().sqr().sum_all(),
        &|| {
            w.tensor()
                .reshape((2, 1))
                .matmul(&w.tensor().unsqueeze(0))
                .sum_all()
        },
        &|| {
            checkpoint(&tensor(&[1.0, 1.0]), {
                let w = w.clone();
                move |x| x * w.tensor().exp()
            })
            .sum_all()
        },
    ];
    for change in changes {
        for loss in losses {
            let loss = loss();
            change();
            for message in [
                message_of(|| loss.backward()),
                message_of(|| grad(&loss, &[&w.tensor()])),
            ] {
                assert!(
                    message.starts_with("backward: a parameter of shape ["),
                    "{message}"
                );
            }
        }
        let loss = losses[0]();
        change();
        assert!(message_of(|| loss.backward_graph()).contains("has changed"));
    }
    let net = crate::seq![Linear::new(2, 2), Linear::new(2, 1)];
    let loss = net.forward(&tensor(&[[1.0, 2.0]])).sqr().sum_all();
    SGD::new(net.parameters(), 0.1).step(&loss.backward());
    assert!(
        message_of(|| loss.backward())
            .starts_with("backward: the parameter 1.weight of shape [1, 2]")
    );
    // What does not read it, or reads it after the change, is not concerned.
    let (sum, other) = (
        (w.tensor() + 1.0).sum_all(),
        Parameter::new(&tensor(&[1.0, 1.0])).tensor(),
    );
    let product = (other.sqr() + w.tensor()).sum_all();
    changes[0]();
    assert_eq!(elements(&sum.backward().of(&w.tensor())), [1.0, 1.0]);
    assert_eq!(elements(&product.backward().of(&other)), [2.0, 2.0]);
    assert_eq!(
        elements(&losses[0]().backward().of(&w.tensor())),
        [10.0, 10.0]
    );
}

#[test]
fn two_losses_before_a_step() {
    let (a, b) = (
        Parameter::new(&tensor(&[3.0])),
        Parameter::new(&tensor(&[1.0])),
    );
    let product = || (a.tensor() * b.tensor()).sum_all();
    let (first, second) = (product(), product());
    SGD::new(vec![a.clone()], 2.0).step(&first.backward());
    assert!(message_of(|| second.backward()).contains("Compute the loss again"));
}
