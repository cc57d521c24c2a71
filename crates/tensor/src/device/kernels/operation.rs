//! An operation that a kernel computes on a GPU. The tests compute it on the CPU too.

use super::Argument;
use candle_core::{
    CpuStorage, CustomOp1, CustomOp2, CustomOp3, DType, Layout, Result, Shape, bail,
};
#[cfg(feature = "cuda")]
use candle_core::{CudaStorage, cuda_backend::CudaStorageSlice as Slice};

/// An operation without a gradient. Its inputs are contiguous; the first are of `f32` or `f64`.
#[cfg_attr(
    not(feature = "cuda"),
    expect(dead_code, reason = "only a GPU needs all fields")
)]
pub(super) struct Launch {
    /// The kernel's name without the type of the first input.
    pub(super) kernel: &'static str,
    pub(super) shape: Shape,
    /// The type of the result: that of the first input, or `u32`.
    pub(super) dtype: DType,
    pub(super) threads: usize,
    /// The kernel's arguments after the addresses of the result and of the inputs.
    pub(super) sizes: Vec<Argument>,
}

/// A tensor in the CPU's memory.
pub(super) type Input<'a> = (&'a CpuStorage, &'a Layout);

/// Returns where the elements of a tensor begin and end in its memory.
#[cfg(any(feature = "cuda", test))]
pub(super) fn range(layout: &Layout) -> Result<std::ops::Range<usize>> {
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(start..end),
        None => bail!("expected a contiguous tensor"),
    }
}

impl Launch {
    #[cfg(test)]
    fn cpu(&self, inputs: &[Input<'_>]) -> Result<(CpuStorage, Shape)> {
        Ok((super::tests::on_cpu(self, inputs)?, self.shape.clone()))
    }

    #[cfg(not(test))]
    fn cpu(&self, _: &[Input<'_>]) -> Result<(CpuStorage, Shape)> {
        bail!("{}: expected tensors on a GPU", self.kernel)
    }

    #[cfg(feature = "cuda")]
    pub(super) fn cuda(&self, inputs: &[(&CudaStorage, &Layout)]) -> Result<(CudaStorage, Shape)> {
        use candle_core::cuda_backend::cudarc::driver::DevicePtrMut;

        let (first, device) = (&inputs[0].0.slice, inputs[0].0.device.clone());
        let kernel = match first {
            Slice::F32(_) => format!("{}_f32", self.kernel),
            Slice::F64(_) => format!("{}_f64", self.kernel),
            _ => bail!("expected f32 or f64"),
        };
        let from = { inputs.iter() }.map(|(storage, layout)| address(storage, layout));
        let from = from.collect::<Result<Vec<u64>>>()?;
        let (stream, elements) = (device.cuda_stream(), self.shape.elem_count());
        macro_rules! launch {
            ($type:ty) => {{
                // SAFETY: the kernel writes each element.
                let mut result = unsafe { device.alloc::<$type>(elements)? };
                {
                    let (to, _guard) = result.device_ptr_mut(&stream);
                    let addresses = [to].into_iter().chain(from).map(Argument::U64);
                    let arguments = addresses.chain(self.sizes.iter().copied());
                    let arguments: Vec<Argument> = arguments.collect();
                    // SAFETY: the tensors have the sizes that the kernel expects, as its callers here promise.
                    unsafe { super::launch(&device, &kernel, self.threads, &arguments)? };
                }
                CudaStorage::wrap_cuda_slice(result, device.clone())
            }};
        }
        let result = match self.dtype {
            DType::U32 => launch!(u32),
            DType::F64 => launch!(f64),
            _ => launch!(f32),
        };
        Ok((result, self.shape.clone()))
    }
}

/// Returns the address of a tensor's first element. All work of a device is in the order of one stream.
#[cfg(feature = "cuda")]
pub(super) fn address(storage: &CudaStorage, layout: &Layout) -> Result<u64> {
    use candle_core::cuda_backend::cudarc::driver::DevicePtr;

    let (range, stream) = (range(layout)?, storage.device.cuda_stream());
    Ok(match &storage.slice {
        Slice::F32(values) => values.slice(range).device_ptr(&stream).0,
        Slice::F64(values) => values.slice(range).device_ptr(&stream).0,
        Slice::U32(values) => values.slice(range).device_ptr(&stream).0,
        _ => bail!("expected f32, f64 or u32"),
    })
}

impl CustomOp1 for Launch {
    fn name(&self) -> &'static str {
        self.kernel
    }

    fn cpu_fwd(&self, a: &CpuStorage, of_a: &Layout) -> Result<(CpuStorage, Shape)> {
        self.cpu(&[(a, of_a)])
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(&self, a: &CudaStorage, of_a: &Layout) -> Result<(CudaStorage, Shape)> {
        self.cuda(&[(a, of_a)])
    }
}

impl CustomOp2 for Launch {
    fn name(&self) -> &'static str {
        self.kernel
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        of_a: &Layout,
        b: &CpuStorage,
        of_b: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.cpu(&[(a, of_a), (b, of_b)])
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        a: &CudaStorage,
        of_a: &Layout,
        b: &CudaStorage,
        of_b: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        self.cuda(&[(a, of_a), (b, of_b)])
    }
}

impl CustomOp3 for Launch {
    fn name(&self) -> &'static str {
        self.kernel
    }

    fn cpu_fwd(
        &self,
        a: &CpuStorage,
        of_a: &Layout,
        b: &CpuStorage,
        of_b: &Layout,
        c: &CpuStorage,
        of_c: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        self.cpu(&[(a, of_a), (b, of_b), (c, of_c)])
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        a: &CudaStorage,
        of_a: &Layout,
        b: &CudaStorage,
        of_b: &Layout,
        c: &CudaStorage,
        of_c: &Layout,
    ) -> Result<(CudaStorage, Shape)> {
        self.cuda(&[(a, of_a), (b, of_b), (c, of_c)])
    }
}
