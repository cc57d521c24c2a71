//! Views: tensors that show elements of another one.

use super::{Input, Key, Node, Rule, are_tracked};
use crate::ops::{Buffer, has_kernel, in_order, sum_over};
use crate::tensor::{Candle, Raw};
use candle_core::{Result, Shape};
use std::cmp::Reverse;
use std::sync::Arc;

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
    /// Returns a view of `x`, which has these values.
    pub(crate) fn of(self, x: &Raw, values: Candle) -> Raw {
        if values.id() == x.values().id() {
            return x.clone();
        }
        if !are_tracked(&[x]) {
            return values.into();
        }
        let place = Place::of(x, &values);
        let input = Input {
            node: x.node().cloned(),
            values: None,
        };
        let rule = Rule::View(self, place);
        Node::new(Key::new(), &values, vec![input], rule, None).into_tensor(values)
    }

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
    pub(super) base: Arc<Node>,
    shape: Shape,
    /// The first element of the base in its memory, and of the view in the base.
    base_start: usize,
    start: usize,
    dims: Vec<usize>,
    strides: Vec<usize>,
}

impl Place {
    /// Returns the place of a view of `x`, if the elements of the base follow each other in memory.
    fn of(x: &Raw, view: &Candle) -> Option<Self> {
        if !has_kernel(&[x]) {
            return None;
        }
        let node = x.node()?;
        let (base, shape, base_start) = match &node.rule {
            Rule::View(_, place) => {
                let place = place.as_ref()?;
                (place.base.clone(), place.shape.clone(), place.base_start)
            }
            _ => {
                let (start, _) = x.layout().contiguous_offsets()?;
                (node.clone(), x.shape().clone(), start)
            }
        };
        Some(Place {
            base,
            shape,
            base_start,
            start: view.layout().start_offset() - base_start,
            dims: view.dims().to_vec(),
            strides: view.stride().to_vec(),
        })
    }

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
                let sums = sum_over(gradient, &repeated, true, 1.0)?;
                sum.add_at(&sums, self.start, &self.strides)
            }
        }
    }
}
