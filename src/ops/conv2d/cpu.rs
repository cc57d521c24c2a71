//! The convolution on the CPU, forward and backward.

use super::convolve::convolve;
use super::geometry::{Conv2dSpec, Geometry};
use super::weight_gradient::weight_gradient;
use crate::ops::engine::CpuView;
use crate::ops::engine::autograd::{Backward, record};
use crate::ops::engine::simd::Element;
use candle_core::{Result, Tensor};
use std::marker::PhantomData;

/// Returns the convolution of the inputs: `x`, the weight, and the bias if there is one.
pub(super) fn forward<T: Element>(inputs: &[&Tensor], spec: Conv2dSpec) -> Result<Tensor> {
    let (x, weight) = (inputs[0].contiguous()?, inputs[1].contiguous()?);
    let bias = inputs.get(2).map(|bias| bias.contiguous()).transpose()?;
    let geometry = Geometry::forward(&x, &weight, spec)?;
    let y = {
        let bias = bias.as_ref().map(CpuView::of).transpose()?;
        let bias = bias.as_ref().map(|bias| bias.as_slice::<T>()).transpose()?;
        let (x, weight) = (CpuView::of(&x)?, CpuView::of(&weight)?);
        convolve(&geometry, x.as_slice::<T>()?, weight.as_slice()?, bias)
    };
    let shape = (
        geometry.batch,
        geometry.groups * geometry.to.channels,
        geometry.to.height,
        geometry.to.width,
    );
    record(inputs, y, shape, || Back::<T> {
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
        let gradient = view.as_slice::<T>()?;
        let tensor = |values, like: &Tensor| Tensor::from_vec(values, like.shape(), like.device());
        let (mut of_weight, mut of_bias) = (None, None);
        if weight_wanted || bias_wanted {
            let x = CpuView::of(&self.x)?;
            let (weight, bias) = weight_gradient(&self.geometry, x.as_slice::<T>()?, gradient);
            of_weight = Some(tensor(weight, &self.weight)?);
            of_bias = Some(Tensor::from_vec(
                bias,
                self.weight.dim(0)?,
                self.x.device(),
            )?);
        }
        let mut of_x = None;
        if x_wanted {
            let weight = CpuView::of(&self.weight)?;
            let rotated = self.geometry.rotated(weight.as_slice::<T>()?);
            let values = convolve(&self.geometry.backward(), gradient, &rotated, None);
            of_x = Some(tensor(values, &self.x)?);
        }
        let of_weight = of_weight.filter(|_| weight_wanted);
        Ok([of_x, of_weight, of_bias.filter(|_| bias_wanted)])
    }
}
