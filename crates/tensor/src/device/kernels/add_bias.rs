//! The bias of each channel, added in place.

#[cfg(any(feature = "cuda", test))]
use super::operation::range;
#[cfg(any(feature = "cuda", not(test)))]
use candle_core::bail;
use candle_core::{CpuStorage, InplaceOp2, Layout, Result};

/// Adds the bias `(channels,)` to images of this many pixels, `(batch, channels, pixels)`.
pub(crate) struct AddBias(
    #[cfg_attr(
        not(any(feature = "cuda", test)),
        expect(dead_code, reason = "the CPU refuses without it")
    )]
    pub(crate) usize,
);

impl InplaceOp2 for AddBias {
    fn name(&self) -> &'static str {
        "bias"
    }

    #[cfg(test)]
    fn cpu_fwd(
        &self,
        y: &mut CpuStorage,
        _: &Layout,
        bias: &CpuStorage,
        layout: &Layout,
    ) -> Result<()> {
        super::tests::add_bias(self.0, y, bias, range(layout)?)
    }

    #[cfg(not(test))]
    fn cpu_fwd(&self, _: &mut CpuStorage, _: &Layout, _: &CpuStorage, _: &Layout) -> Result<()> {
        bail!("bias: expected tensors on a GPU")
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
