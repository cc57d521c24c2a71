use super::*;
use crate::ops::testing::{Operation, compare};
use crate::tensor::{randn, tensor};
use candle_core::{Device, Var};

type Function = fn(&Tensor) -> Result<Tensor>;

/// Values and derivatives at ±1.5, against the formulas in double precision.
#[test]
fn values_and_gradients_are_right() {
    let s = |x: f64| 1.0 / (1.0 + (-x).exp());
    let check = |name: &str,
                 function: Function,
                 value: &dyn Fn(f64) -> f64,
                 derivative: &dyn Fn(f64) -> f64| {
        let x = tensor(&[-1.5, 1.5], &Device::Cpu).unwrap();
        let x = Var::from_tensor(&x).unwrap();
        let y = function(&x).unwrap();
        let gradients = y.sum_all().unwrap().backward().unwrap();
        let gradient = gradients.get(&x).unwrap().to_vec1::<f32>().unwrap();
        let y = y.to_vec1::<f32>().unwrap();
        for (i, x) in [-1.5, 1.5].into_iter().enumerate() {
            assert!((y[i] as f64 - value(x)).abs() < 1e-6, "{name} at {x}");
            assert!(
                (gradient[i] as f64 - derivative(x)).abs() < 1e-6,
                "{name} at {x}"
            );
        }
    };
    check("relu", relu, &|x| x.max(0.0), &|x| {
        if x > 0.0 { 1.0 } else { 0.0 }
    });
    check("sigmoid", sigmoid, &s, &|x| s(x) * (1.0 - s(x)));
    check("tanh", tanh, &f64::tanh, &|x| 1.0 - x.tanh().powi(2));
    check("exp", exp, &f64::exp, &f64::exp);
    check("silu", silu, &|x| x * s(x), &|x| {
        s(x) * (1.0 + x * (1.0 - s(x)))
    });
}

#[test]
fn the_kernels_agree_with_candle() {
    let functions: [(&str, Function, Function); 7] = [
        ("exp", exp, Tensor::exp),
        ("log", |x| log(&(x * x)?), |x| (x * x)?.log()),
        ("relu", relu, relu_with_candle),
        ("sigmoid", sigmoid, candle_nn::ops::sigmoid),
        ("tanh", tanh, Tensor::tanh),
        ("gelu", gelu, gelu_with_candle),
        ("silu", silu, Tensor::silu),
    ];
    for (name, kernel, candle) in functions {
        compare(name, 20, |case| {
            let shape = (case.between(1, 90), case.between(1, 800));
            let inputs = vec![case.input(randn(shape, &Device::Cpu))];
            let of = |function: Function| -> Operation { Box::new(move |x| function(&x[0])) };
            Some((inputs, of(kernel), of(candle)))
        });
    }
}
