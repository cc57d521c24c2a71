//! The fully connected layer.

use super::engine::autograd::{Backward, fits, record};
use super::engine::gemm::{Matrix, product};
use super::engine::simd::Element;
use super::engine::{Numbers, for_type_of};
use candle_core::{Result, Tensor};
use std::marker::PhantomData;

/// `x · weightᵀ + bias` over the last dimension of `x`; `None` where there is no kernel.
pub(crate) fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Option<Tensor>> {
    let inputs: Vec<&Tensor> = [Some(x), Some(weight), bias]
        .into_iter()
        .flatten()
        .collect();
    if !fits(&inputs) || x.elem_count() == 0 {
        return Ok(None);
    }
    for_type_of!(x, forward(&inputs)).map(Some)
}

fn forward<T: Element>(inputs: &[&Tensor]) -> Result<Tensor> {
    let (x, weight) = (inputs[0].contiguous()?, inputs[1].contiguous()?);
    let bias = inputs.get(2).map(|bias| bias.contiguous()).transpose()?;
    let (outs, ins) = weight.dims2()?;
    let rows = x.elem_count() / ins;
    let y = {
        let bias = bias.as_ref().map(Numbers::of).transpose()?;
        let bias = bias.as_ref().map(|bias| bias.slice::<T>()).transpose()?;
        let (x, weight) = (Numbers::of(&x)?, Numbers::of(&weight)?);
        let weight = Matrix::of_rows(weight.slice::<T>()?, ins).transposed();
        product(
            [rows, ins, outs],
            Matrix::of_rows(x.slice()?, ins),
            weight,
            bias,
        )
    };
    let mut shape = x.dims().to_vec();
    if let Some(last) = shape.last_mut() {
        *last = outs;
    }
    record(inputs, y, shape, || Back::<T> {
        x: x.detach(),
        weight: weight.detach(),
        element: PhantomData,
    })
}

struct Back<T> {
    x: Tensor,
    weight: Tensor,
    element: PhantomData<T>,
}

impl<T: Element> Backward for Back<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        [x_wanted, weight_wanted, bias_wanted]: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let (outs, ins) = self.weight.dims2()?;
        let rows = self.x.elem_count() / ins;
        let numbers = Numbers::of(gradient)?;
        let gradient = numbers.slice::<T>()?;
        let g = Matrix::of_rows(gradient, outs);
        let device = self.x.device();
        let mut gradients = [None, None, None];
        if x_wanted {
            let weight = Numbers::of(&self.weight)?;
            let weight = Matrix::of_rows(weight.slice()?, ins);
            let of_x = product([rows, outs, ins], g, weight, None);
            gradients[0] = Some(Tensor::from_vec(of_x, self.x.shape(), device)?);
        }
        if weight_wanted {
            let x = Numbers::of(&self.x)?;
            let x = Matrix::of_rows(x.slice()?, ins);
            let of_weight = product([outs, rows, ins], g.transposed(), x, None);
            gradients[1] = Some(Tensor::from_vec(of_weight, (outs, ins), device)?);
        }
        if bias_wanted {
            let mut sums = vec![T::ZERO; outs];
            for row in gradient.chunks_exact(outs) {
                sums.iter_mut().zip(row).for_each(|(sum, g)| *sum += *g);
            }
            gradients[2] = Some(Tensor::from_vec(sums, outs, device)?);
        }
        Ok(gradients)
    }
}
