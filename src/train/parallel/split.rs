//! Splitting a batch over devices.

use crate::data::Batch;
use crate::error;
use crate::tensor::TensorExt;
use candle_core::{Device, Result, Tensor};

/// A type that can be split along its first dimension: a tensor or a batch.
pub trait Split: Sized {
    /// Returns the number of examples.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(zeros((5, 2), &cpu())?.num_examples()?, 5);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no first dimension.
    fn num_examples(&self) -> Result<usize>;

    /// Returns `len` examples from `start` on, on a device.
    ///
    /// # Errors
    /// If there are fewer examples, or the device has not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(arange(0, 5, &cpu())?.part(1, 2, &cpu())?.to_vec1::<i64>()?, [1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    fn part(&self, start: usize, len: usize, device: &Device) -> Result<Self>;
}

impl Split for Tensor {
    fn num_examples(&self) -> Result<usize> {
        self.dims().first().copied().ok_or_else(|| {
            error::shape(
                "split_and_load",
                "a tensor whose first dimension is the batch",
                self.dims(),
                "Add a dimension: x.unsqueeze(0)?",
            )
        })
    }

    fn part(&self, start: usize, len: usize, device: &Device) -> Result<Self> {
        let part = self.narrow(0, start, len)?;
        match device.same_device(self.device()) {
            true => part.contiguous(),
            // Candle would transfer the whole storage of the view.
            false => part.copy_to(device),
        }
    }
}

impl Split for Batch {
    fn num_examples(&self) -> Result<usize> {
        self.x.num_examples()
    }

    fn part(&self, start: usize, len: usize, device: &Device) -> Result<Self> {
        Ok(Self {
            x: self.x.part(start, len, device)?,
            y: self.y.part(start, len, device)?,
        })
    }
}

/// Splits a batch into one part for each device, in order, like Gluon's function of the same name.
///
/// If the examples cannot be split equally, the first devices get one more. With fewer examples than
/// devices, there are fewer parts, none of them empty.
///
/// # Errors
/// If the list of devices is empty, or a device has not enough memory.
///
/// ```
/// use taper::prelude::*;
///
/// let batch = Batch { x: zeros((5, 2), &cpu())?, y: zeros(5, &cpu())? };
/// let parts = split_and_load(&batch, &[cpu(), cpu()])?;
/// assert_eq!((parts[0].len(), parts[1].len()), (3, 2));
/// # Ok::<(), Error>(())
/// ```
pub fn split_and_load<T: Split>(data: &T, devices: &[Device]) -> Result<Vec<T>> {
    if devices.is_empty() {
        return Err(no_devices("split_and_load"));
    }
    let examples = data.num_examples()?;
    let parts = devices.len().min(examples.max(1));
    let (size, rest) = (examples / parts, examples % parts);
    let mut start = 0;
    let part = |(i, device): (usize, &Device)| {
        let len = size + usize::from(i < rest);
        let part = data.part(start, len, device);
        start += len;
        part
    };
    devices[..parts].iter().enumerate().map(part).collect()
}

/// Returns the error of an empty list of devices.
pub(super) fn no_devices(operation: &str) -> candle_core::Error {
    error::argument(
        operation,
        "at least one device",
        "none",
        "Pass at least one: the list of try_all_gpus() is never empty",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{arange, tensor};

    const CPU: Device = Device::Cpu;

    fn parts(examples: i64, devices: usize) -> Vec<Vec<i64>> {
        let x = arange(0, examples, &CPU).unwrap();
        let parts = split_and_load(&x, &vec![CPU; devices]).unwrap();
        parts.iter().map(|part| part.to_vec1().unwrap()).collect()
    }

    #[test]
    fn examples_are_split_in_order() {
        assert_eq!(parts(4, 2), [vec![0, 1], vec![2, 3]]);
        assert_eq!(parts(5, 3), [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(parts(2, 3), [vec![0], vec![1]]);
        assert_eq!(parts(3, 1), [vec![0, 1, 2]]);
    }

    #[test]
    fn invalid_arguments_are_explained() {
        let x = arange(0, 2, &CPU).unwrap();
        let message = split_and_load(&x, &[]).unwrap_err().to_string();
        assert!(
            message.contains("at least one device, found none"),
            "{message}"
        );
        let number = tensor(1.0, &CPU).unwrap();
        assert!(split_and_load(&number, &[CPU]).is_err());
    }
}
