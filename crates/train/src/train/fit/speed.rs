//! The speed of training.

use std::time::{Duration, Instant};

/// The examples and the time of an epoch and of the current interval. The time includes waiting for
/// the data, but not drawing and callbacks.
pub(super) struct Speed {
    pub(super) epoch: (usize, Duration),
    pub(super) interval: usize,
    pub(super) began: Instant,
}

impl Speed {
    pub(super) fn start() -> Self {
        Self {
            epoch: (0, Duration::ZERO),
            interval: 0,
            began: Instant::now(),
        }
    }

    /// Ends an interval and returns its examples per second.
    pub(super) fn end_interval(&mut self) -> f64 {
        let (samples, time) = (std::mem::take(&mut self.interval), self.began.elapsed());
        self.epoch.0 += samples;
        self.epoch.1 += time;
        per_second(samples, time)
    }
}

pub(super) fn per_second(samples: usize, time: Duration) -> f64 {
    samples as f64 / time.as_secs_f64().max(1e-9)
}
