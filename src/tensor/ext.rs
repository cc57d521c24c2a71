//! Copies of tensors, and the memory that they share.

#[cfg(feature = "cuda")]
use crate::device::between_cards;
use crate::device::explain_gpu;
#[cfg(feature = "cuda")]
use candle_core::cuda_backend::CudaStorageSlice;
use candle_core::{CpuStorage, Device, Result, Storage, Tensor};

/// Extends Candle's [`Tensor`].
///
/// Candle's own `x.to_device(&device)?` makes no copy when the tensor is there already: the result shares
/// its memory. Between two devices it transfers the whole storage of a view;
/// [`copy_to`](TensorExt::copy_to) transfers only the elements of the view. Between two GPUs use
/// `copy_to`: it waits until the values exist, and until they are copied; Candle's function does not
/// synchronise the GPUs.
pub trait TensorExt {
    /// Copies the tensor to `device`, into memory of its own, also when the tensor is there
    /// already.
    ///
    /// The copy has the same shape and is contiguous. Gradients flow back through it.
    ///
    /// # Errors
    /// If the device does not have enough memory or cannot be reached.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = ones((2, 3), &cpu())?;
    /// let copy = x.copy_to(&cpu())?;
    /// assert_eq!(copy.dims(), [2, 3]);
    /// assert!(!copy.shares_storage_with(&x));
    /// # Ok::<(), Error>(())
    /// ```
    fn copy_to(&self, device: &Device) -> Result<Tensor>;

    /// Returns whether two tensors share their memory, as a view and its origin do.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = ones((2, 3), &cpu())?;
    /// assert!(x.shares_storage_with(&x.to_device(&cpu())?)); // already there
    /// assert!(x.shares_storage_with(&x.narrow(0, 1, 1)?)); // a view
    /// assert!(!x.shares_storage_with(&(&x + 1.0)?)); // a new tensor
    /// # Ok::<(), Error>(())
    /// ```
    fn shares_storage_with(&self, other: &Tensor) -> bool;
}

impl TensorExt for Tensor {
    fn copy_to(&self, device: &Device) -> Result<Tensor> {
        if !self.device().same_device(device) {
            return moved(&compact(self)?, device);
        }
        explain_gpu(self.force_contiguous(), device, Some(bytes_of(self)))
    }

    fn shares_storage_with(&self, other: &Tensor) -> bool {
        storage_address(self) == storage_address(other)
    }
}

/// Moves a tensor to a device, as Candle's `to_device` does, but synchronises the devices if both are
/// GPUs. If the device is full, the error contains the sizes.
pub(crate) fn moved(tensor: &Tensor, device: &Device) -> Result<Tensor> {
    let result = match (tensor.device(), device) {
        #[cfg(feature = "cuda")]
        (Device::Cuda(_), Device::Cuda(to)) if !tensor.device().same_device(device) => {
            between_cards(&compact(tensor)?, to, moved)
        }
        _ => tensor.to_device(device),
    };
    explain_gpu(result, device, Some(bytes_of(tensor)))
}

/// Returns the tensor if it is contiguous and all of its memory, or else a copy that is.
fn compact(tensor: &Tensor) -> Result<Tensor> {
    if tensor.is_contiguous() && storage_len(tensor) == tensor.elem_count() {
        return Ok(tensor.clone());
    }
    explain_gpu(
        tensor.force_contiguous(),
        tensor.device(),
        Some(bytes_of(tensor)),
    )
}

/// Returns the number of elements in the memory of a tensor; 0 for types that Taper does not use.
fn storage_len(tensor: &Tensor) -> usize {
    macro_rules! len {
        ($storage:expr, $kind:ident) => {
            match $storage {
                $kind::U8(values) => values.len(),
                $kind::U32(values) => values.len(),
                $kind::I64(values) => values.len(),
                $kind::BF16(values) => values.len(),
                $kind::F16(values) => values.len(),
                $kind::F32(values) => values.len(),
                $kind::F64(values) => values.len(),
                _ => 0,
            }
        };
    }
    match &*tensor.storage_and_layout().0 {
        Storage::Cpu(storage) => len!(storage, CpuStorage),
        #[cfg(feature = "cuda")]
        Storage::Cuda(storage) => len!(&storage.slice, CudaStorageSlice),
        _ => 0,
    }
}

/// Returns how many bytes the tensor's own elements take.
pub(crate) fn bytes_of(tensor: &Tensor) -> usize {
    tensor.elem_count() * tensor.dtype().size_in_bytes()
}

/// Returns the address of a tensor's storage. Tensors that share memory share the `Storage` behind
/// Candle's lock.
fn storage_address(tensor: &Tensor) -> usize {
    let (storage, _) = tensor.storage_and_layout();
    std::ptr::from_ref(&*storage).addr()
}

#[cfg(test)]
mod tests {
    use super::*;
    use candle_core::{DType, Var};

    fn sample() -> Tensor {
        Tensor::arange(0f32, 12f32, &Device::Cpu)
            .and_then(|x| x.reshape((3, 4)))
            .unwrap()
    }

    #[test]
    fn views_share_and_copies_do_not() {
        let x = sample();
        let views = [
            x.clone(),
            x.detach(),
            x.t().unwrap(),
            x.narrow(1, 2, 2).unwrap(),
            x.reshape((4, 3)).unwrap(),
            x.to_device(&Device::Cpu).unwrap(),
        ];
        for view in &views {
            assert!(view.shares_storage_with(&x));
            assert!(!view.copy_to(&Device::Cpu).unwrap().shares_storage_with(&x));
        }
        assert!(!sample().shares_storage_with(&x));
        assert!(x.shares_storage_with(&x), "no lock is held twice");
    }

    #[test]
    fn a_copied_view_keeps_its_values_and_nothing_else() {
        let view = sample().narrow(1, 2, 2).unwrap();
        let copy = view.copy_to(&Device::Cpu).unwrap();
        assert_eq!(
            copy.to_vec2::<f32>().unwrap(),
            [[2., 3.], [6., 7.], [10., 11.]]
        );
        let (storage, _) = copy.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else {
            panic!("the copy is not on the CPU")
        };
        assert_eq!(storage.as_slice::<f32>().unwrap().len(), 6);
    }

    #[test]
    fn only_a_part_is_copied_before_it_is_transferred() {
        let x = sample();
        assert!(compact(&x).unwrap().shares_storage_with(&x));
        let flat = x.flatten_all().unwrap();
        assert!(compact(&flat).unwrap().shares_storage_with(&x));
        for part in [x.narrow(0, 0, 2), x.narrow(1, 0, 2), x.t()] {
            let part = part.unwrap();
            let copy = compact(&part).unwrap();
            assert!(!copy.shares_storage_with(&x));
            assert_eq!(storage_len(&copy), part.elem_count());
        }
    }

    #[test]
    fn changing_a_variable_leaves_its_copy_alone() {
        let var = Var::zeros(2, DType::F32, &Device::Cpu).unwrap();
        let copy = var.copy_to(&Device::Cpu).unwrap();
        var.set(&var.ones_like().unwrap()).unwrap();
        assert_eq!(copy.to_vec1::<f32>().unwrap(), [0., 0.]);
    }

    #[test]
    fn gradients_flow_through_a_copy() {
        let var = Var::ones(2, DType::F32, &Device::Cpu).unwrap();
        let copy = var.copy_to(&Device::Cpu).unwrap();
        let loss = (copy * 3.0).unwrap().sum_all().unwrap();
        let gradients = loss.backward().unwrap();
        let gradient = gradients.get(&var).unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(gradient, [3., 3.]);
    }
}
