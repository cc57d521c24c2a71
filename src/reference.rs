//! Comparisons with PyTorch: `tests/reference/make.py` creates the expected values.

mod cases;
mod edges;
mod language;
mod layers;
mod more_layers;
mod optimizers;
mod second;
mod sequences;
mod training;

use crate::nn::Parameter;
use crate::tensor::Tensor;
use candle_core::{DType, Device, safetensors};
use std::collections::HashMap;
use std::path::PathBuf;
use taper_tensor::testing::devices;

type Tensors = HashMap<String, Tensor>;

fn path(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/reference");
    folder.join(name)
}

fn read(name: &str, device: &Device) -> Tensors {
    let tensors = safetensors::load(path(&format!("{name}.safetensors")), device).unwrap();
    let tensors = tensors.into_iter();
    tensors.map(|(name, x)| (name, x.into())).collect()
}

/// Returns the tolerance, which is larger on a GPU, where sums are computed in another order.
pub(crate) fn tolerance(device: &Device) -> f64 {
    if device.is_cpu() { 1e-5 } else { 1e-4 }
}

/// Returns the tensors whose names begin with `name` and a point, without this prefix.
fn below(tensors: &Tensors, name: &str) -> Tensors {
    let prefix = format!("{name}.");
    let named = tensors.iter().filter_map(|(key, tensor)| {
        let rest = key.strip_prefix(&prefix)?;
        Some((rest.to_owned(), tensor.clone()))
    });
    named.collect()
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dtype(DType::F64).to_vec()
}

/// Returns a copy of the values for which gradients are computed.
fn variable(values: &Tensor) -> Tensor {
    Parameter::new(values).tensor()
}

/// Asserts that two tensors differ by at most `tolerance` times the largest value. The tolerance is not
/// relative to each value: a value near 0 may be the difference of larger ones, and has lost its precision.
fn assert_close(got: &Tensor, want: &Tensor, tolerance: f64, what: &str) {
    assert_eq!(got.dims(), want.dims(), "{what}");
    let (got, want) = (numbers(got), numbers(want));
    let size = want.iter().fold(0f64, |size, x| size.max(x.abs()));
    for (i, (got, want)) in got.iter().zip(&want).enumerate() {
        let off = (got - want).abs();
        assert!(
            off <= tolerance * size.max(1e-3),
            "{what}[{i}]: {got} is not {want}"
        );
    }
}
