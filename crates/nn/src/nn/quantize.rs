//! Weights of a few bits, for inference.

use crate::error::{OrRaise, Result, refuse};
use crate::nn::Parameters;
use crate::nn::linear_weights::linear_weights;
use crate::notebook::{Show, debug_as_shown};
use crate::ops::Quantized;
use std::sync::Arc;

/// Replaces the weights of all linear layers of a model by integers of 8 or 4 bits, for inference on the CPU: the weights
/// of a row are in groups of 32, each with a scale of 16 bits.
///
/// The weights take about a quarter or an eighth of the memory. A model that answers one token at a time reads all of them for
/// each, so a token takes less time, too: one to four rows of input are rounded to integers of 16 bits, and their products with
/// the weights are products of integers. More rows are multiplied in `f32`. The weights are constants afterwards; adapters of
/// [`lora`](crate::nn::lora()) can still be trained. Weights that an optimiser should change must not be quantized.
///
/// # Panics
/// If `bits` is not 8 or 4, the model has no linear layer, or a weight is not on the CPU.
///
/// ```
/// use taper::prelude::*;
///
/// let mut net = seq![Linear::new(256, 64), ReLU, Linear::new(64, 8)];
/// let x = randn((4, 256));
/// let y = net.forward(&x); // (4, 8)
/// let quantization = quantize(&mut net, 8);
/// assert!(quantization.bytes < quantization.bytes_before / 3);
/// assert!((net.forward(&x) - y).abs().max_all().item() < 0.05);
/// ```
#[inline]
#[track_caller]
pub fn quantize(model: &mut dyn Parameters, bits: usize) -> Quantization {
    quantize_all(model, bits).or_raise()
}

fn quantize_all(model: &dyn Parameters, bits: usize) -> Result<Quantization> {
    if ![4, 8].contains(&bits) {
        let advice = "Choose 8 bits for a small error, or 4 for the smallest size";
        refuse!(argument("quantize", bits); "8 or 4 bits", advice);
    }
    let weights = linear_weights(model);
    refuse!(if weights.is_empty();
        "quantize: the model has no linear layer with values";
        "Call the model once if its layers are lazy");
    let mut report = Quantization {
        layers: weights.len(),
        bits,
        bytes_before: 0,
        bytes: 0,
    };
    // All are computed before the first is replaced, so that an error changes nothing.
    let mut quantized = vec![];
    for (name, weight) in &weights {
        let values = weight.base_values()?;
        refuse!(if !values.device().is_cpu();
            "quantize: {name} is on a GPU";
            "Move the model to the CPU first: model.to_device(&cpu())");
        report.bytes_before += values.elem_count() * values.dtype().size_in_bytes();
        quantized.push(Arc::new(Quantized::new(&values, bits)?));
    }
    for ((_, weight), quantized) in weights.iter().zip(quantized) {
        report.bytes += quantized.bytes();
        weight.set_quantized(quantized);
    }
    Ok(report)
}

/// What [`quantize`] has done: the number of layers, and the bytes of their weights before and after.
///
/// ```
/// use taper::prelude::*;
///
/// let quantization = quantize(&mut Linear::new(64, 10), 4);
/// assert_eq!(quantization.show_text(), "Quantization(1 layer, 4 bits, 2560 bytes to 360)");
/// ```
#[derive(Clone, Copy, PartialEq)]
pub struct Quantization {
    /// The number of layers.
    pub layers: usize,
    /// The bits of a weight.
    pub bits: usize,
    /// The bytes of the weights before.
    pub bytes_before: usize,
    /// The bytes of the integers and scales.
    pub bytes: usize,
}

impl Show for Quantization {
    fn show_text(&self) -> String {
        let plural = if self.layers == 1 { "" } else { "s" };
        let (layers, bits) = (self.layers, self.bits);
        let bytes = format!("{} bytes to {}", self.bytes_before, self.bytes);
        format!("Quantization({layers} layer{plural}, {bits} bits, {bytes})")
    }
}

debug_as_shown!(Quantization);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::{Embedding, Layer, Linear, ParametersExt, lora, state_of};
    use crate::optim::{Adam, Optimizer};
    use crate::seq;
    use crate::tensor::{Tensor, randn, tensor};
    use candle_core::{DType, Device};

    fn difference(a: &Tensor, b: &Tensor) -> f64 {
        (a - b).abs().max_all().item()
    }

    #[test]
    fn a_quantized_model_can_be_copied_saved_and_listed() {
        let path = std::env::temp_dir().join(format!("taper_quantized_{}", std::process::id()));
        let mut net = seq![Linear::new(40, 30), Linear::new(30, 20)];
        let x = randn((3, 40));
        let count = net.num_parameters();
        quantize(&mut net, 8);
        let y = net.forward(&x);
        assert_eq!(net.num_parameters(), count);
        assert_eq!(
            difference(&net.replicate(&Device::Cpu).forward(&x), &y),
            0.0
        );
        net.save_parameters(&path).unwrap();
        let mut other = seq![Linear::new(40, 30), Linear::new(30, 20)];
        other.load_parameters(&path, &Device::Cpu).unwrap();
        // In `f32`, the inputs are not rounded.
        assert!(difference(&other.forward(&x), &y) < 1e-4);
        quantize(&mut other, 8);
        assert_eq!(difference(&other.forward(&x), &y), 0.0);
        std::fs::remove_file(path).unwrap();
        assert!(net[0].parameter("weight").is_initialized());
        let error = attempt(|| net[0].parameter("weight").set(&randn((30, 40)))).unwrap_err();
        assert!(error.to_string().contains("has been quantized"), "{error}");
        net.to_dtype(DType::F64);
        assert!(attempt(|| net.forward(&x.to_dtype(DType::F64))).is_err());
    }

    #[test]
    fn an_optimiser_leaves_the_weights_and_trains_adapters() {
        let mut net = seq![Linear::new(40, 30), Linear::new(30, 20)];
        quantize(&mut net, 4);
        let adapters = lora(&mut net, 2);
        let x = randn((8, 40));
        let loss = |net: &dyn Layer| net.forward(&x).sqr().mean_all();
        let before = loss(&net);
        let mut optimizer = Adam::new(net.parameters(), 0.05);
        for _ in 0..50 {
            optimizer.step(&loss(&net).backward());
        }
        assert!(loss(&net).item() < 0.9 * before.item());
        assert_eq!(adapters.parameters().len(), 4);
        assert!(attempt(|| adapters.merge()).is_err());
    }

    #[test]
    fn an_embedding_may_share_a_quantized_weight() {
        let tokens = Embedding::new(50, 40);
        let head = Linear::tied(tokens.parameter("weight"));
        let indices = tensor(&[[3, 1], [49, 0]]);
        let before = tokens.forward(&indices);
        let mut net = seq![tokens, head];
        quantize(&mut net, 8);
        assert!(difference(&net[0].forward(&indices), &before) < 0.03);
        assert_eq!(state_of(&net).len(), 1);
        assert!(attempt(|| net[0].forward(&tensor(&[50]))).is_err());
    }

    #[test]
    fn wrong_arguments_are_explained() {
        let message = attempt(|| quantize(&mut Linear::new(8, 8), 5))
            .unwrap_err()
            .to_string();
        assert!(
            message.starts_with("quantize: expected 8 or 4 bits, found 5\n"),
            "{message}"
        );
        assert!(attempt(|| quantize(&mut Embedding::new(8, 8), 4)).is_err());
    }
}
