//! Dimensions in another order, and tensors divided or repeated.

use crate::error::refuse;
use crate::ops::check;
use crate::tensor::{Axes, Axis, Tensor};
use candle_core::{Result, Shape};
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns the parts of `size` indices of a dimension; the last one may be smaller.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let parts = arange(0, 5).split(2, 0);
        /// assert_eq!(parts[2].to_vec1::<i64>(), [4]);
        /// ```
        ///
        /// # Panics
        /// If `size` is 0, and the dimension is not empty.
        pub fn split(&self, size: usize, dim: impl Into<Axis>) -> Vec<Tensor> = split(self, size, dim.into());

        /// Returns the parts of a dimension that have these sizes.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let parts = arange(0, 5).split_into(&[4, 1], 0);
        /// assert_eq!(parts[1].to_vec1::<i64>(), [4]);
        /// ```
        ///
        /// # Panics
        /// If the sizes do not add up to the size of the dimension.
        pub fn split_into(&self, sizes: &[usize], dim: impl Into<Axis>) -> Vec<Tensor> = parts("split_into", self, sizes, dim.into());

        /// Returns the part at each index of a dimension, without it.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let columns = tensor(&[[1, 2], [3, 4]]).unbind(1);
        /// assert_eq!(columns[1].to_vec1::<i64>(), [2, 4]);
        /// ```
        pub fn unbind(&self, dim: impl Into<Axis>) -> Vec<Tensor> = unbound(self, dim.into());

        /// Returns a view in which some dimensions have other places, and the rest keep their order.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(zeros((2, 3, 4)).movedim(0, -1).dims(), [3, 4, 2]);
        /// ```
        ///
        /// # Panics
        /// If `from` and `to` do not have the same number of dimensions.
        pub fn movedim(&self, from: impl Into<Axes>, to: impl Into<Axes>) -> Tensor
            = with_dims_at(self, &from.into(), &to.into());

        /// Returns the tensor repeated this many times along each dimension, as [`repeat`](Self::repeat) does, or along the
        /// last ones if `times` is shorter.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(zeros((2, 3)).tile(2).dims(), [2, 6]);
        /// ```
        pub fn tile(&self, times: impl Into<Shape>) -> Tensor = tiled(self, &times.into());

        /// Returns the tensor in which each part along a dimension follows itself `times` times.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(tensor(&[1, 2]).repeat_interleave(2, 0).to_vec1::<i64>(), [1, 1, 2, 2]);
        /// ```
        pub fn repeat_interleave(&self, times: usize, dim: impl Into<Axis>) -> Tensor
            = interleaved(self, times, dim.into());
    }

    /// Returns parts of equal size along a dimension, as many as the pattern has: PyTorch's
    /// `q, k, v = x.chunk(3, dim=-1)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let [q, k, v] = zeros((2, 12)).chunks(-1); // (2, 4) each
    /// assert_eq!((q.dims(), v.dims()), (k.dims(), &[2, 4][..]));
    /// ```
    ///
    /// # Panics
    /// If the size of the dimension cannot be divided by the number of parts.
    #[inline]
    #[track_caller]
    pub fn chunks<const N: usize>(&self, dim: impl Into<Axis>) -> [Tensor; N] {
        as_array(equal_parts(self, N, dim.into()))
    }

    /// Returns the parts of a dimension that have these sizes, for a pattern.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let [first, rest] = arange(0, 5).parts([1, 4], 0);
    /// assert_eq!((first.item(), rest.dims()), (0.0, &[4][..]));
    /// ```
    ///
    /// # Panics
    /// If the sizes do not add up to the size of the dimension.
    #[inline]
    #[track_caller]
    pub fn parts<const N: usize>(&self, sizes: [usize; N], dim: impl Into<Axis>) -> [Tensor; N] {
        as_array(parts("parts", self, &sizes, dim.into()))
    }
}

fn as_array<const N: usize>(parts: Vec<Tensor>) -> [Tensor; N] {
    match parts.try_into() {
        Ok(parts) => parts,
        Err(_) => unreachable!("as many parts as were asked for"),
    }
}

#[raises]
fn equal_parts(x: &Tensor, count: usize, dim: Axis) -> Result<Vec<Tensor>> {
    let dim = dim.of(&"chunks", x.raw())?;
    let size = x.dims()[dim];
    refuse!(if count == 0 || !size.is_multiple_of(count); argument("chunks", count);
        "a number of parts that divides {size}, the size of dimension {dim}",
        "For parts of other sizes: x.parts([3, 4], dim), x.chunk(2, dim)");
    let part = |i: usize| x.narrow(dim, i * (size / count), size / count);
    Ok((0..count).map(part).collect())
}

#[raises]
fn split(x: &Tensor, size: usize, dim: Axis) -> Result<Vec<Tensor>> {
    let dim = dim.of(&"split", x.raw())?;
    let whole = x.dims()[dim];
    if whole == 0 {
        return Ok(vec![x.clone()]);
    }
    check::positive(&"split", &[("size", size)])?;
    let starts = (0..whole).step_by(size);
    Ok(starts
        .map(|start| x.narrow(dim, start, size.min(whole - start)))
        .collect())
}

#[raises]
fn parts(caller: &str, x: &Tensor, sizes: &[usize], dim: Axis) -> Result<Vec<Tensor>> {
    let dim = dim.of(&caller, x.raw())?;
    let whole = x.dims()[dim];
    let sum = sizes
        .iter()
        .try_fold(0usize, |sum, size| sum.checked_add(*size));
    refuse!(if sum != Some(whole); argument(caller, format_args!("{sizes:?}"));
        "sizes that add up to {whole}, the size of dimension {dim}",
        "For parts of equal size: x.split(size, dim)");
    let mut start = 0;
    let part = |size: &usize| {
        start += size;
        x.narrow(dim, start - size, *size)
    };
    Ok(sizes.iter().map(part).collect())
}

#[raises]
fn unbound(x: &Tensor, dim: Axis) -> Result<Vec<Tensor>> {
    let dim = dim.of(&"unbind", x.raw())?;
    let part = |i| x.narrow(dim, i, 1).squeeze(dim);
    Ok((0..x.dims()[dim]).map(part).collect())
}

#[raises]
fn with_dims_at(x: &Tensor, from: &Axes, to: &Axes) -> Result<Tensor> {
    if x.rank() == 0 {
        return Ok(x.clone());
    }
    let from = from.in_order_of(&"movedim", x.raw())?;
    let to = to.in_order_of(&"movedim", x.raw())?;
    refuse!(if from.len() != to.len(); argument("movedim", to.len());
        ("a place for each of {} dimensions", from.len()),
        "Pass as many places as dimensions: x.movedim((0, 1), (2, 3))");
    let mut rest = (0..x.rank()).filter(|dim| !from.contains(dim));
    let dim_at = |place: usize| match to.iter().position(|other| *other == place) {
        Some(i) => Some(from[i]),
        None => rest.next(),
    };
    let order: Vec<usize> = (0..x.rank()).filter_map(dim_at).collect();
    Ok(x.permute(order))
}

#[raises]
fn tiled(x: &Tensor, times: &Shape) -> Result<Tensor> {
    let missing = x.rank().saturating_sub(times.rank());
    Ok(x.repeat([&vec![1; missing], times.dims()].concat()))
}

#[raises]
fn interleaved(x: &Tensor, times: usize, dim: Axis) -> Result<Tensor> {
    let x = if x.rank() == 0 {
        x.reshape(1)
    } else {
        x.clone()
    };
    let dim = dim.of(&"repeat_interleave", x.raw())?;
    let mut shape = x.dims().to_vec();
    shape[dim] = shape[dim].saturating_mul(times);
    check::output(&"repeat_interleave", &shape, x.raw())?;
    let mut repeated = x.dims().to_vec();
    repeated.insert(dim + 1, times);
    Ok(x.unsqueeze(dim + 1).broadcast_as(repeated).reshape(shape))
}
