//! The position of each step, added to its features.

use crate::error::{OrRaise, raise};
use crate::layer;
use crate::nn::summary::record_output;
use crate::nn::{Parameter, Parameters, check};
use crate::ops;
use crate::tensor::{Tensor, normal, past_steps};
use candle_core::Device;

layer! {
    /// Adds sines and cosines of the position to the features, so that attention can tell the steps apart.
    ///
    /// Feature `2 i` of step `t` gets `sin(t / 10000^(2 i / features))`, feature `2 i + 1` the cosine. The layer
    /// has no parameters, and sequences may have any length. From Vaswani et al., 2017, and d2l's chapter
    /// *Self-Attention and Positional Encoding*.
    ///
    /// # Shapes
    /// `(steps, batch, features)`, or with [`batch_first`](Self::batch_first) `(batch, steps, features)`; the
    /// output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = zeros((1, 2, 4));
    /// let y = PositionalEncoding::new().batch_first(true).forward(&x); // (1, 2, 4)
    /// assert_eq!(y.i((0, 0)).to_vec1::<f32>(), [0.0, 1.0, 0.0, 1.0]);
    /// assert!((y.i((0, 1, 0)).item() - 1f64.sin()).abs() < 1e-7);
    /// ```
    #[derive(Clone, Copy)]
    pub struct PositionalEncoding {
        /// Sets whether the layer takes `(batch, steps, features)` instead of `(steps, batch, features)`; `false` by
        /// default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let y = PositionalEncoding::new().batch_first(true).forward(&zeros((2, 5, 4)));
        /// assert_eq!(y.i(0).to_vec2::<f32>(), y.i(1).to_vec2::<f32>());
        /// ```
        set batch_first: bool = false,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let (steps, features) = steps_of(self, input, self.batch_first);
        ops::check::floating(&check::name(self), input.raw()).or_raise();
        let value = |t: usize, i: usize| {
            let angle = t as f64 / 10000f64.powf((i / 2 * 2) as f64 / features as f64);
            if i.is_multiple_of(2) {
                angle.sin()
            } else {
                angle.cos()
            }
        };
        let past = past_steps();
        let values = (past..past + steps).flat_map(|t| (0..features).map(move |i| value(t, i)));
        let table = Tensor::from_vec_on(values.collect(), (steps, features), &Device::Cpu);
        let table = table.to_dtype(input.dtype()).to_device(input.device());
        record_output(self, add(input, &table, self.batch_first))
    }
}

layer! {
    /// Adds a learned vector to the features of each step, as in GPT.
    ///
    /// `weight` has the shape `(max_len, features)`, initialised with normal random values of standard
    /// deviation 0.02.
    ///
    /// # Shapes
    /// `(steps, batch, features)`, or with [`batch_first`](Self::batch_first) `(batch, steps, features)`, with
    /// at most `max_len` steps; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = LearnedPositionalEncoding::new(100, 8).batch_first(true);
    /// let y = layer.forward(&zeros((4, 10, 8))); // (4, 10, 8)
    /// let weight = layer.parameter("weight").tensor(); // (100, 8)
    /// assert_eq!(y.i((0, 9)).to_vec1::<f32>(), weight.i(9).to_vec1::<f32>());
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if one of the sizes is 0.
    #[describe(self.weight.size(0), self.weight.size(1), batch_first = self.batch_first)]
    pub struct LearnedPositionalEncoding(max_len: usize, features: usize) {
        let sizes = [("max_len", max_len), ("features", features)];
        check::positive("LearnedPositionalEncoding", &sizes);
        weight = Parameter::new(&normal(0.0, 0.02, (max_len, features))),
        /// Sets whether the layer takes `(batch, steps, features)` instead of `(steps, batch, features)`; `false` by
        /// default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let layer = LearnedPositionalEncoding::new(5, 4).batch_first(true);
        /// let y = layer.forward(&zeros((9, 5, 4))); // (9, 5, 4), with 5 steps
        /// ```
        set batch_first: bool = false,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let weight = self.weight.tensor(); // (max_len, features)
        let (max_len, expected) = weight.dims2();
        let (steps, features) = steps_of(self, input, self.batch_first);
        if features != expected {
            let wanted = format!("Its last dimension must be {expected}");
            raise(check::refused(self, input, wanted))
        }
        let past = past_steps();
        if past + steps > max_len {
            let steps = past + steps;
            raise!(
                ("{}: a sequence has {steps} steps", check::name(self));
                "Cut it to {max_len} steps, or create the layer for more")
        }
        ops::check::same_place(&check::name(self), input.raw(), weight.raw()).or_raise();
        record_output(
            self,
            add(input, &weight.narrow(0, past, steps), self.batch_first),
        )
    }
}

/// Returns the numbers of steps and features of an input.
#[track_caller]
fn steps_of(layer: &dyn Parameters, x: &Tensor, batch_first: bool) -> (usize, usize) {
    match (x.dims(), batch_first) {
        (&[_, steps, features], true) | (&[steps, _, features], false) => (steps, features),
        _ => {
            let expected = format!("Expected ({}, features)", check::order(batch_first));
            raise(check::refused(layer, x, expected))
        }
    }
}

/// Adds a row of the table to each step.
#[track_caller]
fn add(x: &Tensor, table: &Tensor, batch_first: bool) -> Tensor {
    match batch_first {
        true => x + table,
        false => x + table.unsqueeze(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::Layer;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;

    #[test]
    fn wrong_inputs_are_explained() {
        let layer = LearnedPositionalEncoding::new(5, 4);
        let message = |shape: &[usize]| {
            let x = zeros(shape);
            message_of(|| layer.forward(&x))
        };
        assert_eq!(
            message(&[6, 1, 4]),
            "LearnedPositionalEncoding(5, 4, batch_first=false): a sequence has 6 steps\n\
             Cut it to 5 steps, or create the layer for more"
        );
        assert!(message(&[5, 4]).ends_with("Expected (steps, batch, features)"));
        assert!(message(&[5, 1, 3]).ends_with("must be 4"));
        let plain = PositionalEncoding::new();
        assert!(attempt(|| plain.forward(&zeros(3))).is_err());
    }
}
