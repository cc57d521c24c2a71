//! The rectified linear unit whose slope is learned.

use crate::error::{OrRaise, raise};
use crate::layer;
use crate::nn::record_output;
use crate::nn::{Parameter, check};
use crate::ops;
use crate::tensor::{Tensor, full};

layer! {
    /// A rectified linear unit whose slope for negative values is learned: `x`, or `weight · x` where `x < 0`.
    /// From He et al., 2015.
    ///
    /// `weight` has the shape `(num_parameters,)`: one slope for all, or one for each channel. As in PyTorch, its
    /// initial value is 0.25.
    ///
    /// # Shapes
    /// Any shape, or with several slopes `(batch, num_parameters, …)`; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = PReLU::new(1).forward(&tensor(&[-2.0, 3.0]));
    /// assert_eq!(y.to_vec1::<f32>(), [-0.5, 3.0]);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if `num_parameters` is 0.
    #[describe(num_parameters = self.weight.size(0))]
    pub struct PReLU(num_parameters: usize) {
        check::positive("PReLU", &[("num_parameters", num_parameters)]);
        weight = Parameter::new(&full(num_parameters, 0.25)),
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let weight = self.weight.tensor(); // (num_parameters,)
        let count = weight.elem_count();
        if count > 1 && input.dims().get(1) != Some(&count) {
            let expected = format!("Its second dimension, the channels, must be {count}");
            raise(check::refused(self, input, expected))
        }
        ops::check::same_place(&check::name(self), input.raw(), weight.raw()).or_raise();
        let mut shape = vec![1; input.rank()];
        if count > 1 {
            shape[1] = count;
        }
        let negative = input.gt(0.0).where_cond(0.0, input);
        record_output(self, input.relu() + negative * weight.reshape(shape))
    }
}
