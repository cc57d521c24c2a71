use super::*;
use crate::error::attempt;
use crate::ops::elementwise::functions::round_with_candle;
use crate::ops::quantity::of_tensors;
use crate::ops::tape::foreign;
use crate::ops::testing::{compare, variable};
use crate::tensor::{Candle, randn, tensor};

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

/// Returns the values of a function and its gradient, in `f64`.
fn values_and_gradient(x: &[f64], function: impl Fn(&Tensor) -> Tensor) -> [Vec<f64>; 2] {
    let x = variable(&tensor(x).to_dtype(DType::F64));
    let y = function(&x);
    let gradient = y.sum_all().backward().of(&x);
    [y.to_vec1(), gradient.to_vec1()]
}

fn assert_same(got: &[f64], want: &[f64]) {
    let same = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 || a == b || a.is_nan() && b.is_nan();
    assert!(got.iter().zip(want).all(same), "{got:?}, not {want:?}");
}

#[test]
fn the_kernels_agree_with_candle() {
    type Function = fn(&Raw) -> Result<Raw>;
    type OfCandle = fn(&Candle) -> Result<Candle>;
    let functions: [(&str, Function, OfCandle); 9] = [
        ("exp", |x| exp_as(&"exp", x), Candle::exp),
        ("log", |x| log_as(&"log", &sqr_of(x)?), |x| x.sqr()?.log()),
        (
            "sqrt",
            |x| sqrt_as(&"sqrt", &sqr_of(x)?),
            |x| x.sqr()?.sqrt(),
        ),
        (
            "recip",
            |x| recip_as(&"recip", &(sqr_of(x)? + 0.1)?),
            |x| (x.sqr()? + 0.1)?.recip(),
        ),
        (
            "sin",
            |x| Ok(sin(&(x * 50.0)?.into()).into()),
            |x| (x * 50.0)?.sin(),
        ),
        (
            "cos",
            |x| Ok(cos(&(x * 50.0)?.into()).into()),
            |x| (x * 50.0)?.cos(),
        ),
        ("erf", |x| erf_as(&"erf", x), Candle::erf),
        ("abs", abs_of, Candle::abs),
        ("sqr", sqr_of, Candle::sqr),
    ];
    for (name, kernel, candle) in functions {
        compare(name, 10, |case| {
            let shape = (case.between(1, 90), case.between(1, 800));
            let inputs = vec![case.input(randn(shape))];
            let kernel = move |x: &[Raw]| kernel(&x[0]);
            let candle = move |x: &[Raw]| foreign(&[&x[0]], &mut |x| candle(&x[0]));
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}

/// The gradient is that of the operations that compute the value.
#[test]
fn clamp_agrees_with_operations() {
    let (low, high) = (-1.0, 0.5);
    compare("clamp", 10, |case| {
        let shape = (case.between(1, 90), case.between(1, 800));
        let inputs = vec![case.input(randn(shape))];
        let kernel = move |x: &[Raw]| clamp_of(&x[0], low.into(), high.into());
        let composed = move |x: &[Raw]| {
            let x = Tensor::from_raw_ref(&x[0]);
            Ok(of_tensors([x], |[x]| Clamp { low, high }.value(x)).into())
        };
        Some((inputs, Box::new(kernel), Box::new(composed)))
    });
}

/// The values are PyTorch's.
#[test]
fn edges_are_those_of_pytorch() {
    let check = |function: fn(&Tensor) -> Tensor, x: &[f64], y: &[f64], gradient: &[f64]| {
        let got = values_and_gradient(x, function);
        assert_same(&got[0], y);
        assert_same(&got[1], gradient);
    };
    check(abs, &[-1.0, 0.0, NAN], &[1.0, 0.0, NAN], &[-1.0, 0.0, 0.0]);
    check(sign, &[-2.0, 0.0, NAN], &[-1.0, 0.0, 0.0], &[0.0; 3]);
    check(sqrt, &[0.0, 4.0, -1.0], &[0.0, 2.0, NAN], &[INF, 0.25, NAN]);
    check(
        |x| clamp(x, 0, 1),
        &[-1.0, 0.0, 0.5, 1.0, 2.0, NAN],
        &[0.0, 0.0, 0.5, 1.0, 1.0, NAN],
        &[0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
    );
    check(|x| clamp(x, 3, 1), &[1.0, 2.0, 3.0], &[1.0; 3], &[0.0; 3]);
    check(
        round,
        &[0.5, 1.5, 2.5, -2.6],
        &[0.0, 2.0, 2.0, -3.0],
        &[0.0; 4],
    );
    let halves = tensor(&[0.5, 1.5, 2.5, -0.5, -2.6]);
    let rounded = round_with_candle(halves.raw()).unwrap();
    assert_eq!(
        rounded.to_vec1::<f32>().unwrap(),
        [0.0, 2.0, 2.0, 0.0, -3.0]
    );
}

#[test]
fn sines_of_large_numbers_are_exact() {
    let x = [1e9f32, -3e20, 1.0];
    let y = variable(&tensor(&x));
    let [sine, cosine] = [sin(&y), cos(&y)];
    let gradient = sine.sum_all().backward().of(&y);
    assert_eq!(sine.to_vec1::<f32>(), x.map(|x| f64::from(x).sin() as f32));
    assert_eq!(
        cosine.to_vec1::<f32>(),
        x.map(|x| f64::from(x).cos() as f32)
    );
    assert_eq!(gradient.to_vec1::<f32>(), cosine.to_vec1::<f32>());
}

#[test]
fn integers_stay_exact_or_are_refused() {
    let x = tensor(&[-3, 0, 2]);
    assert_eq!(abs(&x).to_vec1::<i64>(), [3, 0, 2]);
    assert_eq!(sign(&x).to_vec1::<i64>(), [-1, 0, 1]);
    assert_eq!(sqr(&x).to_vec1::<i64>(), [9, 0, 4]);
    assert_eq!(floor(&x).to_vec1::<i64>(), [-3, 0, 2]);
    assert_eq!(clamp(&x, 0, 1).to_vec1::<i64>(), [0, 0, 1]);
    assert_eq!(clamp(&x, -0.5, 1.5).to_vec1::<f32>(), [-0.5, 0.0, 1.5]);
    let x = tensor(&[1_u32 << 31]);
    assert_eq!(sqr(&x).to_vec1::<i64>(), [1 << 62]);
    assert!(attempt(|| sqr(&sqr(&x))).is_err());
    let error = attempt(|| sqrt(&x)).unwrap_err().to_string();
    assert!(
        error.starts_with("sqrt: expected floating-point numbers"),
        "{error}"
    );
}

#[test]
fn functions_of_16_bits_are_rounded_once() {
    let x = tensor(&[1.0, 2.0, 3.0]).to_dtype(DType::BF16);
    let want = exp(&x.to_dtype(DType::F32)).to_dtype(DType::BF16);
    assert_eq!(exp(&x).ne(&want).sum_all().item(), 0.0);
    assert_eq!(exp(&x.narrow(0, 0, 0)).dims(), [0]);
}
