//! Views: tensors that show elements of another one.

use crate::ops::engine::buffer::Buffer;
use crate::ops::engine::strided::in_order;
use crate::tensor::Raw;
use candle_core::{Result, Shape};
use std::cmp::Reverse;

/// What a view does with its input.
pub(crate) enum View {
    /// The same elements in another shape.
    Reshape,
    /// The same elements, with the dimensions in this order.
    Permute(Vec<usize>),
    /// Some elements along a dimension.
    Narrow { dim: usize, start: usize },
    /// Elements that are repeated.
    Broadcast,
}

impl View {
    /// Returns the gradient of the input, which has this shape.
    pub(super) fn backward(&self, gradient: &Raw, shape: &[usize]) -> Result<Raw> {
        match self {
            View::Reshape => gradient.reshape(shape),
            View::Permute(order) => {
                let mut inverse = vec![0; order.len()];
                for (i, dim) in order.iter().enumerate() {
                    inverse[*dim] = i;
                }
                gradient.permute(inverse)
            }
            View::Narrow { dim, start } => {
                let after = shape[*dim] - start - gradient.dim(*dim)?;
                gradient.pad_with_zeros(*dim, *start, after)
            }
            View::Broadcast => gradient.sum_to(shape),
        }
    }
}

/// Where the elements of a view, or of a view of a view, are in a tensor that is not a view.
///
/// A backward pass adds the gradient of the view there. Otherwise each view would need memory for the gradient of its
/// whole input.
pub(super) struct Place {
    pub(super) shape: Shape,
    /// The first element of the base in its memory, and of the view in the base.
    pub(super) base_start: usize,
    pub(super) start: usize,
    pub(super) dims: Vec<usize>,
    pub(super) strides: Vec<usize>,
}

impl Place {
    pub(super) fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the base's gradient from the view's, if the view shows each element once, in any order.
    pub(super) fn of_all(&self, gradient: &Raw) -> Result<Option<Raw>> {
        let count: usize = self.dims.iter().product();
        if count != self.shape.elem_count() || self.repeated().next().is_some() {
            return Ok(None);
        }
        if gradient.stride().iter().all(|stride| *stride == 0) {
            let one =
                (0..gradient.rank()).try_fold(gradient.clone(), |x, dim| x.narrow(dim, 0, 1))?;
            return one.reshape(())?.broadcast_as(&self.shape).map(Some);
        }
        let mut order: Vec<usize> = (0..self.dims.len()).collect();
        order.sort_by_key(|dim| Reverse(self.strides[*dim]));
        let sorted = gradient.permute(order)?;
        match sorted.shape() == &self.shape {
            true => Ok(Some(sorted)),
            false => in_order(&sorted)?.reshape(&self.shape).map(Some),
        }
    }

    /// Returns the dimensions along which the view shows the same elements again.
    fn repeated(&self) -> impl Iterator<Item = usize> {
        let again = |dim: &usize| self.dims[*dim] > 1 && self.strides[*dim] == 0;
        (0..self.dims.len()).filter(again)
    }

    /// Adds a gradient of the view to the base's gradient.
    pub(super) fn add_to(&self, sum: &mut Buffer, gradient: &Raw) -> Result<()> {
        let repeated: Vec<usize> = self.repeated().collect();
        match repeated.is_empty() {
            true => sum.add_at(gradient, self.start, &self.strides),
            false => {
                let sums = gradient.sum_along(&repeated)?;
                sum.add_at(&sums, self.start, &self.strides)
            }
        }
    }
}
