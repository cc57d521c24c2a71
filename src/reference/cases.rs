//! Random cases for functions, layers, losses, optimisers and schedules, compared with PyTorch's results in
//! double precision.
//!
//! `tests/reference/cases.py` creates them. `TAPER_CASES` names another file, which it has written with
//! another seed.

mod layers;
mod operations;
mod training;

use super::{numbers, variable};
use crate::error::attempt;
use crate::tensor::{Tensor, zeros};
use candle_core::{DType, Device};
use operations::{Outcome, operation};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The least number of cases in a file.
const STORED: usize = 2000;

/// One case.
struct Case {
    op: String,
    settings: Vec<f64>,
    inputs: Vec<Tensor>,
    /// Whether the gradient of each input is compared.
    variables: Vec<bool>,
    outputs: usize,
    wanted: Vec<Vec<f64>>,
    tolerances: Vec<f64>,
}

fn file() -> PathBuf {
    match std::env::var_os("TAPER_CASES") {
        Some(path) => path.into(),
        None => super::path("cases.safetensors"),
    }
}

/// Reads the cases: a list in the header of the file, and one tensor with the values of all.
fn read(path: &Path) -> Vec<Case> {
    let bytes = std::fs::read(path).expect("the file of the cases");
    let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let header: Value = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
    let list = header["__metadata__"]["cases"].as_str().unwrap();
    let tensors = candle_core::safetensors::load_buffer(&bytes, &Device::Cpu).unwrap();
    let mut values = tensors["values"].to_vec1::<f32>().unwrap().into_iter();
    let list: Vec<Value> = serde_json::from_str(list).unwrap();
    let cases = list
        .iter()
        .map(|case| read_case(case, &mut values))
        .collect();
    assert_eq!(values.next(), None, "values of no case");
    cases
}

fn read_case(case: &Value, values: &mut impl Iterator<Item = f32>) -> Case {
    let list = |name: &str| case[name].as_array().unwrap().clone();
    let floats = |name: &str| list(name).iter().map(|v| v.as_f64().unwrap()).collect();
    let shapes = |name: &str| -> Vec<Vec<usize>> {
        let sizes = |shape: &Value| {
            let sizes = shape.as_array().unwrap().iter();
            sizes.map(|size| size.as_u64().unwrap() as usize).collect()
        };
        list(name).iter().map(sizes).collect()
    };
    let mut take =
        |shape: &[usize]| -> Vec<f32> { values.by_ref().take(shape.iter().product()).collect() };
    let kinds = case["kinds"].as_str().unwrap();
    let inputs = shapes("inputs").into_iter().zip(kinds.chars());
    Case {
        op: case["op"].as_str().unwrap().to_owned(),
        settings: floats("settings"),
        inputs: inputs
            .map(|(shape, kind)| {
                let tensor = Tensor::from_vec(take(&shape), shape);
                match kind {
                    'i' => tensor.to_dtype(DType::I64),
                    _ => tensor,
                }
            })
            .collect(),
        variables: kinds.chars().map(|kind| kind == 'g').collect(),
        outputs: case["outputs"].as_u64().unwrap() as usize,
        wanted: shapes("wanted")
            .iter()
            .map(|shape| take(shape).into_iter().map(f64::from).collect())
            .collect(),
        tolerances: floats("tolerances"),
    }
}

impl Case {
    /// Returns the outputs, then the gradients of the weighted sum of all.
    fn run(&self, dtype: DType) -> Vec<Vec<f64>> {
        let mut inputs = Vec::new();
        for (input, is_variable) in self.inputs.iter().zip(&self.variables) {
            let input = match input.dtype().is_float() {
                true => input.to_dtype(dtype),
                false => input.clone(),
            };
            inputs.push(match is_variable {
                true => variable(&input),
                false => input,
            });
        }
        let Outcome { outputs, sources } = operation(&self.op, &self.settings, &inputs);
        let mut loss = zeros(()).to_dtype(dtype);
        for y in outputs.iter().filter(|y| y.dtype() == dtype) {
            let r = (0..y.elem_count()).map(|i| 0.6 + (0.7 * i as f64).sin());
            let r = Tensor::from_vec(r.collect::<Vec<f64>>(), y.shape()).to_device(y.device());
            loss += (y * r.to_dtype(dtype)).sum_all();
        }
        // Indices have no gradients.
        let gradients = loss.track_op().then(|| loss.backward());
        let mut results: Vec<Vec<f64>> = outputs.iter().map(numbers).collect();
        for (source, _) in sources
            .iter()
            .zip(&self.variables)
            .filter(|(_, wanted)| **wanted)
        {
            let gradient = gradients.as_ref().and_then(|all| all.get(source));
            results.push(match gradient {
                Some(gradient) => numbers(gradient),
                None => vec![0.0; source.elem_count()],
            });
        }
        results
    }

    /// Returns the tolerances in double precision, which cover the rounding of the stored values to `f32`.
    fn rounding(&self) -> Vec<f64> {
        let size = |values: &Vec<f64>| values.iter().fold(0f64, |size, x| size.max(x.abs()));
        let sizes: Vec<f64> = self.wanted.iter().map(size).collect();
        let terms = sizes.iter().copied().fold(0f64, f64::max);
        let allowed = sizes.iter().map(|size| 1.2e-7 * size + 1e-9 * terms);
        allowed.collect()
    }

    /// Returns what differs from PyTorch by more than the tolerances.
    fn differences(&self, results: &[Vec<f64>], tolerances: &[f64]) -> Vec<String> {
        let name = |i: usize| match i.checked_sub(self.outputs) {
            None => format!("output {i}"),
            Some(input) => format!("gradient {input}"),
        };
        let mut differences = Vec::new();
        if results.len() != self.wanted.len() {
            differences.push(format!("{} results", results.len()));
        }
        for (i, (got, want)) in results.iter().zip(&self.wanted).enumerate() {
            let pairs = got.iter().zip(want);
            let off = pairs.map(|(got, want)| (got - want).abs());
            // Unlike `max`, this keeps a NaN.
            let off = off.fold(0f64, |most, off| {
                if off > most || off.is_nan() {
                    off
                } else {
                    most
                }
            });
            let allowed = tolerances[i];
            if got.len() != want.len() || off.is_nan() || off > allowed {
                differences.push(format!(
                    "{} is off by {off:e}, allowed {allowed:e}",
                    name(i)
                ));
            }
        }
        differences
    }
}

/// Runs the next test for each instruction set and number of threads, in processes of their own, because a
/// process determines both only once.
#[test]
#[cfg_attr(miri, ignore = "starts processes")]
fn random_cases_agree_with_all_instructions_and_threads() {
    let test = "reference::cases::random_cases_agree_with_pytorch";
    let levels = ["baseline", "avx2", "avx512"];
    for (level, threads) in levels.iter().flat_map(|level| [(level, "1"), (level, "2")]) {
        let mut process = std::process::Command::new(std::env::current_exe().unwrap());
        let process = process.args(["--exact", test]).env("TAPER_SIMD", level);
        let output = process.env("RAYON_NUM_THREADS", threads).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{level}, {threads} threads: {text}"
        );
    }
}

#[test]
fn random_cases_agree_with_pytorch() {
    let cases = read(&file());
    let alone = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .unwrap();
    let mut wrong = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        let shapes: Vec<_> = case.inputs.iter().map(Tensor::dims).collect();
        let what = format!("case {i}, {} {:?} of {shapes:?}", case.op, case.settings);
        let run =
            |dtype: DType| attempt(|| case.run(dtype)).unwrap_or_else(|e| panic!("{what}: {e}"));
        let results = run(DType::F32);
        let by_one = alone.install(|| case.run(DType::F32));
        assert_eq!(
            results, by_one,
            "{what}: the result depends on the number of threads"
        );
        let mut differences = case.differences(&results, &case.tolerances);
        differences.extend(case.differences(&run(DType::F64), &case.rounding()));
        wrong.extend(differences.iter().map(|text| format!("{what}: {text}")));
    }
    assert!(
        wrong.is_empty(),
        "{} differences:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(
        cases.len() >= STORED,
        "only {} cases of {STORED}",
        cases.len()
    );
}
