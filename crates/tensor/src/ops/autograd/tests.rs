use crate::error::attempt;
use crate::ops::testing::variable;
use crate::ops::*;
use crate::tensor::{Tensor, rand, tensor, with_seed};
use crate::testing::message_of;

fn elements(x: &Tensor) -> Vec<f32> {
    x.to_vec()
}

#[test]
fn gradients_of_backward_are_constants() {
    let x = variable(&tensor(&[1.0, 2.0]));
    let squares = crate::ops::tape::foreign(&[x.raw()], &mut |x| x[0].sqr());
    let squares = Tensor::from_raw(squares.unwrap()); // by Candle
    for loss in [x.pow(4), x.exp(), squares] {
        let slope = loss.sum_all().backward().of(&x);
        assert!(!slope.track_op());
        let message = message_of(|| slope.sum_all().backward());
        assert!(message.contains("backward_graph()"), "{message}");
    }
}

#[test]
fn the_gradient_of_what_is_computed_is_kept_on_request() {
    let x = variable(&tensor(&[[1.0, 2.0], [3.0, 4.0]]));
    let loss_of = |h: &Tensor| (h * h.exp() + h).sum_all();
    let want: Vec<f32> = [3.0f32, 6.0, 9.0, 12.0]
        .map(|h| h.exp() * (h + 1.0) + 1.0)
        .to_vec();
    let h = &x * 3.0;
    let loss = loss_of(&h);
    let message = message_of(|| loss.backward().of(&h));
    assert!(message.contains("retain_grad"), "{message}");
    let near = |got: &Tensor| {
        for (got, want) in elements(got).iter().zip(&want) {
            assert!((got - want).abs() < 1e-5 * want, "{got} is not {want}");
        }
    };
    near(&grad(&loss, &[&h])[0]);
    near(&grad_graph(&loss, &[&h])[0]);
    assert!(
        attempt(|| loss.backward().of(&h)).is_err(),
        "grad leaves nothing behind"
    );
    // The output of a kernel, a view, and the result of an operation of Candle's.
    let candle =
        Tensor::from_raw((x.raw().to_dtype(candle_core::DType::BF16).unwrap() * 3.0).unwrap());
    for h in [h, (&x * 3.0).t(), candle.to_dtype(candle_core::DType::F32)] {
        let h = h.retain_grad();
        let loss = loss_of(&h);
        let mut got = elements(&loss.backward().of(&h));
        got.sort_by(f32::total_cmp);
        for (got, want) in got.iter().zip(&want) {
            assert!((got - want).abs() < 1e-5 * want, "{got} is not {want}");
        }
    }
    let constant = tensor(&[1.0]);
    assert_eq!(elements(&x.sum_all().backward().of(&constant)), [0.0]);
    assert!(message_of(|| constant.retain_grad()).contains("not computed from a parameter"));
    assert!(message_of(|| grad(&x.sum_all(), &[&constant])).contains("at index 0"));
}

#[test]
fn many_kernels_in_a_row_have_second_derivatives() {
    let x = variable(&tensor(&[0.5]));
    let y = (0..500).fold(x.clone(), |y, _| &y * 1.0 + 0.0);
    let slope = y.sqr().sum_all().backward_graph().of(&x);
    assert_eq!(elements(&slope.sum_all().backward().of(&x)), [2.0]);
    drop((0..100_000).fold(x, |y, _| &y * 1.0)); // it does not overflow the stack
}

#[test]
fn a_checkpoint_draws_the_same_random_numbers() {
    let x = variable(&rand((20, 30)));
    let w = variable(&rand((30, 30)));
    let compute = {
        let w = w.clone();
        move |x: &Tensor| dropout(&x.matmul(&w).tanh(), 0.5)
    };
    let run = |loss: &dyn Fn() -> Tensor| {
        let loss = with_seed(3, loss);
        let gradients = loss.backward();
        [&x, &w].map(|x| elements(&gradients.of(x)))
    };
    let want = run(&|| (compute(&x) * x.sqr()).sum_all());
    let again = compute.clone();
    let got = run(&|| (checkpoint(&x, again.clone()) * x.sqr()).sum_all());
    for (got, want) in got.concat().iter().zip(want.concat()) {
        assert!(
            (got - want).abs() <= 1e-5 * want.abs().max(1.0),
            "{got} is not {want}"
        );
    }
}

#[test]
fn a_custom_gradient_is_that_of_the_rule() {
    let x = variable(&tensor(&[1.0, 2.0]));
    let y = custom_grad(&x, |x| x.round(), |x, g| g * x.sqr());
    assert_eq!(elements(&y.sum_all().backward().of(&x)), [1.0, 4.0]);
    let slope = y.sum_all().backward_graph().of(&x);
    assert_eq!(elements(&slope.sum_all().backward().of(&x)), [2.0, 4.0]);
    let half = x.to_dtype(candle_core::DType::F16);
    let y = custom_grad(&half, |x| x.round(), |_, g| g * 3.0);
    assert_eq!(
        elements(
            &y.to_dtype(candle_core::DType::F32)
                .sum_all()
                .backward()
                .of(&x)
        ),
        [3.0, 3.0]
    );
    let y = custom_grad(&x, |x| x.sum_all(), |_, g| g.clone());
    assert!(message_of(|| y.backward()).contains("for an input of shape [2]"));
}
