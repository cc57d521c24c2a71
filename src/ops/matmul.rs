//! Matrix products, also of batches of matrices.

use super::broadcast::common_shape;
use super::check;
use super::dispatch::run_product;
use super::engine::autograd::{Backward, Downstream, Upstream, record};
use super::engine::strided::in_order;
use super::engine::{CpuView, Element, dispatch_dtype};
use super::precision::rounded;
use super::profile;
use crate::error::problem;
use crate::tensor::{Raw, Tensor};
use candle_core::{D, Result};
use std::fmt::Display;
use std::marker::PhantomData;
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
    let exchanged = x.transpose(D::Minus2, D::Minus1)?;
    match x.is_contiguous() || exchanged.is_contiguous() {
        true => Ok(x.clone()),
        false => x.contiguous(),
    }
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

/// A contiguous batch of matrices, in row-major order or, if `transposed`, in column-major order.
struct Matrices {
    tensor: Raw,
    transposed: bool,
    rows: usize,
    columns: usize,
}

impl Matrices {
    /// Returns the matrices of a tensor. They are copied only if the tensor is not contiguous, even with
    /// its last two dimensions transposed.
    fn of(x: &Raw) -> Result<Self> {
        let (rows, columns) = (x.dim(D::Minus2)?, x.dim(D::Minus1)?);
        let exchanged = x.transpose(D::Minus2, D::Minus1)?;
        let transposed = !x.is_contiguous() && exchanged.is_contiguous();
        Ok(Matrices {
            tensor: if transposed {
                exchanged.detach()
            } else {
                in_order(x)?
            },
            transposed,
            rows,
            columns,
        })
    }

    /// Returns the matrix at an index; `values` are the elements of the tensor.
    fn get<'a, T: Element>(&self, values: &'a [T], index: usize) -> Matrix<'a, T> {
        let size = self.rows * self.columns;
        let values = &values[index * size..][..size];
        match self.transposed {
            false => Matrix::of_rows(values, self.columns),
            true => Matrix::of_rows(values, self.rows).transposed(),
        }
    }
}

fn forward<T: Element>(a: &Raw, b: &Raw, shape: Vec<usize>) -> Result<Raw> {
    let back = Back {
        a: Matrices::of(a)?,
        b: Matrices::of(b)?,
        element: PhantomData::<T>,
    };
    let y = {
        let views = (CpuView::of(&back.a.tensor)?, CpuView::of(&back.b.tensor)?);
        let (of_a, of_b) = (views.0.as_slice::<T>()?, views.1.as_slice::<T>()?);
        products(back.count(), back.sizes(), |i| {
            [back.a.get(of_a, i), back.b.get(of_b, i)]
        })
    };
    record(&[a, b], y, shape, || back)
}

struct Back<T> {
    a: Matrices,
    b: Matrices,
    element: PhantomData<T>,
}

impl<T> Back<T> {
    fn sizes(&self) -> [usize; 3] {
        [self.a.rows, self.a.columns, self.b.columns]
    }

    fn count(&self) -> usize {
        self.a.tensor.elem_count() / (self.a.rows * self.a.columns)
    }
}

impl<T: Element> Backward for Back<T> {
    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (gradient, [a_wanted, b_wanted, _]) = (upstream.gradient, upstream.wanted);
        let views = (
            CpuView::of(&self.a.tensor)?,
            CpuView::of(&self.b.tensor)?,
            CpuView::of(gradient)?,
        );
        let (a, b, g) = (
            views.0.as_slice::<T>()?,
            views.1.as_slice::<T>()?,
            views.2.as_slice::<T>()?,
        );
        let [rows, depth, columns] = self.sizes();
        let g = |i: usize| Matrix::of_rows(&g[i * rows * columns..][..rows * columns], columns);
        let shape = |last: [usize; 2]| {
            let dims = gradient.dims();
            [&dims[..dims.len() - 2], &last].concat()
        };
        let mut gradients = [None, None, None];
        if a_wanted {
            let sizes = [rows, columns, depth];
            let of_a = products(self.count(), sizes, |i| {
                [g(i), self.b.get(b, i).transposed()]
            });
            gradients[0] = Some(Raw::from_vec(
                of_a,
                shape([rows, depth]),
                gradient.device(),
            )?);
        }
        if b_wanted {
            let sizes = [depth, rows, columns];
            let of_b = products(self.count(), sizes, |i| {
                [self.a.get(a, i).transposed(), g(i)]
            });
            gradients[1] = Some(Raw::from_vec(
                of_b,
                shape([depth, columns]),
                gradient.device(),
            )?);
        }
        Ok(gradients)
    }

    fn reads(&self, wanted: [bool; 3]) -> [bool; 3] {
        [wanted[1], wanted[0], false]
    }

    fn keeps(&self) -> [bool; 3] {
        [true, true, false]
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (a, b, g) = (upstream.x(0)?, upstream.x(1)?, upstream.g());
        let [a_wanted, b_wanted, _] = upstream.wanted;
        let of_a = a_wanted.then(|| g.matmul(&b.t()).into());
        let of_b = b_wanted.then(|| a.t().matmul(g).into());
        Ok([of_a, of_b, None])
    }
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
