//! The embedding of tokens.

use crate::error::explain;
use crate::nn::summary::seen;
use crate::nn::{Layer, Parameter, Parameters, check};
use crate::tensor::randn;
use candle_core::{DType, Device, Result, Tensor};

/// A table with a learned vector for each token, initialised with normal random values.
///
/// `weight` has the shape `(num_embeddings, embedding_dim)`. From d2l's chapter *Word Embedding*.
///
/// # Shapes
/// Integers `(…)` to `(…, embedding_dim)`.
///
/// ```
/// use taper::prelude::*;
///
/// let layer = Embedding::new(100, 8)?;
/// let y = layer.forward(&tensor(&[[1, 5, 99]], &cpu())?)?; // (1, 3, 8)
/// assert_eq!(y.dims(), [1, 3, 8]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Parameters)]
#[describe(self.weight.size(0), self.weight.size(1))]
pub struct Embedding {
    weight: Parameter,
}

impl Embedding {
    /// Creates a table for this many tokens, with vectors of this length, on the CPU.
    ///
    /// # Errors
    /// If one of them is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Embedding::new(10, 3)?.num_parameters(), 30);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(num_embeddings: usize, embedding_dim: usize) -> Result<Self> {
        let sizes = [
            ("num_embeddings", num_embeddings),
            ("embedding_dim", embedding_dim),
        ];
        check::positive("Embedding", &sizes)?;
        let weight = randn((num_embeddings, embedding_dim), &Device::Cpu)?;
        let weight = Parameter::new(&weight)?;
        Ok(Self { weight })
    }
}

impl Layer for Embedding {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let weight = self.weight.tensor()?; // (tokens, length)
        if !matches!(input.dtype(), DType::I64 | DType::U32 | DType::U8) {
            return Err(explain(
                format!(
                    "{} takes token numbers, but its input is {}",
                    self.describe(),
                    input.dtype().as_str()
                ),
                "Convert the input: x.to_dtype(DType::I64)?",
            ));
        }
        check::same_device(self, input, &weight)?;
        check_numbers(input, weight.dim(0)?, "token", "Embedding")?;
        let mut shape = input.dims().to_vec();
        shape.push(weight.dim(1)?);
        let numbers = input.flatten_all()?;
        let rows = match numbers.device().is_cpu() {
            true => weight.index_select(&numbers, 0)?,
            false => or_nan(&numbers, weight.dim(0)?, |numbers| {
                weight.index_select(numbers, 0)
            })?,
        };
        seen(self, rows.reshape(shape)?)
    }
}

/// Refuses numbers outside `0..count`. Only on the CPU: elsewhere a look at them would make every
/// step wait for the device, and [`or_nan`] stands in.
pub(crate) fn check_numbers(numbers: &Tensor, count: usize, what: &str, place: &str) -> Result<()> {
    if !numbers.device().is_cpu() || numbers.elem_count() == 0 {
        return Ok(());
    }
    let values: Vec<i64> = numbers.to_dtype(DType::I64)?.flatten_all()?.to_vec1()?;
    let Some(wrong) = values
        .iter()
        .find(|value| !(0..count as i64).contains(value))
    else {
        return Ok(());
    };
    Err(explain(
        format!("{place}: {what} {wrong} is out of range: there are {count}, counted from 0"),
        format!("Use numbers from 0 to {}, or make room for more", count - 1),
    ))
}

/// What `look_up` finds for numbers of `0..count`, one row for each; NaN for numbers outside. This is
/// for a GPU, on which a kernel that meets such a number ends all work until the program is started
/// anew.
pub(crate) fn or_nan(
    numbers: &Tensor,
    count: usize,
    look_up: impl FnOnce(&Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    // As they are, not as 32 bits: numbers that are far too large would come out small.
    let numbers = numbers.to_dtype(DType::I64)?;
    let known = (numbers.ge(0i64)? * numbers.lt(count as i64)?)?; // (numbers,)
    let safe = known
        .where_cond(&numbers, &numbers.zeros_like()?)?
        .to_dtype(DType::U32)?;
    let found = look_up(&safe)?; // (numbers, …)
    let mut shape = vec![1; found.rank()];
    shape[0] = known.elem_count();
    let known = known.reshape(shape)?.broadcast_as(found.shape())?;
    let nan = Tensor::full(f32::NAN, (), found.device())?.to_dtype(found.dtype())?;
    known.where_cond(&found, &nan.broadcast_as(found.shape())?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{tensor, zeros};

    #[test]
    fn rows_of_numbers_out_of_range_are_nan_where_they_are_not_looked_at() {
        let weight = tensor(&[[1.0, 2.0], [3.0, 4.0]], &Device::Cpu).unwrap();
        let numbers = tensor(&[1, 2, 0], &Device::Cpu).unwrap();
        let rows = or_nan(&numbers, 2, |numbers| weight.index_select(numbers, 0)).unwrap();
        let rows = rows.to_vec2::<f32>().unwrap();
        assert_eq!((&rows[0], &rows[2]), (&vec![3.0, 4.0], &vec![1.0, 2.0]));
        assert!(rows[1].iter().all(|x| x.is_nan()));
    }

    #[test]
    fn wrong_inputs_are_explained() {
        let layer = Embedding::new(3, 2).unwrap();
        let message = |x: Tensor| layer.forward(&x).unwrap_err().to_string();
        assert_eq!(
            message(tensor(&[0, 3], &Device::Cpu).unwrap()),
            "Embedding: token 3 is out of range: there are 3, counted from 0\n\
             Use numbers from 0 to 2, or make room for more"
        );
        let message = message(zeros(1, &Device::Cpu).unwrap());
        assert!(message.contains("takes token numbers, but its input is f32"));
        assert!(Embedding::new(3, 0).is_err());
    }
}
