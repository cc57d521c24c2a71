//! Parts of a tensor.

use super::{index, sort};
use crate::error::{OrRaise, refuse};
use crate::ops;
use crate::ops::engine::autograd::recorded_linear;
use crate::ops::pad::with_number;
use crate::tensor::{Axes, Axis, Indices, Number, Operand, Raw, Shifts, Tensor};
use candle_core::{DType, Result};
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns a part of the tensor: for each dimension, from the first on, an index, a range, a tensor of
        /// indices, or a mask, a tensor of `u8`. Negative indices count from the end. An index removes its dimension.
        ///
        /// Several tensors of indices belong together, as in NumPy: `x.i((&rows, &columns))` has an element for each
        /// pair. [`Ellipsis`](crate::tensor::Ellipsis) is for all dimensions that other indices leave, and
        /// [`NewAxis`](crate::tensor::NewAxis) adds one.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = arange(0, 12).reshape((3, 4)); // (3, 4)
        /// assert_eq!(x.i(1).to_vec1::<i64>(), [4, 5, 6, 7]);
        /// assert_eq!(x.i((.., -1)).to_vec1::<i64>(), [3, 7, 11]);
        /// assert_eq!(x.i((1.., ..2)).to_vec2::<i64>(), [[4, 5], [8, 9]]);
        /// assert_eq!(x.i((&tensor(&[0, 2]), &tensor(&[1, -1]))).to_vec1::<i64>(), [1, 11]);
        /// assert_eq!(x.i(&x.gt(8)).to_vec1::<i64>(), [9, 10, 11]);
        /// ```
        pub fn i(&self, index: impl Indices) -> Tensor = index::select(self, index.indices());

        /// Returns the tensor with values in place of the part that [`i`](Self::i) returns for the indices: PyTorch's
        /// `x[index] = values`. The values are a number, or a tensor that is broadcast to the shape of the part.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = zeros((2, 2)); // (2, 2)
        /// assert_eq!(x.index_put((.., 1), 5.0).to_vec2::<f32>(), [[0.0, 5.0], [0.0, 5.0]]);
        /// assert_eq!(x.index_put(&eye(2).gt(0.0), &tensor(&[1.0, 2.0])).to_vec2::<f32>(), [[1.0, 0.0], [0.0, 2.0]]);
        /// ```
        pub fn index_put(&self, index: impl Indices, values: impl Into<Operand>) -> Tensor
            = index::put(self, index.indices(), values.into());

        /// Returns a view of the tensor at one index of the first dimension.
        pub fn get(&self, index: usize) -> Tensor = self.i(index);

        /// Returns a view of `len` indices of a dimension, from `start` on.
        pub fn narrow(&self, dim: impl Into<Axis>, start: usize, len: usize) -> Tensor = {
            let dim = dim.into().of(&"narrow", self.raw()).or_raise();
            index::narrowed(self.raw(), dim, start, len)
                .or_raise()
                .into()
        };
        /// Returns the parts at these indices of a dimension, in their order.
        pub fn index_select(&self, indices: &Tensor, dim: impl Into<Axis>) -> Tensor
            = ops::index_select(self, indices, dim);

        /// Returns for each index in `indices` the element at that index of a dimension. All other indices are
        /// those of the place in `indices`.
        pub fn gather(&self, indices: &Tensor, dim: impl Into<Axis>) -> Tensor = ops::gather(self, indices, dim);

        /// Returns the elements in reverse order along dimensions.
        pub fn flip(&self, dims: impl Into<Axes>) -> Tensor = ops::flip(self, dims);
        /// Returns the tensor with zeros added before and after along a dimension.
        pub fn pad_with_zeros(&self, dim: impl Into<Axis>, before: usize, after: usize) -> Tensor =
            self.padded(dim.into(), before, after);

        /// Returns the elements moved by `shift` indices along a dimension, or by several along several; those that leave
        /// at one end enter at the other.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(arange(0, 4).roll(1, 0).to_vec1::<i64>(), [3, 0, 1, 2]);
        /// let x = arange(0, 4).reshape((2, 2)); // (2, 2)
        /// assert_eq!(x.roll((1, -1), (0, 1)).to_vec2::<i64>(), [[3, 2], [1, 0]]);
        /// ```
        ///
        /// # Panics
        /// If there are not as many shifts as dimensions.
        pub fn roll(&self, shifts: impl Into<Shifts>, dims: impl Into<Axes>) -> Tensor
            = rolled(self, &shifts.into(), &dims.into());

        /// Returns the indices, as `u32`, that sort the elements along a dimension.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[2.0, 3.0, 1.0]); // (3,)
        /// assert_eq!(x.argsort(0, false).to_vec1::<u32>(), [2, 0, 1]);
        /// ```
        pub fn argsort(&self, dim: impl Into<Axis>, descending: bool) -> Tensor = self.order(dim.into(), descending);

        /// Returns the elements sorted along a dimension, and their indices before, as `u32`. NaN counts as larger than all
        /// other values.
        pub fn sort(&self, dim: impl Into<Axis>, descending: bool) -> (Tensor, Tensor) =
            self.sorted(dim.into(), descending);
    }

    #[track_caller]
    fn padded(&self, dim: Axis, before: usize, after: usize) -> Tensor {
        let dim = dim.of(&"pad_with_zeros", self.raw()).or_raise();
        let zero = Number::Int(0);
        with_number(&"pad_with_zeros", self, dim, [before, after], zero).or_raise()
    }

    #[track_caller]
    fn order(&self, dim: Axis, descending: bool) -> Tensor {
        if self.rank() == 0 {
            return self.unsqueeze(0).order(dim, descending).squeeze(0);
        }
        let dim = dim.of(&"argsort", self.raw()).or_raise();
        if self.elem_count() == 0 {
            return self.detach().to_dtype(DType::U32);
        }
        let rows = self.detach().transpose(dim, -1).contiguous();
        let order = sort::order_of_rows(rows.raw(), descending).or_raise();
        Tensor::from_raw(order).transpose(dim, -1).contiguous()
    }

    #[track_caller]
    fn sorted(&self, dim: Axis, descending: bool) -> (Tensor, Tensor) {
        let order = self.order(dim, descending);
        (self.gather(&order, dim), order)
    }
}
#[raises]
fn rolled(x: &Tensor, shifts: &Shifts, dims: &Axes) -> Result<Tensor> {
    let dims = dims.in_order_of(&"roll", x.raw())?;
    refuse!(if dims.len() != shifts.of_each().len();
        argument("roll", format_args!("{:?}", shifts.of_each()));
        ("a shift for each of the {} dimensions", dims.len()),
        "Pass as many: x.roll((1, 2), (0, 1))");
    let places = |(shift, dim): (&i64, usize)| match x.dims()[dim] {
        0 => (dim, 0),
        size => (dim, shift.rem_euclid(size as i64) as usize),
    };
    let shifts = shifts.of_each().iter().zip(dims).map(places);
    shifted(x.raw(), shifts.collect()).map(Tensor::from_raw)
}

/// Moves the elements by as many indices along each dimension.
fn shifted(x: &Raw, shifts: Vec<(usize, usize)>) -> Result<Raw> {
    let (mut y, mut back) = (x.detach(), vec![]);
    for (dim, shift) in shifts {
        let left = y.dims()[dim] - shift;
        let parts = [y.narrow(dim, left, shift)?, y.narrow(dim, 0, left)?];
        y = ops::cat_as(&"roll", &parts.each_ref(), dim.into())?;
        back.push((dim, if shift == 0 { 0 } else { left }));
    }
    Ok(recorded_linear(x, y, || {
        move |g: &Raw| shifted(g, back.clone())
    }))
}
