//! The convolution and its transpose on the CPU, forward and backward. The forward pass of one is the
//! backward pass of the other.

use crate::ops::batch_norm::RunningStats;
use crate::ops::engine::Element;
use crate::ops::engine::autograd::{Downstream, Product, Upstream, record, recorded_linear};
use crate::ops::engine::read::{copies, read, read_all};
use crate::ops::reduce::sum_over;
use crate::ops::tape;
use crate::tensor::Raw;
use candle_core::Result;
use taper_compute::conv2d::{Epilogue, Geometry, convolve, transposed, weight_gradient};

/// Returns the convolution of the inputs, `x`, the weight, and the bias if there is one; or the transposed
/// convolution, which maps from the output of this geometry to its input.
pub(super) fn forward<T: Element>(
    inputs: &[&Raw],
    geometry: Geometry,
    is_transposed: bool,
) -> Result<Raw> {
    if let Some(copies) = copies(inputs)? {
        // The backward pass reads the copies, too.
        let inputs = copies.iter().collect::<Vec<_>>();
        return forward::<T>(&inputs, geometry, is_transposed);
    }
    let y = read_all(inputs, |values: &[&[T]]| {
        let (x, weight, bias) = (values[0], values[1], values.get(2).copied());
        match is_transposed {
            false => convolve(&geometry, x, weight, Epilogue::plus(bias)),
            true => transposed(&geometry, x, weight, bias),
        }
    })?;
    let to = if is_transposed {
        geometry.from
    } else {
        geometry.to
    };
    let channels = geometry.groups * to.channels;
    let shape = (geometry.batch, channels, to.height, to.width);
    record(inputs, y, shape, || {
        Product(move |upstream: &Upstream<'_>| gradients::<T>(upstream, geometry, is_transposed))
    })
}

/// Returns the convolution of the inputs with what follows it, without a record for gradients.
pub(super) fn finished<T: Element>(
    inputs: &[&Raw],
    geometry: Geometry,
    norm: Option<RunningStats<'_>>,
    relu: bool,
) -> Result<Raw> {
    if let Some(copies) = copies(inputs)? {
        let inputs = copies.iter().collect::<Vec<_>>();
        return finished::<T>(&inputs, geometry, norm, relu);
    }
    let norm = norm.map(|norm| norm.of_channels::<T>()).transpose()?;
    let y = read_all(inputs, |values: &[&[T]]| {
        let epilogue = Epilogue {
            bias: values.get(2).copied(),
            norm: norm.as_deref(),
            relu,
        };
        convolve(&geometry, values[0], values[1], epilogue)
    })?;
    let to = geometry.to;
    let shape = (
        geometry.batch,
        geometry.groups * to.channels,
        to.height,
        to.width,
    );
    Raw::from_vec(y, shape, inputs[0].device())
}

fn gradients<T: Element>(
    upstream: &Upstream<'_>,
    geometry: Geometry,
    is_transposed: bool,
) -> Result<Downstream> {
    let (x, weight, g) = (upstream.input(0)?, upstream.input(1)?, upstream.gradient);
    let [x_wanted, weight_wanted, bias_wanted] = upstream.wanted;
    let of_x = x_wanted.then(|| forward::<T>(&[g, weight], geometry, !is_transposed));
    let (mut of_weight, mut of_bias) = (None, None);
    if weight_wanted || (bias_wanted && !is_transposed) {
        let (input, output) = if is_transposed { (g, x) } else { (x, g) };
        let found = weight_gradients::<T>(input, output, geometry, weight.dims())?;
        (of_weight, of_bias) = (Some(found.0), Some(found.1));
    }
    if bias_wanted && is_transposed {
        of_bias = Some(sum_over(g, &BUT_CHANNELS, false, 1.0)?);
    }
    Ok([
        of_x.transpose()?,
        of_weight.filter(|_| weight_wanted),
        of_bias.filter(|_| bias_wanted),
    ])
}

/// The dimensions of images without their channels.
const BUT_CHANNELS: [usize; 3] = [0, 2, 3];

/// Returns the gradients of the weight, of this shape, and of the bias. As the convolution is, the first is linear in
/// the input and in the gradient of the output, so its own gradients are the convolution and the transposed one.
fn weight_gradients<T: Element>(
    input: &Raw,
    output: &Raw,
    geometry: Geometry,
    shape: &[usize],
) -> Result<(Raw, Raw)> {
    let (of_weight, of_bias) = read([input, output], |[x, g]: [&[T]; 2]| {
        weight_gradient(&geometry, x, g)
    })?;
    let of_weight = Raw::from_vec(of_weight, shape, input.device())?;
    let rule = move |upstream: &Upstream<'_>| {
        upstream.each(|i| {
            let other = upstream.input(1 - i)?;
            forward::<T>(&[other, upstream.gradient], geometry, i == 0)
        })
    };
    let of_weight = tape::composed(of_weight.values().clone(), &[input, output], rule);
    let of_bias = Raw::from_vec(of_bias, output.dim(1)?, input.device())?;
    let sizes = output.dims().to_vec();
    let of_bias = recorded_linear(output, of_bias, || {
        move |g: &Raw| g.reshape((1, (), 1, 1))?.broadcast_as(&sizes[..])
    });
    Ok((of_weight, of_bias))
}
