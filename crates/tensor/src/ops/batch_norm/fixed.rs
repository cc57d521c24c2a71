//! A batch normalisation with given statistics, for the operation before it, which computes it in its own pass.

use super::scale_of;
use crate::ops::engine::Element;
use crate::tensor::Raw;
use candle_core::Result;

/// The parameters and the statistics, each `(channels,)`.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct RunningStats<'a> {
    pub weight: &'a Raw,
    pub bias: &'a Raw,
    pub mean: &'a Raw,
    pub var: &'a Raw,
    pub eps: f64,
}

impl<'a> RunningStats<'a> {
    pub(in crate::ops) fn tensors(&self) -> [&'a Raw; 4] {
        [self.weight, self.bias, self.mean, self.var]
    }

    /// Returns for each channel the values `near`, `factor` and `offset` of `(x - near) · factor + offset`.
    pub(in crate::ops) fn of_channels<T: Element>(&self) -> Result<Vec<[T; 3]>> {
        let [weight, bias, mean, var] = self.tensors().map(|values| values.to_vec1::<T>());
        let (bias, mean) = (bias?, mean?);
        let scale = scale_of(&var?, self.eps);
        let factors = weight?.into_iter().zip(scale).map(|(w, scale)| w * scale);
        let channels = factors.zip(mean.into_iter().zip(bias));
        Ok(channels
            .map(|(factor, (mean, bias))| [mean, factor, bias])
            .collect())
    }
}
