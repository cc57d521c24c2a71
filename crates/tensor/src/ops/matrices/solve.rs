//! Systems of linear equations, and Cholesky's decomposition. They are computed on the CPU, in `f64`.

use super::rows_and_columns;
use crate::error::refuse;
use crate::ops::autograd::customized;
use crate::ops::broadcast::common_shape;
use crate::ops::check;
use crate::ops::engine::autograd::{Downstream, Upstream};
use crate::ops::tape;
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Device, Result};
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns `x` in `a x = b`, for this matrix `a`: `(…, n, n)` and `(…, n, k)`, or a vector `(n,)`, to the shape of
        /// `b`. Batch dimensions are broadcast. It is computed on the CPU, in `f64`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let a = tensor(&[[2.0, 1.0], [0.0, 4.0]]); // (2, 2)
        /// assert_eq!(a.solve(&tensor(&[4.0, 8.0])).to_vec1::<f32>(), [1.0, 2.0]);
        /// ```
        ///
        /// # Panics
        /// If the matrix is not square or is singular, or `b` does not fit it.
        pub fn solve(&self, b: &Tensor) -> Tensor = solve(self, b);

        /// Returns the inverse of a matrix, or of each matrix of a batch. To multiply with it, [`solve`](Self::solve) is
        /// faster and more exact.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = tensor(&[[2.0, 0.0], [0.0, 4.0]]).inverse(); // (2, 2)
        /// assert_eq!(y.to_vec2::<f32>(), [[0.5, 0.0], [0.0, 0.25]]);
        /// ```
        ///
        /// # Panics
        /// If the matrix is not square or is singular.
        pub fn inverse(&self) -> Tensor = inverse(self);

        /// Returns Cholesky's decomposition of a symmetric, positive definite matrix, or of each matrix of a batch: the
        /// lower triangle `l` with `l lᵀ = x`. It reads the lower triangle, on the CPU, in `f64`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = tensor(&[[4.0, 2.0], [2.0, 10.0]]); // (2, 2)
        /// assert_eq!(x.cholesky().to_vec2::<f32>(), [[2.0, 0.0], [1.0, 3.0]]);
        /// ```
        ///
        /// # Panics
        /// If the matrix is not square or is not positive definite.
        pub fn cholesky(&self) -> Tensor = cholesky(self);
    }
}

#[raises]
fn solve(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let n = order_of("solve", a)?;
    check::same_place(&"solve", b.raw(), a.raw())?;
    // As in PyTorch, a batch of vectors is one only if its shape says so.
    let is_vector = b.rank() == 1 || b.dims() == &a.dims()[..a.rank() - 1];
    let columns = if is_vector {
        b.unsqueeze(-1)
    } else {
        b.clone()
    };
    let batch = |x: &Tensor| x.dims()[..x.rank() - 2].to_vec();
    let (true, Some(before)) = (
        columns.dim(-2) == n,
        common_shape(&batch(a), &batch(&columns)),
    ) else {
        refuse!(shape("solve", b.dims());
            ("(…, {n}, k) or ({n},) for a matrix of shape {:?}", a.dims()),
            "Pass as many rows as the matrix has");
    };
    let k = columns.dim(-1);
    let whole = |x: &Tensor, size: [usize; 2]| {
        let x = x.broadcast_as([&before[..], &size].concat());
        // Half types are too short.
        let x = if check::is_half(x.raw()) {
            x.to_dtype(DType::F32)
        } else {
            x
        };
        x.to_device(&Device::Cpu)
    };
    let (left, right) = (whole(a, [n, n]), whole(&columns, [n, k]));
    let values = solved(&left, &right)?;
    if values.elem_count() == 0 {
        return Ok(b.clone());
    }
    let inputs = [left.raw(), right.raw()];
    let x = tape::composed(values.values().clone(), &inputs, gradients);
    let x = Tensor::from_raw(x)
        .to_dtype(b.dtype())
        .to_device(b.device());
    Ok(if is_vector { x.squeeze(-1) } else { x })
}

/// Returns the gradients of the matrix and of the right side.
fn gradients(upstream: &Upstream<'_>) -> Result<Downstream> {
    let (a, x, g) = (upstream.x(0)?, upstream.output()?, upstream.g());
    let of_b = solve(&a.t(), g);
    let of_a = -of_b.matmul(&x.t());
    Ok([Some(of_a.into()), Some(of_b.into()), None])
}

#[raises]
fn inverse(x: &Tensor) -> Result<Tensor> {
    let n = order_of("inverse", x)?;
    let identity = Tensor::from_raw(Raw::eye(n, DType::F32, x.device())?);
    Ok(solve(
        x,
        &identity.to_dtype(x.dtype()).broadcast_as(x.shape()),
    ))
}

#[raises]
fn cholesky(x: &Tensor) -> Result<Tensor> {
    let n = order_of("cholesky", x)?;
    let mut values = doubles(x)?;
    for matrix in values.chunks_exact_mut((n * n).max(1)) {
        decompose(matrix, n)?;
    }
    let values = Raw::from_vec(values, x.shape(), &Device::Cpu)?;
    let values = Tensor::from_raw(values)
        .to_dtype(x.dtype())
        .to_device(x.device());
    Ok(customized(x, &values, Box::new(gradient_of_cholesky)))
}

fn gradient_of_cholesky(x: &Tensor, g: &Tensor) -> Tensor {
    let l = x.cholesky();
    let product = l.t().matmul(g).tril(0);
    let half = product.diagonal(0).diag_embed(0) * 0.5;
    let left = solve(&l.t(), &(product - half));
    let of_x = solve(&l.t(), &left.t()).t();
    (&of_x + of_x.t()) * 0.5
}

/// Replaces a symmetric matrix by the lower triangle of its decomposition.
fn decompose(matrix: &mut [f64], n: usize) -> Result<()> {
    for i in 0..n {
        for j in 0..=i {
            let products = (0..j).map(|k| matrix[i * n + k] * matrix[j * n + k]);
            let rest = matrix[i * n + j] - products.sum::<f64>();
            matrix[i * n + j] = match i == j {
                true if rest > 0.0 => rest.sqrt(),
                true => {
                    refuse!(
                        ("cholesky: the matrix is not positive definite; the first {} rows show it", i + 1);
                        "Add a small number to the diagonal: x + eye(n) * 1e-6");
                }
                false => rest / matrix[j * n + j],
            };
        }
        matrix[i * n + i + 1..(i + 1) * n].fill(0.0);
    }
    Ok(())
}

/// Returns the size of a square matrix, or of the matrices of a batch.
fn order_of(caller: &str, x: &Tensor) -> Result<usize> {
    check::floating(&caller, x.raw())?;
    match rows_and_columns(caller, x)? {
        (rows, columns) if rows == columns => Ok(rows),
        _ => refuse!(shape(caller, x.dims()); "square matrices", "Pass as many rows as columns"),
    }
}

fn doubles(x: &Tensor) -> Result<Vec<f64>> {
    let x = x.detach().to_device(&Device::Cpu);
    Ok(x.to_dtype(DType::F64).to_vec())
}

/// Returns the solutions for matrices and right sides of the same batch.
fn solved(a: &Tensor, b: &Tensor) -> Result<Raw> {
    let (n, k) = (a.dim(-1), b.dim(-1));
    let (mut left, mut right) = (doubles(a)?, doubles(b)?);
    let matrices = left.chunks_exact_mut((n * n).max(1));
    for (matrix, columns) in matrices.zip(right.chunks_exact_mut((n * k).max(1))) {
        eliminate(matrix, columns, n, k)?;
    }
    Raw::from_vec(right, b.shape(), &Device::Cpu)?.to_dtype(b.dtype())
}

/// Solves by Gauss's elimination with pivots, which are the largest elements of their columns.
fn eliminate(a: &mut [f64], b: &mut [f64], n: usize, k: usize) -> Result<()> {
    for i in 0..n {
        let size = |row: &usize| a[row * n + i].abs();
        let pivot = (i..n)
            .max_by(|p, q| size(p).total_cmp(&size(q)))
            .unwrap_or(i);
        refuse!(if a[pivot * n + i] == 0.0;
            "solve: the matrix is singular, so it has no inverse";
            "Add a small number to the diagonal: x + eye(n) * 1e-6");
        for j in 0..n {
            a.swap(i * n + j, pivot * n + j);
        }
        for j in 0..k {
            b.swap(i * k + j, pivot * k + j);
        }
        for row in i + 1..n {
            let factor = a[row * n + i] / a[i * n + i];
            if factor != 0.0 {
                subtract(a, n, [row, i], factor);
                subtract(b, k, [row, i], factor);
            }
        }
    }
    for i in (0..n).rev() {
        for row in i + 1..n {
            subtract(b, k, [i, row], a[i * n + row]);
        }
        for value in &mut b[i * k..(i + 1) * k] {
            *value /= a[i * n + i];
        }
    }
    Ok(())
}

/// Subtracts a multiple of one row from another one.
fn subtract(values: &mut [f64], width: usize, [from, row]: [usize; 2], factor: f64) {
    for j in 0..width {
        values[from * width + j] -= factor * values[row * width + j];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::ops::testing::variable;
    use crate::ops::{grad, grad_graph};
    use crate::tensor::{eye, randn, tensor};

    fn close(a: &Tensor, b: &Tensor, tolerance: f64) {
        assert_eq!(a.dims(), b.dims());
        assert!((a - b).abs().max_all().item() < tolerance, "{a} is not {b}");
    }

    /// A product with the inverse has the same gradients, also the second.
    #[test]
    fn gradients_are_those_of_the_inverse() {
        let a = variable(&(randn((3, 3)) + eye(3) * 4.0).to_dtype(DType::F64));
        let b = variable(&randn((3, 2)).to_dtype(DType::F64));
        let of = |x: Tensor| {
            let first = grad_graph(&x.pow(3).sum_all(), &[&a, &b]);
            let second = grad(
                &(first[0].sqr().sum_all() + first[1].sqr().sum_all()),
                &[&a, &b],
            );
            [first, second].concat()
        };
        for (got, want) in of(a.solve(&b)).iter().zip(of(a.inverse().matmul(&b))) {
            close(got, &want, 1e-9);
        }
    }

    #[test]
    fn the_factors_of_a_matrix_multiply_to_it() {
        let x = randn((2, 4, 4)).to_dtype(DType::F64);
        let x = variable(&(x.matmul(&x.t()) + eye(4).to_dtype(DType::F64)));
        let l = x.cholesky();
        let product = l.matmul(&l.t());
        close(&product, &x, 1e-12);
        // The gradient of the identity.
        let weights = randn((2, 4, 4)).to_dtype(DType::F64);
        let weights = &weights + weights.t();
        close(
            &(product * &weights).sum_all().backward().of(&x),
            &weights,
            1e-9,
        );
    }

    #[test]
    fn matrices_without_a_solution_are_refused() {
        let singular = tensor(&[[1.0, 2.0], [2.0, 4.0]]);
        let messages = [
            attempt(|| singular.inverse()),
            attempt(|| (-&singular).cholesky()),
            attempt(|| singular.solve(&randn((3, 1)))),
            attempt(|| randn((2, 3)).inverse()),
        ];
        for message in messages.map(|outcome| outcome.unwrap_err().to_string()) {
            assert_eq!(message.lines().count(), 2, "{message}");
        }
    }
}
