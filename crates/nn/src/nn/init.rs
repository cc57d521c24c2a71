//! Initialisation of weights.

use crate::error::{OrRaise, Result, refuse};
use crate::tensor::{Tensor, full, normal, uniform, with_device};
use candle_core::{DType, Shape};

/// A rule for initial weights. Layers use PyTorch's defaults; this is for other choices.
///
/// The numbers of inputs and outputs of a weight (fan-in and fan-out) follow from its shape,
/// `(outputs, inputs, …)`. Further dimensions, those of a kernel, multiply both.
///
/// ```
/// use taper::prelude::*;
///
/// manual_seed(1);
/// let w = Init::XavierUniform.tensor((200, 100)); // (200, 100)
/// let bound = (6.0f64 / 300.0).sqrt();
/// assert!(w.abs().max_all().item() <= bound);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// The same value everywhere.
    Constant(f64),
    /// Normal, with mean 0 and this standard deviation, as d2l's `init_normal`.
    Normal(f64),
    /// Uniform, between minus this bound and this bound.
    Uniform(f64),
    /// Uniform, between ±√(6 / (inputs + outputs)). From Glorot and Bengio, 2010.
    XavierUniform,
    /// Normal, with standard deviation √(2 / (inputs + outputs)). From Glorot and Bengio, 2010.
    XavierNormal,
    /// Uniform, between ±√(6 / inputs), for layers before ReLU. From He et al., 2015.
    KaimingUniform,
    /// Normal, with standard deviation √(2 / inputs), for layers before ReLU. From He et al., 2015.
    KaimingNormal,
    /// The rows of the weight, as a matrix `(outputs, …)`, are orthogonal to each other and have this length; if there
    /// are fewer columns than rows, the columns. From Saxe, McClelland and Ganguli, 2013.
    Orthogonal(f64),
    /// Normal, with mean 0 and this standard deviation, but drawn again beyond two standard deviations.
    TruncatedNormal(f64),
}

impl Init {
    /// Draws a weight of this shape on the default device, in `f32`.
    ///
    /// # Panics
    /// If the shape has fewer than two dimensions and the rule needs them, or the bound or standard
    /// deviation is not positive.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let w = Init::Constant(0.5).tensor((1, 2)); // (1, 2)
    /// assert_eq!(w.to_vec2::<f32>(), [[0.5, 0.5]]);
    /// assert!(attempt(|| Init::KaimingNormal.tensor(3)).is_err());
    /// ```
    #[track_caller]
    pub fn tensor(self, shape: impl Into<Shape>) -> Tensor {
        self.draw(shape.into())
    }

    #[track_caller]
    fn draw(self, shape: Shape) -> Tensor {
        let spread = match self {
            Self::Constant(value) => return full(shape, value),
            Self::Normal(std) => return normal(0.0, std, shape),
            Self::Uniform(bound) => return uniform(-bound, bound, shape),
            Self::Orthogonal(length) => return orthogonal(&shape, length).or_raise(),
            Self::TruncatedNormal(std) => return truncated(std, shape),
            Self::XavierUniform | Self::XavierNormal => {
                let (inputs, outputs) = fans(&shape).or_raise();
                2.0 / (inputs + outputs)
            }
            Self::KaimingUniform | Self::KaimingNormal => 2.0 / fans(&shape).or_raise().0,
        };
        match self {
            Self::XavierUniform | Self::KaimingUniform => {
                let bound = (3.0 * spread).sqrt();
                uniform(-bound, bound, shape)
            }
            _ => normal(0.0, spread.sqrt(), shape),
        }
    }

    /// Draws a weight with the shape, type and device of these values.
    #[track_caller]
    pub(super) fn tensor_like(self, values: &Tensor) -> Tensor {
        with_device(values.device(), || self.tensor(values.shape())).to_dtype(values.dtype())
    }
}

/// Draws a normal matrix and orthogonalises its rows, or its columns if there are fewer.
fn orthogonal(shape: &Shape, length: f64) -> Result<Tensor> {
    fans(shape)?;
    let (rows, count) = (shape.dims()[0], shape.elem_count());
    let columns = count / rows.max(1);
    let (few, size) = (rows.min(columns), rows.max(columns));
    let drawn = normal(0.0, 1.0, (few, size)).to_dtype(DType::F64).to_vec2();
    let mut vectors: Vec<Vec<f64>> = drawn;
    for i in 0..few {
        let (before, rest) = vectors.split_at_mut(i);
        let vector = &mut rest[0];
        // Twice, as the first pass leaves rounding errors.
        for other in before.iter().chain(before.iter()) {
            let product = dot(vector, other);
            vector
                .iter_mut()
                .zip(other)
                .for_each(|(x, y)| *x -= product * y);
        }
        let norm = dot(vector, vector).sqrt();
        vector.iter_mut().for_each(|x| *x /= norm);
    }
    let matrix = Tensor::from_vec(vectors.concat(), (few, size)) * length;
    let matrix = match rows <= columns {
        true => matrix,
        false => matrix.t(),
    };
    Ok(matrix.reshape(shape).to_dtype(DType::F32))
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn truncated(std: f64, shape: Shape) -> Tensor {
    let mut values = normal(0.0, std, shape.clone());
    loop {
        let beyond = values.abs().gt(2.0 * std);
        if beyond.sum_all().item() == 0.0 {
            return values;
        }
        values = beyond.where_cond(normal(0.0, std, shape.clone()), &values);
    }
}

/// Returns the numbers of inputs and outputs of a weight: fan-in and fan-out.
fn fans(shape: &Shape) -> Result<(f64, f64)> {
    let [outputs, inputs, kernel @ ..] = shape.dims() else {
        refuse!(
            ("expected a weight of two dimensions or more, found shape {:?}", shape.dims());
            "Use a shape (outputs, inputs, …), or Init::Normal, Init::Uniform or Init::Constant");
    };
    let kernel: usize = kernel.iter().product();
    Ok(((inputs * kernel) as f64, (outputs * kernel) as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn std(init: Init) -> f64 {
        let w = init.tensor((300, 50, 2, 2));
        w.sqr().mean_all().item().sqrt()
    }

    #[test]
    fn the_standard_deviation_is_that_of_the_papers() {
        let xavier = (2.0f64 / (4.0 * 350.0)).sqrt();
        let kaiming = (2.0f64 / 200.0).sqrt();
        for (init, want) in [
            (Init::XavierUniform, xavier),
            (Init::XavierNormal, xavier),
            (Init::KaimingUniform, kaiming),
            (Init::KaimingNormal, kaiming),
            (Init::Normal(0.3), 0.3),
            (Init::Uniform(3f64.sqrt()), 1.0),
            (Init::Constant(-2.0), 2.0),
            (Init::TruncatedNormal(0.5), 0.5 * 0.8796),
            (Init::Orthogonal(3.0), 3.0 / 300f64.sqrt()),
        ] {
            assert!((std(init) / want - 1.0).abs() < 0.02, "{init:?}");
        }
    }

    #[test]
    fn orthogonal_rows_or_columns() {
        for shape in [(3, 5), (5, 3)] {
            let w = Init::Orthogonal(2.0).tensor(shape);
            let products = match shape.0 < shape.1 {
                true => w.matmul(&w.t()),
                false => w.t().matmul(&w),
            };
            let off = (products - crate::tensor::eye(3) * 4.0).abs().max_all();
            assert!(off.item() < 1e-5);
        }
        let w = Init::TruncatedNormal(0.5).tensor((40, 50));
        assert!(w.abs().max_all().item() <= 1.0);
    }
}
