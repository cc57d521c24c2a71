//! A tensor of Candle's with its place on the tape.

use super::value::Candle;
use crate::ops::contiguous_raw;
use crate::tape::{Node, Version, View};
use candle_core::op::BackpropOp;
use candle_core::shape::{Dim, Dims, ShapeWithOneHole};
use candle_core::{CpuStorage, DType, Device, NdArray, Result, Shape, Storage, Var, WithDType};
use std::fmt::{self, Debug, Display, Formatter};
use std::ops::Deref;
use std::sync::Arc;

/// The values of a tensor, and the node on the tape that computed them; constants have none.
///
/// Candle records nothing itself: its tensor is never tracked. The methods have the names of Candle's and return errors;
/// those here are [views](View), the others are in `operations`.
#[derive(Clone)]
pub(crate) struct Raw {
    values: Candle,
    node: Option<Arc<Node>>,
}

/// What has no gradient: shapes, types, elements.
impl Deref for Raw {
    type Target = Candle;

    fn deref(&self) -> &Candle {
        &self.values
    }
}

impl AsRef<Candle> for Raw {
    fn as_ref(&self) -> &Candle {
        &self.values
    }
}

/// A constant. The values must not be tracked by Candle.
impl From<Candle> for Raw {
    fn from(values: Candle) -> Self {
        debug_assert!(!values.track_op(), "a graph of Candle's would be lost");
        Raw { values, node: None }
    }
}

impl Raw {
    pub(crate) fn of(values: Candle, node: Option<Arc<Node>>) -> Self {
        Raw { values, node }
    }

    pub(crate) fn with_node(values: Candle, node: Arc<Node>) -> Self {
        let node = Some(node);
        Raw { values, node }
    }

    /// Returns the values of a variable, to which gradients flow.
    pub(crate) fn leaf(variable: &Candle, version: Arc<Version>) -> Self {
        let values = variable.detach();
        Node::leaf(&values, variable.id(), version).into_tensor(values)
    }

    /// Returns a new variable with a copy of these values.
    pub(crate) fn variable(values: &Candle) -> Result<Self> {
        let variable = Var::from_tensor(&values.detach())?;
        Ok(Raw::leaf(&variable, Arc::default()))
    }

    /// Returns the values of a tensor of Candle's, without its graph.
    pub(crate) fn constant(values: &Candle) -> Self {
        values.detach().into()
    }

    /// Returns a constant of these values.
    pub(crate) fn from_cpu(values: CpuStorage, shape: impl Into<Shape>) -> Self {
        Candle::from_storage(Storage::Cpu(values), shape, BackpropOp::none(), false).into()
    }

    pub(crate) fn values(&self) -> &Candle {
        &self.values
    }

    pub(crate) fn node(&self) -> Option<&Arc<Node>> {
        self.node.as_ref()
    }

    /// Returns whether gradients flow to what computed the tensor.
    pub(crate) fn track_op(&self) -> bool {
        self.node.is_some()
    }

    pub(crate) fn is_variable(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.is_leaf())
    }

    pub(crate) fn detach(&self) -> Self {
        Raw::of(self.values.clone(), None)
    }
}

/// Constants.
impl Raw {
    pub(crate) fn new<A: NdArray>(array: A, device: &Device) -> Result<Self> {
        Candle::new(array, device).map(Raw::from)
    }

    pub(crate) fn from_vec<S: ShapeWithOneHole, D: WithDType>(
        values: Vec<D>,
        shape: S,
        device: &Device,
    ) -> Result<Self> {
        Candle::from_vec(values, shape, device).map(Raw::from)
    }

    pub(crate) fn from_slice<S: ShapeWithOneHole, D: WithDType>(
        values: &[D],
        shape: S,
        device: &Device,
    ) -> Result<Self> {
        Candle::from_slice(values, shape, device).map(Raw::from)
    }

    pub(crate) fn from_iter<D: WithDType>(
        values: impl IntoIterator<Item = D>,
        device: &Device,
    ) -> Result<Self> {
        Candle::from_iter(values, device).map(Raw::from)
    }

    pub(crate) fn arange<D: WithDType>(start: D, end: D, device: &Device) -> Result<Self> {
        Candle::arange(start, end, device).map(Raw::from)
    }

    pub(crate) fn eye(size: usize, dtype: DType, device: &Device) -> Result<Self> {
        Candle::eye(size, dtype, device).map(Raw::from)
    }

    pub(crate) fn zeros(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Self> {
        Candle::zeros(shape, dtype, device).map(Raw::from)
    }

    pub(crate) fn ones(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Self> {
        Candle::ones(shape, dtype, device).map(Raw::from)
    }

    pub(crate) fn full<D: WithDType>(
        value: D,
        shape: impl Into<Shape>,
        device: &Device,
    ) -> Result<Self> {
        Candle::full(value, shape, device).map(Raw::from)
    }
}

/// Views.
impl Raw {
    pub(crate) fn narrow<D: Dim>(&self, dim: D, start: usize, len: usize) -> Result<Self> {
        let dim = dim.to_index(self.shape(), "narrow")?;
        let values = self.values.narrow(dim, start, len)?;
        Ok(View::Narrow { dim, start }.of(self, values))
    }

    pub(crate) fn permute<D: Dims>(&self, dims: D) -> Result<Self> {
        let order = dims.to_indexes(self.shape(), "permute")?;
        let values = self.values.permute(&order[..])?;
        Ok(View::Permute(order).of(self, values))
    }

    pub(crate) fn transpose<D: Dim, E: Dim>(&self, first: D, second: E) -> Result<Self> {
        let first = first.to_index(self.shape(), "transpose")?;
        let second = second.to_index(self.shape(), "transpose")?;
        let mut order: Vec<usize> = (0..self.rank()).collect();
        order.swap(first, second);
        let values = self.values.transpose(first, second)?;
        Ok(View::Permute(order).of(self, values))
    }

    pub(crate) fn t(&self) -> Result<Self> {
        let rank = self.rank();
        match rank < 2 {
            true => self.values.t().map(Raw::from), // an error
            false => self.transpose(rank - 2, rank - 1),
        }
    }

    /// Returns the elements in another shape; they are copied if no strides show them in it.
    pub(crate) fn reshape<S: ShapeWithOneHole>(&self, shape: S) -> Result<Self> {
        let shape = shape.into_shape(self.elem_count())?;
        let x = contiguous_raw(self)?;
        Ok(View::Reshape.of(&x, x.values.reshape(shape)?))
    }

    pub(crate) fn squeeze<D: Dim>(&self, dim: D) -> Result<Self> {
        Ok(View::Reshape.of(self, self.values.squeeze(dim)?))
    }

    pub(crate) fn unsqueeze<D: Dim>(&self, dim: D) -> Result<Self> {
        Ok(View::Reshape.of(self, self.values.unsqueeze(dim)?))
    }

    pub(crate) fn flatten_all(&self) -> Result<Self> {
        self.reshape(((),))
    }

    pub(crate) fn flatten<D: Dim, E: Dim>(&self, first: D, last: E) -> Result<Self> {
        let first = first.to_index(self.shape(), "flatten")?;
        let last = last.to_index(self.shape(), "flatten")?;
        if first >= last {
            return Ok(self.clone());
        }
        let dims = self.dims();
        let together = dims[first..=last].iter().product();
        self.reshape([&dims[..first], &[together], &dims[last + 1..]].concat())
    }

    pub(crate) fn flatten_to<D: Dim>(&self, last: D) -> Result<Self> {
        self.flatten(0, last)
    }

    pub(crate) fn broadcast_as(&self, shape: impl Into<Shape>) -> Result<Self> {
        Ok(View::Broadcast.of(self, self.values.broadcast_as(shape)?))
    }

    pub(crate) fn get(&self, index: usize) -> Result<Self> {
        self.narrow(0, index, 1)?.squeeze(0)
    }

    pub(crate) fn chunk<D: Dim>(&self, count: usize, dim: D) -> Result<Vec<Self>> {
        let dim = dim.to_index(self.shape(), "chunk")?;
        let parts = self.values.chunk(count, dim)?;
        let mut start = 0;
        let mut part = |values: Candle| {
            let view = View::Narrow { dim, start };
            start += values.dims()[dim];
            view.of(self, values)
        };
        Ok(parts.into_iter().map(&mut part).collect())
    }
}

impl Debug for Raw {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Debug::fmt(&self.values, f)
    }
}

impl Display for Raw {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(&self.values, f)
    }
}
