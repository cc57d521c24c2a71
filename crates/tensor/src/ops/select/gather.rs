//! An element of a dimension for each index.

use super::{check_range, check_type, places};
use crate::error::refuse;
use crate::ops::check::{in_single, is_half};
use crate::ops::engine::autograd::can_move;
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::Result;

functions! {
    /// Returns for each index in `indices` the element at that index of a dimension. All other indices are those
    /// of the place in `indices`.
    ///
    /// # Panics
    /// If `indices` is larger than `x` in another dimension, or an index is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
    /// let y = x.gather(&tensor(&[[1], [0]]), 1); // (2, 1)
    /// assert_eq!(y.to_vec2::<f32>(), [[2.0], [3.0]]);
    /// ```
    pub fn gather(x: &Tensor, indices: &Tensor, dim: impl Into<Axis>) => gathered(x.raw(), indices.raw(), dim.into());
}

fn gathered(x: &Raw, indices: &Raw, dim: Axis) -> Result<Raw> {
    // As in PyTorch, a scalar is a vector with one element.
    if indices.rank() == 0 && x.rank() < 2 {
        return gathered(x, &indices.unsqueeze(0)?, dim)?.squeeze(0);
    }
    if x.rank() == 0 {
        return gathered(&x.unsqueeze(0)?, indices, dim);
    }
    let dim = dim.of(&"gather", x)?;
    check_type("gather", x, indices)?;
    let fits = |(i, (size, count)): (usize, (&usize, &usize))| i == dim || count <= size;
    let mut sizes = x.dims().iter().zip(indices.dims()).enumerate();
    refuse!(if x.rank() != indices.rank() || !sizes.all(fits); shape("gather", indices.dims());
        ("indices of a shape within {:?}, except along dimension {dim}", x.dims()),
        "Add dimensions with unsqueeze(dim), or repeat them with broadcast_as(shape)");
    if !can_move(x) {
        return x.contiguous()?.gather(&indices.contiguous()?, dim);
    }
    places(indices, x.dims(), dim)?.take(x, || check_range("gather", x, indices, dim))
}

/// Returns zeros of a shape to which values are added at the indices of a dimension: what the backward pass of
/// [`gather`] computes. The indices are in range.
pub(super) fn added(values: &Raw, indices: &Raw, shape: &[usize], dim: usize) -> Result<Raw> {
    if can_move(values) {
        return places(indices, shape, dim)?.add(values);
    }
    if is_half(values) {
        return in_single([values], |[values]| added(&values, indices, shape, dim));
    }
    // Candle needs values for all indices of the other dimensions.
    let (mut values, mut indices) = (values.clone(), indices.clone());
    for other in (0..shape.len()).filter(|other| *other != dim) {
        let missing = shape[other] - values.dims()[other];
        values = values.pad_with_zeros(other, 0, missing)?;
        indices = indices.pad_with_zeros(other, 0, missing)?;
    }
    let zeros = Raw::zeros(shape, values.dtype(), values.device())?;
    zeros.scatter_add(&indices.contiguous()?, &values.contiguous()?, dim)
}
