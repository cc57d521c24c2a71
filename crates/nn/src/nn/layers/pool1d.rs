//! Pooling of sequences, which are images of one row.

use super::convolution::{row_extent, row_margin};
use super::pool::{Pool, pooling};
use crate::error::{OrRaise, raise};
use crate::layer;
use crate::nn::summary::record_output;
use crate::nn::{Parameters, check};
use crate::ops::{self, Pair, Pool2dSpec};
use crate::tensor::{Raw, Tensor};
use candle_core::Result;

/// Computes with sequences as images of one row; the batch may be missing.
#[doc(hidden)]
pub fn as_rows(
    layer: &dyn Parameters,
    x: &Tensor,
    least: usize,
    pool: impl FnOnce(&Tensor) -> Result<Raw>,
) -> Tensor {
    let fits = match x.dims() {
        [_, channels, length] | [channels, length] => *channels > 0 && *length >= least,
        _ => false,
    };
    if !fits {
        let expected =
            format!("Expected sequences (batch, channels, length) of a length of at least {least}");
        raise(check::refused(layer, x, expected))
    }
    let is_batch = x.rank() == 3;
    let images = match is_batch {
        true => x.unsqueeze(2),
        false => x.unsqueeze(1).unsqueeze(0),
    }; // (batch, channels, 1, length)
    let y = Tensor::from(pool(&images).or_raise()).squeeze(2);
    record_output(layer, if is_batch { y } else { y.squeeze(0) })
}

/// Returns the length of the shortest sequence that the settings can take.
fn least_length(layer: &dyn Parameters, spec: Pool2dSpec) -> usize {
    let steps = spec.kernel.width.saturating_sub(1);
    let extent = { steps.saturating_mul(spec.dilation.width) }.saturating_add(1);
    raise!(if spec.padding.width > extent / 2;
        ("{}: the padding is more than half of the kernel", check::name(layer));
        ("Use a padding of at most {}", extent / 2));
    (extent - 2 * spec.padding.width).max(1)
}

fn of_rows(layer: &dyn Parameters, x: &Tensor, spec: Pool2dSpec, pool: Pool) -> Tensor {
    let least = least_length(layer, spec);
    as_rows(layer, x, least, |x| {
        pool(&check::name(layer), x.raw(), spec)
    })
}

fn length(pair: Pair) -> usize {
    pair.width
}

pooling!(
    /// Max pooling of sequences: the maximum of each patch. Among equal elements, the first gets the gradient.
    ///
    /// # Shapes
    /// `(batch, channels, length)` to `(batch, channels, length')`, where
    /// `length' = (length + 2 padding - dilation (kernel - 1) - 1) / stride + 1`, rounded down, or up in `ceil_mode`. The
    /// batch may be missing.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[[1.0, 3.0, 2.0, 0.0]]]); // (1, 1, 4)
    /// let y = MaxPool1d::new(2).forward(&x); // (1, 1, 2)
    /// assert_eq!(y.to_vec::<f32>(), [3.0, 2.0]);
    /// ```
    MaxPool1d(usize, row_extent, row_margin, length), of_rows, ops::max_pool2d_as
);

pooling!(
    /// Average pooling of sequences: the mean of each patch; padding counts as zeros. Shapes are those of [`MaxPool1d`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[[1.0, 3.0, 2.0, 0.0]]]); // (1, 1, 4)
    /// let y = AvgPool1d::new(2).forward(&x); // (1, 1, 2)
    /// assert_eq!(y.to_vec::<f32>(), [2.0, 1.0]);
    /// ```
    AvgPool1d(usize, row_extent, row_margin, length), of_rows, ops::avg_pool2d_as
);

impl MaxPool1d {
    setters! {
        /// Sets the distance between the elements of a patch; 1 by default.
        pub fn dilation(self, dilation: usize): self.spec = self.spec.dilation((1, dilation));
    }
}

impl AvgPool1d {
    setters! {
        /// Sets whether the padding counts as zeros in a mean, as by default, or not at all.
        pub fn count_include_pad(self, count_include_pad: bool):
            self.spec = self.spec.count_include_pad(count_include_pad);
    }
}

layer! {
    /// Averages over patches that cover a sequence, so that the output has the given length whatever the length of the
    /// input. Neighbouring patches overlap where the lengths do not divide evenly.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = AdaptiveAvgPool1d::new(2).forward(&arange(0.0, 6.0).reshape((1, 1, 6))); // (1, 1, 2)
    /// assert_eq!(y.to_vec::<f32>(), [1.0, 4.0]);
    /// ```
    ///
    /// # Shapes
    /// `(batch, channels, length)` to `(batch, channels, size)`; the batch may be missing.
    ///
    /// # Panics
    /// [`new`](Self::new) panics if `size` is 0.
    #[derive(Clone, Copy)]
    #[describe(output_size = self.size)]
    pub struct AdaptiveAvgPool1d(size: usize) {
        check::positive("AdaptiveAvgPool1d", &[("size", size)]);
        size: usize,
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let size = (1, self.size).into();
        as_rows(self, input, 1, |x| {
            ops::adaptive_avg_pool2d_as(&check::name(self), x.raw(), size)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Layer;
    use crate::nn::tests::message_of;
    use crate::tensor::zeros;

    #[test]
    fn wrong_inputs_are_explained() {
        let layers: [(&dyn Layer, usize); 3] = [
            (&MaxPool1d::new(3).dilation(2), 5),
            (&AvgPool1d::new(4).padding(1), 2),
            (&AdaptiveAvgPool1d::new(2), 1),
        ];
        for (layer, least) in layers {
            for shape in [vec![], vec![8], vec![1, 1, 1, 8], vec![1, 2, least - 1]] {
                let message = message_of(|| layer.forward(&zeros(shape.clone())));
                let expected = format!("cannot take an input of shape {shape:?}\n");
                assert!(message.contains(&expected), "{message}");
                let expected = format!("(batch, channels, length) of a length of at least {least}");
                assert!(message.ends_with(&expected), "{message}");
            }
            let y = layer.forward(&zeros((0, 2, least)));
            assert_eq!(y.dims()[..2], [0, 2]);
        }
        assert_eq!(
            message_of(|| AvgPool1d::new(2).padding(2).forward(&zeros((1, 1, 8)))),
            "AvgPool1d(kernel_size=2, stride=2, padding=2): the padding is more than half of the kernel\n\
             Use a padding of at most 1"
        );
        let message = message_of(|| MaxPool1d::new(2).stride(0).forward(&zeros((1, 1, 8))));
        assert!(message.contains("stride is 0"), "{message}");
    }
}
