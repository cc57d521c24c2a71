//! Copies of tensors between devices.

#[cfg(feature = "cuda")]
use crate::device::between_cards;
use crate::device::explain_gpu;
use crate::tensor::Raw;
#[cfg(feature = "cuda")]
use candle_core::cuda_backend::CudaStorageSlice;
use candle_core::{CpuStorage, Device, Result, Storage};

/// Copies a tensor to a device, into memory of its own.
#[doc(hidden)]
pub fn copied(tensor: &Raw, device: &Device) -> Result<Raw> {
    if !tensor.device().same_device(device) {
        return moved(&compact(tensor)?, device);
    }
    explain_gpu(tensor.force_contiguous(), device, Some(bytes_of(tensor)))
}

/// Moves a tensor to a device, as Candle's `to_device` does, but synchronises the devices if both are
/// GPUs. If the device is full, the error contains the sizes.
#[doc(hidden)]
pub fn moved(tensor: &Raw, device: &Device) -> Result<Raw> {
    let result = match (tensor.device(), device) {
        #[cfg(feature = "cuda")]
        (Device::Cuda(_), Device::Cuda(to)) if !tensor.device().same_device(device) => {
            let (x, own) = (compact(tensor)?, tensor.device().clone());
            between_cards(x.values(), to).map(|values| x.mapped(values, move |g| moved(g, &own)))
        }
        _ => tensor.to_device(device),
    };
    explain_gpu(result, device, Some(bytes_of(tensor)))
}

/// Returns the tensor if it is contiguous and all of its memory, or else a copy that is.
fn compact(tensor: &Raw) -> Result<Raw> {
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
fn storage_len(tensor: &Raw) -> usize {
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
fn bytes_of(tensor: &Raw) -> usize {
    tensor.elem_count() * tensor.dtype().size_in_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::variable;
    use crate::tensor::{Tensor, ones, storage_address};
    use candle_core::{DType, Var};

    fn sample() -> Raw {
        Raw::arange(0f32, 12f32, &Device::Cpu)
            .and_then(|x| x.reshape((3, 4)))
            .unwrap()
    }

    fn shared(a: &Raw, b: &Raw) -> bool {
        storage_address(a) == storage_address(b)
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
            assert!(shared(view, &x));
            assert!(!shared(&copied(view, &Device::Cpu).unwrap(), &x));
        }
        assert!(!shared(&sample(), &x));
        assert!(shared(&x, &x), "no lock is held twice");
    }

    #[test]
    fn a_copied_view_keeps_its_values_and_nothing_else() {
        let view = sample().narrow(1, 2, 2).unwrap();
        let copy = copied(&view, &Device::Cpu).unwrap();
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
        assert!(shared(&compact(&x).unwrap(), &x));
        let flat = x.flatten_all().unwrap();
        assert!(shared(&compact(&flat).unwrap(), &x));
        for part in [x.narrow(0, 0, 2), x.narrow(1, 0, 2), x.t()] {
            let part = part.unwrap();
            let copy = compact(&part).unwrap();
            assert!(!shared(&copy, &x));
            assert_eq!(storage_len(&copy), part.elem_count());
        }
    }

    #[test]
    fn changing_a_variable_leaves_its_copy_alone() {
        let var = Var::zeros(2, DType::F32, &Device::Cpu).unwrap();
        let copy = copied(&Raw::constant(&var), &Device::Cpu).unwrap();
        var.set(&var.ones_like().unwrap()).unwrap();
        assert_eq!(copy.to_vec1::<f32>().unwrap(), [0., 0.]);
    }

    #[test]
    fn gradients_flow_through_a_copy() {
        let x = variable(&ones(2));
        let copy = Tensor::from(copied(x.raw(), &Device::Cpu).unwrap());
        let gradients = (copy * 3.0).sum_all().backward();
        assert_eq!(gradients.of(&x).to_vec1::<f32>(), [3.0, 3.0]);
    }
}
