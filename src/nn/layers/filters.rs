//! The sizes and initial weights of convolutions.

use crate::error::explain;
use crate::nn::check;
use crate::tensor::uniform;
use candle_core::{Device, Result, Shape, Tensor};

/// The initial weights of a convolution: uniform between `-1/√n` and `1/√n`.
#[derive(Clone, Copy)]
pub(super) struct Filters {
    bound: f64,
}

impl Filters {
    /// Checks the sizes of a convolution with `n = channels[0] / groups · kernel` weights for one output.
    pub(super) fn new(
        layer: &str,
        channels: [usize; 2],
        kernel: &[usize],
        groups: usize,
    ) -> Result<Self> {
        let [first, second] = channels;
        let mut sizes = vec![
            ("channels", first),
            ("channels", second),
            ("groups", groups),
        ];
        sizes.extend(kernel.iter().map(|size| ("kernel", *size)));
        check::positive(layer, &sizes)?;
        if !first.is_multiple_of(groups) || !second.is_multiple_of(groups) {
            return Err(explain(
                format!("{layer}: {groups} groups cannot share {first} and {second} channels"),
                "Choose a number of groups that divides both",
            ));
        }
        let weights = first / groups * kernel.iter().product::<usize>();
        Ok(Self {
            bound: 1.0 / (weights as f64).sqrt(),
        })
    }

    pub(super) fn draw(self, shape: impl Into<Shape>, device: &Device) -> Result<Tensor> {
        uniform(-self.bound, self.bound, shape, device)
    }
}
