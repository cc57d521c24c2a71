//! Batch normalisation on a GPU.
//!
//! The sums over a channel are products with ones, which cuBLAS computes with all of the card; Candle's sum has a block of
//! threads for each channel. Taper's kernels compute the elements in one pass.

#[cfg(feature = "cuda")]
use crate::device::affine_on_gpu;
use crate::device::{affine, affine_on_cpu, combined};
use crate::ops::engine::autograd::second_derivatives;
use crate::tensor::Raw;
#[cfg(feature = "cuda")]
use candle_core::CudaStorage;
use candle_core::{CpuStorage, CustomOp3, DType, Layout, Result, Shape};

/// Returns whether [`batch_norm`] can compute with `x`.
pub(super) fn suits(x: &Raw) -> bool {
    matches!(x.dtype(), DType::F32 | DType::F64)
        && x.elem_count() > 0
        && !x.device().is_metal()
        && !second_derivatives()
}

/// Returns the normalised `x` `(batch, channels, area)`, and the mean and variance `(channels,)`: the given ones, or
/// those of `x`.
pub(super) fn batch_norm(
    x: &Raw,
    weight: &Raw,
    bias: &Raw,
    statistics: Option<(&Raw, &Raw)>,
    eps: f64,
) -> Result<(Raw, Raw, Raw)> {
    let x = x.contiguous()?;
    let (batch, _, area) = x.dims3()?;
    let values = (batch * area) as f64;
    let (weight, bias) = (weight.contiguous()?, bias.contiguous()?);
    let (centred, rest, mean, var) = match statistics {
        Some((mean, var)) => {
            let (mean, var) = (mean.to_dtype(x.dtype())?, var.to_dtype(x.dtype())?);
            (x.detach(), mean.clone(), mean, var)
        }
        None => {
            // The mean of the deviations is the rounding error of the first mean.
            let near = (sums(&x.detach())? / values)?;
            let centred = affine(&x.detach(), &table(&[&near.ones_like()?, &near.neg()?])?)?;
            let rest = (sums(&centred)? / values)?;
            let var = ((sums(&centred.sqr()?)? / values)? - rest.sqr()?)?;
            (centred, rest.clone(), (near + rest)?, var.relu()?)
        }
    };
    let scale = (&var + eps)?.sqrt()?.recip()?;
    let factor = (&weight.detach() * &scale)?;
    let shift = (bias.detach() - (&rest * &factor)?)?;
    let norm = Norm {
        table: table(&[&factor, &shift])?.detach(),
        centred,
        rest: rest.detach(),
        scale: scale.detach(),
        factor,
        values: statistics.is_none().then_some(values),
    };
    let y = x.apply_op3(&weight, &bias, norm)?;
    Ok((y, mean.detach(), var.detach()))
}

/// Returns the sum of each channel of `x` `(batch, channels, area)`: `(channels,)`.
fn sums(x: &Raw) -> Result<Raw> {
    let (batch, channels, area) = x.dims3()?;
    let ones = Raw::ones((area, 1), x.dtype(), x.device())?;
    let planes = x
        .contiguous()?
        .reshape((batch * channels, area))?
        .matmul(&ones)?;
    planes.reshape((batch, channels))?.sum(0)
}

fn table(rows: &[&Raw]) -> Result<Raw> {
    Raw::stack(rows, 0)
}

/// The node that connects the result with its inputs.
struct Norm {
    /// The factors and summands of the channels.
    table: Raw,
    /// `x` minus its mean, but for a rest; with given statistics, `x`.
    centred: Raw,
    rest: Raw,
    /// The reciprocals of the standard deviations.
    scale: Raw,
    factor: Raw,
    /// The values of a channel, through whose statistics gradients flow; `None` with given statistics.
    values: Option<f64>,
}

impl CustomOp3 for Norm {
    fn name(&self) -> &'static str {
        "batch normalisation"
    }

    fn cpu_fwd(
        &self,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
        _: &CpuStorage,
        _: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        affine_on_cpu(&self.centred, &self.table)
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
        _: &CudaStorage,
        _: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        affine_on_gpu(&self.centred, &self.table)
    }

    fn bwd(
        &self,
        x: &Raw,
        weight: &Raw,
        bias: &Raw,
        _: &Raw,
        gradient: &Raw,
    ) -> Result<(Option<Raw>, Option<Raw>, Option<Raw>)> {
        let gradient = gradient.contiguous()?;
        let sum = sums(&gradient)?;
        let products = (sums(&(&gradient * &self.centred)?)? - (&self.rest * &sum)?)?;
        let of_x = || match self.values {
            None => affine(
                &gradient,
                &table(&[&self.factor, &self.factor.zeros_like()?])?,
            ),
            Some(values) => {
                let slope = ((&self.factor * self.scale.sqr()?)? * (&products / -values)?)?;
                let shift = ((&self.factor * (&sum / -values)?)? - (&slope * &self.rest)?)?;
                combined(
                    &gradient,
                    &self.centred,
                    &table(&[&self.factor, &slope, &shift])?,
                )
            }
        };
        Ok((
            x.track_op().then(of_x).transpose()?,
            weight
                .track_op()
                .then(|| &products * &self.scale)
                .transpose()?,
            bias.track_op().then_some(sum.clone()),
        ))
    }
}
