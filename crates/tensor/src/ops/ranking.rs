//! Functions of sorted elements, and of how often they occur.

use super::check;
use crate::error::refuse;
use crate::tensor::{Axis, Raw, Tensor, moved};
use candle_core::{DType, Device, Result};
use std::cmp::Ordering;
use taper_compute::strided::in_order_of;
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns the `k` largest elements along a dimension, in descending order, and their indices, as `u32`.
        ///
        /// # Panics
        /// If the dimension has fewer than `k` elements.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (values, indices) = tensor(&[1.0, 4.0, 3.0]).topk(2, 0);
        /// assert_eq!(values.to_vec1::<f32>(), [4.0, 3.0]);
        /// assert_eq!(indices.to_vec1::<u32>(), [1, 2]);
        /// ```
        pub fn topk(&self, k: usize, dim: impl Into<Axis>) -> (Tensor, Tensor) = topk(self, k, dim.into());

        /// Returns the middle elements of the sorted elements along a dimension; of two in the middle the lower one, as in
        /// PyTorch. NaN if there is one.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]]); // (2, 3)
        /// assert_eq!(x.median(1).to_vec1::<f32>(), [2.0, 8.0]);
        /// ```
        ///
        /// # Panics
        /// If the dimension is empty.
        pub fn median(&self, dim: impl Into<Axis>) -> Tensor = median(self, dim.into());

        /// Returns the `q` quantile of the elements along a dimension, interpolated between the two nearest elements.
        /// NaN if there is one.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(arange(0.0, 5.0).quantile(0.25, 0).item(), 1.0);
        /// ```
        ///
        /// # Panics
        /// If `q` is not from 0 to 1, the dimension is empty, or the tensor has an integer type.
        pub fn quantile(&self, q: f64, dim: impl Into<Axis>) -> Tensor = quantile(self, q, dim.into());

        /// Returns the different elements in ascending order.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(tensor(&[3, 1, 3]).unique().to_vec1::<i64>(), [1, 3]);
        /// ```
        pub fn unique(&self) -> Tensor = unique(self).0;

        /// Returns the different elements in ascending order, for each element of the tensor its index among them, and how
        /// often each occurs. Both are `i64`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (values, indices, counts) = tensor(&[3, 1, 3]).unique_all();
        /// assert_eq!(values.to_vec1::<i64>(), [1, 3]);
        /// assert_eq!(indices.to_vec1::<i64>(), [1, 0, 1]);
        /// assert_eq!(counts.to_vec1::<i64>(), [1, 2]);
        /// ```
        pub fn unique_all(&self) -> (Tensor, Tensor, Tensor) = unique(self);

        /// Returns the different slices along a dimension, for each slice of the tensor its index among them, and how often
        /// each occurs, as [`unique_all`](Self::unique_all) does for elements. The slices are in ascending order of their
        /// first element, then of their second, and so on.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[[3, 1], [0, 5], [3, 1]]); // (3, 2)
        /// let (rows, indices, counts) = x.unique_along(0);
        /// assert_eq!(rows.to_vec2::<i64>(), [[0, 5], [3, 1]]);
        /// assert_eq!(indices.to_vec1::<i64>(), [1, 0, 1]);
        /// assert_eq!(counts.to_vec1::<i64>(), [1, 2]);
        /// ```
        pub fn unique_along(&self, dim: impl Into<Axis>) -> (Tensor, Tensor, Tensor) = unique_along(self, dim.into());

        /// Returns how often each integer from 0 on occurs, as `i64`: at least `min_length` counts, and as many as the
        /// largest integer needs. The weighted counts are `zeros(n).index_add(&x, &weights, 0)`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(tensor(&[2, 0, 2]).bincount(4).to_vec1::<i64>(), [1, 0, 2, 0]);
        /// ```
        ///
        /// # Panics
        /// If the tensor does not contain integers, or one is negative.
        pub fn bincount(&self, min_length: usize) -> Tensor = bincount(self, min_length);

        /// Returns the indices of the elements that are not 0, as `i64`: a row for each of them, with an index for each
        /// dimension.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(eye(2).nonzero().to_vec2::<i64>(), [[0, 0], [1, 1]]);
        /// ```
        pub fn nonzero(&self) -> Tensor = nonzero(self);
    }
}

#[raises]
fn topk(x: &Tensor, k: usize, dim: Axis) -> Result<(Tensor, Tensor)> {
    if x.rank() == 0 {
        let (values, indices) = topk(&x.reshape(1), k, dim);
        let shape = if k == 0 { vec![0] } else { vec![] };
        return Ok((values.reshape(&shape[..]), indices.reshape(&shape[..])));
    }
    let dim = dim.of(&"topk", x.raw())?;
    refuse!(if k > x.dims()[dim]; argument("topk", k);
        ("at most {}, the size of dimension {dim} of {:?}", x.dims()[dim], x.dims()),
        "Choose a smaller k");
    let indices = x.argsort(dim, true).narrow(dim, 0, k).contiguous();
    Ok((x.gather(&indices, dim), indices))
}

#[raises]
fn median(x: &Tensor, dim: Axis) -> Result<Tensor> {
    let (sorted, dim, last) = sorted_along("median", x, dim)?;
    let middle = sorted.narrow(dim, last / 2, 1).squeeze(dim);
    Ok(match x.dtype().is_float() {
        true => or_nan(x, dim, &middle),
        false => middle,
    })
}

#[raises]
fn quantile(x: &Tensor, q: f64, dim: Axis) -> Result<Tensor> {
    check::floating(&"quantile", x.raw())?;
    refuse!(if !(0.0..=1.0).contains(&q); argument("quantile", q);
        "a share from 0 to 1", "Pass 0.5 for the median");
    let (sorted, dim, last) = sorted_along("quantile", x, dim)?;
    let place = q * last as f64;
    let at = |place: f64| sorted.narrow(dim, place as usize, 1).squeeze(dim);
    let (low, high) = (at(place), at(place.ceil()));
    let between = match place.fract() {
        0.0 => low,
        // As lerp, exact at both ends.
        share if share < 0.5 => &low + (&high - &low) * share,
        share => &high - (&high - &low) * (1.0 - share),
    };
    Ok(or_nan(x, dim, &between))
}

/// Returns the elements sorted along a dimension, the dimension, and its last index.
fn sorted_along(caller: &str, x: &Tensor, dim: Axis) -> Result<(Tensor, usize, usize)> {
    let x = match x.rank() {
        0 => x.reshape(1),
        _ => x.clone(),
    };
    let dim = dim.of(&caller, x.raw())?;
    match x.dims()[dim].checked_sub(1) {
        Some(last) => Ok((x.sort(dim, false).0, dim, last)),
        None => refuse!(shape(caller, x.dims());
            "at least one element along dimension {dim}",
            "Pass elements, or choose another dimension"),
    }
}

/// Returns the values, with NaN where a line of `x` along a dimension contains NaN.
fn or_nan(x: &Tensor, dim: usize, values: &Tensor) -> Tensor {
    let nan = x.detach().isnan();
    let nan = match nan.rank() {
        0 => nan,
        _ => nan.max(dim),
    };
    nan.where_cond(f64::NAN, values)
}

#[raises]
fn unique(x: &Tensor) -> Result<(Tensor, Tensor, Tensor)> {
    let flat = x.detach().flatten_all();
    let count = flat.elem_count();
    if count == 0 {
        let none = flat.to_dtype(DType::I64);
        return Ok((flat, none.reshape(x.shape()), none));
    }
    let (sorted, order) = flat.sort(0, false);
    // The first of equal elements is the one that differs from the element before it.
    let differs = sorted
        .narrow(0, 1, count - 1)
        .ne(sorted.narrow(0, 0, count - 1));
    let one = on_device(Raw::ones(1, DType::U8, &Device::Cpu)?, x)?;
    let first = Tensor::cat(&[one, differs], 0);
    let ranks = first.cumsum(0) - 1;
    let starts = first.nonzero().squeeze(1);
    let indices = ranks
        .zeros_like()
        .scatter(&order.to_dtype(DType::I64), &ranks, 0);
    let counts = indices.bincount(starts.elem_count());
    Ok((
        sorted.index_select(&starts, 0),
        indices.reshape(x.shape()),
        counts,
    ))
}

#[raises]
fn unique_along(x: &Tensor, dim: Axis) -> Result<(Tensor, Tensor, Tensor)> {
    let dim = dim.of(&"unique_along", x.raw())?;
    let (x, count) = (x.detach(), x.dims()[dim]);
    let rows = x.movedim(dim, 0);
    let [first, indices, counts] = match x.dtype().is_int() {
        true => grouped(&rows.to_dtype(DType::I64).to_vec::<i64>(), count),
        false => grouped(&rows.to_dtype(DType::F64).to_vec::<f64>(), count),
    };
    let of = |values: Vec<i64>| {
        let length = values.len();
        on_device(Raw::from_vec(values, length, &Device::Cpu)?, &x)
    };
    Ok((x.index_select(&of(first)?, dim), of(indices)?, of(counts)?))
}

/// Groups equal rows: returns the index of a row of each group in ascending order, the group of each row, and the sizes of
/// the groups. As for single elements, NaN is the largest value and equal to none.
fn grouped<N: PartialOrd>(values: &[N], count: usize) -> [Vec<i64>; 3] {
    let width = values.len().checked_div(count).unwrap_or(0);
    let row = |i: usize| &values[i * width..][..width];
    let is_nan = |x: &N| x.partial_cmp(x).is_none();
    let compare = |a: &N, b: &N| a.partial_cmp(b).unwrap_or(is_nan(a).cmp(&is_nan(b)));
    let compare = |a: &usize, b: &usize| {
        let mut pairs = row(*a).iter().zip(row(*b));
        pairs.find_map(|(a, b)| Some(compare(a, b)).filter(|order| order.is_ne()))
    };
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|a, b| compare(a, b).unwrap_or(Ordering::Equal));
    let (mut first, mut indices, mut counts) = (vec![], vec![0; count], vec![]);
    let mut before = None;
    for i in order {
        if before.is_none_or(|before| row(before) != row(i)) {
            first.push(i as i64);
            counts.push(0);
        }
        before = Some(i);
        indices[i] = first.len() as i64 - 1;
        counts[first.len() - 1] += 1;
    }
    [first, indices, counts]
}

#[raises]
fn bincount(x: &Tensor, min_length: usize) -> Result<Tensor> {
    refuse!(if !x.dtype().is_int(); dtype("bincount", x.dtype());
        "integers", "Convert them: x.to_dtype(DType::I64)");
    check::output(&"bincount", &[min_length, 8], x.raw())?;
    let values = x.to_dtype(DType::I64).to_vec::<i64>();
    let mut counts = vec![0i64; min_length];
    for value in values {
        let Ok(value) = usize::try_from(value) else {
            refuse!(argument("bincount", value);
                "integers of at least 0", "Count other values with x.unique_all()");
        };
        if value >= counts.len() {
            check::output(&"bincount", &[value.saturating_add(1), 8], x.raw())?;
            counts.resize(value + 1, 0);
        }
        counts[value] += 1;
    }
    let length = counts.len();
    on_device(Raw::from_vec(counts, length, &Device::Cpu)?, x)
}

#[raises]
fn nonzero(x: &Tensor) -> Result<Tensor> {
    let flags = x.detach().ne(0).to_vec::<u8>();
    let strides = in_order_of(x.dims());
    let mut indices = vec![];
    for (i, _) in flags.iter().enumerate().filter(|(_, flag)| **flag != 0) {
        let index = |(stride, size): (&usize, &usize)| (i / stride % size) as i64;
        indices.extend(strides.iter().zip(x.dims()).map(index));
    }
    let count = flags.iter().filter(|flag| **flag != 0).count();
    on_device(Raw::from_vec(indices, (count, x.rank()), &Device::Cpu)?, x)
}

/// Returns values of the CPU on the device of `x`.
fn on_device(values: Raw, x: &Tensor) -> Result<Tensor> {
    moved(&values, x.device()).map(Tensor::from_raw)
}

#[cfg(test)]
mod tests {
    use crate::tensor::{tensor, zeros};

    #[test]
    fn slices_are_grouped_along_any_dimension() {
        let x = tensor(&[[2.0, f32::NAN, 1.0, 2.0], [7.0, 0.0, 9.0, 7.0]]); // (2, 4)
        let (columns, indices, counts) = x.unique_along(-1);
        assert_eq!(columns.i(1).to_vec1::<f32>(), [9.0, 7.0, 0.0]);
        assert_eq!(indices.to_vec1::<i64>(), [1, 2, 0, 1]);
        assert_eq!(counts.to_vec1::<i64>(), [1, 2, 1]);
        // NaN is not equal to itself.
        assert_eq!(tensor(&[f32::NAN, f32::NAN]).unique_along(0).0.dims(), [2]);
        let (none, indices, counts) = zeros((2, 0, 3)).unique_along(1);
        assert_eq!(none.dims(), [2, 0, 3]);
        assert_eq!((indices.dims(), counts.dims()), (&[0][..], &[0][..]));
    }
}
