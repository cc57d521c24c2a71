//! Which keys each query may attend to.

use crate::error::{OrRaise, explain, refuse};
use crate::ops::{all_finite, check};
use crate::tensor::{Raw, Tensor};
use candle_core::{D, DType, Device, Result, Shape};
use std::fmt::Display;
use std::ops::Range;

/// Which keys a query attends to because of its position.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CausalWindow {
    /// Whether a query attends to no key behind its own.
    pub(super) causal: bool,
    /// How many keys precede the key of the first query.
    pub(super) past: usize,
    /// The most keys, if it is causal.
    pub(super) window: Option<usize>,
}

impl CausalWindow {
    /// Returns the keys that a query attends to.
    pub(super) fn of(&self, query: usize, keys: usize) -> Range<usize> {
        if !self.causal {
            return 0..keys;
        }
        let after = self.past + query + 1;
        let first = self.window.map_or(0, |size| after.saturating_sub(size));
        let end = keys.min(after);
        first.min(end)..end
    }

    /// Returns whether each query attends to a key: a window may begin behind the last key.
    pub(super) fn fits(&self, queries: usize, keys: usize) -> bool {
        self.window.is_none() || self.past + queries <= keys
    }

    /// Returns the summands of the scores that hide the other keys.
    fn hiding(&self, queries: usize, keys: usize, device: &Device) -> Result<Raw> {
        let mut values = vec![hidden(DType::F32) as f32; queries * keys];
        for (query, row) in values.chunks_exact_mut(keys.max(1)).enumerate() {
            row[self.of(query, keys)].fill(0.0);
        }
        Raw::from_vec(values, (queries, keys), device)
    }
}

/// The keys that each query may attend to: an argument of
/// [`scaled_dot_product_attention`](crate::ops::scaled_dot_product_attention) and of the layers with attention.
///
/// Masks add up: `AttentionMask::causal().lengths(&lengths, steps)` hides the future and the padding.
/// 1 always means that the query may attend to the key; in PyTorch this depends on the function. The output for
/// a query that may attend to no key is 0.
///
/// The keys and values that are hidden from a query reach neither its output nor its gradients, also if they are NaN or
/// infinite. In layers, such elements of steps that are hidden from all queries, as padding is, count as zeros. There are
/// three limits: A floating-point mask hides only where it is `-inf`; finite values such as -1e9 are added to the scores.
/// A step that a causal mask hides from earlier ones attends to itself, so NaN in it makes the gradients of a layer's
/// weights NaN. And on a GPU, keys are protected only if the mask has [`pairs`](Self::pairs), [`keys`](Self::keys) or
/// [`lengths`](Self::lengths) that hide them from all queries.
///
/// ```
/// use taper::prelude::*;
///
/// let (q, v) = (zeros((1, 2, 4)), tensor(&[[[1.0], [3.0]]]));
/// let y = scaled_dot_product_attention(&q, &q, &v, &AttentionMask::causal()); // (1, 2, 1)
/// assert_eq!(y.to_vec::<f32>(), [1.0, 2.0]); // the first query sees the first key only
/// ```
#[derive(Clone, Debug, Default)]
pub struct AttentionMask {
    pub(super) reach: CausalWindow,
    /// Summands of the scores: `(…, queries, keys)`.
    pub(super) scores: Option<Raw>,
    /// Summands of the scores, the same for all queries: `(batch, keys)`.
    pub(super) keys: Option<Raw>,
}

impl AttentionMask {
    /// Lets each query attend to all keys.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (q, v) = (zeros((1, 2, 4)), tensor(&[[[1.0], [3.0]]]));
    /// let y = scaled_dot_product_attention(&q, &q, &v, &AttentionMask::none()); // (1, 2, 1)
    /// assert_eq!(y.to_vec::<f32>(), [2.0, 2.0]);
    /// ```
    pub fn none() -> Self {
        Self::default()
    }

    /// Lets query `i` attend to the keys from 0 to `i`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = randn((1, 5, 8));
    /// let y = scaled_dot_product_attention(&x, &x, &x, &AttentionMask::causal()); // (1, 5, 8)
    /// let first = |t: &Tensor| t.i((0, 0)).to_vec1::<f32>();
    /// assert_eq!(first(&y), first(&x));
    /// ```
    pub fn causal() -> Self {
        Self {
            reach: CausalWindow {
                causal: true,
                ..CausalWindow::default()
            },
            ..Self::default()
        }
    }

    /// Lets query `i` attend to the last `size` keys up to key `i`: a sliding window, as in Mistral.
    ///
    /// # Panics
    /// If `size` is 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (q, v) = (zeros((1, 3, 4)), tensor(&[[[1.0], [3.0], [7.0]]]));
    /// let y = scaled_dot_product_attention(&q, &q, &v, &AttentionMask::window(2)); // (1, 3, 1)
    /// assert_eq!(y.to_vec::<f32>(), [1.0, 2.0, 5.0]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn window(size: usize) -> Self {
        check::positive(&"AttentionMask::window", &[("size", size)]).or_raise();
        let mut mask = Self::causal();
        mask.reach.window = Some(size);
        mask
    }

    /// Returns whether the mask depends on the positions alone, and hides the future.
    #[doc(hidden)]
    pub fn is_only_causal(&self) -> bool {
        self.reach.causal && self.scores.is_none() && self.keys.is_none()
    }

    /// Returns whether there may be a query that may attend to no key.
    pub(super) fn may_hide_all(&self) -> bool {
        self.scores.is_some() || self.keys.is_some() || self.reach.window.is_some()
    }

    /// Returns the mask for queries that `past` further keys precede.
    #[doc(hidden)]
    pub fn after(mut self, past: usize) -> Self {
        self.reach.past = past;
        self
    }

    /// Adds a mask for pairs of queries and keys: 1 where the query may attend to the key, 0 where it may
    /// not. Floating-point values are added to the scores instead.
    ///
    /// # Shapes
    /// Any that broadcasts to the scores, `(…, queries, keys)`; in a layer with heads
    /// `(batch, heads, queries, keys)`.
    ///
    /// # Panics
    /// If there is a mask for pairs already, with a shape that does not broadcast with this one.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mask = AttentionMask::none().pairs(&tensor(&[[0, 1], [0, 0]])); // (queries, keys)
    /// let (q, v) = (zeros((1, 2, 4)), tensor(&[[[1.0], [3.0]]]));
    /// let y = scaled_dot_product_attention(&q, &q, &v, &mask); // (1, 2, 1)
    /// assert_eq!(y.to_vec::<f32>(), [3.0, 0.0]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn pairs(mut self, mask: &Tensor) -> Self {
        self.scores = joined_with(self.scores, mask.raw()).or_raise();
        self
    }

    /// Adds a mask of keys: 1 for each key that may be attended to, 0 for padding.
    ///
    /// # Shapes
    /// `(batch, keys)`.
    ///
    /// # Panics
    /// If the mask does not have two dimensions, or there is a mask of keys already, with a shape that does not
    /// broadcast with this one.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mask = AttentionMask::none().keys(&tensor(&[[1, 0]]));
    /// let (q, v) = (zeros((1, 2, 4)), tensor(&[[[1.0], [3.0]]]));
    /// let y = scaled_dot_product_attention(&q, &q, &v, &mask); // (1, 2, 1)
    /// assert_eq!(y.to_vec::<f32>(), [1.0, 1.0]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn keys(self, mask: &Tensor) -> Self {
        self.with_keys(mask.raw()).or_raise()
    }

    fn with_keys(mut self, mask: &Raw) -> Result<Self> {
        if mask.rank() != 2 {
            let expected = "Expected a mask of keys: (batch, keys)";
            return Err(check::wrong_shape(&"AttentionMask", mask, expected));
        }
        self.keys = joined_with(self.keys, mask)?;
        Ok(self)
    }

    /// Adds a mask of keys from the number of valid keys of each example; the keys that follow them are
    /// padding.
    ///
    /// # Shapes
    /// Integers `(batch,)`; `keys` is the length with the padding.
    ///
    /// # Panics
    /// As for [`keys`](Self::keys), and if `lengths` are not integers of shape `(batch,)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mask = AttentionMask::none().lengths(&tensor(&[1]), 2);
    /// let (q, v) = (zeros((1, 2, 4)), tensor(&[[[1.0], [3.0]]]));
    /// let y = scaled_dot_product_attention(&q, &q, &v, &mask); // (1, 2, 1)
    /// assert_eq!(y.to_vec::<f32>(), [1.0, 1.0]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn lengths(self, lengths: &Tensor, keys: usize) -> Self {
        self.with_lengths(lengths.raw(), keys).or_raise()
    }

    fn with_lengths(self, lengths: &Raw, keys: usize) -> Result<Self> {
        self.with_keys(&valid_steps(&"AttentionMask", lengths, keys)?)
    }

    /// Returns the mask for further keys behind the others, to which every query may attend.
    #[doc(hidden)]
    pub fn with_further_keys(
        &self,
        queries: usize,
        keys: usize,
        further: usize,
        device: &Device,
    ) -> Result<Self> {
        let mut scores = self.scores.clone();
        if self.reach.causal {
            let future = self.reach.hiding(queries, keys, device)?;
            scores = Some(match scores {
                None => future,
                Some(scores) => joined(Some(scores.clone()), future).map_err(|_| {
                    let found = scores.dims();
                    let problem = format!(
                        "AttentionMask: a mask of shape {found:?} does not fit {queries} queries and {keys} keys"
                    );
                    explain(problem, "Pass a mask of shape (queries, keys) or (batch, 1, queries, keys)")
                })?,
            });
        }
        let wider = |mask: &Raw| match mask.dims().last() {
            Some(size) if *size == keys => mask.pad_with_zeros(D::Minus1, 0, further),
            _ => Ok(mask.clone()),
        };
        Ok(Self {
            reach: CausalWindow::default(),
            scores: scores.as_ref().map(wider).transpose()?,
            keys: self.keys.as_ref().map(wider).transpose()?,
        })
    }

    /// Returns the values that are added to scores of this shape, `(batch, …, queries, keys)`; `None` without a mask.
    pub(super) fn added_to(
        &self,
        caller: &dyn Display,
        scores: &Shape,
        like: &Raw,
    ) -> Result<Option<Raw>> {
        let dims = scores.dims();
        let (queries, keys) = (dims[dims.len() - 2], dims[dims.len() - 1]);
        // The large value of a hidden key needs more than 16 bits.
        let dtype = match like.dtype() {
            DType::F64 => DType::F64,
            _ => DType::F32,
        };
        let mut parts = vec![];
        if self.reach.causal {
            let hiding = self.reach.hiding(queries, keys, like.device())?;
            parts.push(hiding.to_dtype(dtype)?);
        }
        if let Some(mask) = &self.scores {
            parts.push(mask.to_dtype(dtype)?);
        }
        if let Some(mask) = &self.keys {
            let mut shape = vec![1; dims.len()];
            (shape[0], shape[dims.len() - 1]) = mask.dims2()?;
            parts.push(mask.reshape(shape)?.to_dtype(dtype)?);
        }
        let mut parts = parts.into_iter();
        let Some(sum) = parts.try_fold(None, |sum, part| joined(sum, part).map(Some))? else {
            return Ok(None);
        };
        let fits = (1..=dims.len()).contains(&sum.rank()) && { sum.dims().iter().rev() }
            .zip(dims.iter().rev())
            .all(|(size, wanted)| *size == 1 || size == wanted);
        if !fits {
            let found = sum.dims();
            refuse!(
                "{caller}: a mask of shape {found:?} does not fit scores of shape {dims:?}";
                "Pass a mask of shape (queries, keys), (batch, 1, queries, keys), or for padding (batch, keys)");
        }
        let least = (sum.ones_like()? * hidden(like.dtype()))?;
        sum.maximum(&least)?.to_dtype(like.dtype()).map(Some)
    }
}

/// Returns the value that is added to the score of a key that must not be attended to. It is finite, because
/// `-inf` leads to NaN if a query may attend to no key.
pub(super) fn hidden(dtype: DType) -> f64 {
    if dtype == DType::F16 { -3e4 } else { -1e30 }
}

/// Returns the values that a mask adds to the scores: a floating-point mask itself; for integers, 0 where the
/// mask is 1, and a large negative value where it is 0.
fn summands(mask: &Raw) -> Result<Raw> {
    match mask.dtype().is_float() {
        true => Ok(mask.clone()),
        false => (mask.ne(0u32)?.to_dtype(DType::F32)? - 1.0)? * -hidden(DType::F32),
    }
}

/// Returns the summands of a mask, added to those of another one if there is one.
fn joined_with(before: Option<Raw>, mask: &Raw) -> Result<Option<Raw>> {
    joined(before, summands(mask)?).map(Some)
}

fn joined(mask: Option<Raw>, other: Raw) -> Result<Raw> {
    let Some(mask) = mask else {
        return Ok(other);
    };
    let other = other.to_dtype(mask.dtype())?;
    let sum = mask.add(&other)?;
    if sum.device().is_cpu() && all_finite(&sum)? {
        return Ok(sum);
    }
    // What one of them hides stays hidden, whatever the other adds: also NaN.
    let hides = |x: &Raw| x.le(0.5 * hidden(x.dtype()));
    let hides = hides(&mask)?.maximum(&hides(&other)?)?;
    let least = (sum.ones_like()? * hidden(DType::F32))?;
    hides.where_cond(&least, &sum)
}

/// Returns 1 for each step before the end of its sequence, 0 for padding: `(batch, steps)`, from lengths
/// `(batch,)`.
#[doc(hidden)]
pub fn valid_steps(caller: &dyn Display, lengths: &Raw, steps: usize) -> Result<Raw> {
    refuse!(if lengths.rank() != 1 || lengths.dtype().is_float();
        ("{caller} takes lengths as integers of shape (batch,), not {} of shape {:?}",
         lengths.dtype().as_str(), lengths.dims());
        "Pass the number of valid steps of each example: tensor(&[5, 3])");
    let lengths = lengths.to_dtype(DType::I64)?.unsqueeze(1)?; // (batch, 1)
    let steps = Raw::arange(0, steps as i64, lengths.device())?.unsqueeze(0)?; // (1, steps)
    steps.values().broadcast_lt(&lengths).map(Raw::from)
}
