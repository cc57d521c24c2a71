//! Elements written or added at indices.

use super::gather::added;
use super::index::added_parts;
use super::{check_range, check_type, positions};
use crate::error::refuse;
use crate::ops::engine::CpuView;
use crate::tensor::{Axis, Number, Operand, Raw, Tensor, moved};
use candle_core::{Device, Result};
use taper_compute::strided::in_order_of;
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns the tensor with `values` written at the indices of a dimension; in the other dimensions, a value has
        /// the position of its index. `values` is a number, or a tensor at least as large as `indices`. If two indices
        /// are equal, the last value stays.
        ///
        /// # Panics
        /// If `indices` is larger than the tensor in another dimension, or an index is out of range.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = zeros((2, 3)); // (2, 3)
        /// let y = x.scatter(&tensor(&[[2], [0]]), 1.0, 1); // (2, 3)
        /// assert_eq!(y.to_vec2::<f32>(), [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]);
        /// ```
        pub fn scatter(&self, indices: &Tensor, values: impl Into<Operand>, dim: impl Into<Axis>) -> Tensor
            = scatter(self, indices, values.into(), dim.into());

        /// Returns the tensor with `values` added at the indices of a dimension; in the other dimensions, a value has
        /// the position of its index.
        ///
        /// # Panics
        /// As [`scatter`](Self::scatter).
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let counts = zeros(3).scatter_add(&tensor(&[2, 0, 2]), &ones(3), 0); // (3,)
        /// assert_eq!(counts.to_vec1::<f32>(), [1.0, 0.0, 2.0]);
        /// ```
        pub fn scatter_add(&self, indices: &Tensor, values: &Tensor, dim: impl Into<Axis>) -> Tensor
            = scatter_add(self, indices, values, dim.into());

        /// Returns the tensor with the parts of `values` along a dimension added at these indices of it.
        ///
        /// # Panics
        /// If the indices are not one row of integers, one is out of range, or `values` has another shape than
        /// `index_select` would return.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = zeros((2, 2)).index_add(&tensor(&[1, 1]), &ones((2, 2)), 0); // (2, 2)
        /// assert_eq!(x.to_vec2::<f32>(), [[0.0, 0.0], [2.0, 2.0]]);
        /// ```
        pub fn index_add(&self, indices: &Tensor, values: &Tensor, dim: impl Into<Axis>) -> Tensor
            = index_add(self, indices, values, dim.into());
    }
}

#[raises]
fn scatter(x: &Tensor, indices: &Tensor, values: Operand, dim: Axis) -> Result<Tensor> {
    let values = match values {
        Operand::Number(_) => written("scatter", x, values)?.broadcast_as(indices.shape()),
        values => written("scatter", x, values)?,
    };
    if x.rank() == 0 {
        let vector = |x: &Tensor| x.reshape(x.elem_count());
        return Ok(scatter(&vector(x), &vector(indices), vector(&values).into(), dim).reshape(()));
    }
    let (values, dim) = fitting("scatter", x, indices, &values, dim)?;
    check_range("scatter", x.raw(), indices.raw(), dim)?;
    let places = moved(&positions(indices.raw())?, &Device::Cpu)?;
    let places = CpuView::of(&places)?;
    let places = places_of(x.dims(), indices.dims(), places.as_slice()?, dim);
    replaced(x, &places, &values)
}

#[raises]
fn scatter_add(x: &Tensor, indices: &Tensor, values: &Tensor, dim: Axis) -> Result<Tensor> {
    if x.rank() == 0 {
        let vector = |x: &Tensor| x.reshape(x.elem_count());
        return Ok(scatter_add(&vector(x), &vector(indices), &vector(values), dim).reshape(()));
    }
    let (values, dim) = fitting("scatter_add", x, indices, values, dim)?;
    check_range("scatter_add", x.raw(), indices.raw(), dim)?;
    if indices.elem_count() == 0 {
        return Ok(x.clone());
    }
    let sums = added(values.raw(), indices.raw(), x.dims(), dim)?;
    Ok(x + Tensor::from_raw(sums))
}

#[raises]
fn index_add(x: &Tensor, indices: &Tensor, values: &Tensor, dim: Axis) -> Result<Tensor> {
    if x.rank() == 0 {
        let vector = |x: &Tensor| x.reshape(x.elem_count());
        return Ok(index_add(&vector(x), indices, &vector(values), dim).reshape(()));
    }
    let dim = dim.of(&"index_add", x.raw())?;
    let indices = indices.flatten_all();
    check_type("index_add", x.raw(), indices.raw())?;
    check_range("index_add", x.raw(), indices.raw(), dim)?;
    let mut shape = x.dims().to_vec();
    shape[dim] = indices.elem_count();
    refuse!(if values.dims() != shape; shape("index_add", values.dims());
        "values of shape {shape:?}", "Pass one part for each index");
    if values.elem_count() == 0 {
        return Ok(x.clone());
    }
    let values = written("index_add", x, values.into())?;
    let sums = added_parts(values.raw(), indices.raw(), x.dims(), dim)?;
    Ok(x + Tensor::from_raw(sums))
}

/// Checks indices and values, and returns as many of the values as there are indices.
fn fitting(
    caller: &str,
    x: &Tensor,
    indices: &Tensor,
    values: &Tensor,
    dim: Axis,
) -> Result<(Tensor, usize)> {
    let dim = dim.of(&caller, x.raw())?;
    check_type(caller, x.raw(), indices.raw())?;
    let within = |sizes: &[usize], but: Option<usize>| {
        let mut pairs = indices.dims().iter().zip(sizes).enumerate();
        sizes.len() == indices.rank()
            && pairs.all(|(i, (count, size))| Some(i) == but || count <= size)
    };
    refuse!(if indices.elem_count() > 0 && !within(x.dims(), Some(dim));
        shape(caller, indices.dims());
        ("indices of a shape within {:?}, except along dimension {dim}", x.dims()),
        "Add dimensions with unsqueeze(dim), or repeat them with broadcast_as(shape)");
    refuse!(if indices.elem_count() > 0 && !within(values.dims(), None);
        shape(caller, values.dims());
        ("values for indices of shape {:?}", indices.dims()),
        "Pass at least one value for each index");
    let mut values = written(caller, x, values.into())?;
    if indices.elem_count() > 0 {
        for (i, count) in indices.dims().iter().enumerate() {
            values = values.narrow(i, 0, *count);
        }
    }
    Ok((values, dim))
}

/// Returns values as a tensor of the type of `x`, in which they are written. They are not converted, because that could
/// lose digits.
pub(in crate::ops) fn written(caller: &str, x: &Tensor, values: Operand) -> Result<Tensor> {
    let own = x.dtype();
    let (values, fits) = match values {
        Operand::Tensor(values) => {
            let fits = values.dtype() == own;
            (values, fits)
        }
        Operand::Number(Number::Int(value)) => (Raw::full(value, (), x.device())?.into(), true),
        Operand::Number(Number::Float(value)) => {
            (Raw::full(value, (), x.device())?.into(), own.is_float())
        }
    };
    refuse!(if !fits; dtype(caller, values.dtype());
        ("values of the tensor's type, {}", own.as_str()),
        "Convert them: values.to_dtype(DType::{own:?})");
    Ok(values.to_dtype(own))
}

/// Returns for each index in a dimension the place of its element in the memory of a contiguous tensor.
fn places_of(shape: &[usize], count: &[usize], indices: &[i64], dim: usize) -> Vec<usize> {
    let strides = in_order_of(shape);
    let counts = in_order_of(count);
    let place = |(i, index): (usize, &i64)| {
        let others = (0..shape.len()).filter(|other| *other != dim);
        let others = others.map(|other| i / counts[other] % count[other] * strides[other]);
        others.sum::<usize>() + *index as usize * strides[dim]
    };
    indices.iter().enumerate().map(place).collect()
}

/// Returns a tensor in which each value is written at its place in the order of the elements. The last value for a place
/// stays.
pub(in crate::ops) fn replaced(x: &Tensor, places: &[usize], values: &Tensor) -> Result<Tensor> {
    if places.is_empty() {
        return Ok(x.clone());
    }
    let mut origins = vec![-1; x.elem_count()];
    for (origin, place) in (0i64..).zip(places) {
        origins[*place] = origin;
    }
    let origins = moved(
        &Raw::from_vec(origins, x.elem_count(), &Device::Cpu)?,
        x.device(),
    )?;
    let origins = Tensor::from_raw(origins);
    let written = values.flatten_all().index_select(&origins.maximum(0), 0);
    let is_written = origins.ge(0).reshape(x.shape());
    Ok(is_written.where_cond(written.reshape(x.shape()), x))
}
