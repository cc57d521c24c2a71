//! The interface of an environment.

use crate::tensor::Tensor;

/// A world in which an agent acts, one step at a time, until an episode ends.
///
/// ```
/// use taper::prelude::*;
/// use taper::rl::{Environment, EnvironmentStep};
///
/// /// Counts up to 3; action 1 earns a reward.
/// struct Counter(i64);
///
/// impl Environment for Counter {
///     fn num_actions(&self) -> usize { 2 }
///
///     fn reset(&mut self) -> Tensor {
///         self.0 = 0;
///         tensor(self.0)
///     }
///
///     fn step(&mut self, action: usize) -> EnvironmentStep {
///         self.0 += 1;
///         EnvironmentStep {
///             observation: tensor(self.0),
///             reward: action as f64,
///             terminated: self.0 == 3,
///             truncated: false,
///         }
///     }
/// }
///
/// let mut counter = Counter(0);
/// counter.reset();
/// assert_eq!(counter.step(1).reward, 1.0);
/// ```
pub trait Environment {
    /// Returns the number of actions, which are integers from 0 on.
    fn num_actions(&self) -> usize;

    /// Begins an episode, and returns the first observation.
    fn reset(&mut self) -> Tensor;

    /// Takes an action.
    ///
    /// # Panics
    /// If there is no such action.
    fn step(&mut self, action: usize) -> EnvironmentStep;
}

/// What an [`Environment`] returns after an action.
///
/// ```
/// use taper::rl::{Environment, GridWorld};
///
/// let mut world = GridWorld::new(&["SG"]);
/// world.reset();
/// let step = world.step(1); // to the right
/// assert_eq!((step.reward, step.is_over()), (1.0, true));
/// ```
#[derive(Clone, Debug)]
pub struct EnvironmentStep {
    /// The observation after the action.
    pub observation: Tensor,
    /// The reward of the action.
    pub reward: f64,
    /// Whether the episode has ended in a final state, after which there are no rewards.
    pub terminated: bool,
    /// Whether the episode was cut off, by a limit of the number of steps.
    pub truncated: bool,
}

impl EnvironmentStep {
    /// Returns whether the episode is over, in either way.
    ///
    /// ```
    /// use taper::rl::{Environment, GridWorld};
    ///
    /// let mut world = GridWorld::new(&["S.G"]);
    /// world.reset();
    /// assert!(!world.step(1).is_over());
    /// ```
    pub fn is_over(&self) -> bool {
        self.terminated || self.truncated
    }
}
