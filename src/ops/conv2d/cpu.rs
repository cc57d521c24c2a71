//! The convolution and its transpose on the CPU, forward and backward. The forward pass of one is the
//! backward pass of the other.

use crate::ops::batch_norm::RunningStats;
use crate::ops::engine::autograd::{Backward, Downstream, Upstream, record};
use crate::ops::engine::read::read;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, Element};
use crate::ops::tape;
use crate::tensor::Raw;
use candle_core::Result;
use std::marker::PhantomData;
use taper_compute::conv2d::{Epilogue, Geometry, convolve, transposed, weight_gradient};
use taper_compute::sums::{sum, sum_all};

/// Returns the convolution of the inputs, `x`, the weight, and the bias if there is one; or the transposed
/// convolution, which maps from the output of this geometry to its input.
pub(super) fn forward<T: Element>(
    inputs: &[&Raw],
    geometry: Geometry,
    is_transposed: bool,
) -> Result<Raw> {
    let (x, weight) = (in_order(inputs[0])?, in_order(inputs[1])?);
    let bias = inputs.get(2).map(|bias| bias.contiguous()).transpose()?;
    let y = {
        let bias = bias.as_ref().map(CpuView::of).transpose()?;
        let bias = bias.as_ref().map(|bias| bias.as_slice::<T>()).transpose()?;
        let view = CpuView::of(&x)?;
        map::<T>(&geometry, view.as_slice()?, &weight, bias, is_transposed)?
    };
    let to = if is_transposed {
        geometry.from
    } else {
        geometry.to
    };
    let channels = geometry.groups * to.channels;
    let shape = (geometry.batch, channels, to.height, to.width);
    record(inputs, y, shape, || Back::<T> {
        x: x.detach(),
        weight: weight.detach(),
        geometry,
        is_transposed,
        element: PhantomData,
    })
}

/// Returns the convolution of the inputs with what follows it, without a record for gradients.
pub(super) fn finished<T: Element>(
    inputs: &[&Raw],
    geometry: Geometry,
    norm: Option<RunningStats<'_>>,
    relu: bool,
) -> Result<Raw> {
    let inputs = { inputs.iter() }.map(|input| in_order(input));
    let inputs = inputs.collect::<Result<Vec<Raw>>>()?;
    let views = inputs.iter().map(CpuView::of).collect::<Result<Vec<_>>>()?;
    let values = views.iter().map(|view| view.as_slice::<T>());
    let values = values.collect::<Result<Vec<&[T]>>>()?;
    let norm = norm.map(|norm| norm.of_channels::<T>()).transpose()?;
    let epilogue = Epilogue {
        bias: values.get(2).copied(),
        norm: norm.as_deref(),
        relu,
    };
    let y = convolve(&geometry, values[0], values[1], epilogue);
    let to = geometry.to;
    let shape = (
        geometry.batch,
        geometry.groups * to.channels,
        to.height,
        to.width,
    );
    Raw::from_vec(y, shape, inputs[0].device())
}

/// Returns the convolution of `x`, or its transposed convolution.
fn map<T: Element>(
    geometry: &Geometry,
    x: &[T],
    weight: &Raw,
    bias: Option<&[T]>,
    is_transposed: bool,
) -> Result<Vec<T>> {
    let weight = CpuView::of(weight)?;
    let weight = weight.as_slice::<T>()?;
    Ok(match is_transposed {
        false => convolve(geometry, x, weight, Epilogue::plus(bias)),
        true => transposed(geometry, x, weight, bias),
    })
}

struct Back<T> {
    x: Raw,
    weight: Raw,
    geometry: Geometry,
    is_transposed: bool,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (gradient, [x_wanted, weight_wanted, bias_wanted]) =
            (upstream.gradient, upstream.wanted);
        let (geometry, is_transposed) = (&self.geometry, self.is_transposed);
        let (_, channels, height, width) = gradient.dims4()?;
        let view = CpuView::of(gradient)?;
        let g = view.as_slice::<T>()?;
        let tensor = |values, like: &Raw| Raw::from_vec(values, like.shape(), like.device());
        let (mut of_x, mut of_weight, mut of_bias) = (None, None, None);
        if x_wanted {
            let values = map(geometry, g, &self.weight, None, !is_transposed)?;
            of_x = Some(tensor(values, &self.x)?);
        }
        if weight_wanted || (bias_wanted && !is_transposed) {
            let x = CpuView::of(&self.x)?;
            let x = x.as_slice::<T>()?;
            let (input, output) = if is_transposed { (g, x) } else { (x, g) };
            let (weight, bias) = weight_gradient(geometry, input, output);
            of_weight = Some(tensor(weight, &self.weight)?);
            of_bias = (!is_transposed).then_some(bias);
        }
        if bias_wanted && is_transposed {
            let of_channel = |c: usize| {
                let planes = g.chunks_exact(height * width).skip(c);
                sum_all(planes.step_by(channels).map(sum))
            };
            of_bias = Some((0..channels).map(of_channel).collect());
        }
        let of_bias = of_bias.filter(|_| bias_wanted);
        let of_bias = of_bias.map(|sums| Raw::from_vec(sums, channels, gradient.device()));
        Ok([
            of_x,
            of_weight.filter(|_| weight_wanted),
            of_bias.transpose()?,
        ])
    }

    fn reads(&self, wanted: [bool; 3]) -> [bool; 3] {
        [wanted[1], wanted[0], false]
    }

    fn keeps(&self) -> [bool; 3] {
        [true, true, false]
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (x, weight, g) = (upstream.input(0)?, upstream.input(1)?, upstream.gradient);
        let (geometry, is_transposed) = (self.geometry, self.is_transposed);
        let (input, output) = if is_transposed { (g, x) } else { (x, g) };
        let [x_wanted, weight_wanted, bias_wanted] = upstream.wanted;
        let of_x = x_wanted.then(|| forward::<T>(&[g, weight], geometry, !is_transposed));
        let of_weight =
            weight_wanted.then(|| of_weight::<T>(input, output, geometry, weight.dims()));
        let of_bias = bias_wanted.then(|| upstream.g().sum((0, 2, 3)).into());
        Ok([of_x.transpose()?, of_weight.transpose()?, of_bias])
    }
}

/// Returns the gradient for the weight, of this shape. As the convolution is, it is linear in its input and in the
/// gradient of its output, so its own gradients are the convolution and the transposed one.
fn of_weight<T: Element>(
    input: &Raw,
    output: &Raw,
    geometry: Geometry,
    shape: &[usize],
) -> Result<Raw> {
    let (values, _) = read([input, output], |[x, g]: [&[T]; 2]| {
        weight_gradient(&geometry, x, g)
    })?;
    let values = Raw::from_vec(values, shape, input.device())?;
    let rule = move |upstream: &Upstream<'_>| {
        upstream.each(|i| {
            let other = upstream.input(1 - i)?;
            forward::<T>(&[other, upstream.gradient], geometry, i == 0)
        })
    };
    Ok(tape::composed(
        values.values().clone(),
        &[input, output],
        rule,
    ))
}
