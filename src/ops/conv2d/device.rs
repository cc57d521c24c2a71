//! The convolution on a GPU, as products of matrices.
//!
//! The patches of an image are the columns of a matrix ([`patches`]); the weights of a group are another. Their product is
//! the output in the order of its memory, so nothing is transposed. The gradients are products of the same matrices: the
//! patches are computed again, because they take many times the memory of the image. cuBLAS multiplies, and Taper's
//! kernels copy patches and add them up. With cuDNN, Candle would have its forward pass only.

use crate::device::{Windows, add_bias, of_patches, patches};
use crate::ops::tape::{self, Backward, Downstream, Upstream};
use crate::tensor::{Candle, Raw};
use candle_core::backend::{BackendDevice, BackendStorage};
use candle_core::{CpuStorage, CustomOp2, CustomOp3, DType, Layout, Result, Shape};

/// Returns whether [`convolve`] can compute the convolution of `x`.
pub(super) fn suits(x: &Raw) -> bool {
    matches!(x.dtype(), DType::F32 | DType::F64) && !x.device().is_metal()
}

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
    let convolution = Convolution { windows, groups };
    let back = || Back {
        convolution,
        x: x.values().clone(),
        weight: weight.values().clone(),
    };
    Ok(match bias {
        Some(bias) => {
            let bias = bias.contiguous()?;
            let y = x.apply_op3_no_bwd(&weight, &bias, &convolution)?;
            tape::record(y.values().clone(), &[&x, &weight, &bias], back)
        }
        None => {
            let y = x.apply_op2_no_bwd(&weight, &convolution)?;
            tape::record(y.values().clone(), &[&x, &weight], back)
        }
    })
}

#[derive(Clone, Copy)]
struct Convolution {
    windows: Windows,
    groups: usize,
}

impl Convolution {
    /// Returns the batch, and the sizes of a group's matrices: output channels, and elements of a patch.
    fn sizes(&self, x: &[usize], weight: &[usize]) -> [usize; 3] {
        let depth = x[1] / self.groups * self.windows.places();
        [x[0], weight[0] / self.groups, depth]
    }

    fn shape(&self, x: &[usize], weight: &[usize]) -> Shape {
        let [height, width] = self.windows.output;
        (x[0], weight[0], height, width).into()
    }

    /// Returns the products of the weights with the columns.
    fn products<B: BackendStorage>(
        &self,
        (x, columns): (&[usize], B),
        weight: &B,
        layout: &Layout,
    ) -> Result<B>
    where
        B::Device: BackendDevice<Storage = B>,
    {
        let [batch, rows, depth] = self.sizes(x, layout.dims());
        let (groups, outputs) = (self.groups, self.windows.outputs());
        let of_columns = Layout::contiguous((batch * groups, depth, outputs));
        let sizes = (batch * groups, rows, outputs, depth);
        let start = layout.start_offset();
        if groups == 1 {
            // The same weights for each image.
            let weights = Layout::new((batch, rows, depth).into(), vec![0, depth, 1], start);
            return weight.matmul(&columns, sizes, &weights, &of_columns);
        }
        let shape = Shape::from((batch, groups, rows, depth));
        let repeated = Layout::new(shape.clone(), vec![0, rows * depth, depth, 1], start);
        // SAFETY: the copy initialises each element.
        let mut weights = unsafe { weight.device().alloc_uninit(&shape, weight.dtype())? };
        weight.copy_strided_src(&mut weights, 0, &repeated)?;
        let of_weights = Layout::contiguous((batch * groups, rows, depth));
        weights.matmul(&columns, sizes, &of_weights, &of_columns)
    }

    fn on_cpu(
        &self,
        x: &CpuStorage,
        of_x: &Layout,
        weight: &CpuStorage,
        of_weight: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let columns = self.windows.patches_on_cpu(x, of_x)?;
        let y = self.products((of_x.dims(), columns), weight, of_weight)?;
        Ok((y, self.shape(of_x.dims(), of_weight.dims())))
    }

    #[cfg(feature = "cuda")]
    fn on_gpu(
        &self,
        x: &candle_core::CudaStorage,
        of_x: &Layout,
        weight: &candle_core::CudaStorage,
        of_weight: &Layout,
    ) -> Result<(candle_core::CudaStorage, Shape)> {
        let columns = self.windows.patches_on_gpu(x, of_x)?;
        let y = self.products((of_x.dims(), columns), weight, of_weight)?;
        Ok((y, self.shape(of_x.dims(), of_weight.dims())))
    }

    fn gradients(
        &self,
        x: &Candle,
        weight: &Candle,
        gradient: &Candle,
        wanted: [bool; 3],
    ) -> Result<[Option<Candle>; 2]> {
        let [batch, rows, depth] = self.sizes(x.dims(), weight.dims());
        let (groups, outputs) = (self.groups, self.windows.outputs());
        let g = (gradient.contiguous()?).reshape((batch * groups, rows, outputs))?;
        let of_x = || {
            let weight = weight.reshape((1, groups, rows, depth))?;
            let weight = weight.broadcast_as((batch, groups, rows, depth))?;
            let weight = match groups {
                1 => weight.squeeze(1)?,
                _ => weight
                    .contiguous()?
                    .reshape((batch * groups, rows, depth))?,
            };
            let columns = weight.transpose(1, 2)?.matmul(&g)?;
            of_patches(&self.windows, &columns, x.dims())
        };
        let of_weight = || {
            let columns = patches(&self.windows, x)?;
            let columns = columns.reshape((batch * groups, depth, outputs))?;
            let products = g.matmul(&columns.transpose(1, 2)?)?;
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
        let [of_x, of_weight] = of.gradients(&self.x, &self.weight, g, wanted)?;
        let of_bias = wanted[2].then(|| of.of_bias(g)).transpose()?;
        Ok([of_x, of_weight, of_bias].map(|gradient| gradient.map(Raw::from)))
    }
}

impl CustomOp2 for Convolution {
    fn name(&self) -> &'static str {
        "convolution"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        of_x: &Layout,
        weight: &CpuStorage,
        of_weight: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.on_cpu(x, of_x, weight, of_weight)
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        x: &candle_core::CudaStorage,
        of_x: &Layout,
        weight: &candle_core::CudaStorage,
        of_weight: &Layout,
    ) -> Result<(candle_core::CudaStorage, Shape)> {
        self.on_gpu(x, of_x, weight, of_weight)
    }
}

impl CustomOp3 for Convolution {
    fn name(&self) -> &'static str {
        "convolution"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        of_x: &Layout,
        weight: &CpuStorage,
        of_weight: &Layout,
        bias: &CpuStorage,
        of_bias: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (mut y, shape) = self.on_cpu(x, of_x, weight, of_weight)?;
        add_bias::on_cpu(&mut y, self.windows.outputs(), bias, of_bias)?;
        Ok((y, shape))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        x: &candle_core::CudaStorage,
        of_x: &Layout,
        weight: &candle_core::CudaStorage,
        of_weight: &Layout,
        bias: &candle_core::CudaStorage,
        of_bias: &Layout,
    ) -> Result<(candle_core::CudaStorage, Shape)> {
        let (mut y, shape) = self.on_gpu(x, of_x, weight, of_weight)?;
        add_bias::on_gpu(&mut y, self.windows.outputs(), bias, of_bias)?;
        Ok((y, shape))
    }
}
