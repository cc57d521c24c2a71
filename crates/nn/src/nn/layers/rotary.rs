//! Rotary positions.

use crate::erased::{Erased, outlined};
use crate::error::raise;
use crate::nn::layer::boxed_here;
use crate::nn::summary::output_of;
use crate::nn::{Layer, Parameters, check};
use crate::ops::{self, Angles};
use crate::tensor::{Tensor, past_steps};
use std::f64::consts::TAU;

/// Turns pairs of features of queries and keys by angles that grow with the position, so that their product depends
/// on the distance of the steps.
///
/// Features `i` and `i + head_dim / 2` of step `t` are turned by `t / base^(2 i / head_dim)`, as in Llama. The layer has
/// no parameters. From Su et al., 2021.
///
/// # Shapes
/// `(batch, steps, heads, head_dim)`; the output has the same shape.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[[[1.0, 0.0]], [[1.0, 0.0]]]]); // (1, 2, 1, 2): two steps
/// let y = RotaryEmbedding::new(2).forward(&x).flatten_all(); // cos 0, sin 0, cos 1, sin 1
/// let expected = tensor(&[1.0, 0.0, 1f32.cos(), 1f32.sin()]);
/// assert!((y - expected).abs().max_all().item() < 1e-7);
/// ```
#[derive(Parameters)]
#[describe(head_dim = self.head_dim, base = self.base)]
pub struct RotaryEmbedding {
    head_dim: usize,
    base: f64,
    /// The angles of one step.
    #[parameters(skip)]
    frequencies: Erased<Vec<f64>>,
}

outlined!(Clone for RotaryEmbedding { head_dim, base, frequencies });

impl RotaryEmbedding {
    /// Creates the layer for heads of this size.
    ///
    /// # Panics
    /// If `head_dim` is 0 or odd.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(attempt(|| RotaryEmbedding::new(3)).is_err());
    /// ```
    #[track_caller]
    pub fn new(head_dim: usize) -> Self {
        check::positive("RotaryEmbedding", &[("head_dim", head_dim)]);
        raise!(if !head_dim.is_multiple_of(2); argument("RotaryEmbedding", head_dim);
            "an even head_dim",
            "Features are turned in pairs: choose an even number of them for each head");
        let (base, frequencies) = (0.0, Erased::default());
        Self {
            head_dim,
            base,
            frequencies,
        }
        .base(10000.0)
    }

    /// Sets the base of the angles; 10000 by default. A larger one distinguishes more distant steps.
    ///
    /// # Panics
    /// If `base` is not above 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(RotaryEmbedding::new(8).base(5e5).describe(), "RotaryEmbedding(head_dim=8, base=500000.0)");
    /// ```
    #[track_caller]
    pub fn base(mut self, base: f64) -> Self {
        check::above_zero("RotaryEmbedding", "base", base);
        let angle = |i: usize| base.powf(-2.0 * i as f64 / self.head_dim as f64);
        self.frequencies = Vec::from_iter((0..self.head_dim / 2).map(angle)).into();
        self.base = base;
        self
    }

    /// Slows the angles down, as Llama 3 does for sequences that are `factor` times longer than the `original` length of
    /// the training. Angles that turn less than once in `original / low` steps are slowed down fully, other angles that
    /// turn less than once in `original / high` steps partly.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let rope = RotaryEmbedding::new(64).base(5e5).slowed(8.0, 1.0, 4.0, 8192);
    /// assert_eq!(rope.forward(&zeros((1, 4, 2, 64))).dims(), [1, 4, 2, 64]);
    /// ```
    pub fn slowed(mut self, factor: f64, low: f64, high: f64, original: usize) -> Self {
        for angle in self.frequencies.iter_mut() {
            let turns = original as f64 * *angle / TAU;
            let kept = ((turns - low) / (high - low)).clamp(0.0, 1.0);
            *angle *= kept + (1.0 - kept) / factor;
        }
        self
    }

    /// Returns the angles of the next steps, which follow the steps in a [`KvCache`](crate::nn::KvCache).
    pub(super) fn angles(&self, steps: usize) -> Angles {
        Angles::new(&self.frequencies, past_steps(), steps)
    }
}

impl Layer for RotaryEmbedding {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let steps = input.dims().get(1).copied().unwrap_or(0);
        let y = ops::rotate_as(&check::name(self), input.raw(), &self.angles(steps));
        output_of(self, y)
    }
}
