//! The bias of each channel, added in place.

use super::operation::range;
use candle_core::{CpuStorage, InplaceOp2, Layout, Result, WithDType, bail};

/// Adds the bias `(channels,)` to images of this many pixels, `(batch, channels, pixels)`.
pub(crate) struct AddBias(pub(crate) usize);

impl InplaceOp2 for AddBias {
    fn name(&self) -> &'static str {
        "bias"
    }

    fn cpu_fwd(
        &self,
        y: &mut CpuStorage,
        _: &Layout,
        bias: &CpuStorage,
        layout: &Layout,
    ) -> Result<()> {
        fn add<T: WithDType>(y: &mut [T], pixels: usize, bias: &[T]) {
            for (plane, bias) in y.chunks_mut(pixels).zip(bias.iter().cycle()) {
                plane.iter_mut().for_each(|y| *y += *bias);
            }
        }

        let range = range(layout)?;
        match (y, bias) {
            (CpuStorage::F32(y), CpuStorage::F32(bias)) => add(y, self.0, &bias[range]),
            (CpuStorage::F64(y), CpuStorage::F64(bias)) => add(y, self.0, &bias[range]),
            _ => bail!("expected images and a bias of f32 or f64"),
        }
        Ok(())
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        y: &mut candle_core::CudaStorage,
        _: &Layout,
        bias: &candle_core::CudaStorage,
        layout: &Layout,
    ) -> Result<()> {
        use super::Argument::{U32, U64};
        use candle_core::cuda_backend::CudaStorageSlice as Slice;
        use candle_core::cuda_backend::cudarc::driver::DevicePtrMut;

        let (device, stream) = (bias.device.clone(), bias.device.cuda_stream());
        let from = super::operation::address(bias, layout)?;
        let sizes = [self.0, range(layout)?.len()];
        let [pixels, channels] = sizes.map(|size| U32(u32::try_from(size).expect("a size")));
        let add = |kernel, elements, to| {
            let arguments = [U64(to), U64(from), U64(elements as u64), pixels, channels];
            // SAFETY: the kernel changes the elements of `y`, and reads an element of the bias for each channel.
            unsafe { super::launch(&device, kernel, elements, &arguments) }
        };
        match (&mut y.slice, &bias.slice) {
            (Slice::F32(y), Slice::F32(_)) => add("bias_f32", y.len(), y.device_ptr_mut(&stream).0),
            (Slice::F64(y), Slice::F64(_)) => add("bias_f64", y.len(), y.device_ptr_mut(&stream).0),
            _ => bail!("expected images and a bias of f32 or f64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Argument::{U32, U64};
    use super::super::testing::{Memory, run};
    use super::*;
    use candle_core::Shape;

    #[test]
    fn the_kernel_adds_the_bias_of_the_channel() {
        let y: Vec<f32> = (0..2 * 3 * 5).map(|i| i as f32).collect();
        let bias = [100.0f32, 200.0, 300.0];
        let mut expected = CpuStorage::F32(y.clone());
        let of_bias = Layout::contiguous(Shape::from(3));
        let (of_y, bias_storage) = (Layout::contiguous(30), CpuStorage::F32(bias.into()));
        AddBias(5)
            .cpu_fwd(&mut expected, &of_y, &bias_storage, &of_bias)
            .unwrap();
        let mut memory = Memory::default();
        let (to, from) = (memory.with(&y), memory.with(&bias));
        let arguments = [U64(to), U64(from), U64(30), U32(5), U32(3)];
        run("bias_f32", 30, &arguments, &mut memory);
        assert_eq!(
            memory.written::<f32>(to),
            expected.as_slice::<f32>().unwrap()
        );
        assert_eq!(memory.written::<f32>(to)[5..8], [205.0, 206.0, 207.0]);
    }
}
