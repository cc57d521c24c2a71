//! Measures time on a device that works asynchronously.

use crate::device::synchronize;
use crate::error::Result;
use candle_core::Device;
use std::time::{Duration, Instant};

/// Measures how long a device takes, including work that it still does in the background.
///
/// ```
/// use taper::prelude::*;
///
/// let device = try_gpu(0);
/// let a = rand((64, 64)).to_device(&device);
/// let watch = Stopwatch::start(&device)?;
/// let b = a.matmul(&a);
/// assert!(watch.elapsed()?.as_secs_f64() > 0.0);
/// assert_eq!(b.dims(), [64, 64]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stopwatch {
    device: Device,
    start: Instant,
}

impl Stopwatch {
    /// Waits until the device is idle, then starts the stopwatch.
    ///
    /// # Errors
    /// As for [`synchronize`].
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let watch = Stopwatch::start(&cpu())?;
    /// assert!(watch.elapsed()? <= watch.elapsed()?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn start(device: &Device) -> Result<Self> {
        synchronize(device)?;
        Ok(Self {
            device: device.clone(),
            start: Instant::now(),
        })
    }

    /// Waits for the device to finish and returns the time since the start. The stopwatch keeps
    /// running.
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
    fn elapsed_time_only_grows() {
        let watch = Stopwatch::start(&Device::Cpu).unwrap();
        let first = watch.elapsed().unwrap();
        std::thread::sleep(Duration::from_millis(2));
        assert!(watch.elapsed().unwrap() >= first + Duration::from_millis(2));
    }
}
