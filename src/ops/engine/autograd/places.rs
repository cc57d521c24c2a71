//! Elements at chosen positions of a tensor, and those added there, recorded: each is the backward pass of the other.

use super::{Backward, Downstream, Upstream, record};
use crate::ops::engine::simd::Element;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, dispatch_dtype};
use crate::tensor::Raw;
use candle_core::{Result, Shape};
use std::marker::PhantomData;
use std::sync::Arc;

/// The positions of the elements of a tensor, such as a view, in another one.
#[derive(Clone)]
pub(in crate::ops) struct Places {
    positions: Arc<[usize]>,
    view: Shape,
    base: Shape,
}

impl Places {
    pub(in crate::ops) fn new(positions: Vec<usize>, of: &[usize], within: &[usize]) -> Self {
        Places {
            positions: positions.into(),
            view: of.into(),
            base: within.into(),
        }
    }

    /// Adds the elements of a tensor of the view's shape at their positions.
    pub(in crate::ops) fn add(&self, x: &Raw) -> Result<Raw> {
        dispatch_dtype!(x, add(self, x))
    }

    /// Returns the elements at the positions.
    pub(in crate::ops) fn take(&self, x: &Raw) -> Result<Raw> {
        dispatch_dtype!(x, take(self, x))
    }
}

fn add<T: Element>(places: &Places, x: &Raw) -> Result<Raw> {
    let input = in_order(x)?;
    let mut sums = vec![T::ZERO; places.base.elem_count()];
    let view = CpuView::of(&input)?;
    for (value, position) in view.as_slice::<T>()?.iter().zip(places.positions.iter()) {
        sums[*position] += *value;
    }
    record(&[x], sums, places.base.clone(), || {
        Back::<T, true>(places.clone(), PhantomData)
    })
}

fn take<T: Element>(places: &Places, x: &Raw) -> Result<Raw> {
    let input = in_order(x)?;
    let view = CpuView::of(&input)?;
    let values = view.as_slice::<T>()?;
    let taken: Vec<T> = places
        .positions
        .iter()
        .map(|position| values[*position])
        .collect();
    record(&[x], taken, places.view.clone(), || {
        Back::<T, false>(places.clone(), PhantomData)
    })
}

/// The backward pass of [`Places::add`], if `ADDED`, or of [`Places::take`]: the other one of them.
struct Back<T, const ADDED: bool>(Places, PhantomData<T>);

impl<T: Element, const ADDED: bool> Back<T, ADDED> {
    fn of(&self, gradient: &Raw) -> Result<Downstream> {
        let of_x = if ADDED {
            self.0.take(gradient)?
        } else {
            self.0.add(gradient)?
        };
        Ok([Some(of_x), None, None])
    }
}

impl<T: Element, const ADDED: bool> Backward for Back<T, ADDED> {
    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        self.of(upstream.gradient)
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        self.of(upstream.gradient)
    }
}
