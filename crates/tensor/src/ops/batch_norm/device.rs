//! Batch normalisation on a GPU.
//!
//! The sums over a channel are products with ones, which cuBLAS computes with all of the card; Candle's sum has a block of
//! threads for each channel. Taper's kernels compute the elements in one pass.

use crate::device::{affine, combined};
use crate::ops::tape::{self, Backward, Downstream, Upstream};
use crate::tensor::{Candle, Raw};
use candle_core::Result;

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
    let values_of_x = x.values().clone();
    let (centred, rest, mean, var) = match statistics {
        Some((mean, var)) => {
            let mean = mean.values().to_dtype(x.dtype())?;
            let var = var.values().to_dtype(x.dtype())?;
            (values_of_x, mean.clone(), mean, var)
        }
        None => {
            // The mean of the deviations is the rounding error of the first mean.
            let near = (sums(&values_of_x)? / values)?;
            let centred = affine(&values_of_x, &table(&[&near.ones_like()?, &near.neg()?])?)?;
            let rest = (sums(&centred)? / values)?;
            let var = ((sums(&centred.sqr()?)? / values)? - rest.sqr()?)?;
            (centred, rest.clone(), (near + rest)?, var.relu()?)
        }
    };
    let scale = (&var + eps)?.sqrt()?.recip()?;
    let factor = (weight.values() * &scale)?;
    let shift = (bias.values() - (&rest * &factor)?)?;
    let y = affine(&centred, &table(&[&factor, &shift])?)?;
    let y = tape::record(y, &[&x, &weight, &bias], || Back {
        centred,
        rest,
        scale,
        factor,
        values: statistics.is_none().then_some(values),
    });
    Ok((y, mean.into(), var.into()))
}

/// Returns the sum of each channel of `x` `(batch, channels, area)`: `(channels,)`.
fn sums(x: &Candle) -> Result<Candle> {
    let (batch, channels, area) = x.dims3()?;
    let ones = Candle::ones((area, 1), x.dtype(), x.device())?;
    let planes = x
        .contiguous()?
        .reshape((batch * channels, area))?
        .matmul(&ones)?;
    planes.reshape((batch, channels))?.sum(0)
}

fn table(rows: &[&Candle]) -> Result<Candle> {
    Candle::stack(rows, 0)
}

struct Back {
    /// `x` minus its mean, but for a rest; with given statistics, `x`.
    centred: Candle,
    rest: Candle,
    /// The reciprocals of the standard deviations.
    scale: Candle,
    factor: Candle,
    /// The values of a channel, through whose statistics gradients flow; `None` with given statistics.
    values: Option<f64>,
}

impl Backward for Back {
    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let gradient = upstream.gradient.values();
        let sum = sums(gradient)?;
        let products = (sums(&(gradient * &self.centred)?)? - (&self.rest * &sum)?)?;
        let of_x = || match self.values {
            None => affine(
                gradient,
                &table(&[&self.factor, &self.factor.zeros_like()?])?,
            ),
            Some(values) => {
                let slope = ((&self.factor * self.scale.sqr()?)? * (&products / -values)?)?;
                let shift = ((&self.factor * (&sum / -values)?)? - (&slope * &self.rest)?)?;
                combined(
                    gradient,
                    &self.centred,
                    &table(&[&self.factor, &slope, &shift])?,
                )
            }
        };
        let [x, weight, bias] = upstream.wanted;
        let of_x = x.then(of_x).transpose()?;
        let of_weight = weight.then(|| &products * &self.scale).transpose()?;
        let of_bias = bias.then(|| sum.clone());
        Ok([of_x, of_weight, of_bias].map(|gradient| gradient.map(Raw::from)))
    }
}
