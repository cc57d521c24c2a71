//! Splitting a batch over devices.

use crate::data::{AnyBatch, BatchData, Share};
use crate::error::{Result, problem};
use candle_core::Device;

/// Splits a batch into one part for each device, in order, like Gluon's function of the same name.
///
/// If the examples cannot be split equally, the first devices get one more. With fewer examples than
/// devices, there are fewer parts, none of them empty.
///
/// # Errors
/// If the list of devices is empty, or a device does not have enough memory.
///
/// ```
/// use taper::prelude::*;
///
/// let batch = Batch { x: zeros((5, 2)), y: zeros(5) };
/// let parts = split_and_load(&batch, &[cpu(), cpu()])?;
/// assert_eq!((parts[0].len(), parts[1].len()), (3, 2));
/// # Ok::<(), Error>(())
/// ```
pub fn split_and_load<B: BatchData>(data: &B, devices: &[Device]) -> Result<Vec<B>> {
    data.parts(&sizes(data.num_examples()?, devices)?)
}

/// Splits a batch whose type is erased, as [`split_and_load`] does.
pub(crate) fn split(batch: &dyn AnyBatch, devices: &[Device]) -> Result<Vec<Box<dyn AnyBatch>>> {
    let sizes = sizes(batch.examples()?, devices)?.into_iter();
    sizes
        .map(|(start, len, device)| batch.part_on(start, len, device))
        .collect()
}

/// Returns the start, the number of examples and the device of each part.
fn sizes(examples: usize, devices: &[Device]) -> Result<Vec<(usize, usize, &Device)>> {
    if devices.is_empty() {
        return Err(no_devices("split_and_load"));
    }
    let parts = devices.len().min(examples.max(1));
    let part = |(i, device)| {
        let part = Share::new(examples, i, parts).part;
        (part.start, part.len, device)
    };
    Ok(devices[..parts].iter().enumerate().map(part).collect())
}

/// Returns the error of an empty list of devices.
pub(super) fn no_devices(operation: &str) -> crate::error::Error {
    problem!(argument(operation, "none");
        "at least one device", "Pass at least one: the list of try_all_gpus() is never empty")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{Tensor, arange, tensor};

    const CPU: Device = Device::Cpu;

    fn parts(examples: i64, devices: usize) -> Vec<Vec<i64>> {
        let x = arange(0, examples);
        let parts = split_and_load(&x, &vec![CPU; devices]).unwrap();
        parts.iter().map(Tensor::to_vec1).collect()
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
        let x = arange(0, 2);
        let message = split_and_load(&x, &[]).unwrap_err().to_string();
        assert!(
            message.contains("at least one device, found none"),
            "{message}"
        );
        let scalar = tensor(1.0);
        assert!(split_and_load(&scalar, &[CPU]).is_err());
    }
}
