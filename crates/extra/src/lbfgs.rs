//! The limited-memory method of Broyden, Fletcher, Goldfarb and Shanno.

use crate::erased::{Erased, outlined};
use crate::error::{OrRaise, Result, refuse};
use crate::nn::Parameter;
use crate::tensor::{Tensor, with_device};
use candle_core::DType;
use std::collections::VecDeque;

/// L-BFGS: a quasi-Newton method, which estimates the curvature of the loss from its last gradients. It is for small models
/// and for losses of all examples at once: it evaluates the loss several times in each step, and noise misleads it. From Liu
/// and Nocedal, 1989; the rules are the same as in PyTorch's `LBFGS` without a line search.
///
/// A step takes a function that computes the loss, so L-BFGS is not an [`Optimizer`](crate::optim::Optimizer), and a trainer does
/// not use it.
///
/// ```
/// use taper::prelude::*;
///
/// let w = Parameter::new(&tensor(&[3.0, -2.0]));
/// let mut optimizer = LBFGS::new(vec![w.clone()], 1.0);
/// for _ in 0..3 {
///     optimizer.step(|| (w.tensor() - tensor(&[1.0, 5.0])).sqr().sum_all());
/// }
/// let off = (w.tensor() - tensor(&[1.0, 5.0])).abs().max_all().item();
/// assert!(off < 1e-5);
/// ```
pub struct LBFGS {
    inner: Erased<Inner>,
}

outlined!(Clone for LBFGS { inner });

/// The settings and the memory.
#[derive(Clone)]
struct Inner {
    parameters: Vec<Parameter>,
    lr: f64,
    max_iter: usize,
    max_eval: Option<usize>,
    history_size: usize,
    tolerance_grad: f64,
    tolerance_change: f64,
    memory: Memory,
}

/// What a step keeps from earlier steps.
#[derive(Clone, Default)]
struct Memory {
    /// Whether there was an iteration.
    began: bool,
    direction: Vec<f64>,
    length: f64,
    gradient: Vec<f64>,
    /// The changes of the parameters and of the gradient in the last iterations.
    pairs: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// The estimate of the inverse curvature in directions without a measurement.
    scale: f64,
}

impl LBFGS {
    /// Creates an optimiser for these parameters; 1 is a common learning rate. By default a step has 20 iterations, and
    /// remembers 100.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let optimizer = LBFGS::new(Linear::new(2, 1).parameters(), 1.0);
    /// assert_eq!(optimizer.lr(), 1.0);
    /// ```
    pub fn new(parameters: Vec<Parameter>, lr: f64) -> Self {
        let inner = Erased::new(Inner {
            parameters,
            lr,
            max_iter: 20,
            max_eval: None,
            history_size: 100,
            tolerance_grad: 1e-7,
            tolerance_change: 1e-9,
            memory: Memory::default(),
        });
        Self { inner }
    }

    setters! {
        /// Sets the largest number of iterations of a step; 20 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let optimizer = LBFGS::new(vec![], 1.0).max_iter(4);
        /// ```
        pub fn max_iter(self, iterations: usize): self.inner.max_iter = iterations;

        /// Sets the largest number of evaluations of the loss in a step; 5/4 of the iterations by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let optimizer = LBFGS::new(vec![], 1.0).max_eval(50);
        /// ```
        pub fn max_eval(self, evaluations: usize): self.inner.max_eval = Some(evaluations);

        /// Sets how many iterations it remembers; each needs twice the memory of the parameters, in double precision.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let optimizer = LBFGS::new(vec![], 1.0).history_size(10);
        /// ```
        pub fn history_size(self, iterations: usize): self.inner.history_size = iterations;

        /// Sets the size of the largest gradient at which a step ends; 1e-7 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let optimizer = LBFGS::new(vec![], 1.0).tolerance_grad(1e-5);
        /// ```
        pub fn tolerance_grad(self, tolerance: f64): self.inner.tolerance_grad = tolerance;

        /// Sets the change of the parameters, or of the loss, below which a step ends; 1e-9 by default.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let optimizer = LBFGS::new(vec![], 1.0).tolerance_change(1e-6);
        /// ```
        pub fn tolerance_change(self, tolerance: f64): self.inner.tolerance_change = tolerance;
    }

    /// Returns the learning rate.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(LBFGS::new(vec![], 0.8).lr(), 0.8);
    /// ```
    pub fn lr(&self) -> f64 {
        self.inner.lr
    }

    /// Makes a step: several iterations, each with an evaluation of `loss`. Returns the first loss, before any change.
    ///
    /// # Panics
    /// As `loss`, and if it does not return a scalar.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(2, 1);
    /// let (x, y) = (randn((8, 2)), zeros((8, 1)));
    /// let mut optimizer = LBFGS::new(net.parameters(), 1.0);
    /// let mut loss = || mse_loss(&net.forward(&x), &y);
    /// let first = optimizer.step(&mut loss);
    /// assert!(optimizer.step(&mut loss) < first);
    /// ```
    #[inline]
    #[track_caller]
    pub fn step(&mut self, mut loss: impl FnMut() -> Tensor) -> f64 {
        self.inner.step(&mut loss).or_raise()
    }
}

impl Inner {
    fn step(&mut self, loss: &mut dyn FnMut() -> Tensor) -> Result<f64> {
        if self.lr.is_nan() || self.lr < 0.0 {
            let advice = "Use a value such as 1.0";
            refuse!(argument("LBFGS", self.lr); "lr of at least 0", advice);
        }
        let max_eval = self.max_eval.unwrap_or(self.max_iter * 5 / 4);
        let (first, mut gradient) = self.evaluate(loss);
        let (mut value, mut evaluations) = (first, 1);
        if largest(&gradient) <= self.tolerance_grad {
            return Ok(first);
        }
        for iteration in 1..=self.max_iter {
            let length = self.aim(&gradient);
            self.memory.gradient.clone_from(&gradient);
            self.memory.length = length;
            if dot(&gradient, &self.memory.direction) > -self.tolerance_change {
                break;
            }
            self.advance(length)?;
            if iteration == self.max_iter {
                break;
            }
            let before = value;
            (value, gradient) = self.evaluate(loss);
            evaluations += 1;
            let change = largest(&self.memory.direction) * length;
            let is_done = evaluations >= max_eval
                || largest(&gradient) <= self.tolerance_grad
                || change <= self.tolerance_change
                || (value - before).abs() < self.tolerance_change;
            if is_done {
                break;
            }
        }
        Ok(first)
    }

    /// Returns the loss, and its gradient with respect to all parameters, one after the other.
    #[track_caller]
    fn evaluate(&self, loss: &mut dyn FnMut() -> Tensor) -> (f64, Vec<f64>) {
        let loss = loss();
        let gradients = loss.backward();
        let of = |parameter: &Parameter| -> Vec<f64> {
            gradients
                .of(&parameter.tensor())
                .to_dtype(DType::F64)
                .to_vec()
        };
        (loss.item(), self.parameters.iter().flat_map(of).collect())
    }

    /// Sets the direction of an iteration, and returns the length of its step.
    fn aim(&mut self, gradient: &[f64]) -> f64 {
        let memory = &mut self.memory;
        if !memory.began {
            memory.began = true;
            memory.scale = 1.0;
            memory.direction = gradient.iter().map(|g| -g).collect();
            let sum: f64 = gradient.iter().map(|g| g.abs()).sum();
            return (1.0 / sum).min(1.0) * self.lr;
        }
        let y = difference(gradient, &memory.gradient);
        let s: Vec<f64> = memory.direction.iter().map(|d| d * memory.length).collect();
        let curvature = dot(&y, &s);
        if curvature > 1e-10 {
            if memory.pairs.len() == self.history_size {
                memory.pairs.pop_front();
            }
            memory.scale = curvature / dot(&y, &y);
            memory.pairs.push_back((s, y));
        }
        memory.direction = memory.descent(gradient);
        self.lr
    }

    /// Moves the parameters in the direction.
    fn advance(&self, length: f64) -> Result<()> {
        let mut start = 0;
        for parameter in &self.parameters {
            let values = parameter.tensor().detach();
            let count = values.elem_count();
            let part = self.memory.direction[start..start + count].iter();
            let step = part.map(|d| d * length).collect::<Vec<_>>();
            let step = with_device(values.device(), || Tensor::from_vec(step, values.shape()));
            // Added in double precision, and rounded once.
            let moved = (values.to_dtype(DType::F64) + step).to_dtype(values.dtype());
            parameter.try_set(&moved)?;
            start += count;
        }
        Ok(())
    }
}

impl Memory {
    /// Returns minus the gradient, times the estimate of the inverse of the Hessian: the two loops over the pairs.
    fn descent(&self, gradient: &[f64]) -> Vec<f64> {
        let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut shares = vec![];
        for (s, y) in self.pairs.iter().rev() {
            let share = dot(s, &q) / dot(y, s);
            add(&mut q, -share, y);
            shares.push(share);
        }
        q.iter_mut().for_each(|q| *q *= self.scale);
        for ((s, y), share) in self.pairs.iter().zip(shares.into_iter().rev()) {
            let back = dot(y, &q) / dot(y, s);
            add(&mut q, share - back, s);
        }
        q
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn add(a: &mut [f64], factor: f64, b: &[f64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += factor * b);
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{ones, tensor};

    /// PyTorch 2.15: `LBFGS([w], lr=0.5, max_iter=4)`, three steps on Rosenbrock's function from (-1.5, 2), in float64.
    #[test]
    fn it_steps_as_pytorch() {
        let w = Parameter::new(&tensor(&[-1.5, 2.0]).to_dtype(DType::F64));
        let mut optimizer = LBFGS::new(vec![w.clone()], 0.5).max_iter(4);
        let mut losses = vec![];
        for _ in 0..3 {
            losses.push(optimizer.step(|| {
                let w = w.tensor();
                let (x, y) = (w.i(0), w.i(1));
                (1.0 - &x).sqr() + (y - x.sqr()).sqr() * 100.0
            }));
        }
        let values = w.tensor().to_vec1::<f64>();
        let got = [losses[1], losses[2], values[0], values[1]];
        let want = [
            6.212735660973509,
            5.875427743546947,
            -1.420751252624692,
            2.0191953961676536,
        ];
        for (got, want) in got.iter().zip(want) {
            assert!((got - want).abs() < 1e-9 * want.abs(), "{got}, not {want}");
        }
    }

    #[test]
    fn a_wrong_setting_or_loss_is_refused() {
        let w = Parameter::new(&ones(2));
        let step = |lr: f64, size: usize| {
            attempt(|| LBFGS::new(vec![w.clone()], lr).step(|| w.tensor().narrow(0, 0, size)))
        };
        assert!(
            step(-1.0, 1)
                .unwrap_err()
                .to_string()
                .starts_with("LBFGS: expected lr")
        );
        assert!(step(1.0, 2).is_err());
    }
}
