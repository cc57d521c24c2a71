//! Reinforcement learning: environments, a replay buffer, returns and advantages.
//!
//! ```
//! use taper::prelude::*;
//! use taper::rl::{CartPole, Environment};
//!
//! manual_seed(0);
//! let policy = seq![Linear::new(4, 16), Tanh, Linear::new(16, 2)];
//! let mut environment = CartPole::new();
//! let (mut observation, mut total) = (environment.reset(), 0.0);
//! loop {
//!     let action = policy.forward(&observation).argmax(-1).item() as usize;
//!     let step = environment.step(action);
//!     total += step.reward;
//!     if step.is_over() {
//!         break;
//!     }
//!     observation = step.observation;
//! }
//! assert!(total >= 1.0);
//! ```

mod cart_pole;
mod environment;
mod grid_world;
mod replay;
mod returns;

pub use cart_pole::CartPole;
pub use environment::{Environment, EnvironmentStep};
pub use grid_world::GridWorld;
pub use replay::{ReplayBuffer, Transitions};
pub use returns::{advantages, returns};
