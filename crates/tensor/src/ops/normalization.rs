//! What the normalisations have in common: their statistics, and the backward pass.

use super::engine::Element;
use super::engine::autograd::{Downstream, Needs, Upstream, kernel, record};
use super::engine::read::read;
use crate::tensor::Raw;
use candle_core::{Device, Result};
use std::sync::Arc;

/// The mean of some elements, as the sum of two values, and the reciprocal of their standard deviation. The second value of
/// the mean is the rounding error of the first.
#[derive(Clone, Copy)]
pub(super) struct Statistics<T> {
    pub(super) mean: [T; 2],
    pub(super) scale: T,
}

/// A normalisation of `x`, which is then scaled by a weight and perhaps shifted by a bias.
pub(super) trait Normalization<T>: Send + Sync + 'static {
    /// Returns the gradient of `x` if it is wanted, and the gradients of weight and bias.
    fn gradients(&self, g: &[T], x: &[T], x_wanted: bool) -> (Option<Vec<T>>, [Vec<T>; 2]);

    /// Computes the output from the inputs by operations that have second derivatives.
    fn composed(&self, inputs: &[Raw]) -> Result<Raw>;
}

/// Returns the output of a normalisation. `x` has the elements of the first input in order.
pub(super) fn normalized<T: Element, N: Normalization<T>>(
    inputs: &[&Raw],
    x: &Raw,
    y: Vec<T>,
    normalization: impl FnOnce() -> N,
) -> Result<Raw> {
    record(inputs, y, x.shape(), || {
        let (x, of) = (x.detach(), Arc::new(normalization()));
        let same = of.clone();
        let needs = Needs {
            inputs: true,
            reads: [true, true, false],
            ..Needs::default()
        };
        let recorded = move |up: &Upstream<'_>| up.of_composed(&|inputs| same.composed(inputs));
        kernel(needs, move |up| gradients(&*of, &x, up), recorded)
    })
}

fn gradients<T: Element>(
    of: &impl Normalization<T>,
    x: &Raw,
    upstream: &Upstream<'_>,
) -> Result<Downstream> {
    let (g, [x_wanted, weight_wanted, bias_wanted]) = (upstream.gradient, upstream.wanted);
    let (of_x, parameters) = read([g, x], |[g, x]| of.gradients(g, x, x_wanted))?;
    let of_x = of_x.map(|of_x| Raw::from_vec(of_x, g.shape(), &Device::Cpu));
    let [of_weight, of_bias] = parameters.map(|values| {
        let count = values.len();
        Raw::from_vec(values, count, &Device::Cpu)
    });
    let of_weight = weight_wanted.then_some(of_weight?);
    Ok([
        of_x.transpose()?,
        of_weight,
        bias_wanted.then_some(of_bias?),
    ])
}
