//! Dropout.

use crate::error::explain;
use crate::nn::summary::seen;
use crate::nn::{Copier, Layer, Mode, Parameters, Replicate, print_as_described};
use crate::ops;
use candle_core::{Result, Tensor};

/// In training sets each number to 0 with this probability, and makes the others larger by so much
/// that their mean stays. In evaluation it lets all pass.
///
/// From Srivastava et al., 2014, and d2l's chapter *Dropout*.
///
/// # Shapes
/// Any, which stays.
///
/// ```
/// use taper::prelude::*;
///
/// let mut dropout = Dropout::new(0.5)?;
/// let x = ones(1000, &cpu())?;
/// let kept = dropout.forward(&x)?.to_vec1::<f32>()?.iter().filter(|x| **x == 2.0).count();
/// assert!((400..600).contains(&kept));
/// dropout.eval();
/// assert_eq!(dropout.forward(&x)?.to_vec1::<f32>()?, [1.0; 1000]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Dropout {
    p: f64,
    mode: Mode,
}

impl Dropout {
    /// A layer that drops with probability `p`.
    ///
    /// # Errors
    /// If `p` is not between 0 and 1.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Dropout::new(50.0).is_err());
    /// ```
    pub fn new(p: f64) -> Result<Self> {
        if !(0.0..=1.0).contains(&p) {
            return Err(explain(
                format!("Dropout: {p} is no probability"),
                "Give a number from 0 (drop none) to 1 (drop all)",
            ));
        }
        let mode = Mode::new();
        Ok(Self { p, mode })
    }
}

impl Layer for Dropout {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        let output = match self.mode.is_training() {
            true => ops::dropout(input, self.p)?,
            false => input.clone(),
        };
        seen(self, output)
    }
}

impl Parameters for Dropout {
    fn describe(&self) -> String {
        format!("Dropout(p={})", self.p)
    }

    fn set_training(&self, training: bool) {
        self.mode.set_training(training);
    }
}

impl Replicate for Dropout {
    fn replicate_with(&self, _: &mut Copier) -> Result<Self> {
        Ok(self.clone())
    }
}

print_as_described!(Dropout);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::uniform;
    use candle_core::{Device, Var};

    /// Input, output, and the gradient of the output's sum.
    fn run(p: f64) -> Result<[Vec<f32>; 3]> {
        let dropout = Dropout::new(p)?;
        let x = Var::from_tensor(&uniform(1.0, 2.0, 10_000, &Device::Cpu)?)?;
        let y = dropout.forward(&x)?;
        let gradients = y.sum_all()?.backward()?;
        let gradient = gradients.get(&x).expect("a gradient").to_vec1()?;
        Ok([x.to_vec1()?, y.to_vec1()?, gradient])
    }

    #[test]
    fn what_is_kept_grows_and_its_gradient_with_it() -> Result<()> {
        for p in [0.5, 0.2] {
            let [x, y, gradient] = run(p)?;
            let scale = (1.0 / (1.0 - p)) as f32;
            for ((x, y), slope) in x.iter().zip(&y).zip(&gradient) {
                assert!(*slope == 0.0 || *slope == scale, "{slope}");
                assert_eq!(*y, x * slope);
            }
            let kept = gradient.iter().filter(|slope| **slope != 0.0).count();
            let share = kept as f64 / x.len() as f64;
            assert!((share - (1.0 - p)).abs() < 0.03, "{share}");
        }
        Ok(())
    }
}
