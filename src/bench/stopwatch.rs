//! Measuring time on a device that works in the background.

use crate::device::synchronize;
use candle_core::{Device, Result};
use std::time::{Duration, Instant};

/// Measures how long a device takes, its background work included.
///
/// ```
/// use taper::prelude::*;
///
/// let device = try_gpu(0);
/// let a = rand((64, 64), &device)?;
/// let watch = Stopwatch::start(&device)?;
/// let b = a.matmul(&a)?;
/// println!("{:?}", watch.elapsed()?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stopwatch {
    device: Device,
    start: Instant,
}

impl Stopwatch {
    /// Waits for the device to be idle, then starts.
    ///
    /// # Errors
    /// As for [`synchronize`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let watch = Stopwatch::start(&cpu())?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn start(device: &Device) -> Result<Self> {
        synchronize(device)?;
        Ok(Self {
            device: device.clone(),
            start: Instant::now(),
        })
    }

    /// Waits for the device to finish and gives the time since the start. The watch runs on.
    ///
    /// # Errors
    /// As for [`synchronize`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let watch = Stopwatch::start(&try_gpu(0))?;
    /// let seconds = watch.elapsed()?.as_secs_f64();
    /// assert!(seconds >= 0.0);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn elapsed(&self) -> Result<Duration> {
        synchronize(&self.device)?;
        Ok(self.start.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_only_grows() {
        let watch = Stopwatch::start(&Device::Cpu).unwrap();
        let first = watch.elapsed().unwrap();
        std::thread::sleep(Duration::from_millis(2));
        assert!(watch.elapsed().unwrap() >= first + Duration::from_millis(2));
    }
}
