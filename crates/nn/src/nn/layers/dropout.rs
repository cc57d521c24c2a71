//! Dropout.

use crate::layer;
use crate::nn::summary::record_output;
use crate::nn::{Mode, check};
use crate::ops;
use crate::tensor::Tensor;

layer! {
    /// Sets each element to 0 with probability `p` in training mode, and scales the others by
    /// `1 / (1 - p)`, so that the expected value stays the same. In evaluation mode it returns its input.
    ///
    /// From Srivastava et al., 2014, and d2l's chapter *Dropout*.
    ///
    /// # Shapes
    /// Any shape; the output has the same shape.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut dropout = Dropout::new(0.5);
    /// let x = ones(1000);
    /// let kept = dropout.forward(&x).to_vec1::<f32>().iter().filter(|x| **x == 2.0).count();
    /// assert!((400..600).contains(&kept));
    /// dropout.eval();
    /// assert_eq!(dropout.forward(&x).to_vec1::<f32>(), [1.0; 1000]);
    /// ```
    ///
    /// # Panics
    /// [`new`](Self::new) panics if `p` is not between 0 and 1.
    #[derive(Clone)]
    pub struct Dropout(p: f64) {
        check::probability("Dropout", "p", p);
        p: f64,
        mode = Mode::new(),
    }
    fn forward(&self, input: &Tensor) -> Tensor {
        let output = match self.mode.is_training() {
            true => ops::dropout(input, self.p),
            false => input.clone(),
        };
        record_output(self, output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::Layer;
    use crate::nn::Parameter;
    use crate::tensor::uniform;

    /// Returns the input, the output, and the gradient of the output's sum.
    fn run(p: f64) -> [Vec<f32>; 3] {
        let x = Parameter::new(&uniform(1.0, 2.0, 10_000)).tensor();
        let y = Dropout::new(p).forward(&x);
        let gradients = y.sum_all().backward();
        let gradient = gradients.get(&x).expect("a gradient").to_vec1();
        [x.to_vec1(), y.to_vec1(), gradient]
    }

    #[test]
    fn kept_elements_and_their_gradients_are_scaled() {
        for p in [0.5, 0.2] {
            let [x, y, gradient] = run(p);
            let scale = (1.0 / (1.0 - p)) as f32;
            for ((x, y), slope) in x.iter().zip(&y).zip(&gradient) {
                assert!(*slope == 0.0 || *slope == scale, "{slope}");
                assert_eq!(*y, x * slope);
            }
            let kept = gradient.iter().filter(|slope| **slope != 0.0).count();
            let share = kept as f64 / x.len() as f64;
            assert!((share - (1.0 - p)).abs() < 0.03, "{share}");
        }
    }
}
