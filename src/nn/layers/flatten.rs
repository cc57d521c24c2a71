//! The layer that flattens each example to a row.

use crate::error::raise;
use crate::nn::layer::boxed_here;
use crate::nn::summary::record_output;
use crate::nn::{Layer, Parameters, check};
use crate::tensor::Tensor;

/// Merges all dimensions but the first, the batch, into one.
///
/// # Shapes
/// `(batch, a, b, …)` to `(batch, a · b · …)`.
///
/// ```
/// use taper::prelude::*;
///
/// let y = Flatten.forward(&zeros((8, 1, 28, 28))); // (8, 784)
/// assert_eq!(y.dims(), [8, 784]);
/// ```
#[derive(Clone, Copy, Default, Parameters)]
#[describe(start_dim = 1, end_dim = -1)]
pub struct Flatten;

impl Layer for Flatten {
    boxed_here!();

    fn forward(&self, input: &Tensor) -> Tensor {
        let output = match input.rank() {
            0 => raise(check::refused(self, input, "It needs a batch: (batch, …)")),
            1 => input.unsqueeze(1),
            _ => input.flatten_from(1),
        };
        record_output(self, output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::zeros;

    #[test]
    fn the_batch_stays() {
        for (input, output) in [
            (vec![2, 3], vec![2, 3]),
            (vec![2, 3, 4], vec![2, 12]),
            (vec![5], vec![5, 1]),
        ] {
            let y = Flatten.forward(&zeros(input));
            assert_eq!(y.dims(), output);
        }
    }
}
