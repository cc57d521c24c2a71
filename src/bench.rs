//! Measures the speed of devices: a stopwatch, a benchmark, and ready-made comparisons.

mod benchmark;
mod compare;
mod comparison;
mod outcome;
mod stopwatch;
mod timeit;

pub use benchmark::{Timing, Timings, benchmark};
pub use compare::{
    compare_batch_sizes, compare_copies, compare_devices, compare_logging, compare_transfers,
};
pub use comparison::Comparison;
pub use outcome::Outcome;
pub use stopwatch::Stopwatch;
pub use timeit::{Timeit, Timer};
