//! Products, logical sums, and logarithms of sums of exponentials.

use super::sums::reduced_shape;
use crate::ops::check;
use crate::tensor::{Axes, Axis, Tensor};
use candle_core::{DType, Result};
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns the products along dimensions, which are removed from the shape. Integers are multiplied exactly, as
        /// `i64`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(tensor(&[[2.0, 3.0], [0.0, 5.0]]).prod(1).to_vec1::<f32>(), [6.0, 0.0]);
        /// ```
        ///
        /// # Panics
        /// If there is no such dimension, or a product of integers does not fit into 64 bits.
        pub fn prod(&self, dims: impl Into<Axes>) -> Tensor = prod(self, &dims.into());

        /// Returns for each element the product of the elements up to it along a dimension.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(tensor(&[2.0, 3.0, 4.0]).cumprod(0).to_vec1::<f32>(), [2.0, 6.0, 24.0]);
        /// ```
        ///
        /// # Panics
        /// As [`prod`](Self::prod).
        pub fn cumprod(&self, dim: impl Into<Axis>) -> Tensor = cumprod(self, dim.into());

        /// Returns `log(Σ exp(x))` along dimensions, which are removed from the shape, without overflow.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(tensor(&[1000.0, 1000.0]).logsumexp(0).item() as f32, 1000.0 + 2f32.ln());
        /// ```
        ///
        /// # Panics
        /// If there is no such dimension, or the tensor has an integer type.
        pub fn logsumexp(&self, dims: impl Into<Axes>) -> Tensor = logsumexp(self, &dims.into());

        /// Returns 1 where an element along dimensions is not 0, as `u8`; of all elements: `x.any(..)`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[[0.0, 3.0], [0.0, 0.0]]); // (2, 2)
        /// assert_eq!(x.any(1).to_vec1::<u8>(), [1, 0]);
        /// ```
        pub fn any(&self, dims: impl Into<Axes>) -> Tensor = any(self, &dims.into());

        /// Returns 1 where no element along dimensions is 0, as `u8`; of all elements: `x.all(..)`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[[0.0, 3.0], [1.0, 2.0]]); // (2, 2)
        /// assert_eq!(x.all(1).to_vec1::<u8>(), [0, 1]);
        /// ```
        pub fn all(&self, dims: impl Into<Axes>) -> Tensor = all(self, &dims.into());
    }
}

#[raises]
fn any(x: &Tensor, dims: &Axes) -> Result<Tensor> {
    Ok(x.ne(0).sum(&dims.of(&"any", x.raw())?[..]).gt(0))
}

#[raises]
fn all(x: &Tensor, dims: &Axes) -> Result<Tensor> {
    Ok(x.eq(0).sum(&dims.of(&"all", x.raw())?[..]).eq(0))
}

#[raises]
fn prod(x: &Tensor, dims: &Axes) -> Result<Tensor> {
    let dims = dims.of(&"prod", x.raw())?;
    let whole = as_factors(x);
    let product = dims.iter().fold(whole, |x, dim| product_along(&x, *dim));
    Ok(product.reshape(reduced_shape(x.raw(), &dims, false)))
}

/// Multiplies pairs, so that there are few operations and the gradients are exact where a factor is 0.
fn product_along(x: &Tensor, dim: usize) -> Tensor {
    let mut x = x.clone();
    if x.dims()[dim] == 0 {
        let mut shape = x.dims().to_vec();
        shape[dim] = 1;
        let one = x.sum_all() + 1; // of the type of `x`, and 1 because there are no elements
        return one.broadcast_as(shape);
    }
    while x.dims()[dim] > 1 {
        let (size, half) = (x.dims()[dim], x.dims()[dim] / 2);
        let pairs = x.narrow(dim, 0, half) * x.narrow(dim, half, half);
        x = match size % 2 {
            0 => pairs,
            _ => Tensor::cat(&[pairs, x.narrow(dim, size - 1, 1)], dim),
        };
    }
    x
}

#[raises]
fn cumprod(x: &Tensor, dim: Axis) -> Result<Tensor> {
    if x.rank() == 0 {
        return Ok(cumprod(&x.reshape(1), dim).reshape(()));
    }
    let dim = dim.of(&"cumprod", x.raw())?;
    if x.elem_count() == 0 {
        return Ok(as_factors(x));
    }
    let (mut products, size) = (as_factors(x), x.dims()[dim]);
    let mut step = 1; // each element is the product of this many elements up to it
    while step < size {
        let first = products.narrow(dim, 0, step);
        let longer = products.narrow(dim, step, size - step) * products.narrow(dim, 0, size - step);
        products = Tensor::cat(&[first, longer], dim);
        step *= 2;
    }
    Ok(products)
}

/// Returns integers as `i64`, in which they are multiplied.
fn as_factors(x: &Tensor) -> Tensor {
    match x.dtype().is_int() {
        true => x.to_dtype(DType::I64),
        false => x.clone(),
    }
}

#[raises]
fn logsumexp(x: &Tensor, dims: &Axes) -> Result<Tensor> {
    check::floating(&"logsumexp", x.raw())?;
    let dims = dims.of(&"logsumexp", x.raw())?;
    if x.elem_count() == 0 {
        return Ok(x.exp().sum(&dims[..]).log());
    }
    let largest = dims.iter().fold(x.detach(), |x, dim| x.max_keepdim(*dim));
    let largest = largest.abs().lt(f64::INFINITY).where_cond(&largest, 0.0);
    let sums = (x - &largest).exp().sum(&dims[..]);
    Ok(sums.log() + largest.reshape(sums.shape()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::variable;
    use crate::tensor::{tensor, zeros};

    #[test]
    fn products_with_zeros_have_exact_gradients() {
        let x = variable(&tensor(&[2.0, 0.0, 3.0, 4.0, 5.0]));
        let of = |y: &Tensor| y.sum_all().backward().of(&x).to_vec1::<f32>();
        assert_eq!(of(&x.prod(0)), [0.0, 120.0, 0.0, 0.0, 0.0]);
        // y = x₀, x₀x₁, …; only those up to x₀ do not contain the 0.
        assert_eq!(
            of(&x.cumprod(0)),
            [1.0, 2.0 * (1.0 + 3.0 + 12.0 + 60.0), 0.0, 0.0, 0.0]
        );
        assert_eq!(zeros((2, 0)).prod(1).to_vec1::<f32>(), [1.0, 1.0]);
        assert_eq!(tensor(&[[2, 3], [4, 5]]).prod(..).item(), 120.0);
    }

    #[test]
    fn sums_of_exponentials_do_not_overflow() {
        let inf = f64::INFINITY;
        let x = tensor(&[[inf, 1.0], [-inf, -inf], [-1000.0, -1000.0]]);
        let y = x.logsumexp(1).to_vec1::<f32>();
        assert_eq!(y, [f32::INFINITY, f32::NEG_INFINITY, 2f32.ln() - 1000.0]);
    }
}
