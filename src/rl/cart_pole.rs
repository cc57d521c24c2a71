//! A pole on a cart.

use super::environment::{Environment, EnvironmentStep};
use crate::error::raise;
use crate::tensor::{Tensor, uniform};
use candle_core::DType;

const GRAVITY: f64 = 9.8;
const CART: f64 = 1.0;
const POLE: f64 = 0.1;
const HALF_LENGTH: f64 = 0.5;
const FORCE: f64 = 10.0;
/// The seconds of a step.
const TIME: f64 = 0.02;
const FARTHEST: f64 = 2.4;
const STEEPEST: f64 = 12.0 * std::f64::consts::PI / 180.0;

/// A pole that stands on a cart, which is pushed to the left, action 0, or to the right, action 1, so that the pole does not
/// fall. From Barto, Sutton and Anderson, 1983; with the constants of Gymnasium's `CartPole-v1`.
///
/// An observation has the cart's position and velocity, and the pole's angle and angular velocity, `(4,)`. Each step earns a
/// reward of 1. The episode ends when the pole leans by more than 12° or the cart leaves the track, and is cut off after 500
/// steps.
///
/// ```
/// use taper::prelude::*;
/// use taper::rl::{CartPole, Environment};
///
/// manual_seed(0);
/// let mut environment = CartPole::new();
/// assert_eq!(environment.reset().dims(), [4]);
/// let steps = (1..).find(|_| environment.step(1).is_over()).unwrap();
/// assert!((5..15).contains(&steps)); // pushed to one side only
/// ```
#[derive(Clone, Debug)]
pub struct CartPole {
    state: [f64; 4],
    steps: usize,
    limit: usize,
}

impl CartPole {
    /// Creates the environment. Begin an episode with [`reset`](Environment::reset).
    ///
    /// ```
    /// use taper::rl::{CartPole, Environment};
    ///
    /// assert_eq!(CartPole::new().num_actions(), 2);
    /// ```
    pub fn new() -> Self {
        Self {
            state: [0.0; 4],
            steps: 0,
            limit: 500,
        }
    }

    setters! {
        /// Sets after how many steps an episode is cut off; 500 by default.
        ///
        /// ```
        /// use taper::rl::{CartPole, Environment};
        ///
        /// let mut environment = CartPole::new().max_steps(1);
        /// environment.reset();
        /// assert!(environment.step(0).truncated);
        /// ```
        pub fn max_steps(self, steps: usize): self.limit = steps;
    }

    fn observation(&self) -> Tensor {
        Tensor::from_vec(self.state.to_vec(), 4).to_dtype(DType::F32)
    }

    /// Moves the state by Euler's method.
    fn advance(&mut self, force: f64) {
        let [x, speed, angle, turn] = self.state;
        let (mass, arm) = (CART + POLE, POLE * HALF_LENGTH);
        let push = (force + arm * turn * turn * angle.sin()) / mass;
        let inertia = HALF_LENGTH * (4.0 / 3.0 - POLE * angle.cos().powi(2) / mass);
        let turning = (GRAVITY * angle.sin() - angle.cos() * push) / inertia;
        let acceleration = push - arm * turning * angle.cos() / mass;
        self.state = [
            x + TIME * speed,
            speed + TIME * acceleration,
            angle + TIME * turn,
            turn + TIME * turning,
        ];
    }
}

impl Default for CartPole {
    fn default() -> Self {
        Self::new()
    }
}

impl Environment for CartPole {
    fn num_actions(&self) -> usize {
        2
    }

    /// Begins near the upright position: each value is drawn between -0.05 and 0.05.
    fn reset(&mut self) -> Tensor {
        let values = uniform(-0.05, 0.05, 4).to_dtype(DType::F64).to_vec::<f64>();
        self.state.copy_from_slice(&values);
        self.steps = 0;
        self.observation()
    }

    fn step(&mut self, action: usize) -> EnvironmentStep {
        raise!(if action > 1; argument("CartPole", action);
            "action 0 or 1", "0 pushes to the left, 1 to the right");
        self.advance(if action == 1 { FORCE } else { -FORCE });
        self.steps += 1;
        EnvironmentStep {
            observation: self.observation(),
            reward: 1.0,
            terminated: self.state[0].abs() > FARTHEST || self.state[2].abs() > STEEPEST,
            truncated: self.steps >= self.limit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;

    /// Gymnasium 1.4: tests/reference/metrics.py.
    #[test]
    fn it_moves_as_gymnasiums() {
        let mut environment = CartPole {
            state: [0.01, -0.02, 0.03, 0.04],
            ..CartPole::new()
        };
        for action in [1, 1, 0, 1, 0, 0, 1, 1] {
            environment.step(action);
        }
        let want = [
            0.03784127348687273,
            0.3686907609605089,
            -0.006509983816711174,
            -0.5111242205294209,
        ];
        for (got, want) in environment.state.into_iter().zip(want) {
            assert!((got - want).abs() < 1e-12, "{got}, not {want}");
        }
        assert!(attempt(|| CartPole::new().step(2)).is_err());
    }
}
