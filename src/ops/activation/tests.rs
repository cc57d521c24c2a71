use super::*;
use crate::ops::testing::{Operation, compare, variable};
use crate::tensor::{randn, tensor};

/// Values and derivatives at ±1.5, against the formulas in double precision.
#[test]
fn values_and_gradients_are_right() {
    let s = |x: f64| 1.0 / (1.0 + (-x).exp());
    let check = |name: &str,
                 function: fn(&Tensor) -> Tensor,
                 value: &dyn Fn(f64) -> f64,
                 derivative: &dyn Fn(f64) -> f64| {
        let x = variable(&tensor(&[-1.5, 1.5]));
        let y = function(&x);
        let gradient = y.sum_all().backward().of(&x).to_vec1::<f32>();
        let y = y.to_vec1::<f32>();
        for (i, x) in [-1.5, 1.5].into_iter().enumerate() {
            assert!((y[i] as f64 - value(x)).abs() < 1e-6, "{name} at {x}");
            let off = gradient[i] as f64 - derivative(x);
            assert!(off.abs() < 1e-6, "{name} at {x}");
        }
    };
    check("relu", relu, &|x| x.max(0.0), &|x| {
        if x > 0.0 { 1.0 } else { 0.0 }
    });
    check("sigmoid", sigmoid, &s, &|x| s(x) * (1.0 - s(x)));
    check("tanh", tanh, &f64::tanh, &|x| 1.0 - x.tanh().powi(2));
    check("silu", silu, &|x| x * s(x), &|x| {
        s(x) * (1.0 + x * (1.0 - s(x)))
    });
}

/// The gradient at 0 is 0; NaN stays NaN, and its gradient is 1, as in PyTorch.
#[test]
fn relu_at_zero_and_nan() {
    let x = variable(&tensor(&[0.0, f64::NAN, -1.0]));
    let y = relu(&x);
    let gradients = y.sum_all().backward();
    let y = y.to_vec1::<f32>();
    assert!(y[0] == 0.0 && y[1].is_nan() && y[2] == 0.0, "{y:?}");
    assert_eq!(gradients.of(&x).to_vec1::<f32>(), [0.0, 1.0, 0.0]);
}

#[test]
fn the_kernels_agree_with_candle() {
    type As = fn(&dyn Display, &Raw) -> Result<Raw>;
    type WithCandle = fn(&Raw) -> Result<Raw>;
    let functions: [(&str, As, WithCandle); 5] = [
        ("relu", relu_as, relu_with_candle),
        ("sigmoid", sigmoid_as, candle_nn::ops::sigmoid),
        ("tanh", tanh_as, Raw::tanh),
        ("gelu", gelu_as, gelu_with_candle),
        ("silu", silu_as, Raw::silu),
    ];
    for (name, kernel, candle) in functions {
        compare(name, 20, |case| {
            let shape = (case.between(1, 90), case.between(1, 800));
            let inputs = vec![case.input(randn(shape))];
            let kernel: Operation = Box::new(move |x| kernel(&name, &x[0]));
            Some((inputs, kernel, Box::new(move |x| candle(&x[0]))))
        });
    }
}
