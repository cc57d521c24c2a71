//! Functions of vectors and matrices: triangles, diagonals, products by name.

mod solve;

use super::check;
use crate::error::refuse;
use crate::tensor::{Axis, Integer, Operand, Raw, Tensor, moved};
use candle_core::{DType, Device, Result};
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns the tensor with zeros below a diagonal of its last two dimensions: the main one, or for `diagonal` = 1
        /// the one above it.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(ones((2, 2)).triu(0).to_vec2::<f32>(), [[1.0, 1.0], [0.0, 1.0]]);
        /// ```
        ///
        /// # Panics
        /// If the tensor has less than two dimensions.
        pub fn triu(&self, diagonal: impl Into<Integer>) -> Tensor
            = triangle("triu", self, diagonal.into().to_i64());

        /// Returns the tensor with zeros above a diagonal of its last two dimensions: the main one, or for `diagonal` = −1
        /// the one below it.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mask = ones((2, 2)).tril(0); // what a token may attend to
        /// assert_eq!(mask.to_vec2::<f32>(), [[1.0, 0.0], [1.0, 1.0]]);
        /// ```
        ///
        /// # Panics
        /// If the tensor has less than two dimensions.
        pub fn tril(&self, diagonal: impl Into<Integer>) -> Tensor
            = triangle("tril", self, diagonal.into().to_i64());

        /// Returns a diagonal of the last two dimensions as one dimension: the main diagonal, or one above it
        /// (`offset` > 0) or below it.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = arange(0, 6).reshape((2, 3)); // (2, 3)
        /// assert_eq!(x.diagonal(0).to_vec1::<i64>(), [0, 4]);
        /// assert_eq!(x.diagonal(1).to_vec1::<i64>(), [1, 5]);
        /// ```
        ///
        /// # Panics
        /// If the tensor has less than two dimensions.
        pub fn diagonal(&self, offset: impl Into<Integer>) -> Tensor = diagonal(self, offset.into().to_i64());

        /// Returns matrices with the last dimension as their diagonal, and zeros elsewhere: the diagonal from the top left
        /// corner for `offset` 0, those above it for positive ones.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(tensor(&[1, 2]).diag_embed(0).to_vec2::<i64>(), [[1, 0], [0, 2]]);
        /// assert_eq!(tensor(&[3]).diag_embed(1).to_vec2::<i64>(), [[0, 3], [0, 0]]);
        /// ```
        ///
        /// # Panics
        /// If the tensor is a scalar, or the result does not fit into the memory.
        pub fn diag_embed(&self, offset: impl Into<Integer>) -> Tensor = embedded(self, offset.into().to_i64());

        /// Returns the sum of the elements on the diagonal of a matrix.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(eye(3).trace().item(), 3.0);
        /// ```
        pub fn trace(&self) -> Tensor = trace(self);

        /// Returns the products of each element of this vector with each of another one: `(n,)` and `(m,)` to `(n, m)`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = tensor(&[1.0, 2.0]).outer(&tensor(&[3.0, 4.0])); // (2, 2)
        /// assert_eq!(y.to_vec2::<f32>(), [[3.0, 4.0], [6.0, 8.0]]);
        /// ```
        ///
        /// # Panics
        /// If one of them is not a vector.
        pub fn outer(&self, other: &Tensor) -> Tensor = outer(self, other);

        /// Returns values between this tensor, for `weight` = 0, and `end`, for 1: `x + weight * (end - x)`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(tensor(&[0.0, 10.0]).lerp(&tensor(&[4.0, 20.0]), 0.5).to_vec1::<f32>(), [2.0, 15.0]);
        /// ```
        pub fn lerp(&self, end: &Tensor, weight: impl Into<Operand>) -> Tensor
            = lerp(self, end, weight.into());
    }
}

fn rows_and_columns(caller: &str, x: &Tensor) -> Result<(usize, usize)> {
    match x.dims() {
        [.., rows, columns] => Ok((*rows, *columns)),
        dims => refuse!(shape(caller, dims);
            "a tensor with at least two dimensions",
            "Add dimensions of size 1 with unsqueeze(dim)"),
    }
}

#[raises]
fn triangle(caller: &str, x: &Tensor, diagonal: i64) -> Result<Tensor> {
    let (rows, columns) = rows_and_columns(caller, x)?;
    let index = |size: usize| Raw::arange(0, size as i64, &Device::Cpu);
    let above = Tensor::from_raw(index(columns)?) - Tensor::from_raw(index(rows)?.unsqueeze(1)?); // (rows, columns)
    let mask = match caller {
        "triu" => above.ge(diagonal),
        _ => above.le(diagonal),
    };
    let mask = Tensor::from_raw(moved(mask.raw(), x.device())?);
    Ok(mask.where_cond(x, x.zeros_like()))
}

#[raises]
fn diagonal(x: &Tensor, offset: i64) -> Result<Tensor> {
    let (rows, columns) = rows_and_columns("diagonal", x)?;
    let (down, right) = (offset.saturating_neg().max(0), offset.max(0));
    let length = (rows as i64 - down).min(columns as i64 - right).max(0);
    let places = (0..length).map(|i| (down + i) * columns as i64 + right + i);
    let places = Raw::from_vec(places.collect::<Vec<_>>(), length as usize, &Device::Cpu)?;
    let places = Tensor::from_raw(moved(&places, x.device())?);
    Ok(x.flatten(-2, -1).index_select(&places, -1))
}

#[raises]
fn embedded(x: &Tensor, offset: i64) -> Result<Tensor> {
    let last = Axis::from(-1).of(&"diag_embed", x.raw())?;
    let size = x.dims()[last];
    let larger = size.saturating_add(offset.unsigned_abs() as usize);
    let shape = [&x.dims()[..last], &[larger, larger]].concat();
    check::output(&"diag_embed", &shape, x.raw())?;
    let identity = Tensor::from_raw(Raw::eye(size, DType::U8, x.device())?);
    let y = identity.where_cond(x.unsqueeze(-1), x.unsqueeze(-1).zeros_like());
    let (right, down) = (offset.max(0), offset.min(0).saturating_neg());
    Ok(match offset {
        0 => y,
        _ => y.pad_with(&[right, down, down, right], 0),
    })
}

#[raises]
fn trace(x: &Tensor) -> Result<Tensor> {
    match x.rank() {
        2 => Ok(x.diagonal(0).sum_all()),
        _ => refuse!(shape("trace", x.dims());
            "a matrix", "For each matrix of a batch: x.diagonal(0).sum(-1)"),
    }
}

#[raises]
fn outer(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if let Some(wrong) = [x, y].into_iter().find(|x| x.rank() != 1) {
        let advice = "Flatten it: x.flatten_all()";
        refuse!(shape("outer", wrong.dims()); "two vectors", advice);
    }
    Ok(x.unsqueeze(1) * y)
}

#[raises]
fn lerp(x: &Tensor, end: &Tensor, weight: Operand) -> Result<Tensor> {
    let way = end - x;
    Ok(x + match weight {
        Operand::Tensor(weight) => way * weight,
        Operand::Number(weight) => way * weight,
    })
}
