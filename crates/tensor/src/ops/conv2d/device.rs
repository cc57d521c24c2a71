//! The convolution on a GPU, as products of matrices.
//!
//! The patches of an image are the columns of a matrix ([`patches`]); the weights of a group are another. Their product is
//! the output in the order of its memory, so nothing is transposed. The gradients are products of the same matrices: the
//! patches are computed again, because they take many times the memory of the image. cuBLAS multiplies, in TF32 as PyTorch
//! does, and Taper's kernels copy patches and add them up. With the feature `cudnn`, cuDNN computes all three products.

use crate::device::{self, AddBias, Product, Windows, by_cudnn, in_tf32, of_patches, patches};
use crate::ops::tape::{self, Backward, Downstream, Upstream};
use crate::tensor::{Candle, Raw};
use candle_core::Result;

/// Returns the convolution of `x` `(batch, channels, height, width)` with `weight` and `bias`. The windows are those of
/// all channels of all images.
pub(super) fn convolve(
    x: &Raw,
    weight: &Raw,
    bias: Option<&Raw>,
    windows: Windows,
    groups: usize,
) -> Result<Raw> {
    let (x, weight) = (x.contiguous()?, weight.contiguous()?);
    let bias = bias.map(|bias| bias.contiguous()).transpose()?;
    let convolution = Convolution { windows, groups };
    let values = bias.as_ref().map(Raw::values);
    let y = in_tf32(|| convolution.forward(x.values(), weight.values(), values))?;
    let inputs: Vec<&Raw> = [&x, &weight].into_iter().chain(&bias).collect();
    Ok(tape::record(y, &inputs, || Back {
        convolution,
        x: x.values().clone(),
        weight: weight.values().clone(),
    }))
}

#[derive(Clone, Copy)]
struct Convolution {
    windows: Windows,
    groups: usize,
}

impl Convolution {
    /// Returns the batch, and the sizes of a group's matrices: output channels, and elements of a patch.
    fn sizes(&self, x: &Candle, weight: &Candle) -> Result<[usize; 3]> {
        let depth = x.dim(1)? / self.groups * self.windows.places();
        Ok([x.dim(0)?, weight.dim(0)? / self.groups, depth])
    }

    /// Returns the weights for each group of each image, `(batch · groups, rows, depth)`: with one group, a view.
    fn weights(&self, weight: &Candle, [batch, rows, depth]: [usize; 3]) -> Result<Candle> {
        let groups = self.groups;
        let weight = weight.reshape((1, groups, rows, depth))?;
        let weight = weight.broadcast_as((batch, groups, rows, depth))?;
        match groups {
            1 => weight.squeeze(1),
            _ => { weight.contiguous()? }.reshape((batch * groups, rows, depth)),
        }
    }

    /// Returns the patches of each group of each image, `(batch · groups, depth, outputs)`.
    fn columns(&self, x: &Candle, [batch, _, depth]: [usize; 3]) -> Result<Candle> {
        let shape = (batch * self.groups, depth, self.windows.outputs());
        patches(&self.windows, x)?.reshape(shape)
    }

    /// Returns the shapes for cuDNN.
    fn shapes(&self, x: &Candle, weight: &Candle) -> Result<device::Convolution> {
        let (x, weight, windows) = (x.dims4()?, weight.dims4()?, &self.windows);
        let [height, width] = windows.output;
        Ok(device::Convolution {
            x: x.into(),
            weight: weight.into(),
            y: [x.0, weight.0, height, width],
            padding: windows.padding,
            stride: windows.stride,
            dilation: windows.dilation,
            groups: self.groups,
        })
    }

    fn forward(&self, x: &Candle, weight: &Candle, bias: Option<&Candle>) -> Result<Candle> {
        let shapes = self.shapes(x, weight)?;
        let y = match by_cudnn(Product::Output, shapes, x, weight)? {
            Some(y) => y,
            None => {
                let sizes = self.sizes(x, weight)?;
                let weights = self.weights(weight, sizes)?;
                weights
                    .matmul(&self.columns(x, sizes)?)?
                    .reshape(shapes.y.to_vec())?
            }
        };
        if let Some(bias) = bias {
            y.inplace_op2(bias, &AddBias(self.windows.outputs()))?;
        }
        Ok(y)
    }

    fn gradients(
        &self,
        x: &Candle,
        weight: &Candle,
        gradient: &Candle,
        wanted: [bool; 3],
    ) -> Result<[Option<Candle>; 2]> {
        let (sizes, shapes) = (self.sizes(x, weight)?, self.shapes(x, weight)?);
        let ([batch, rows, depth], groups) = (sizes, self.groups);
        let shape = (batch * groups, rows, self.windows.outputs());
        let gradient = gradient.contiguous()?;
        let g = gradient.reshape(shape)?;
        let of_x = || {
            if let Some(of_x) = by_cudnn(Product::OfInput, shapes, weight, &gradient)? {
                return Ok(of_x);
            }
            let columns = self.weights(weight, sizes)?.transpose(1, 2)?.matmul(&g)?;
            of_patches(&self.windows, &columns, x.dims())
        };
        let of_weight = || {
            if let Some(of_weight) = by_cudnn(Product::OfWeight, shapes, x, &gradient)? {
                return Ok(of_weight);
            }
            let products = g.matmul(&self.columns(x, sizes)?.transpose(1, 2)?)?;
            let products = products.reshape((batch, groups * rows * depth))?;
            products.sum(0)?.reshape(weight.dims())
        };
        let of_x = wanted[0].then(of_x).transpose()?;
        let of_weight = wanted[1].then(of_weight).transpose()?;
        Ok([of_x, of_weight])
    }

    /// Returns the sums over the pixels, as a product with ones: Candle's sum over several dimensions has a block of
    /// threads for each channel only.
    fn of_bias(&self, gradient: &Candle) -> Result<Candle> {
        let (batch, channels, ..) = gradient.dims4()?;
        let outputs = self.windows.outputs();
        let g = gradient
            .contiguous()?
            .reshape((batch * channels, outputs))?;
        let ones = Candle::ones((outputs, 1), g.dtype(), g.device())?;
        g.matmul(&ones)?.reshape((batch, channels))?.sum(0)
    }
}

struct Back {
    convolution: Convolution,
    x: Candle,
    weight: Candle,
}

impl Backward for Back {
    fn reads(&self, wanted: [bool; 3]) -> [bool; 3] {
        [wanted[1], wanted[0], false]
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (g, wanted) = (upstream.gradient, upstream.wanted);
        let of = &self.convolution;
        let [of_x, of_weight] = in_tf32(|| of.gradients(&self.x, &self.weight, g, wanted))?;
        let of_bias = wanted[2].then(|| of.of_bias(g)).transpose()?;
        Ok([of_x, of_weight, of_bias].map(|gradient| gradient.map(Raw::from)))
    }
}
