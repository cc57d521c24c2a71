//! What tests of several crates use: the devices, the messages of errors, and invalid inputs and settings.

use crate::device::gpu;
use crate::error::attempt;
use crate::tensor::Tensor;
use candle_core::{DType, Device};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the CPU, and the first GPU if there is one: each comparison runs on both.
pub fn devices() -> Vec<Device> {
    let gpu = gpu(0).inspect_err(|error| eprintln!("skipped on a GPU: {error}"));
    [Device::Cpu].into_iter().chain(gpu.ok()).collect()
}

/// Returns the message of the error with which a computation panics.
pub fn message_of<T>(compute: impl FnOnce() -> T) -> String {
    let error = attempt(compute).err().expect("an error").to_string();
    assert_eq!(error.lines().count(), 2, "{error}");
    error
}

/// An operation of an input, a second input and a size.
pub type Operation = fn(&Tensor, &Tensor, usize) -> Tensor;

const SIZES: [usize; 7] = [0, 1, 2, 1 << 38, 1 << 40, usize::MAX / 2, usize::MAX];

/// Returns tensors of various shapes, also without elements, in various types.
pub fn tensors() -> Vec<Tensor> {
    let shapes: [&[usize]; 11] = [
        &[],
        &[0],
        &[2],
        &[2, 2],
        &[0, 2],
        &[2, 0],
        &[2, 1, 3],
        &[1, 2, 0],
        &[1, 2, 3, 3],
        &[0, 2, 3, 3],
        &[1, 2, 0, 3],
    ];
    let types = [DType::F32, DType::F64, DType::BF16, DType::I64, DType::U8];
    let all = shapes
        .iter()
        .flat_map(|shape| types.map(|dtype| (*shape, dtype)));
    all.map(|(shape, dtype)| crate::tensor::ones(shape).to_dtype(dtype))
        .collect()
}

/// Calls operations with invalid inputs and settings: each returns a result, or panics with an error of two lines.
/// Returns how many inputs were refused. Every
/// `step`-th tensor is a second input.
pub fn sweep(operations: &[(&str, Operation)], step: usize) -> usize {
    let tensors = tensors();
    let (mut refused, mut wrong) = (0, Vec::new());
    for (name, operation) in operations {
        let before: usize = wrong.len();
        for (x, w) in tensors
            .iter()
            .flat_map(|x| tensors.iter().step_by(step).map(move |w| (x, w)))
        {
            for size in SIZES {
                let problem = match caught(|| operation(x, w, size)) {
                    Ok(Ok(_)) => continue,
                    Ok(Err(error)) => error.to_string(),
                    Err(_) => "a panic".to_owned(),
                };
                refused += 1;
                if problem.lines().count() != 2 {
                    let inputs = [x, w].map(|t| (t.dims().to_vec(), t.dtype()));
                    wrong.push(format!("{name} of {inputs:?}, {size}: {problem}"));
                }
            }
        }
        wrong.truncate(before + 2);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    refused
}

/// Returns the result or the error of a computation, or the panic.
pub fn caught<T>(compute: impl FnOnce() -> T) -> std::thread::Result<crate::error::Result<T>> {
    catch_unwind(AssertUnwindSafe(|| attempt(compute)))
}

/// Checks that the backward pass of valid inputs does not panic.
pub fn backward_passes(operations: &[(&str, Operation)]) {
    let floating = |x: &Tensor| x.dtype() == DType::F32;
    let variable = |x: &Tensor| match floating(x) {
        true => Tensor::from(&candle_core::Var::from_tensor(x.raw()).unwrap()),
        false => x.clone(),
    };
    let tensors = tensors();
    let mut wrong = Vec::new();
    for (name, operation) in operations {
        for (x, w) in tensors
            .iter()
            .flat_map(|x| tensors.iter().map(move |w| (x, w)))
            .filter(|(x, w)| floating(x) || floating(w))
        {
            for size in [0, 1, 2] {
                let compute = || operation(&variable(x), &variable(w), size);
                let Ok(Ok(y)) = caught(compute) else {
                    continue;
                };
                if caught(|| y.sum_all().backward()).is_err() {
                    let inputs = [x, w].map(|t| (t.dims().to_vec(), t.dtype()));
                    wrong.push(format!("{name} of {inputs:?}, {size}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Checks that the message of an error does not depend on whether it is caught. Returns how many were compared.
pub fn messages(operations: &[(&str, Operation)]) -> usize {
    let tensors = tensors();
    let pairs = || {
        tensors
            .iter()
            .flat_map(|x| tensors.iter().map(move |w| (x, w)))
    };
    let mut compared = 0;
    for (name, operation) in operations {
        let mut seen = std::collections::HashSet::new();
        for (x, w) in pairs() {
            let Ok(Err(error)) = caught(|| operation(x, w, 2)) else {
                continue;
            };
            let message = error.to_string();
            // One for each beginning.
            if !seen.insert(message.split(' ').take(5).collect::<String>()) {
                continue;
            }
            let panic = catch_unwind(AssertUnwindSafe(|| operation(x, w, 2))).map(drop);
            let panic = *panic.unwrap_err().downcast::<String>().expect("a text");
            assert_eq!(panic, message, "{name}");
            assert_eq!(format!("{error:?}"), message);
            compared += 1;
        }
    }
    compared
}

/// Uses an argument: a size or a floating-point value.
pub type Use<N> = fn(N) -> crate::Result<()>;

const SETTINGS: [usize; 8] = [0, 1, 2, 7, 1 << 38, 1 << 40, usize::MAX / 2, usize::MAX];

const VALUES: [f64; 9] = [
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    -1.0,
    0.0,
    0.5,
    1.0,
    1e300,
    -1e300,
];

/// Uses sizes, also extreme ones: each works, or is an error of two lines that is returned or with which it panics. Returns
/// how many were refused.
pub fn with_sizes(uses: &[(&str, Use<usize>)]) -> usize {
    with_each(uses, &SETTINGS)
}

/// Uses floating-point values as [`with_sizes`] does sizes.
pub fn with_values(uses: &[(&str, Use<f64>)]) -> usize {
    with_each(uses, &VALUES)
}

fn with_each<N: Copy + std::fmt::Debug>(uses: &[(&str, Use<N>)], values: &[N]) -> usize {
    let (mut refused, mut wrong) = (0, Vec::new());
    for (name, apply) in uses {
        for &value in values {
            let problem = match caught(|| apply(value)).map(Result::flatten) {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "a panic".to_owned(),
            };
            refused += 1;
            if problem.lines().count() != 2 {
                wrong.push(format!("{name} of {value:?}: {problem}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    refused
}
