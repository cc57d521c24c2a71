//! The parts at some indices of a dimension.

use super::{check_range, check_type, positions};
use crate::error::refuse;
use crate::ops::check::{self, in_single, is_half};
use crate::ops::engine::autograd::{IndexedCopy, can_move};
use crate::tensor::{Axis, Raw, Tensor};
use candle_core::Result;

functions! {
    /// Returns the parts at these indices of a dimension, in their order.
    ///
    /// # Panics
    /// If the indices are not one row of integers, or one is out of range.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
    /// let y = x.index_select(&tensor(&[1, 1, 0]), 0); // (3, 2)
    /// assert_eq!(y.to_vec2::<f32>(), [[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]);
    /// ```
    pub fn index_select(x: &Tensor, indices: &Tensor, dim: impl Into<Axis>) =>
        selected(x.raw(), indices.raw(), dim.into());
}

/// Computes [`index_select`].
pub(in crate::ops) fn selected(x: &Raw, indices: &Raw, dim: Axis) -> Result<Raw> {
    // As in PyTorch, a scalar is a vector with one element.
    if x.rank() == 0 && indices.elem_count() == 1 {
        return selected(&x.unsqueeze(0)?, indices, dim)?.squeeze(0);
    }
    if indices.rank() == 0 {
        return selected(x, &indices.unsqueeze(0)?, dim);
    }
    let dim = dim.of(&"index_select", x)?;
    check_type("index_select", x, indices)?;
    refuse!(if indices.rank() != 1; shape("index_select", indices.dims());
        "indices with one dimension", "Flatten them: indices.flatten_all()");
    let mut shape = x.dims().to_vec();
    shape[dim] = indices.elem_count();
    check::output(&"index_select", &shape, x)?;
    if can_move(x) {
        return IndexedCopy::of_parts(positions(indices)?, x.dims(), dim)
            .take(x, || check_range("index_select", x, indices, dim));
    }
    if shape.contains(&0) {
        // Candle reads beyond the end of an empty tensor.
        return Raw::zeros(shape, x.dtype(), x.device());
    }
    x.contiguous()?.index_select(&indices.contiguous()?, dim)
}

/// Returns zeros of a shape to which parts are added at the indices of a dimension: what the backward pass of
/// [`index_select`] computes. The indices are in range.
pub(in crate::ops) fn added_parts(
    parts: &Raw,
    indices: &Raw,
    shape: &[usize],
    dim: usize,
) -> Result<Raw> {
    if can_move(parts) {
        return IndexedCopy::of_parts(positions(indices)?, shape, dim).add(parts);
    }
    if is_half(parts) {
        return in_single([parts], |[parts]| added_parts(&parts, indices, shape, dim));
    }
    let zeros = Raw::zeros(shape, parts.dtype(), parts.device())?;
    zeros.index_add(&indices.contiguous()?, &parts.contiguous()?, dim)
}
