//! Scaled dot-product attention, and which keys each query may attend to.

use super::{check, dropout, softmax_as};
use crate::error::explain;
use candle_core::{D, DType, Device, Result, Shape, Tensor};
use std::fmt::Display;

/// Says which keys each query may attend to; [`scaled_dot_product_attention`] and the layers with
/// attention take one.
///
/// Masks add up: `AttentionMask::causal().lengths(&lengths, steps)?` hides the future and the padding.
/// Unlike in PyTorch, where it depends on the function, 1 always means that the query may attend. A query
/// that may attend to nothing gets zeros.
///
/// ```
/// use taper::prelude::*;
///
/// let (q, v) = (zeros((1, 2, 4), &cpu())?, tensor(&[[[1.0], [3.0]]], &cpu())?);
/// let y = scaled_dot_product_attention(&q, &q, &v, &AttentionMask::causal())?; // (1, 2, 1)
/// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [1.0, 2.0]); // the first query sees the first key only
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct AttentionMask {
    causal: bool,
    /// Summands of the scores: `(…, queries, keys)`.
    scores: Option<Tensor>,
    /// Summands of the scores, the same for all queries: `(batch, keys)`.
    keys: Option<Tensor>,
}

impl AttentionMask {
    /// Lets each query attend to all keys.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (q, v) = (zeros((1, 2, 4), &cpu())?, tensor(&[[[1.0], [3.0]]], &cpu())?);
    /// let y = scaled_dot_product_attention(&q, &q, &v, &AttentionMask::none())?; // (1, 2, 1)
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [2.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn none() -> Self {
        Self::default()
    }

    /// Lets query `i` attend to the keys from 0 to `i`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = randn((1, 5, 8), &cpu())?;
    /// let y = scaled_dot_product_attention(&x, &x, &x, &AttentionMask::causal())?; // (1, 5, 8)
    /// let first = |t: &Tensor| t.i((0, 0))?.to_vec1::<f32>();
    /// assert_eq!(first(&y)?, first(&x)?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn causal() -> Self {
        Self {
            causal: true,
            ..Self::default()
        }
    }

    /// Adds a mask for pairs of queries and keys: 1 where the query may attend to the key, 0 where it may
    /// not. Floating-point values are added to the scores instead.
    ///
    /// # Shapes
    /// Any that broadcasts to the scores, `(…, queries, keys)`; in a layer with heads
    /// `(batch, heads, queries, keys)`.
    ///
    /// # Errors
    /// If there is a mask for pairs already, with another shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mask = AttentionMask::none().pairs(&tensor(&[[0, 1], [0, 0]], &cpu())?)?; // (queries, keys)
    /// let (q, v) = (zeros((1, 2, 4), &cpu())?, tensor(&[[[1.0], [3.0]]], &cpu())?);
    /// let y = scaled_dot_product_attention(&q, &q, &v, &mask)?; // (1, 2, 1)
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [3.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn pairs(mut self, mask: &Tensor) -> Result<Self> {
        self.scores = Some(joined(self.scores, summands(mask)?)?);
        Ok(self)
    }

    /// Adds a mask of keys: 1 for each key that may be attended to, 0 for padding.
    ///
    /// # Shapes
    /// `(batch, keys)`.
    ///
    /// # Errors
    /// If the mask has another number of dimensions.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mask = AttentionMask::none().keys(&tensor(&[[1, 0]], &cpu())?)?;
    /// let (q, v) = (zeros((1, 2, 4), &cpu())?, tensor(&[[[1.0], [3.0]]], &cpu())?);
    /// let y = scaled_dot_product_attention(&q, &q, &v, &mask)?; // (1, 2, 1)
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn keys(mut self, mask: &Tensor) -> Result<Self> {
        if mask.rank() != 2 {
            let expected = "Expected a mask of keys: (batch, keys)";
            return Err(check::wrong_shape(&"AttentionMask", mask, expected));
        }
        self.keys = Some(joined(self.keys, summands(mask)?)?);
        Ok(self)
    }

    /// Adds a mask of keys from the number of keys that are valid in each example; those that follow are
    /// padding.
    ///
    /// # Shapes
    /// Integers `(batch,)`; `keys` is the length with the padding.
    ///
    /// # Errors
    /// If `lengths` is not a vector.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mask = AttentionMask::none().lengths(&tensor(&[1], &cpu())?, 2)?;
    /// let (q, v) = (zeros((1, 2, 4), &cpu())?, tensor(&[[[1.0], [3.0]]], &cpu())?);
    /// let y = scaled_dot_product_attention(&q, &q, &v, &mask)?; // (1, 2, 1)
    /// assert_eq!(y.flatten_all()?.to_vec1::<f32>()?, [1.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn lengths(self, lengths: &Tensor, keys: usize) -> Result<Self> {
        self.keys(&valid_steps(&"AttentionMask", lengths, keys)?)
    }

    /// Returns what is added to scores of this shape, `(batch, …, queries, keys)`.
    fn added_to(
        &self,
        caller: &dyn Display,
        scores: &Shape,
        like: &Tensor,
    ) -> Result<Option<Tensor>> {
        let dims = scores.dims();
        let (queries, keys) = (dims[dims.len() - 2], dims[dims.len() - 1]);
        // The large value of a hidden key needs more than 16 bits.
        let dtype = match like.dtype() {
            DType::F64 => DType::F64,
            _ => DType::F32,
        };
        let mut parts = vec![];
        if self.causal {
            parts.push(future(queries, keys, like.device())?.to_dtype(dtype)?);
        }
        if let Some(mask) = &self.scores {
            parts.push(mask.to_dtype(dtype)?);
        }
        if let Some(mask) = &self.keys {
            let mut shape = vec![1; dims.len()];
            (shape[0], shape[dims.len() - 1]) = mask.dims2()?;
            parts.push(mask.reshape(shape)?.to_dtype(dtype)?);
        }
        let Some(sum) = parts
            .into_iter()
            .map(Ok)
            .reduce(|a, b| joined(Some(a?), b?))
        else {
            return Ok(None);
        };
        let sum = sum?;
        let fits = (1..=dims.len()).contains(&sum.rank()) && { sum.dims().iter().rev() }
            .zip(dims.iter().rev())
            .all(|(size, wanted)| *size == 1 || size == wanted);
        if !fits {
            let found = sum.dims();
            return Err(explain(
                format!(
                    "{caller}: a mask of shape {found:?} does not fit scores of shape {dims:?}"
                ),
                "Give it the shape (queries, keys), (batch, 1, queries, keys), or for padding (batch, keys)",
            ));
        }
        sum.clamp(hidden(like.dtype()), f64::INFINITY)?
            .to_dtype(like.dtype())
            .map(Some)
    }
}

/// What is added to the score of a key that must not be attended to. It is finite, because `-inf`
/// leads to NaN where a query may attend to nothing.
fn hidden(dtype: DType) -> f64 {
    if dtype == DType::F16 { -3e4 } else { -1e30 }
}

/// Returns what a mask adds to the scores: floating-point values themselves; for integers 0 for 1, and
/// a large negative value for 0.
fn summands(mask: &Tensor) -> Result<Tensor> {
    match mask.dtype().is_float() {
        true => Ok(mask.clone()),
        false => (mask.ne(0u32)?.to_dtype(DType::F32)? - 1.0)? * -hidden(DType::F32),
    }
}

fn joined(mask: Option<Tensor>, other: Tensor) -> Result<Tensor> {
    match mask {
        Some(mask) => mask.broadcast_add(&other.to_dtype(mask.dtype())?),
        None => Ok(other),
    }
}

fn future(queries: usize, keys: usize, device: &Device) -> Result<Tensor> {
    let value = |(i, j)| {
        if j > i {
            hidden(DType::F32) as f32
        } else {
            0.0
        }
    };
    let pairs = (0..queries).flat_map(|i| (0..keys).map(move |j| (i, j)));
    Tensor::from_vec(pairs.map(value).collect(), (queries, keys), device)
}

/// Returns 1 for each step before the end of its sequence, 0 for padding: `(batch, steps)`, from lengths
/// `(batch,)`.
pub(crate) fn valid_steps(caller: &dyn Display, lengths: &Tensor, steps: usize) -> Result<Tensor> {
    if lengths.rank() != 1 || lengths.dtype().is_float() {
        return Err(explain(
            format!(
                "{caller} takes lengths as integers of shape (batch,), not {} of shape {:?}",
                lengths.dtype().as_str(),
                lengths.dims()
            ),
            "Give the number of valid steps of each example: tensor(&[5, 3], &cpu())?",
        ));
    }
    let lengths = lengths.to_dtype(DType::I64)?.unsqueeze(1)?; // (batch, 1)
    let steps = Tensor::arange(0, steps as i64, lengths.device())?.unsqueeze(0)?; // (1, steps)
    steps.broadcast_lt(&lengths)
}

/// Returns the mean of `value` `(…, keys, size)` with the weights `softmax(query · keyᵀ / √features)`,
/// for queries `(…, queries, features)` and keys `(…, keys, features)`: `(…, queries, size)`.
///
/// From Vaswani et al., 2017, and d2l's chapter *Attention Scoring Functions*.
///
/// # Errors
/// If the shapes, types or devices do not fit.
///
/// ```
/// use taper::prelude::*;
///
/// let (batch, heads, steps, features) = (2, 4, 5, 8);
/// let q = randn((batch, heads, steps, features), &cpu())?;
/// let (k, v) = (randn((batch, heads, 3, features), &cpu())?, ones((batch, heads, 3, 1), &cpu())?);
/// let y = scaled_dot_product_attention(&q, &k, &v, &AttentionMask::none())?; // (2, 4, 5, 1)
/// let mean = y.mean_all()?.to_scalar::<f32>()?;
/// assert!((mean - 1.0).abs() < 1e-6); // a mean of ones
/// # Ok::<(), Error>(())
/// ```
pub fn scaled_dot_product_attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    mask: &AttentionMask,
) -> Result<Tensor> {
    Ok(attention(
        &"scaled_dot_product_attention",
        [query, key, value],
        mask,
        0.0,
    )?
    .0)
}

/// Returns the mean of the values and its weights, of which each is dropped with probability `p`.
pub(crate) fn attention(
    caller: &dyn Display,
    [query, key, value]: [&Tensor; 3],
    mask: &AttentionMask,
    p: f64,
) -> Result<(Tensor, Tensor)> {
    check_inputs(caller, query, key, value)?;
    if query.elem_count() == 0 || value.elem_count() == 0 {
        let shape = |last: usize| [&query.dims()[..query.rank() - 1], &[last]].concat();
        let zeros = |last| Tensor::zeros(shape(last), query.dtype(), query.device());
        return Ok((zeros(value.dim(D::Minus1)?)?, zeros(key.dim(D::Minus2)?)?));
    }
    let (query, key, value) = (query.contiguous()?, key.contiguous()?, value.contiguous()?);
    let features = query.dim(D::Minus1)?;
    let scores =
        (query / (features as f64).sqrt())?.matmul(&key.transpose(D::Minus2, D::Minus1)?)?;
    let added = mask.added_to(caller, scores.shape(), &scores)?;
    let scores = match &added {
        Some(added) => scores.broadcast_add(added)?,
        None => scores,
    };
    let mut weights = softmax_as(caller, &scores, D::Minus1)?; // (…, queries, keys)
    if let Some(added) = added.filter(|_| mask.scores.is_some() || mask.keys.is_some()) {
        // Zero for a query that may attend to nothing.
        let alive = added
            .max_keepdim(D::Minus1)?
            .gt(0.5 * hidden(added.dtype()))?;
        weights = weights.broadcast_mul(&alive.to_dtype(weights.dtype())?)?;
    }
    let kept = dropout(&weights, p)?;
    Ok((kept.matmul(&value)?, weights))
}

fn check_inputs(caller: &dyn Display, query: &Tensor, key: &Tensor, value: &Tensor) -> Result<()> {
    let (q, k, v) = (query.dims(), key.dims(), value.dims());
    let rank = q.len();
    let fits = rank >= 2
        && [k.len(), v.len()] == [rank; 2]
        && q[..rank - 2] == k[..rank - 2]
        && k[..rank - 1] == v[..rank - 1]
        && q[rank - 1] == k[rank - 1];
    if !fits {
        return Err(explain(
            format!("{caller} cannot take a query, key and value of shapes {q:?}, {k:?} and {v:?}"),
            "Expected (…, queries, features), (…, keys, features) and (…, keys, size), \
             with the same leading dimensions",
        ));
    }
    check::same_place(caller, key, query)?;
    check::same_place(caller, value, query)?;
    check::floating(caller, query)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{randn, tensor, zeros};

    const CPU: Device = Device::Cpu;

    #[test]
    fn wrong_inputs_are_explained() {
        let x = |shape: &[usize]| zeros(shape, &CPU).unwrap();
        let message = |q: &[usize], k: &[usize], mask: &AttentionMask| {
            let (q, k) = (x(q), x(k));
            scaled_dot_product_attention(&q, &k, &k, mask)
                .unwrap_err()
                .to_string()
        };
        let none = AttentionMask::none();
        assert_eq!(
            message(&[1, 2, 4], &[1, 3, 5], &none),
            "scaled_dot_product_attention cannot take a query, key and value of shapes [1, 2, 4], [1, 3, 5] and [1, 3, 5]\n\
             Expected (…, queries, features), (…, keys, features) and (…, keys, size), with the same leading dimensions"
        );
        assert!(message(&[3], &[3], &none).contains("cannot take"));
        let mask = none.pairs(&x(&[2, 2])).unwrap();
        assert!(
            message(&[1, 2, 4], &[1, 3, 4], &mask).contains("a mask of shape [2, 2] does not fit")
        );
        assert!(AttentionMask::none().keys(&x(&[3])).is_err());
        assert!(AttentionMask::none().lengths(&x(&[3]), 2).is_err());
    }

    #[test]
    fn masks_add_up() -> Result<()> {
        let x = randn((2, 3, 4), &CPU)?;
        let mask = AttentionMask::causal()
            .lengths(&tensor(&[3, 1], &CPU)?, 3)?
            .keys(&tensor(&[[1, 0, 1], [1, 1, 1]], &CPU)?)?;
        let (_, weights) = attention(&"test", [&x, &x, &x], &mask, 0.0)?;
        let seen = weights.gt(0.0)?.to_vec3::<u8>()?;
        assert_eq!(seen[0], [[1, 0, 0], [1, 0, 0], [1, 0, 1]]);
        assert_eq!(seen[1], [[1, 0, 0]; 3]);
        Ok(())
    }

    #[test]
    fn an_empty_batch_stays_empty() {
        let x = zeros((0, 3, 4), &CPU).unwrap();
        let y = scaled_dot_product_attention(&x, &x, &x, &AttentionMask::causal());
        assert_eq!(y.unwrap().dims(), [0, 3, 4]);
    }
}
