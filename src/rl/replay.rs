//! The memory of an agent.

use crate::error::raise;
use crate::tensor::{Tensor, random_unit, with_device};

/// The last transitions of an agent, from which random batches are drawn. From Lin, 1992.
///
/// ```
/// use taper::prelude::*;
/// use taper::rl::{Environment, GridWorld, ReplayBuffer};
///
/// let (mut world, mut memory) = (GridWorld::new(&["S.G"]), ReplayBuffer::new(1000));
/// let mut observation = world.reset();
/// for _ in 0..2 {
///     let step = world.step(1);
///     memory.push(&observation, 1, step.reward, &step.observation, step.terminated);
///     observation = step.observation;
/// }
/// let batch = memory.sample(16);
/// assert_eq!(batch.actions.to_vec1::<i64>(), [1; 16]);
/// ```
#[derive(Clone, Debug)]
pub struct ReplayBuffer {
    transitions: Vec<Transition>,
    capacity: usize,
    /// The index at which the next transition is stored.
    next: usize,
}

#[derive(Clone, Debug)]
struct Transition {
    observation: Tensor,
    action: i64,
    reward: f32,
    next_observation: Tensor,
    terminated: bool,
}

/// A batch of transitions from a [`ReplayBuffer`].
///
/// ```
/// use taper::prelude::*;
/// use taper::rl::ReplayBuffer;
///
/// let mut memory = ReplayBuffer::new(10);
/// memory.push(&zeros(4), 0, 1.0, &ones(4), true);
/// let batch = memory.sample(3);
/// assert_eq!(batch.observations.dims(), [3, 4]);
/// // No rewards follow a final state.
/// let future = (1.0 - &batch.terminated) * batch.next_observations.sum(1);
/// assert_eq!(future.to_vec1::<f32>(), [0.0; 3]);
/// ```
#[derive(Clone, Debug)]
pub struct Transitions {
    /// The observations before the actions, `(batch, …)`.
    pub observations: Tensor,
    /// The actions, integers `(batch,)`.
    pub actions: Tensor,
    /// The rewards, `(batch,)`.
    pub rewards: Tensor,
    /// The observations after the actions, `(batch, …)`.
    pub next_observations: Tensor,
    /// 1 where the episode ended in a final state, else 0, `(batch,)`, in `f32`.
    pub terminated: Tensor,
}

impl ReplayBuffer {
    /// Creates a memory of this many transitions; after that, new ones replace the oldest.
    ///
    /// # Panics
    /// If `capacity` is 0.
    ///
    /// ```
    /// use taper::rl::ReplayBuffer;
    ///
    /// assert!(ReplayBuffer::new(100).is_empty());
    /// ```
    #[track_caller]
    pub fn new(capacity: usize) -> Self {
        raise!(if capacity == 0; argument("ReplayBuffer", 0);
            "a capacity above 0", "Use one such as 10_000");
        Self {
            transitions: vec![],
            capacity,
            next: 0,
        }
    }

    /// Stores a transition: from one observation by an action to the next one.
    ///
    /// ```
    /// use taper::prelude::*;
    /// use taper::rl::ReplayBuffer;
    ///
    /// let mut memory = ReplayBuffer::new(2);
    /// for reward in [1.0, 2.0, 3.0] {
    ///     memory.push(&zeros(4), 0, reward, &zeros(4), false);
    /// }
    /// assert_eq!(memory.len(), 2);
    /// assert!(memory.sample(20).rewards.min_all().item() >= 2.0); // the first is forgotten
    /// ```
    pub fn push(
        &mut self,
        observation: &Tensor,
        action: usize,
        reward: f64,
        next_observation: &Tensor,
        terminated: bool,
    ) {
        let transition = Transition {
            observation: observation.detach(),
            action: action as i64,
            reward: reward as f32,
            next_observation: next_observation.detach(),
            terminated,
        };
        match self.transitions.len() < self.capacity {
            true => self.transitions.push(transition),
            false => self.transitions[self.next] = transition,
        }
        self.next = (self.next + 1) % self.capacity;
    }

    /// Returns the number of transitions.
    ///
    /// ```
    /// use taper::rl::ReplayBuffer;
    ///
    /// assert_eq!(ReplayBuffer::new(100).len(), 0);
    /// ```
    pub fn len(&self) -> usize {
        self.transitions.len()
    }

    /// Returns whether there are no transitions.
    ///
    /// ```
    /// use taper::prelude::*;
    /// use taper::rl::ReplayBuffer;
    ///
    /// let mut memory = ReplayBuffer::new(100);
    /// memory.push(&zeros(4), 0, 1.0, &zeros(4), false);
    /// assert!(!memory.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.transitions.is_empty()
    }

    /// Draws a batch of this many transitions, with replacement.
    ///
    /// # Panics
    /// If there are no transitions.
    ///
    /// ```
    /// use taper::prelude::*;
    /// use taper::rl::ReplayBuffer;
    ///
    /// assert!(attempt(|| ReplayBuffer::new(100).sample(1)).is_err());
    /// ```
    #[track_caller]
    pub fn sample(&self, batch_size: usize) -> Transitions {
        let count = self.transitions.len();
        raise!(if count == 0; argument("ReplayBuffer", "none");
            "transitions", "Store some with .push(…) first");
        let index = |_| ((random_unit() * count as f64) as usize).min(count - 1);
        let chosen: Vec<&Transition> = (0..batch_size)
            .map(index)
            .map(|i| &self.transitions[i])
            .collect();
        let stacked = |of: fn(&Transition) -> &Tensor| {
            Tensor::stack(&chosen.iter().map(|t| of(t)).collect::<Vec<_>>(), 0)
        };
        let values = |of: fn(&Transition) -> f32| {
            Tensor::from_vec(
                chosen.iter().map(|t| of(t)).collect::<Vec<f32>>(),
                batch_size,
            )
        };
        let observations = stacked(|t| &t.observation);
        with_device(observations.device(), || Transitions {
            observations: observations.clone(),
            actions: Tensor::from_vec(
                chosen.iter().map(|t| t.action).collect::<Vec<i64>>(),
                batch_size,
            ),
            rewards: values(|t| t.reward),
            next_observations: stacked(|t| &t.next_observation),
            terminated: values(|t| f32::from(t.terminated)),
        })
    }
}
