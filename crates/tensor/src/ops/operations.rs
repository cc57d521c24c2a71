//! Candle's operations, each with the rule of its gradient, for what has no kernel: other devices, 16 bits, integers.

use super::arithmetic::{Arithmetic, arithmetic};
use super::contiguous::contiguous_raw;
use super::elementwise::{exp_as, log_as, sqrt_as};
use super::reduce::sum_over;
use super::tape::{Downstream, Upstream, composed, linear};
use crate::tensor::{Candle, Raw};
#[cfg(feature = "cuda")]
use candle_core::CustomOp1;
use candle_core::op::CmpOp;
use candle_core::scalar::{TensorOrScalar, TensorScalar};
use candle_core::shape::{Dim, Dims};
use candle_core::{DType, Device, Result};
use std::ops::{Add, Div, Mul, Sub};

impl Raw {
    /// Returns values that were computed from this tensor, with the rule for its gradient.
    fn computed(
        &self,
        values: Candle,
        rule: impl Fn(&Raw, &Upstream<'_>) -> Result<Raw> + Send + Sync + 'static,
    ) -> Raw {
        composed(values, &[self], move |up| {
            Ok([Some(rule(up.gradient, up)?), None, None])
        })
    }

    /// Returns what a linear operation has computed from this tensor, with its adjoint.
    #[doc(hidden)]
    pub fn mapped(
        &self,
        values: Candle,
        adjoint: impl Fn(&Raw) -> Result<Raw> + Send + Sync + 'static,
    ) -> Raw {
        linear(values, &[self], move |g, _| {
            Ok([Some(adjoint(g)?), None, None])
        })
    }
}

/// Computes the gradients that are wanted.
fn of_two(
    [a, b, _]: [bool; 3],
    first: impl FnOnce() -> Result<Raw>,
    second: impl FnOnce() -> Result<Raw>,
) -> Result<Downstream> {
    Ok([
        a.then(first).transpose()?,
        b.then(second).transpose()?,
        None,
    ])
}

macro_rules! of_each {
    ($($name:ident $apply:ident;)*) => {
        impl Raw {$(
            pub(crate) fn $name(&self) -> Result<Raw> {
                $apply(&stringify!($name), self)
            }
        )*}
    };
}

of_each! {
    exp exp_as;
    log log_as;
    sqrt sqrt_as;
}

macro_rules! of_pairs {
    ($($name:ident $op:ident;)*) => {
        impl Raw {$(
            /// Computes with two tensors that are broadcast to a common shape.
            pub(crate) fn $name(&self, other: &Raw) -> Result<Raw> {
                match self.dtype().is_float() {
                    true => arithmetic(Arithmetic::$op, self, other),
                    // In the integers' own type.
                    false => Arithmetic::$op.with_candle(self, other),
                }
            }
        )*}
    };
}

of_pairs! {
    add Add;
    sub Sub;
    mul Mul;
    div Div;
    maximum Maximum;
}

macro_rules! operator {
    ($($trait:ident $name:ident |$n:ident| $mul:expr, $add:expr;)*) => {$(
        operator!(impl $trait $name: &Raw, &Raw);
        operator!(impl $trait $name: &Raw, Raw);
        operator!(impl $trait $name: Raw, &Raw);
        operator!(impl $trait $name: Raw, Raw);

        impl $trait<f64> for &Raw {
            type Output = Result<Raw>;

            fn $name(self, $n: f64) -> Result<Raw> {
                self.affine($mul, $add)
            }
        }

        impl $trait<f64> for Raw {
            type Output = Result<Raw>;

            fn $name(self, $n: f64) -> Result<Raw> {
                self.affine($mul, $add)
            }
        }
    )*};
    (impl $trait:ident $name:ident: $a:ty, $b:ty) => {
        impl $trait<$b> for $a {
            type Output = Result<Raw>;

            fn $name(self, other: $b) -> Result<Raw> {
                Raw::$name(&self, &other)
            }
        }
    };
}

operator! {
    Add add |n| 1.0, n;
    Sub sub |n| 1.0, -n;
    Mul mul |n| n, 0.0;
    Div div |n| 1.0 / n, 0.0;
}

/// What has no gradient.
macro_rules! constants {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        impl Raw {$(
            pub(crate) fn $name(&self, $($argument: $type),*) -> Result<Raw> {
                self.values().$name($($argument),*).map(Raw::from)
            }
        )*}
    };
}

constants! {
    zeros_like();
    ones_like();
    argmax(dim: usize);
    argmin(dim: usize);
    arg_sort_last_dim(ascending: bool);
}

impl TensorOrScalar for &Raw {
    fn to_tensor_scalar(self) -> Result<TensorScalar> {
        self.values().to_tensor_scalar()
    }
}

/// Comparisons with a tensor of the same shape, or with a number.
macro_rules! comparisons {
    ($($name:ident)*) => {
        impl Raw {$(
            pub(crate) fn $name(&self, other: impl TensorOrScalar) -> Result<Raw> {
                self.values().$name(other).map(Raw::from)
            }
        )*}
    };
}

comparisons!(eq ne lt le gt ge);

/// Elements at indices of a dimension, and elements added at such indices: each is the adjoint of the other.
macro_rules! at_indices {
    ($($take:ident $add:ident;)*) => {
        #[doc(hidden)]
        impl Raw {$(
            pub fn $take<D: Dim>(&self, indices: &Raw, dim: D) -> Result<Raw> {
                let dim = dim.to_index(self.shape(), stringify!($take))?;
                let values = self.values().$take(indices.values(), dim)?;
                let (indices, shape) = (indices.detach(), self.shape().clone());
                Ok(self.mapped(values, move |g| {
                    let zeros = Raw::zeros(&shape, g.dtype(), g.device())?;
                    zeros.$add(&indices, &g.contiguous()?, dim)
                }))
            }

            pub fn $add<D: Dim>(&self, indices: &Raw, source: &Raw, dim: D) -> Result<Raw> {
                let dim = dim.to_index(self.shape(), stringify!($add))?;
                let values = self.values();
                let values = values.$add(indices.values(), source.values(), dim)?;
                let indices = indices.detach();
                Ok(linear(values, &[self, source], move |g, wanted| {
                    let of_source = || g.contiguous()?.$take(&indices, dim);
                    of_two(wanted, || Ok(g.clone()), of_source)
                }))
            }
        )*}
    };
}

at_indices! {
    index_select index_add;
    gather scatter_add;
}

#[doc(hidden)]
impl Raw {
    pub fn cmp(&self, other: &Raw, op: CmpOp) -> Result<Raw> {
        self.values().cmp(other.values(), op).map(Raw::from)
    }

    pub fn matmul(&self, other: &Raw) -> Result<Raw> {
        let values = self.values().matmul(other.values())?;
        Ok(composed(values, &[self, other], |up| {
            let (g, a, b) = (up.gradient, up.input(0)?, up.input(1)?);
            of_two(up.wanted, || g.matmul(&b.t()?), || a.t()?.matmul(g))
        }))
    }

    pub fn affine(&self, mul: f64, add: f64) -> Result<Raw> {
        let values = self.values().affine(mul, add)?;
        Ok(self.mapped(values, move |g| g.affine(mul, 0.0)))
    }

    /// Returns a copy with the elements one after the other in memory.
    pub fn contiguous(&self) -> Result<Raw> {
        contiguous_raw(self)
    }

    /// Returns a copy in memory of its own.
    pub fn force_contiguous(&self) -> Result<Raw> {
        Ok(self.mapped(self.values().force_contiguous()?, |g| Ok(g.clone())))
    }

    pub fn to_dtype(&self, dtype: DType) -> Result<Raw> {
        let own = self.dtype();
        if own == dtype {
            return Ok(self.clone());
        }
        let values = self.values().to_dtype(dtype)?;
        match own.is_float() && dtype.is_float() {
            true => Ok(self.mapped(values, move |g| g.to_dtype(own))),
            false => Ok(values.into()),
        }
    }

    pub fn to_device(&self, device: &Device) -> Result<Raw> {
        if self.device().same_device(device) {
            return Ok(self.clone());
        }
        let values = self.values().to_device(device)?;
        let own = self.device().clone();
        Ok(self.mapped(values, move |g| g.to_device(&own)))
    }

    pub fn sum_keepdim<D: Dims>(&self, dims: D) -> Result<Raw> {
        let dims = dims.to_indexes(self.shape(), "sum")?;
        let values = self.values().sum_keepdim(&dims[..])?;
        let shape = self.shape().clone();
        Ok(self.mapped(values, move |g| g.broadcast_as(&shape)))
    }

    pub fn sum<D: Dims>(&self, dims: D) -> Result<Raw> {
        let dims = dims.to_indexes(self.shape(), "sum")?;
        self.sum_keepdim(&dims[..])?.without(&dims)
    }

    pub fn sum_all(&self) -> Result<Raw> {
        let dims: Vec<usize> = (0..self.rank()).collect();
        self.sum(dims)
    }

    pub fn mean_keepdim<D: Dims>(&self, dims: D) -> Result<Raw> {
        let dims = dims.to_indexes(self.shape(), "mean")?;
        let count: usize = dims.iter().map(|dim| self.dims()[*dim]).product();
        self.sum_keepdim(&dims[..])? / count as f64
    }

    fn without(&self, dims: &[usize]) -> Result<Raw> {
        let sizes = self.dims().iter().enumerate();
        let kept = sizes.filter(|(dim, _)| !dims.contains(dim));
        let shape: Vec<usize> = kept.map(|(_, size)| *size).collect();
        self.reshape(shape)
    }

    /// Returns the sum of two tensors of one shape, by the kernel where there is one.
    pub fn plus(&self, other: &Raw) -> Result<Raw> {
        arithmetic(Arithmetic::Add, self, other)
    }

    /// Returns the sums along dimensions, which stay with the size 1, by the kernel where there is one.
    pub fn sum_along(&self, dims: &[usize]) -> Result<Raw> {
        sum_over(self, dims, true, 1.0)
    }

    /// Returns the sums over the dimensions along which `shape` was broadcast to the shape of this tensor.
    pub fn sum_to(&self, shape: &[usize]) -> Result<Raw> {
        let new = self.rank() - shape.len();
        let is_summed = |dim: &usize| *dim < new || shape[*dim - new] != self.dims()[*dim];
        let dims: Vec<usize> = (0..self.rank()).filter(is_summed).collect();
        match dims.is_empty() {
            true => Ok(self.clone()),
            false => sum_over(self, &dims, false, 1.0)?.reshape(shape),
        }
    }

    pub fn max_keepdim<D: Dim>(&self, dim: D) -> Result<Raw> {
        self.extreme(self.values().max_keepdim(dim)?)
    }

    pub fn min_keepdim<D: Dim>(&self, dim: D) -> Result<Raw> {
        self.extreme(self.values().min_keepdim(dim)?)
    }

    pub fn max<D: Dim>(&self, dim: D) -> Result<Raw> {
        let dim = dim.to_index(self.shape(), "max")?;
        self.max_keepdim(dim)?.squeeze(dim)
    }

    pub fn min<D: Dim>(&self, dim: D) -> Result<Raw> {
        let dim = dim.to_index(self.shape(), "min")?;
        self.min_keepdim(dim)?.squeeze(dim)
    }

    /// The gradient goes to each element that is the extreme.
    fn extreme(&self, values: Candle) -> Result<Raw> {
        Ok(self.computed(values, |g, up| {
            let (x, y) = (up.input(0)?, up.output()?.raw());
            let is_extreme = x.eq(&y.detach().broadcast_as(x.shape())?)?;
            let g = g.broadcast_as(x.shape())?;
            is_extreme.where_cond(&g, &g.zeros_like()?)
        }))
    }

    /// Returns elements of `a` where this mask is not 0, and of `b` elsewhere.
    pub fn where_cond(&self, a: &Raw, b: &Raw) -> Result<Raw> {
        let values = self.values().where_cond(a.values(), b.values())?;
        let mask = self.detach();
        Ok(linear(values, &[a, b], move |g, wanted| {
            let zero = g.zeros_like()?;
            of_two(
                wanted,
                || mask.where_cond(g, &zero),
                || mask.where_cond(&zero, g),
            )
        }))
    }

    pub fn pad_with_zeros<D: Dim>(&self, dim: D, before: usize, after: usize) -> Result<Raw> {
        let dim = dim.to_index(self.shape(), "pad_with_zeros")?;
        let values = self.values().pad_with_zeros(dim, before, after)?;
        let len = self.dim(dim)?;
        Ok(self.mapped(values, move |g| g.narrow(dim, before, len)))
    }

    pub fn cat<A: AsRef<Raw>, D: Dim>(parts: &[A], dim: D) -> Result<Raw> {
        let values: Vec<&Candle> = parts.iter().map(|x| x.as_ref().values()).collect();
        let dim = match values.first() {
            Some(first) => dim.to_index(first.shape(), "cat")?,
            None => 0,
        };
        let mut joined = Raw::from(Candle::cat(&values, dim)?);
        // Each part adds a node, because an operation has up to three inputs.
        let mut start = 0;
        for part in parts.iter().map(AsRef::as_ref) {
            let (from, len) = (start, part.dim(dim)?);
            start += len;
            joined = linear(
                joined.values().clone(),
                &[&joined, part],
                move |g, wanted| of_two(wanted, || Ok(g.clone()), || g.narrow(dim, from, len)),
            );
        }
        Ok(joined)
    }

    #[cfg(feature = "cuda")]
    pub fn apply_op1_no_bwd<C: CustomOp1>(&self, operation: &C) -> Result<Raw> {
        self.values().apply_op1_no_bwd(operation).map(Raw::from)
    }
}

impl AsRef<Raw> for Raw {
    fn as_ref(&self) -> &Raw {
        self
    }
}
