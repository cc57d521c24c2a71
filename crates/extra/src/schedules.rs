//! Schedules for the learning rate.

mod one_cycle;
mod plateau;

pub use one_cycle::OneCycle;
pub use plateau::ReduceOnPlateau;

const ADVICE: &str = "Change this setting of the schedule";
