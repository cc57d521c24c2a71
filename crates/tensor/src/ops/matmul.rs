//! Matrix products, also of batches of matrices.

use super::broadcast::common_shape;
use super::check;
use super::dispatch::run_product;
use super::engine::autograd::{Downstream, Product, Upstream, record};
use super::engine::read::read_strided;
use super::engine::{Element, dispatch_dtype};
use super::precision::rounded;
use super::profile;
use crate::error::problem;
use crate::tensor::{Raw, Tensor};
use candle_core::{D, Result};
use std::fmt::Display;
use taper_compute::gemm::{Matrix, products};

functions! {
    /// Returns the product of two matrices, or of each matrix in `a` with the matrix at the same place in `b`.
    ///
    /// # Shapes
    /// `(…, rows, depth)` and `(…, depth, columns)` to `(…, rows, columns)`. The batch dimensions before the
    /// last two are broadcast, so `b` can be a single matrix. A vector `(depth,)` on the left is a row, on the right a
    /// column; that dimension is removed from the product.
    ///
    /// # Panics
    /// If the shapes, types or devices do not fit.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (a, b) = (ones((6, 2, 3)), ones((6, 3, 4)));
    /// let y = matmul(&a, &b); // (6, 2, 4)
    /// assert_eq!(y.sum_all().item(), 6.0 * 2.0 * 4.0 * 3.0);
    /// ```
    pub fn matmul(a: &Tensor, b: &Tensor) => matmul_as(&"matmul", a.raw(), b.raw());
}

/// Computes [`matmul`]; errors begin with the name of the caller.
pub(crate) fn matmul_as(caller: &dyn Display, a: &Raw, b: &Raw) -> Result<Raw> {
    match (a.rank(), b.rank()) {
        (1, 1..) => return matmul_as(caller, &a.unsqueeze(0)?, b)?.squeeze(b.rank().max(2) - 2),
        (2.., 1) => return matmul_as(caller, a, &b.unsqueeze(1)?)?.squeeze(a.rank() - 1),
        _ => (),
    }
    if let Some(y) = rounded([a, b], |[a, b]| matmul_as(caller, a, b)) {
        return y;
    }
    let (shape, before) = output_shape(caller, a, b)?;
    check::same_place(caller, b, a)?;
    check::floating(caller, a)?;
    check::output(caller, &shape, a)?;
    if shape.contains(&0) || a.elem_count() == 0 {
        return Raw::zeros(shape, a.dtype(), a.device());
    }
    // A single matrix on the right multiplies all rows at once.
    if b.rank() == 2 && a.rank() > 2 {
        let rows = a.flatten_to(a.rank() - 2)?;
        return matmul_as(caller, &rows, b)?.reshape(shape);
    }
    profile::count(shape.iter().product::<usize>() * a.dim(D::Minus1)?);
    let whole = |x: &Raw| match x.rank() == before.len() + 2 && x.dims()[..before.len()] == before {
        true => Ok(x.clone()),
        false => x.broadcast_as([before.as_slice(), &x.dims()[x.rank() - 2..]].concat()),
    };
    run_product(
        &[&whole(a)?, &whole(b)?],
        |x| dispatch_dtype!(x[0], forward(x[0], x[1], shape)),
        |x| plain(x[0])?.matmul(&plain(x[1])?),
    )
}

/// Returns the tensor, or a contiguous copy if Candle cannot multiply with its strides.
pub(super) fn plain(x: &Raw) -> Result<Raw> {
    let last = x.rank() - 1;
    let fits = x.is_contiguous() || x.layout().transpose(last - 1, last)?.is_contiguous();
    if fits { Ok(x.clone()) } else { x.contiguous() }
}

/// Returns the shape of the product, and its dimensions before the last two.
fn output_shape(caller: &dyn Display, a: &Raw, b: &Raw) -> Result<(Vec<usize>, Vec<usize>)> {
    let (left, right) = (a.dims(), b.dims());
    let refuse = || {
        problem!(
            "{caller} cannot multiply shapes {left:?} and {right:?}";
            "Expected (…, rows, depth) and (…, depth, columns), with batch dimensions that are equal or 1")
    };
    let (&[.., rows, depth], &[.., of_b, columns]) = (left, right) else {
        return Err(refuse().into());
    };
    if depth != of_b {
        return Err(refuse().into());
    }
    let (a, b) = (&left[..left.len() - 2], &right[..right.len() - 2]);
    let before = common_shape(a, b).ok_or_else(refuse)?;
    Ok(([before.as_slice(), &[rows, columns]].concat(), before))
}

/// Returns the matrix at an index of a [plain] tensor with these elements.
fn matrix<'a, T: Element>(x: &Raw, values: &'a [T], index: usize) -> Matrix<'a, T> {
    let &[.., rows, columns] = x.dims() else {
        unreachable!("a product has matrices")
    };
    let values = &values[index * rows * columns..][..rows * columns];
    match x.is_contiguous() {
        true => Matrix::of_rows(values, columns),
        false => Matrix::of_rows(values, rows).transposed(),
    }
}

/// Returns the products, of this shape, of matrices whose dimensions before the last two are equal.
pub(super) fn forward<T: Element>(a: &Raw, b: &Raw, shape: Vec<usize>) -> Result<Raw> {
    // The backward pass reads the copies, too.
    let (a, b) = (&plain(a)?, &plain(b)?);
    let sizes = [a.dim(D::Minus2)?, a.dim(D::Minus1)?, b.dim(D::Minus1)?];
    let count = a.elem_count() / (sizes[0] * sizes[1]);
    let y = read_strided([a, b], |[left, right]: [&[T]; 2]| {
        products(count, sizes, |i| [matrix(a, left, i), matrix(b, right, i)])
    })?;
    record(&[a, b], y, shape, || Product(gradients::<T>))
}

fn gradients<T: Element>(upstream: &Upstream<'_>) -> Result<Downstream> {
    let (a, b, g) = (upstream.input(0)?, upstream.input(1)?, upstream.gradient);
    upstream.each(|i| match i {
        0 => forward::<T>(g, &b.t()?, a.dims().to_vec()),
        _ => forward::<T>(&a.t()?, g, b.dims().to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::tape::foreign;
    use crate::ops::testing::compare;
    use crate::tensor::{randn, zeros};

    const LEADING: [(&[usize], &[usize]); 3] = [(&[], &[]), (&[5], &[5]), (&[2, 3], &[2, 3])];

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("matmul", 60, |case| {
            let [rows, depth, columns] = [(); 3].map(|()| case.one_of(&[1, 3, 8, 17, 49, 130]));
            let (left, right) = case.one_of(&LEADING);
            let a = randn([left, &[rows, depth]].concat());
            let b = randn([right, &[depth, columns]].concat());
            let inputs = vec![case.input(a), case.input(b)];
            let kernel = |x: &[Raw]| matmul_as(&"", &x[0], &x[1]);
            let candle = |x: &[Raw]| {
                foreign(&[&x[0].contiguous()?, &x[1].contiguous()?], &mut |x| {
                    x[0].broadcast_matmul(&x[1])
                })
            };
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }

    #[test]
    fn dimensions_before_the_matrices_are_broadcast() {
        let shape = |a: &[usize], b: &[usize]| {
            attempt(|| matmul(&zeros(a), &zeros(b)).dims().to_vec())
                .map_err(|error| error.to_string())
        };
        assert_eq!(shape(&[2, 1, 3, 4], &[5, 4, 6]).unwrap(), [2, 5, 3, 6]);
        assert_eq!(shape(&[3, 4], &[5, 4, 6]).unwrap(), [5, 3, 6]);
        assert_eq!(shape(&[0, 3, 4], &[4, 6]).unwrap(), [0, 3, 6]);
        assert_eq!(shape(&[3, 0], &[0, 6]).unwrap(), [3, 6]);
        assert_eq!(
            shape(&[2, 3, 4], &[5, 4, 6]).unwrap_err(),
            "matmul cannot multiply shapes [2, 3, 4] and [5, 4, 6]\n\
             Expected (…, rows, depth) and (…, depth, columns), with batch dimensions that are equal or 1"
        );
    }
}
