//! Norms other than the Euclidean, and distances.

use super::moments::{deviation, variance};
use super::sums::reduced_shape;
use crate::error::{OrRaise, refuse};
use crate::ops::{self, check};
use crate::tensor::{Axes, Axis, Tensor};
use candle_core::{DType, Result};
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns the norm of the order `p` along dimensions, which are removed from the shape: `(Σ |x|ᵖ)¹ᐟᵖ`. The order
        /// may be infinite, for the largest or smallest absolute value, or 0, for the number of elements that are not 0.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[3.0, -4.0]); // (2,)
        /// assert_eq!(x.vector_norm(1.0, 0).item(), 7.0);
        /// assert_eq!(x.vector_norm(f64::INFINITY, 0).item(), 4.0);
        /// ```
        ///
        /// # Panics
        /// If there is no such dimension, or the tensor has an integer type.
        pub fn vector_norm(&self, p: f64, dims: impl Into<Axes>) -> Tensor = vector_norm(self, p, &dims.into());

        /// Returns the Euclidean norm along dimensions, which keep their places with the size 1.
        pub fn norm_keepdim(&self, dims: impl Into<Axes>) -> Tensor = kept(self, &dims.into(), "norm");

        /// Returns the tensor divided by its Euclidean norm along dimensions, or by 1e-12 where the norm is smaller.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[[3.0, 4.0], [0.0, 0.0]]); // (2, 2)
        /// assert_eq!(x.normalize(1).to_vec2::<f32>(), [[0.6, 0.8], [0.0, 0.0]]);
        /// ```
        ///
        /// # Panics
        /// If there is no such dimension, or the tensor has an integer type.
        pub fn normalize(&self, dims: impl Into<Axes>) -> Tensor = normalized(self, &dims.into());

        /// Returns the variance along dimensions, which keep their places with the size 1.
        pub fn var_keepdim(&self, dims: impl Into<Axes>) -> Tensor = kept(self, &dims.into(), "var");

        /// Returns the standard deviation along dimensions, which keep their places with the size 1.
        pub fn std_keepdim(&self, dims: impl Into<Axes>) -> Tensor = kept(self, &dims.into(), "std");

        /// Returns the variance along dimensions, with `n - correction` in the denominator. With a correction of 0
        /// it is the variance of the elements themselves; 1, as in [`var`](Self::var), estimates the variance of the population.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[1.0, 3.0]); // (2,)
        /// assert_eq!((x.var(0).item(), x.var_with_correction(0.0, 0).item()), (2.0, 1.0));
        /// ```
        pub fn var_with_correction(&self, correction: f64, dims: impl Into<Axes>) -> Tensor
            = variance("var", self.raw(), &dims.into(), correction).or_raise().into();

        /// Returns the root of [`var_with_correction`](Self::var_with_correction).
        pub fn std_with_correction(&self, correction: f64, dims: impl Into<Axes>) -> Tensor
            = deviation(self.raw(), &dims.into(), correction).or_raise().into();

        /// Returns the cosine of the angle between vectors along a dimension. Norms below 1e-8 count as 1e-8.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (x, y) = (tensor(&[[1.0, 0.0], [1.0, 1.0]]), tensor(&[0.0, 2.0]));
        /// let cosines = x.cosine_similarity(&y, -1); // (2,)
        /// assert_eq!(cosines.to_vec1::<f32>(), [0.0, 0.5f32.sqrt()]);
        /// ```
        ///
        /// # Panics
        /// If the shapes cannot be broadcast, there is no such dimension, or a tensor has an integer type.
        pub fn cosine_similarity(&self, other: &Tensor, dim: impl Into<Axis>) -> Tensor
            = cosines(self, other, dim.into());

        /// Returns the Euclidean distance of each row of this tensor to each row of the other: `(…, n, features)` and
        /// `(…, m, features)` to `(…, n, m)`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (x, y) = (zeros((1, 2)), tensor(&[[3.0, 4.0], [0.0, 1.0]]));
        /// assert_eq!(x.cdist(&y).to_vec2::<f32>(), [[5.0, 1.0]]);
        /// ```
        ///
        /// # Panics
        /// If the rows have different sizes, or a tensor has an integer type.
        pub fn cdist(&self, other: &Tensor) -> Tensor = distances(self, other, 2.0);

        /// Returns the distances of [`cdist`](Self::cdist) in the norm `p` of [`vector_norm`](Self::vector_norm), such as 1
        /// or `f64::INFINITY`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (x, y) = (zeros((1, 2)), tensor(&[[3.0, 4.0], [0.0, 1.0]]));
        /// assert_eq!(x.cdist_with_norm(&y, 1.0).to_vec2::<f32>(), [[7.0, 1.0]]);
        /// ```
        ///
        /// # Panics
        /// As [`cdist`](Self::cdist).
        pub fn cdist_with_norm(&self, other: &Tensor, p: f64) -> Tensor = distances(self, other, p);
    }
}

#[raises]
fn vector_norm(x: &Tensor, p: f64, dims: &Axes) -> Result<Tensor> {
    check::floating(&"vector_norm", x.raw())?;
    if check::is_half(x.raw()) {
        let norms = vector_norm(&x.to_dtype(DType::F32), p, dims);
        return Ok(norms.to_dtype(x.dtype()));
    }
    let dims = &dims.of(&"vector_norm", x.raw())?[..];
    Ok(match p {
        2.0 => x.norm(dims),
        1.0 => x.abs().sum(dims),
        0.0 => x.ne(0.0).sum(dims).to_dtype(x.dtype()) + x.sum(dims) * 0.0,
        p if p.is_infinite() => extreme_size(x, p > 0.0, dims),
        p if p < 0.0 => x.abs().powf(p).sum(dims).powf(1.0 / p),
        p => {
            // The gradient of a norm is 0 where it is 0, as in PyTorch: no power of 0 is computed.
            let zero = x.eq(0.0);
            let powers = zero.where_cond(0.0, zero.where_cond(1.0, x).abs().powf(p));
            let sums = powers.sum(dims);
            let zero = sums.eq(0.0);
            zero.where_cond(0.0, zero.where_cond(1.0, sums).powf(1.0 / p))
        }
    })
}

/// Returns the largest or smallest absolute values. As in PyTorch, equal elements share the gradient.
fn extreme_size(x: &Tensor, largest: bool, dims: &[usize]) -> Tensor {
    let sizes = x.abs();
    let extreme = |x: Tensor, dim: &usize| match largest {
        true => x.max_keepdim(*dim),
        false => x.min_keepdim(*dim),
    };
    let extremes = sizes.eq(dims.iter().fold(sizes.detach(), extreme));
    extremes.where_cond(sizes, 0.0).sum(dims) / extremes.sum(dims)
}

/// Computes a reduction whose dimensions keep their places.
#[raises]
fn kept(x: &Tensor, dims: &Axes, reduction: &str) -> Result<Tensor> {
    let dims = dims.of(&reduction, x.raw())?;
    let reduced = match reduction {
        "norm" => ops::norm(x, &dims[..]),
        "var" => ops::var(x, &dims[..]),
        _ => ops::std(x, &dims[..]),
    };
    Ok(reduced.reshape(reduced_shape(x.raw(), &dims, true)))
}

#[raises]
fn normalized(x: &Tensor, dims: &Axes) -> Result<Tensor> {
    check::floating(&"normalize", x.raw())?;
    let dims = dims.of(&"normalize", x.raw())?;
    Ok(x / x.norm_keepdim(&dims[..]).maximum(1e-12))
}

#[raises]
fn cosines(x: &Tensor, y: &Tensor, dim: Axis) -> Result<Tensor> {
    check::floating(&"cosine_similarity", x.raw())?;
    check::floating(&"cosine_similarity", y.raw())?;
    let shape = ops::broadcast::broadcast_shape("cosine_similarity", x.raw(), y.raw())?;
    let shape = if shape.is_empty() { vec![1] } else { shape };
    let (x, y) = (x.broadcast_as(&shape[..]), y.broadcast_as(&shape[..]));
    let dim = dim.of(&"cosine_similarity", x.raw())?;
    let unit = |x: &Tensor| x / x.norm_keepdim(dim).maximum(1e-8);
    Ok((unit(&x) * unit(&y)).sum(dim))
}

#[raises]
fn distances(x: &Tensor, y: &Tensor, p: f64) -> Result<Tensor> {
    check::floating(&"cdist", x.raw())?;
    refuse!(if x.rank() < 2 || y.rank() < 2 || x.dim(-1) != y.dim(-1); shape("cdist", y.dims());
        ("rows (…, n, features) for the rows of {:?}", x.dims()),
        "Pass two matrices whose rows have the same number of features");
    Ok((x.unsqueeze(-2) - y.unsqueeze(-3)).vector_norm(p, -1))
}

#[cfg(test)]
mod tests {
    use crate::ops::testing::variable;
    use crate::tensor::{tensor, zeros};

    #[test]
    fn the_gradient_of_a_norm_is_0_where_the_norm_is() {
        for p in [0.0, 0.5, 1.0, 2.0, 3.0, f64::INFINITY] {
            let x = variable(&zeros((2, 3)));
            let norms = x.vector_norm(p, 1);
            assert_eq!(norms.to_vec1::<f32>(), [0.0, 0.0]);
            let gradient = norms.sum_all().backward().of(&x);
            assert_eq!(gradient.to_vec::<f32>(), [0.0; 6], "{p}");
        }
        let x = variable(&tensor(&[[1.0, 2.0], [3.0, 4.0]]));
        let gradient = x.cdist(&x).sum_all().backward().of(&x);
        assert!(
            gradient.sum_all().item().abs() < 1e-6,
            "a point has the distance 0 to itself"
        );
    }
}
