//! Linear layers whose weights have 8 or 4 bits, for inference: a quarter or an eighth of the memory that each token
//! reads.
//!
//! The weights of a row are in groups of 32, each with a scale of 16 bits. A few rows of input are rounded to integers of 16
//! bits in groups, too, and multiplied with the weights as they are read: the products are of integers, and a 30,000th of the
//! largest input of a group is the most that rounding changes. More rows stay in `f32`, and are multiplied with panels of
//! weights that are converted once for all.

mod codes;

use super::check;
use super::dispatch::run;
use super::engine::autograd::{has_kernel, recorded_linear};
use super::engine::read::read;
use super::lookup::check_indices;
use super::matmul;
use super::profile;
use crate::error::refuse;
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Device, Result};
use codes::{Eight, Four, GROUP, Inputs, dots, quantized, values};
use std::fmt::Display;
use std::sync::Arc;
use taper_compute::gemm::{Matrix, pack_transposed, product_with};
use taper_compute::microkernel::tile_shape;
use taper_compute::scratch::with_scratch;
use taper_compute::shared_slice::vec_filled_by;
use taper_compute::threads::for_each_task;

/// The most rows of input that are multiplied with the weights as they are read.
const FEW_ROWS: usize = 4;
/// The rows of weights of one task.
const ROWS: usize = 32;

/// A matrix `(out_features, in_features)` of a few bits for each element.
#[doc(hidden)]
pub struct Quantized {
    rows: usize,
    columns: usize,
    bits: usize,
    codes: Vec<u8>,
    /// The upper halves of `f32`, one for each group.
    scales: Vec<u16>,
}

/// Calls a generic function for the width of a matrix.
macro_rules! by_bits {
    ($matrix:expr, $function:ident($($argument:expr),* $(,)?)) => {
        match $matrix.bits {
            4 => $function::<Four>($($argument),*),
            _ => $function::<Eight>($($argument),*),
        }
    };
}

#[doc(hidden)]
impl Quantized {
    /// Quantizes a matrix on the CPU to 8 or 4 bits.
    pub fn new(matrix: &Raw, bits: usize) -> Result<Self> {
        let (rows, columns) = matrix.dims2()?;
        let elements = matrix
            .to_dtype(DType::F32)?
            .flatten_all()?
            .to_vec1::<f32>()?;
        let groups = columns.div_ceil(GROUP);
        let size = groups * GROUP * bits / 8;
        let mut codes = vec![0; rows * size];
        let mut scales = vec![0; rows * groups];
        let lines = codes
            .chunks_exact_mut(size.max(1))
            .zip(scales.chunks_exact_mut(groups.max(1)));
        for (row, (codes, scales)) in elements.chunks_exact(columns.max(1)).zip(lines) {
            match bits {
                4 => quantized::<Four>(row, codes, scales),
                _ => quantized::<Eight>(row, codes, scales),
            }
        }
        Ok(Self {
            rows,
            columns,
            bits,
            codes,
            scales,
        })
    }

    pub fn dims(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    pub fn bytes(&self) -> usize {
        self.codes.len() + 2 * self.scales.len()
    }

    /// Returns the values in `f32`.
    pub fn tensor(&self) -> Result<Raw> {
        Raw::from_vec(self.values(), (self.rows, self.columns), &Device::Cpu)
    }

    /// Returns the rows of token indices: `(…)` to `(…, in_features)`.
    pub fn embedding_as(&self, caller: &dyn Display, tokens: &Raw) -> Result<Raw> {
        check_indices(
            caller,
            "token",
            tokens,
            self.rows,
            "create the embedding for more tokens",
        )?;
        let indices: Vec<i64> = tokens.flatten_all()?.to_dtype(DType::I64)?.to_vec1()?;
        let mut found = vec![0.0; indices.len() * self.columns];
        for (out, index) in found.chunks_exact_mut(self.columns.max(1)).zip(indices) {
            self.row(index as usize, out);
        }
        let mut shape = tokens.dims().to_vec();
        shape.push(self.columns);
        Raw::from_vec(found, shape, tokens.device())
    }

    fn values(&self) -> Vec<f32> {
        let mut all = vec![0.0; self.rows * self.columns];
        for (row, out) in all.chunks_exact_mut(self.columns.max(1)).enumerate() {
            self.row(row, out);
        }
        all
    }

    /// Writes the values of a row.
    fn row(&self, row: usize, out: &mut [f32]) {
        let (codes, scales) = self.line(row, 1);
        by_bits!(self, values(codes, scales, out))
    }

    /// Returns the codes and scales of some rows.
    fn line(&self, first: usize, count: usize) -> (&[u8], &[u16]) {
        let groups = self.columns.div_ceil(GROUP);
        let size = groups * GROUP * self.bits / 8;
        (
            &self.codes[first * size..(first + count) * size],
            &self.scales[first * groups..(first + count) * groups],
        )
    }
}

/// Returns `x · weightᵀ + bias`. Gradients flow to the input and the bias.
#[doc(hidden)]
pub fn linear_quantized(
    caller: &dyn Display,
    x: &Raw,
    weight: &Arc<Quantized>,
    bias: Option<&Raw>,
) -> Result<Raw> {
    let [outputs, inputs] = weight.dims();
    check::features(caller, x, inputs)?;
    let fits = matches!(x.dtype(), DType::F32 | DType::F16 | DType::BF16);
    refuse!(if !(fits && x.device().is_cpu());
        ("{caller}: its weight has {} bits, and the input is {} on {:?}",
         weight.bits, x.dtype().as_str(), x.device().location());
        "Quantized layers compute on the CPU, in f32: x.to_dtype(DType::F32)");
    let mut shape = x.dims().to_vec();
    shape[x.rank() - 1] = outputs;
    check::output(caller, &shape, x)?;
    if x.elem_count() * outputs == 0 {
        return Raw::zeros(shape, x.dtype(), x.device());
    }
    profile::count(x.elem_count() * outputs);
    let compute = |x: &[&Raw]| forward(x[0], weight, &shape);
    let y = run(&[x], compute, compute)?;
    Ok(match bias {
        Some(bias) => (Tensor::from(y) + Tensor::from_raw_ref(bias)).into(),
        None => y,
    })
}

fn forward(x: &Raw, weight: &Arc<Quantized>, shape: &[usize]) -> Result<Raw> {
    debug_assert!(has_kernel(&[x]));
    let columns = weight.columns;
    let y = read([x], |[values]| {
        let rows = values.len() / columns;
        let few = (rows <= FEW_ROWS)
            .then(|| values.chunks_exact(columns).map(Inputs::of).collect())
            .flatten();
        match few {
            Some(inputs) => of_few_rows(inputs, weight),
            None => of_many_rows(values, rows, weight),
        }
    })?;
    let y = Raw::from_vec(y, shape, x.device())?;
    Ok(recorded_linear(x, y, || {
        let (weight, shape) = (weight.clone(), x.dims().to_vec());
        move |g: &Raw| {
            let g = g.contiguous()?.reshape(((), weight.rows))?;
            let of_x = matmul::forward::<f32>(&g, &weight.tensor()?, vec![g.dim(0)?, columns])?;
            of_x.reshape(&shape[..])
        }
    }))
}

/// Multiplies each row with all rows of the weight.
fn of_few_rows(inputs: Vec<Inputs>, weight: &Quantized) -> Vec<f32> {
    let outputs = weight.rows;
    // SAFETY: the tasks cover the outputs of all rows, each once.
    unsafe {
        vec_filled_by(inputs.len() * outputs, |y| {
            for_each_task(outputs.div_ceil(ROWS), |task| {
                let (first, count) = (task * ROWS, ROWS.min(outputs - task * ROWS));
                let (codes, scales) = weight.line(first, count);
                for (row, x) in inputs.iter().enumerate() {
                    let y = y.part(row * outputs + first, count);
                    by_bits!(weight, dots(x, codes, scales, y));
                }
            });
        })
    }
}

/// Converts panels of the weight to `f32`, and multiplies all rows with them.
fn of_many_rows(x: &[f32], rows: usize, weight: &Quantized) -> Vec<f32> {
    let (_, tile_columns) = tile_shape::<f32>();
    let pack = |first: usize, width: usize, panel: &mut [f32]| {
        let columns = weight.columns;
        with_scratch(width * columns, |lines: &mut [f32]| {
            for (i, line) in lines.chunks_exact_mut(columns).enumerate() {
                weight.row(first + i, line);
            }
            pack_transposed(lines, columns, width, tile_columns, panel);
        });
    };
    let sizes = [rows, weight.columns, weight.rows];
    product_with(sizes, Matrix::of_rows(x, weight.columns), &pack)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::variable;
    use crate::tensor::{randn, with_seed};

    fn largest(x: &Tensor) -> f64 {
        x.abs().max_all().item()
    }

    #[test]
    fn values_are_near_the_weights_and_quantize_to_themselves() {
        // In a group of 32 normal values, the largest is about 2.5; a step is a 127th or an 8th of it.
        for (bits, most) in [(8, 0.02), (4, 0.3)] {
            let weight = with_seed(1, || randn((40, 70)));
            let quantized = Quantized::new(weight.raw(), bits).unwrap();
            let values = Tensor::from(quantized.tensor().unwrap());
            assert!(largest(&(&values - &weight)) < most, "{bits}");
            let again = Quantized::new(values.raw(), bits).unwrap();
            assert_eq!(
                largest(&(Tensor::from(again.tensor().unwrap()) - values)),
                0.0
            );
        }
    }

    #[test]
    fn products_are_those_of_the_values() {
        for bits in [4, 8] {
            for (rows, inputs, outputs) in [
                (1, 64, 33),
                (1, 5, 3),
                (3, 97, 40),
                (4, 32, 1),
                (5, 64, 33),
                (70, 45, 130),
            ] {
                let weight = Quantized::new(randn((outputs, inputs)).raw(), bits).unwrap();
                let values = Tensor::from(weight.tensor().unwrap());
                let weight = Arc::new(weight);
                let x = randn((2, rows, inputs)).narrow(0, 0, 1);
                let x = match rows <= FEW_ROWS {
                    true => rounded(&x),
                    false => x,
                };
                let x = variable(&x);
                let bias = randn(outputs);
                let y = linear_quantized(&"test", x.raw(), &weight, Some(bias.raw())).unwrap();
                let y = Tensor::from(y);
                let expected = x.matmul(&values.t()) + &bias;
                let size = largest(&expected).max((inputs as f64).sqrt());
                assert!(
                    largest(&(&y - &expected)) < 1e-5 * size,
                    "{bits} {rows} {inputs} {outputs}"
                );
                let of = |y: &Tensor| y.sqr().sum_all().backward().of(&x);
                let (got, expected) = (of(&y), of(&expected));
                assert!(largest(&(got - &expected)) < 1e-4 * largest(&expected).max(size));
            }
        }
    }

    /// Returns the inputs as they are multiplied with a few rows.
    fn rounded(x: &Tensor) -> Tensor {
        let inputs = x.dims()[x.rank() - 1];
        let values = x.flatten_all().to_vec1::<f32>();
        let rows = values.chunks(inputs).map(Inputs::of);
        let values = rows.flat_map(|row| row.expect("finite inputs").values(inputs));
        let rounded = crate::tensor::tensor(values.collect::<Vec<f32>>());
        rounded.reshape(x.dims().to_vec())
    }

    #[test]
    fn inputs_are_rounded_by_a_60_000th_of_the_largest_in_their_group() {
        let x = with_seed(1, || randn((1, 70)));
        let difference = (rounded(&x) - &x).abs();
        for (first, count) in [(0, 32), (32, 32), (64, 6)] {
            let of = |x: &Tensor| largest(&x.narrow(1, first, count));
            assert!(of(&difference) > 0.0);
            assert!(of(&difference) < of(&x) / 60_000.0);
        }
    }

    #[test]
    fn extreme_inputs_are_those_of_f32() {
        let weight = with_seed(1, || Quantized::new(randn((3, 40)).raw(), 8).unwrap());
        let weight = Arc::new(weight);
        let values = Tensor::from(weight.tensor().unwrap());
        for extreme in [0.0, 1e-44, 1e-38, 3e34, f64::INFINITY, f64::NAN] {
            let mut x = randn((1, 40)).to_vec::<f32>();
            x[3] = extreme as f32;
            let x = crate::tensor::tensor(x).reshape((1, 40));
            let y = linear_quantized(&"test", x.raw(), &weight, None).unwrap();
            let y = Tensor::from(y).to_vec::<f32>();
            let expected = x.matmul(&values.t()).to_vec::<f32>();
            for (y, expected) in y.iter().zip(expected) {
                // Beside a large input, the others of its group are rounded to its precision.
                let size = expected.abs().max(1.0).max(extreme as f32);
                let is_near = (y - expected).abs() <= 1e-3 * size;
                let is_same = y.to_bits() == expected.to_bits() || y.is_nan() && expected.is_nan();
                assert!(is_near || is_same, "{extreme}: {y} {expected}");
            }
        }
    }

    #[test]
    fn extreme_weights_stay_finite() {
        for bits in [4, 8] {
            let weight = crate::tensor::tensor(&[[0.0, 0.0], [1e-30, -1e-30], [3e38, -3e38]]);
            let values = Quantized::new(weight.raw(), bits)
                .unwrap()
                .tensor()
                .unwrap();
            let values = Tensor::from(values).to_vec::<f32>();
            assert!(values.iter().all(|x| x.is_finite()), "{values:?}");
            assert_eq!(values[..2], [0.0, 0.0]);
        }
    }
}
