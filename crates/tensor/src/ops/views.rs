//! Views: other shapes of a tensor, and parts of it, which share its memory.

use super::contiguous::contiguous_raw;
use super::tape::{View, view_of};
use crate::tensor::{Candle, Raw};
use candle_core::shape::{Dim, Dims, ShapeWithOneHole};
use candle_core::{Result, Shape};

#[doc(hidden)]
impl Raw {
    pub fn narrow<D: Dim>(&self, dim: D, start: usize, len: usize) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "narrow")?;
        let values = self.values().narrow(dim, start, len)?;
        Ok(view_of(self, View::Narrow { dim, start }, values))
    }

    pub fn permute<D: Dims>(&self, dims: D) -> Result<Self> {
        let order = dims.to_indexes(self.shape(), "permute")?;
        let values = self.values().permute(&order[..])?;
        Ok(view_of(self, View::Permute(order), values))
    }

    pub fn transpose<D: Dim, E: Dim>(&self, first: D, second: E) -> Result<Self> {
        let first = first.to_index(self.shape(), "transpose")?;
        let second = second.to_index(self.shape(), "transpose")?;
        let mut order: Vec<usize> = (0..self.rank()).collect();
        order.swap(first, second);
        let values = self.values().transpose(first, second)?;
        Ok(view_of(self, View::Permute(order), values))
    }

    pub fn t(&self) -> Result<Self> {
        let rank = self.rank();
        match rank < 2 {
            true => self.values().t().map(Raw::from), // an error
            false => self.transpose(rank - 2, rank - 1),
        }
    }

    /// Returns the elements in another shape; they are copied if no strides show them in it.
    pub fn reshape<S: ShapeWithOneHole>(&self, shape: S) -> Result<Self> {
        let shape = shape.into_shape(self.elem_count())?;
        let x = contiguous_raw(self)?;
        Ok(view_of(&x, View::Reshape, x.values().reshape(shape)?))
    }

    pub fn squeeze<D: Dim>(&self, dim: D) -> Result<Self> {
        Ok(view_of(self, View::Reshape, self.values().squeeze(dim)?))
    }

    pub fn unsqueeze<D: Dim>(&self, dim: D) -> Result<Self> {
        Ok(view_of(self, View::Reshape, self.values().unsqueeze(dim)?))
    }

    pub fn flatten_all(&self) -> Result<Self> {
        self.reshape(((),))
    }

    pub fn flatten<D: Dim, E: Dim>(&self, first: D, last: E) -> Result<Self> {
        let first = first.to_index(self.shape(), "flatten")?;
        let last = last.to_index(self.shape(), "flatten")?;
        if first >= last {
            return Ok(self.clone());
        }
        let dims = self.dims();
        let together = dims[first..=last].iter().product();
        self.reshape([&dims[..first], &[together], &dims[last + 1..]].concat())
    }

    pub fn flatten_to<D: Dim>(&self, last: D) -> Result<Self> {
        self.flatten(0, last)
    }

    pub fn broadcast_as(&self, shape: impl Into<Shape>) -> Result<Self> {
        Ok(view_of(
            self,
            View::Broadcast,
            self.values().broadcast_as(shape)?,
        ))
    }

    pub fn get(&self, index: usize) -> Result<Self> {
        self.narrow(0, index, 1)?.squeeze(0)
    }

    pub fn chunk<D: Dim>(&self, count: usize, dim: D) -> Result<Vec<Self>> {
        let dim = dim.to_index(self.shape(), "chunk")?;
        let parts = self.values().chunk(count, dim)?;
        let mut start = 0;
        let mut part = |values: Candle| {
            let view = View::Narrow { dim, start };
            start += values.dims()[dim];
            view_of(self, view, values)
        };
        Ok(parts.into_iter().map(&mut part).collect())
    }
}
