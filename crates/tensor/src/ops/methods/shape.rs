//! Shapes: asking for them, and changing them. Views share the memory of the tensor.

use crate::error::{OrRaise, problem, raise};
use crate::ops;
use crate::tensor::{Axes, Axis, Raw, Sizes, Tensor};
use candle_core::{DType, Device, Result, Shape};

/// Methods that return the size of each dimension, for a tensor with this many.
macro_rules! sizes {
    ($($method:ident $count:literal $output:ty: $($size:ident),+;)*) => {$(
        #[doc = concat!("Returns the sizes of the dimensions of a tensor that has ", $count, ".")]
        ///
        /// # Panics
        /// If the tensor has another number of dimensions.
        #[inline]
        #[track_caller]
        pub fn $method(&self) -> $output {
            match *self.dims() {
                [$($size),+] => ($($size),+),
                _ => wrong_rank(stringify!($method), concat!($count, " dimension(s)"), self),
            }
        }
    )*};
}

impl Tensor {
    /// Returns the sizes of all dimensions.
    pub fn dims(&self) -> &[usize] {
        self.raw().dims()
    }

    /// Returns the shape.
    pub fn shape(&self) -> &Shape {
        self.raw().shape()
    }

    /// Returns the number of dimensions.
    pub fn rank(&self) -> usize {
        self.raw().rank()
    }

    /// Returns the number of elements.
    pub fn elem_count(&self) -> usize {
        self.raw().elem_count()
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> DType {
        self.raw().dtype()
    }

    /// Returns the device on which the elements are.
    pub fn device(&self) -> &Device {
        self.raw().device()
    }

    methods! {
        /// Returns the size of a dimension.
        pub fn dim(&self, dim: impl Into<Axis>) -> usize = {
            let dim = dim.into().of(&"dim", self.raw()).or_raise();
            self.dims()[dim]
        };

        /// Returns a view with another shape and the same elements in the same order, or a copy if the tensor
        /// is not contiguous. One size may be −1, and is computed: `x.reshape((-1, 2))`. For generic code, `()` is the same.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = arange(0, 6).reshape((2, -1)); // (2, 3)
        /// assert_eq!(x.to_vec2::<i64>(), [[0, 1, 2], [3, 4, 5]]);
        /// ```
        pub fn reshape(&self, shape: impl Into<Sizes>) -> Tensor = self.reshaped(&shape.into());

        /// Returns a view with one dimension.
        pub fn flatten_all(&self) -> Tensor = self.reshape(self.elem_count());

        /// Returns a view in which the dimensions from `start` to `end`, both included, are one.
        pub fn flatten(&self, start: impl Into<Axis>, end: impl Into<Axis>) -> Tensor
            = flattened(self, start.into(), end.into());
        /// Returns a view in which the dimensions from `start` on are one.
        pub fn flatten_from(&self, start: impl Into<Axis>) -> Tensor = self.flatten(start, -1);
        /// Returns a view in which the dimensions up to `end`, included, are one.
        pub fn flatten_to(&self, end: impl Into<Axis>) -> Tensor = self.flatten(0, end);

        /// Returns a view with the last two dimensions exchanged; a vector or a scalar itself.
        pub fn t(&self) -> Tensor = {
            match self.rank() {
                0 | 1 => self.clone(),
                _ => self.transpose(-2, -1),
            }
        };
        /// Returns a view with two dimensions exchanged.
        pub fn transpose(&self, a: impl Into<Axis>, b: impl Into<Axis>) -> Tensor =
            self.exchanged(a.into(), b.into()).or_raise().into();
        /// Returns a view with the dimensions in this order.
        pub fn permute(&self, dims: impl Into<Axes>) -> Tensor = self.permuted(dims.into());
        /// Returns a view without dimensions of size 1: of one, several or all (`..`). Dimensions of another size stay.
        pub fn squeeze(&self, dims: impl Into<Axes>) -> Tensor = self.squeezed(&dims.into()).or_raise().into();

        /// Returns a view with a new dimension of size 1 before `dim`; −1 adds it at the end.
        pub fn unsqueeze(&self, dim: impl Into<Axis>) -> Tensor = {
            let dim = dim.into().of_new(&"unsqueeze", self.raw()).or_raise();
            self.raw().unsqueeze(dim).or_raise().into()
        };
        /// Returns a view with this shape, in which dimensions of size 1 are repeated; −1 keeps a size. PyTorch calls it
        /// `expand`.
        pub fn broadcast_as(&self, shape: impl Into<Sizes>) -> Tensor = self.broadcast_to(&shape.into());
        /// Returns the tensor repeated this many times along each dimension.
        pub fn repeat(&self, times: impl Into<Shape>) -> Tensor = self.repeated(times.into().dims());
        /// Returns the elements in memory in the order of their indices: the tensor itself, or a copy.
        pub fn contiguous(&self) -> Tensor = ops::contiguous(self);

        /// Returns the parts of the tensor along a dimension: at most `chunks`, of equal size except for a smaller last
        /// one. As in PyTorch, the parts are fewer if their size, rounded up, needs fewer.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let parts = arange(0, 13).chunk(12, 0);
        /// assert_eq!((parts.len(), parts[0].dim(0), parts[6].dim(0)), (7, 2, 1));
        /// ```
        pub fn chunk(&self, chunks: usize, dim: impl Into<Axis>) -> Vec<Tensor> =
            self.chunked(chunks, dim.into()).or_raise();
    }

    sizes! {
        dims1 1 usize: a;
        dims2 2 (usize, usize): a, b;
        dims3 3 (usize, usize, usize): a, b, c;
        dims4 4 (usize, usize, usize, usize): a, b, c, d;
        dims5 5 (usize, usize, usize, usize, usize): a, b, c, d, e;
    }

    /// Returns whether the elements are in memory in the order of their indices.
    pub fn is_contiguous(&self) -> bool {
        self.raw().is_contiguous()
    }

    #[track_caller]
    fn reshaped(&self, sizes: &Sizes) -> Tensor {
        let shape = completed(sizes, self.raw());
        let view = shape.and_then(|shape| self.raw().reshape(shape)).or_raise();
        ops::check::countable(&"reshape", &view).or_raise();
        view.into()
    }

    fn exchanged(&self, a: Axis, b: Axis) -> Result<Raw> {
        let x = self.raw();
        // As in PyTorch, a scalar has the dimension 0.
        if x.rank() == 0 {
            let vector = x.unsqueeze(0)?;
            a.of(&"transpose", &vector)?;
            b.of(&"transpose", &vector)?;
            return Ok(x.clone());
        }
        x.transpose(a.of(&"transpose", x)?, b.of(&"transpose", x)?)
    }

    #[track_caller]
    fn permuted(&self, dims: Axes) -> Tensor {
        let dims = dims.in_order_of(&"permute", self.raw()).or_raise();
        self.raw().permute(dims).or_raise().into()
    }

    fn squeezed(&self, dims: &Axes) -> Result<Raw> {
        let dims = dims.of(&"squeeze", self.raw())?;
        dims.iter()
            .rev()
            .try_fold(self.raw().clone(), |x, dim| x.squeeze(*dim))
    }

    #[track_caller]
    fn broadcast_to(&self, sizes: &Sizes) -> Tensor {
        let shape = kept(sizes, self.raw());
        let view = shape
            .and_then(|shape| self.raw().broadcast_as(shape))
            .or_raise();
        ops::check::countable(&"broadcast_as", &view).or_raise();
        view.into()
    }

    #[track_caller]
    fn repeated(&self, times: &[usize]) -> Tensor {
        let new = times.len().saturating_sub(self.rank());
        let mut repeated = self.reshape([&vec![1; new], self.dims()].concat());
        let sizes = repeated
            .dims()
            .iter()
            .zip(times.iter().chain(std::iter::repeat(&1)));
        let shape: Vec<usize> = sizes
            .map(|(size, times)| size.saturating_mul(*times))
            .collect();
        ops::check::output(&"repeat", &shape, self.raw()).or_raise();
        if shape.contains(&0) {
            let none = Raw::zeros(shape, self.dtype(), self.device());
            return none.or_raise().into();
        }
        for (dim, times) in times.iter().enumerate() {
            repeated = match times {
                1 => repeated,
                _ => ops::cat(&vec![&repeated; *times], dim),
            };
        }
        repeated
    }

    /// Returns the tensors joined along a dimension, as [`cat`](ops::cat) does.
    #[inline]
    #[track_caller]
    pub fn cat<T: AsRef<Tensor>>(tensors: &[T], dim: impl Into<Axis>) -> Tensor {
        ops::cat(tensors, dim)
    }

    /// Returns tensors of one shape joined along a new dimension.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[1.0, 2.0]); // (2,)
    /// assert_eq!(Tensor::stack(&[&x, &x], 0).to_vec2::<f32>(), [[1.0, 2.0], [1.0, 2.0]]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn stack<T: AsRef<Tensor>>(tensors: &[T], dim: impl Into<Axis>) -> Tensor {
        let tensors: Vec<&Tensor> = tensors.iter().map(AsRef::as_ref).collect();
        Self::stacked(&tensors, dim.into())
    }

    #[track_caller]
    fn stacked(tensors: &[&Tensor], dim: Axis) -> Tensor {
        let tensors = tensors.iter().map(|x| x.unsqueeze(dim));
        ops::cat(&tensors.collect::<Vec<_>>(), dim)
    }

    fn chunked(&self, chunks: usize, dim: Axis) -> Result<Vec<Tensor>> {
        let dim = dim.of(&"chunk", self.raw())?;
        ops::check::positive(&"chunk", &[("chunks", chunks)])?;
        let size = self.dims()[dim];
        let part = size.div_ceil(chunks).max(1);
        let starts = (0..size.max(1)).step_by(part);
        let part = |start| self.raw().narrow(dim, start, part.min(size - start));
        starts
            .map(|start| part(start).map(Tensor::from_raw))
            .collect()
    }
}

#[cold]
#[track_caller]
fn wrong_rank(method: &str, expected: &str, x: &Tensor) -> ! {
    raise!(shape(method, x.dims());
        expected,
        "Add dimensions of size 1 with unsqueeze(dim), or remove them with squeeze(dim)")
}

/// Returns the sizes for a tensor with as many elements as `x`.
fn completed(sizes: &Sizes, x: &Raw) -> Result<Vec<usize>> {
    let does_not_fit = |found: String| {
        problem!(argument("reshape", found);
            ("a shape with the {} elements of {:?}", x.elem_count(), x.dims()),
            "Leave one size to be computed: x.reshape((-1, 3))")
    };
    let known = sizes
        .known()
        .map_err(|size| does_not_fit(format!("a size of {size}")))?;
    let others = known.iter().flatten();
    let product = others.fold(1usize, |product, size| product.saturating_mul(*size));
    let fits = match known.iter().filter(|size| size.is_none()).count() {
        0 => product == x.elem_count(),
        1 => product > 0 && x.elem_count().is_multiple_of(product),
        _ => return Err(does_not_fit(format!("{sizes}, with two sizes to compute")).into()),
    };
    if !fits {
        let found = match known.contains(&None) {
            true => format!("{sizes}, whose other sizes have {product} elements"),
            false => format!("{sizes}, with {product} elements"),
        };
        return Err(does_not_fit(found).into());
    }
    let rest = x.elem_count() / product.max(1);
    Ok(known.into_iter().map(|size| size.unwrap_or(rest)).collect())
}

/// Returns the sizes for a broadcast of `x`: a size that is left out is that of `x`.
fn kept(sizes: &Sizes, x: &Raw) -> Result<Vec<usize>> {
    let wrong = |found: String| {
        problem!(argument("broadcast_as", found);
            "sizes, or -1 for a dimension that keeps its size",
            ("The tensor has the shape {:?}", x.dims()))
    };
    let known = sizes
        .known()
        .map_err(|size| wrong(format!("a size of {size}")))?;
    let new = known.len().saturating_sub(x.rank());
    let size = |(i, size): (usize, Option<usize>)| match size {
        Some(size) => Ok(size),
        None if i >= new => Ok(x.dims()[i - new]),
        None => Err(wrong(format!("{sizes}, where dimension {i} is new")).into()),
    };
    known.into_iter().enumerate().map(size).collect()
}

/// Returns a view in which the dimensions from `start` to `end`, both included, are one.
#[track_caller]
fn flattened(x: &Tensor, start: Axis, end: Axis) -> Tensor {
    if x.rank() == 0 {
        return x.reshape(1);
    }
    let start = start.of(&"flatten", x.raw()).or_raise();
    let end = end.of(&"flatten", x.raw()).or_raise();
    raise!(if start > end; argument("flatten", format_args!("dimensions {start} to {end}"));
        "a start that is not after the end", "Exchange them");
    let flat = ops::contiguous_raw(x.raw()).and_then(|x| x.flatten(start, end));
    flat.or_raise().into()
}
