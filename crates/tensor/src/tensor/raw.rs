//! A tensor of Candle's with its place on the tape.

use candle_core::op::BackpropOp;
use candle_core::shape::ShapeWithOneHole;
use candle_core::{
    CpuStorage, DType, Device, NdArray, Result, Shape, Storage, TensorId, WithDType,
};
use std::any::Any;
use std::fmt::{self, Debug, Display, Formatter};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Candle's tensor, which holds the values.
#[doc(hidden)]
pub type Candle = candle_core::Tensor;

/// What computed a tensor: a node of the tape, which `ops` reads.
#[doc(hidden)]
pub type History = Arc<dyn Any + Send + Sync>;

/// Identifies a tensor in the results of a backward pass.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    /// A variable of Candle's, of which there may be several leaves.
    Variable(TensorId),
    Output(u64),
}

impl Key {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Key::Output(COUNT.fetch_add(1, Ordering::Relaxed))
    }
}

/// The values of a tensor, and what computed them from parameters; constants have no history.
///
/// Candle records nothing itself: its tensor is never tracked. The methods for computing, in `ops::views` and
/// `ops::operations`, have the names of Candle's and return errors.
#[derive(Clone)]
#[doc(hidden)]
pub struct Raw {
    values: Candle,
    history: Option<History>,
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
        Raw::of(values, None)
    }
}

#[doc(hidden)]
impl Raw {
    pub fn of(values: Candle, history: Option<History>) -> Self {
        Raw { values, history }
    }

    /// Returns the values of a tensor of Candle's, without its graph.
    pub fn constant(values: &Candle) -> Self {
        values.detach().into()
    }

    /// Returns a constant of these values.
    pub fn from_cpu(values: CpuStorage, shape: impl Into<Shape>) -> Self {
        Candle::from_storage(Storage::Cpu(values), shape, BackpropOp::none(), false).into()
    }

    pub fn values(&self) -> &Candle {
        &self.values
    }

    pub fn history(&self) -> Option<&History> {
        self.history.as_ref()
    }

    /// Returns whether gradients flow to what computed the tensor.
    pub fn track_op(&self) -> bool {
        self.history.is_some()
    }

    pub fn detach(&self) -> Self {
        Raw::of(self.values.clone(), None)
    }
}

/// Constants.
#[doc(hidden)]
impl Raw {
    pub fn new<A: NdArray>(array: A, device: &Device) -> Result<Self> {
        Candle::new(array, device).map(Raw::from)
    }

    pub fn from_vec<S: ShapeWithOneHole, D: WithDType>(
        values: Vec<D>,
        shape: S,
        device: &Device,
    ) -> Result<Self> {
        Candle::from_vec(values, shape, device).map(Raw::from)
    }

    pub fn from_slice<S: ShapeWithOneHole, D: WithDType>(
        values: &[D],
        shape: S,
        device: &Device,
    ) -> Result<Self> {
        Candle::from_slice(values, shape, device).map(Raw::from)
    }

    pub fn from_iter<D: WithDType>(
        values: impl IntoIterator<Item = D>,
        device: &Device,
    ) -> Result<Self> {
        Candle::from_iter(values, device).map(Raw::from)
    }

    pub fn arange<D: WithDType>(start: D, end: D, device: &Device) -> Result<Self> {
        Candle::arange(start, end, device).map(Raw::from)
    }

    pub fn eye(size: usize, dtype: DType, device: &Device) -> Result<Self> {
        Candle::eye(size, dtype, device).map(Raw::from)
    }

    pub fn zeros(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Self> {
        Candle::zeros(shape, dtype, device).map(Raw::from)
    }

    pub fn ones(shape: impl Into<Shape>, dtype: DType, device: &Device) -> Result<Self> {
        Candle::ones(shape, dtype, device).map(Raw::from)
    }

    pub fn full<D: WithDType>(value: D, shape: impl Into<Shape>, device: &Device) -> Result<Self> {
        Candle::full(value, shape, device).map(Raw::from)
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
