use super::*;
use crate::ops::elementwise::{Function, by_operations};
use crate::ops::quantity::of_tensors;
use crate::ops::tape::foreign;
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
    let inside = |x: f64| x * (x / 6.0 + 0.5);
    check("hardswish", hardswish, &inside, &|x| x / 3.0 + 0.5);
    check("mish", mish, &|x| x * x.exp().ln_1p().tanh(), &|x| {
        let tanh = x.exp().ln_1p().tanh();
        tanh + x * (1.0 - tanh * tanh) * s(x)
    });
    let inner = |x: f64| (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3));
    let half = |x: f64| 0.5 * (1.0 + inner(x).tanh());
    check("gelu_tanh", gelu_tanh, &|x| x * half(x), &|x| {
        let slope = (2.0 / std::f64::consts::PI).sqrt() * (1.0 + 3.0 * 0.044715 * x * x);
        half(x) + 0.5 * x * (1.0 - inner(x).tanh().powi(2)) * slope
    });
    let sharp = |x: &Tensor| softplus(x, 2.0, 20.0);
    check(
        "softplus",
        sharp,
        &|x| (2.0 * x).exp().ln_1p() / 2.0,
        &|x| s(2.0 * x),
    );
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
fn the_kernels_agree_with_operations() {
    check("relu", Relu {});
    check("tanh", Tanh {});
    check("gelu", Gelu {});
    check("gelu_tanh", GeluTanh {});
    check("hardswish", Hardswish {});
    check("mish", Mish {});
    let (beta, threshold) = (2.0, 1.0);
    check("softplus", Softplus { beta, threshold });
    let negative_slope = 0.1;
    check("leaky_relu", LeakyRelu { negative_slope });
    check("elu", Elu { alpha: 0.7 });
    compare_with("sigmoid", Sigmoid {}, |x| {
        foreign(&[x], &mut |x| candle_nn::ops::sigmoid(&x[0]))
    });
    compare_with("silu", Silu {}, |x| foreign(&[x], &mut |x| x[0].silu()));
}

/// Compares the gradient with that of the operations that compute the value.
fn check(name: &'static str, function: impl Function) {
    compare_with(name, function, move |x| {
        let x = Tensor::from_raw_ref(x);
        Ok(of_tensors([x], |[x]| function.value(x)).into())
    });
}

fn compare_with(
    name: &'static str,
    function: impl Function,
    operation: impl Fn(&Raw) -> Result<Raw> + Copy + Send + Sync + 'static,
) {
    compare(name, 20, |case| {
        let shape = (case.between(1, 90), case.between(1, 800));
        let inputs = vec![case.input(randn(shape))];
        let kernel: Operation = Box::new(move |x| apply(&name, &x[0], function));
        Some((inputs, kernel, Box::new(move |x| operation(&x[0]))))
    });
}

/// Other devices compute the same, and record the same rule.
#[test]
fn operations_have_the_gradients_of_the_formula() {
    let x = variable(&tensor(&[
        -40.0,
        -3.5,
        -1.0,
        -0.0,
        0.0,
        2.0,
        5.0,
        40.0,
        f64::NAN,
    ]));
    fn check(x: &Tensor, function: impl Function) {
        let with = |y: Raw| {
            let y = Tensor::from(y);
            let gradient = y.sum_all().backward().of(x);
            [y, gradient].map(|x| x.to_vec1::<f32>())
        };
        let kernel = with(apply(&"", x.raw(), function).expect("a tensor of floats"));
        let operations = with(by_operations(x.raw(), function).expect("a tensor of floats"));
        for (a, b) in kernel.iter().flatten().zip(operations.iter().flatten()) {
            assert!((a - b).abs() < 1e-5 || a.is_nan() && b.is_nan(), "{a} {b}");
        }
    }
    check(&x, Relu {});
    check(&x, Sigmoid {});
    check(&x, Tanh {});
    check(&x, Gelu {});
    check(&x, GeluTanh {});
    check(&x, Silu {});
    check(&x, Hardswish {});
    check(&x, Mish {});
    let (beta, threshold, negative_slope) = (2.0, 20.0, 0.1);
    check(&x, Softplus { beta, threshold });
    check(&x, LeakyRelu { negative_slope });
    check(&x, Elu { alpha: 0.7 });
}

/// The rules for second derivatives compute the same gradient as the kernels, also far from 0.
#[test]
fn gradients_with_a_graph_are_the_same() {
    let functions: [fn(&Tensor) -> Tensor; 4] =
        [hardswish, mish, gelu_tanh, |x| softplus(x, 0.5, 3.0)];
    for function in functions {
        let x = variable(&tensor(&[-40.0, -3.5, -1.0, 0.0, 2.0, 5.0, 40.0]));
        let loss = function(&x).sum_all();
        let (kernel, rule) = (loss.backward().of(&x), loss.backward_graph().of(&x));
        let off = (kernel - rule).abs().max_all().item();
        assert!(off < 1e-6, "{off}");
    }
}
