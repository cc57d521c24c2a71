//! The transposed convolution: the map from the gradient of a convolution's output to that of its input.
//!
//! So its forward pass is the backward pass of [`conv2d`](super::conv2d), and its backward pass the
//! forward pass; `weight` is the weight of that convolution.

use super::convolve::convolve;
use super::geometry::{Conv2dSpec, Geometry};
use super::weight_gradient::weight_gradient;
use crate::error::explain;
use crate::ops::check;
use crate::ops::engine::autograd::{Backward, has_kernel, record};
use crate::ops::engine::simd::Element;
use crate::ops::engine::sums::{sum, sum_all};
use crate::ops::engine::{CpuView, dispatch_dtype};
use candle_core::{Result, Tensor};
use std::fmt::Display;
use std::marker::PhantomData;

/// Returns the transposed convolution of the images `x` `(batch, in, height, width)` with `weight`
/// `(in, out / groups, rows, columns)`, plus `bias` `(out,)`: `(batch, out, height', width')` with
/// `height' = (height - 1) stride - 2 padding + dilation (rows - 1) + output_padding + 1`.
///
/// # Errors
/// If the shapes, types or devices do not fit, a setting is 0, or `output_padding` is not less than
/// the stride.
pub(crate) fn conv_transpose2d(
    caller: &dyn Display,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    spec: Conv2dSpec,
    output_padding: usize,
) -> Result<Tensor> {
    let to = output_shape(caller, x, weight, spec, output_padding)?;
    let inputs: Vec<&Tensor> = [x, weight].into_iter().chain(bias).collect();
    match has_kernel(&inputs) && x.elem_count() > 0 {
        true => dispatch_dtype!(x, forward(&inputs, to, spec)),
        false => with_candle(x, weight, bias, spec, output_padding),
    }
}

/// Returns stride, padding and dilation, which are the same for height and width.
fn of_both(spec: Conv2dSpec) -> [usize; 3] {
    [spec.stride, spec.padding, spec.dilation].map(|setting| setting.height)
}

/// Checks the inputs, and returns the shape of the output.
fn output_shape(
    caller: &dyn Display,
    x: &Tensor,
    weight: &Tensor,
    spec: Conv2dSpec,
    output_padding: usize,
) -> Result<[usize; 4]> {
    let (batch, channels, height, width) = check::images(caller, x)?;
    let (in_channels, per_group, rows, columns) = weight.dims4()?;
    if channels != in_channels {
        let expected = format!("Its second dimension, the channels, must be {in_channels}");
        return Err(check::wrong_shape(caller, x, expected));
    }
    check::same_place(caller, x, weight)?;
    let [stride, padding, dilation] = of_both(spec);
    let settings = [("stride", stride), ("dilation", dilation)];
    check::positive(caller, &settings)?;
    if output_padding >= stride {
        return Err(explain(
            format!("{caller}: output_padding is {output_padding}, the stride {stride}"),
            "Choose an output_padding that is less than the stride",
        ));
    }
    let size = |size: usize, kernel: usize| {
        let last = size.checked_sub(1)?.checked_mul(stride)?;
        let extent = dilation.checked_mul(kernel - 1)?.checked_add(1)?;
        let full = last.checked_add(extent)?.checked_add(output_padding)?;
        full.checked_sub(padding.checked_mul(2)?)
    };
    match (size(height, rows), size(width, columns)) {
        (Some(height @ 1..), Some(width @ 1..)) => {
            let shape = [batch, per_group * spec.groups, height, width];
            check::output(caller, &shape, x)?;
            Ok(shape)
        }
        _ => {
            let expected =
                "Nothing is left of its images; choose less padding, or smaller settings";
            Err(check::wrong_shape(caller, x, expected))
        }
    }
}

fn with_candle(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    spec: Conv2dSpec,
    output_padding: usize,
) -> Result<Tensor> {
    let ([stride, padding, dilation], groups) = (of_both(spec), spec.groups);
    let (xs, weights) = (x.chunk(groups, 1)?, weight.chunk(groups, 0)?);
    let parts = xs.iter().zip(&weights).map(|(x, weight)| {
        let (x, weight) = (x.contiguous()?, weight.contiguous()?);
        x.conv_transpose2d(&weight, padding, output_padding, stride, dilation)
    });
    let y = Tensor::cat(&parts.collect::<Result<Vec<_>>>()?, 1)?;
    match bias {
        Some(bias) => y.broadcast_add(&bias.reshape((1, (), 1, 1))?),
        None => Ok(y),
    }
}

fn forward<T: Element>(inputs: &[&Tensor], to: [usize; 4], spec: Conv2dSpec) -> Result<Tensor> {
    let (x, weight) = (inputs[0].contiguous()?, inputs[1].contiguous()?);
    let bias = inputs.get(2).map(|bias| bias.contiguous()).transpose()?;
    let geometry = Geometry::of(to, weight.dims4()?, spec);
    let y = {
        let bias = bias.as_ref().map(CpuView::of).transpose()?;
        let bias = bias.as_ref().map(|bias| bias.as_slice::<T>()).transpose()?;
        let (x, weight) = (CpuView::of(&x)?, CpuView::of(&weight)?);
        let rotated = geometry.rotated(weight.as_slice::<T>()?);
        convolve(&geometry.backward(), x.as_slice()?, &rotated, bias)
    };
    record(inputs, y, &to[..], || Back::<T> {
        x: x.detach(),
        weight: weight.detach(),
        geometry,
        element: PhantomData,
    })
}

struct Back<T> {
    x: Tensor,
    weight: Tensor,
    geometry: Geometry,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        [x_wanted, weight_wanted, bias_wanted]: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let view = CpuView::of(gradient)?;
        let g = view.as_slice::<T>()?;
        let tensor = |values, like: &Tensor| Tensor::from_vec(values, like.shape(), like.device());
        let mut gradients = [None, None, None];
        if x_wanted {
            let weight = CpuView::of(&self.weight)?;
            let of_x = convolve(&self.geometry, g, weight.as_slice::<T>()?, None);
            gradients[0] = Some(tensor(of_x, &self.x)?);
        }
        if weight_wanted {
            let x = CpuView::of(&self.x)?;
            let (of_weight, _) = weight_gradient(&self.geometry, g, x.as_slice::<T>()?);
            gradients[1] = Some(tensor(of_weight, &self.weight)?);
        }
        if bias_wanted {
            let (_, channels, height, width) = gradient.dims4()?;
            let of_channel = |c: usize| {
                let planes = g.chunks_exact(height * width).skip(c);
                sum_all(planes.step_by(channels).map(sum))
            };
            let sums: Vec<T> = (0..channels).map(of_channel).collect();
            gradients[2] = Some(Tensor::from_vec(sums, channels, gradient.device())?);
        }
        Ok(gradients)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::{rand, randn};
    use candle_core::Device;

    const CPU: Device = Device::Cpu;

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("conv_transpose2d", 60, |case| {
            let groups = case.one_of(&[1, 1, 2, 3]);
            let (stride, kernel) = (case.one_of(&[1, 2, 3]), case.between(1, 4));
            let spec = Conv2dSpec {
                stride: stride.into(),
                padding: case.between(0, 2).into(),
                dilation: case.one_of(&[1, 1, 2]).into(),
                groups,
            };
            let output_padding = case.between(0, stride - 1);
            let (ins, outs) = (groups * case.between(1, 5), case.between(1, 7));
            let size = (case.between(3, 17), case.between(3, 17));
            let x = randn((case.between(1, 3), ins, size.0, size.1), &CPU);
            let mut inputs = vec![
                case.input(x),
                case.input(rand((ins, outs, kernel, kernel), &CPU)),
            ];
            if case.one_of(&[true, false]) {
                inputs.push(case.input(randn(outs * groups, &CPU)));
            }
            output_shape(&"", &inputs[0], &inputs[1], spec, output_padding).ok()?;
            let kernel = move |x: &[Tensor]| {
                conv_transpose2d(&"", &x[0], &x[1], x.get(2), spec, output_padding)
            };
            let candle =
                move |x: &[Tensor]| with_candle(&x[0], &x[1], x.get(2), spec, output_padding);
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
