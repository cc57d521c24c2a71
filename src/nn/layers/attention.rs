//! Multi-head attention.

use crate::error::explain;
use crate::nn::layers::Linear;
use crate::nn::summary::seen;
use crate::nn::{Init, Layer, Mode, Parameter, Parameters, ParametersExt, check};
use crate::ops::{self, AttentionMask};
use crate::tensor::zeros;
use candle_core::{Device, Result, Tensor};

/// Multi-head attention: queries, keys and values are projected, each head attends with its part of the
/// features, and the outputs of all heads are projected together.
///
/// `in_proj_weight` has the shape `(3 embed_dim, embed_dim)`: the projections of queries, keys and values.
/// Names and initial values are those of PyTorch. From Vaswani et al., 2017, and d2l's chapter *Multi-Head
/// Attention*.
///
/// # Shapes
/// Queries `(queries, batch, embed_dim)`, keys and values `(keys, batch, embed_dim)`, to
/// `(queries, batch, embed_dim)`; with [`batch_first`](Self::batch_first), the batch comes first. In
/// `seq!` the layer computes self-attention: the input is query, key and value.
///
/// ```
/// use taper::prelude::*;
///
/// let attention = MultiheadAttention::new(8, 2)?.batch_first();
/// let x = randn((4, 10, 8), &cpu())?; // (batch, steps, features)
/// let y = attention.forward(&x, &x, &x, &AttentionMask::causal())?; // (4, 10, 8)
/// assert_eq!(y.dims(), [4, 10, 8]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Parameters)]
#[describe(
    embed_dim = self.embed_dim(),
    num_heads = self.num_heads,
    dropout = self.dropout,
    batch_first = self.batch_first
)]
pub struct MultiheadAttention {
    in_proj_weight: Parameter,
    in_proj_bias: Option<Parameter>,
    out_proj: Linear,
    num_heads: usize,
    dropout: f64,
    batch_first: bool,
    mode: Mode,
}

impl MultiheadAttention {
    /// Creates a layer for this many features and heads, on the CPU.
    ///
    /// # Errors
    /// If one of them is 0, or `num_heads` does not divide `embed_dim`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(MultiheadAttention::new(8, 2)?.num_parameters(), 4 * 8 * 8 + 4 * 8);
    /// assert!(MultiheadAttention::new(8, 3).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn new(embed_dim: usize, num_heads: usize) -> Result<Self> {
        let sizes = [("embed_dim", embed_dim), ("num_heads", num_heads)];
        check::positive("MultiheadAttention", &sizes)?;
        if !embed_dim.is_multiple_of(num_heads) {
            return Err(explain(
                format!("MultiheadAttention: {num_heads} heads cannot share {embed_dim} features"),
                "Choose an embed_dim that num_heads divides",
            ));
        }
        let rows = embed_dim.saturating_mul(3);
        let out_proj = Linear::new(embed_dim, embed_dim)?;
        out_proj
            .parameter("bias")?
            .set(&zeros(embed_dim, &Device::Cpu)?)?;
        Ok(Self {
            in_proj_weight: Parameter::new(
                &Init::XavierUniform.tensor((rows, embed_dim), &Device::Cpu)?,
            )?,
            in_proj_bias: Some(Parameter::new(&zeros(rows, &Device::Cpu)?)?),
            out_proj,
            num_heads,
            dropout: 0.0,
            batch_first: false,
            mode: Mode::new(),
        })
    }

    /// Sets the probability with which each weight of the attention is dropped in training mode; 0 by
    /// default.
    ///
    /// # Errors
    /// If `p` is not between 0 and 1.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(MultiheadAttention::new(8, 2)?.dropout(0.1).is_ok());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn dropout(mut self, p: f64) -> Result<Self> {
        self.set_dropout(p)?;
        Ok(self)
    }

    pub(super) fn set_dropout(&mut self, p: f64) -> Result<()> {
        check::probability("MultiheadAttention", "dropout", p)?;
        self.dropout = p;
        Ok(())
    }

    /// Takes and returns `(batch, steps, features)` instead of `(steps, batch, features)`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let attention = MultiheadAttention::new(8, 2)?.batch_first();
    /// let (q, k) = (randn((4, 3, 8), &cpu())?, randn((4, 5, 8), &cpu())?);
    /// assert_eq!(attention.forward(&q, &k, &k, &AttentionMask::none())?.dims(), [4, 3, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn batch_first(mut self) -> Self {
        self.batch_first = true;
        self
    }

    /// Removes all biases.
    ///
    /// # Errors
    /// If there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(MultiheadAttention::new(8, 2)?.without_bias()?.num_parameters(), 4 * 8 * 8);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn without_bias(mut self) -> Result<Self> {
        let weight = self.out_proj.parameter("weight")?.tensor()?;
        self.in_proj_bias = None;
        self.out_proj = Linear::without_bias(weight.dim(1)?, weight.dim(0)?)?;
        self.out_proj.parameter("weight")?.set(&weight)?;
        Ok(self)
    }

    fn embed_dim(&self) -> Option<usize> {
        self.in_proj_weight.size(1)
    }

    /// Returns the beginning of error messages: one line, unlike the description.
    fn name(&self) -> String {
        let embed_dim = self.embed_dim().unwrap_or_default();
        format!(
            "MultiheadAttention(embed_dim={embed_dim}, num_heads={})",
            self.num_heads
        )
    }

    /// Returns an output for each query: the projected values, weighted by the attention to their keys.
    ///
    /// # Errors
    /// If the shapes of the inputs or the mask do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let attention = MultiheadAttention::new(8, 2)?;
    /// let (q, k) = (randn((3, 4, 8), &cpu())?, randn((5, 4, 8), &cpu())?); // (steps, batch, features)
    /// let mask = AttentionMask::none().lengths(&tensor(&[5, 1, 2, 3], &cpu())?, 5)?;
    /// let y = attention.forward(&q, &k, &k, &mask)?; // (3, 4, 8)
    /// assert_eq!(y.dims(), [3, 4, 8]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn forward(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        mask: &AttentionMask,
    ) -> Result<Tensor> {
        let projections = self.projections([query, key, value])?;
        if self.probability() == 0.0 {
            // The faster kernel, which does not return the weights.
            let inputs: Vec<&Tensor> = projections.iter().collect();
            let y = ops::attention_of_heads(&inputs, self.num_heads, self.batch_first, mask)?;
            if let Some(y) = y {
                return seen(self, self.out_proj.forward(&y)?);
            }
        }
        Ok(self.attend(&projections, mask)?.0)
    }

    /// Returns the output for each query, and the attention weights of each head:
    /// `(batch, heads, queries, keys)`.
    ///
    /// # Errors
    /// If the shapes of the inputs or the mask do not match.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let attention = MultiheadAttention::new(8, 2)?.batch_first();
    /// let x = randn((1, 3, 8), &cpu())?;
    /// let (_, weights) = attention.forward_with_weights(&x, &x, &x, &AttentionMask::causal())?;
    /// assert_eq!(weights.dims(), [1, 2, 3, 3]);
    /// assert_eq!(weights.i((0, 0, 0))?.to_vec1::<f32>()?, [1.0, 0.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn forward_with_weights(
        &self,
        query: &Tensor,
        key: &Tensor,
        value: &Tensor,
        mask: &AttentionMask,
    ) -> Result<(Tensor, Tensor)> {
        self.attend(&self.projections([query, key, value])?, mask)
    }

    /// Returns the probability with which weights are dropped in the current mode.
    fn probability(&self) -> f64 {
        match self.mode.is_training() {
            true => self.dropout,
            false => 0.0,
        }
    }

    fn attend(&self, projections: &[Tensor], mask: &AttentionMask) -> Result<(Tensor, Tensor)> {
        let [q, k, v] = self.heads(projections)?; // (batch, heads, steps, features)
        let p = self.probability();
        let (y, weights) = ops::attention(&self.name(), [&q, &k, &v], mask, p)?;
        let y = match self.batch_first {
            true => y.transpose(1, 2)?,        // (batch, steps, heads, features)
            false => y.permute([2, 0, 1, 3])?, // (steps, batch, heads, features)
        };
        let y = self.out_proj.forward(&y.flatten_from(2)?)?;
        Ok((seen(self, y)?, weights))
    }

    /// Splits the projections of query, key and value into heads.
    fn heads(&self, projections: &[Tensor]) -> Result<[Tensor; 3]> {
        let features = self.embed_dim().unwrap_or_default() / self.num_heads;
        let heads = |y: &Tensor| {
            let (a, b, all) = y.dims3()?;
            let y = y.reshape((a, b, all / features, features))?;
            // (batch, heads, steps, features)
            match self.batch_first {
                true => y.transpose(1, 2),
                false => y.permute([1, 2, 0, 3]),
            }
        };
        if let [all] = projections {
            let all = heads(all)?;
            let part = |i: usize| all.narrow(1, i * self.num_heads, self.num_heads);
            return Ok([part(0)?, part(1)?, part(2)?]);
        }
        let [q, k, v] = [0, 1, 2].map(|i| heads(&projections[i]));
        Ok([q?, k?, v?])
    }

    /// Returns the projections of query, key and value. Inputs that are the same tensor are projected
    /// together, to one tensor.
    fn projections(&self, inputs: [&Tensor; 3]) -> Result<Vec<Tensor>> {
        let weight = self.in_proj_weight.tensor()?;
        let bias = self
            .in_proj_bias
            .as_ref()
            .map(Parameter::tensor)
            .transpose()?;
        let features = weight.dim(1)?;
        for input in inputs {
            self.check(input, features)?;
        }
        let project = |x: &Tensor, first: usize, count: usize| {
            let weight = weight.narrow(0, first * features, count * features)?;
            let bias = { bias.as_ref() }
                .map(|bias| bias.narrow(0, first * features, count * features))
                .transpose()?;
            ops::linear_as(&self.name(), x, &weight, bias.as_ref())
        };
        let [query, key, value] = inputs;
        let same = |a: &Tensor, b: &Tensor| a.id() == b.id();
        if same(query, key) && same(key, value) {
            return Ok(vec![project(query, 0, 3)?]);
        }
        Ok(vec![
            project(query, 0, 1)?,
            project(key, 1, 1)?,
            project(value, 2, 1)?,
        ])
    }

    fn check(&self, x: &Tensor, features: usize) -> Result<()> {
        match x.rank() == 3 && x.dims()[2] == features {
            true => Ok(()),
            false => {
                let order = if self.batch_first {
                    "batch, steps"
                } else {
                    "steps, batch"
                };
                let wanted = format!("Expected ({order}, {features})");
                Err(ops::check::wrong_shape(&self.name(), x, wanted))
            }
        }
    }
}

impl Layer for MultiheadAttention {
    /// Computes self-attention: the input is query, key and value.
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        self.forward(input, input, input, &AttentionMask::none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::randn;

    const CPU: Device = Device::Cpu;

    #[test]
    fn wrong_inputs_are_explained() {
        let attention = MultiheadAttention::new(4, 2).unwrap();
        let message = |q: &[usize], k: &[usize]| {
            let (q, k) = (zeros(q, &CPU).unwrap(), zeros(k, &CPU).unwrap());
            let y = attention.forward(&q, &k, &k, &AttentionMask::none());
            y.unwrap_err().to_string()
        };
        assert_eq!(
            message(&[3, 2, 5], &[3, 2, 4]),
            "MultiheadAttention(embed_dim=4, num_heads=2) \
             cannot take an input of shape [3, 2, 5]\nExpected (steps, batch, 4)"
        );
        assert!(message(&[3, 2, 4], &[3, 1, 4]).contains("cannot take a query, key and value"));
        for wrong in [MultiheadAttention::new(0, 1), MultiheadAttention::new(4, 0)] {
            assert_eq!(wrong.err().unwrap().to_string().lines().count(), 2);
        }
    }

    #[test]
    fn the_order_of_batch_and_steps_changes_nothing_else() -> Result<()> {
        let attention = MultiheadAttention::new(6, 3)?;
        let x = randn((4, 2, 6), &CPU)?; // (steps, batch, features)
        let y = attention.forward(&x, &x, &x, &AttentionMask::causal())?;
        let (attention, x) = (attention.batch_first(), x.transpose(0, 1)?);
        let copy = x.copy()?; // projected apart
        let z = attention.forward(&x, &copy, &x, &AttentionMask::causal())?;
        let difference = (y.transpose(0, 1)? - z)?.abs()?.max_all()?;
        assert!(difference.to_scalar::<f32>()? < 1e-6);
        Ok(())
    }
}
