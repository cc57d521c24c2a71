//! The sum of a convolution's columns (col2im).

#[cfg(any(feature = "cuda", test))]
use super::Argument;
use candle_core::backend::BackendStorage;
use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, bail};
use std::iter::Sum;

/// The operation that adds up the columns of a convolution without padding, `(channels · rows · columns,
/// batch · out_height · out_width)`: each column has a value for each element of a patch. The sum of the
/// values of each pixel is the gradient of the convolution's input, `(batch, channels, height, width)`.
///
/// Each element of the result is computed by a thread of its own, always in the same order.
pub(crate) struct Columns {
    pub(crate) batch: usize,
    pub(crate) channels: usize,
    pub(crate) size: [usize; 2],
    pub(crate) kernel: [usize; 2],
    pub(crate) output: [usize; 2],
    pub(crate) stride: usize,
    pub(crate) dilation: usize,
}

impl Columns {
    fn shape(&self) -> [usize; 4] {
        [self.batch, self.channels, self.size[0], self.size[1]]
    }

    /// Returns the indices of the values in the columns that belong to a pixel of the result.
    fn places(&self, index: usize) -> impl Iterator<Item = usize> {
        let ([height, width], [out_height, out_width]) = (self.size, self.output);
        let (x, y) = (index % width, index / width % height);
        let (channel, image) = (
            index / (width * height) % self.channels,
            index / (width * height * self.channels),
        );
        let output = |pixel: usize, place: usize, outputs: usize| {
            let first = pixel.checked_sub(place * self.dilation)?;
            let output = first / self.stride;
            (first.is_multiple_of(self.stride) && output < outputs).then_some(output)
        };
        let [rows, columns] = self.kernel;
        (0..rows * columns).filter_map(move |place| {
            let out_y = output(y, place / columns, out_height)?;
            let out_x = output(x, place % columns, out_width)?;
            let place = channel * rows * columns + place;
            Some(((place * self.batch + image) * out_height + out_y) * out_width + out_x)
        })
    }

    fn sums<T: Copy + Sum<T>>(&self, columns: &[T]) -> Vec<T> {
        let sum = |index| self.places(index).map(|place| columns[place]).sum();
        (0..self.shape().iter().product()).map(sum).collect()
    }

    /// Returns the kernel's arguments; `to` and `from` are the addresses of the result and of the columns.
    #[cfg(any(feature = "cuda", test))]
    fn arguments(&self, to: u64, from: u64) -> Vec<Argument> {
        let shape = self.shape().into_iter();
        let sizes = shape.chain(self.kernel).chain(self.output);
        let sizes = sizes
            .chain([self.stride, self.dilation])
            .map(|size| Argument::U32(u32::try_from(size).expect("a size")));
        let addresses = [to, from].map(Argument::U64);
        addresses.into_iter().chain(sizes).collect()
    }
}

impl CustomOp1 for Columns {
    fn name(&self) -> &'static str {
        "sum of columns"
    }

    fn cpu_fwd(&self, from: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let Some((start, end)) = layout.contiguous_offsets() else {
            bail!("the columns must be contiguous");
        };
        let sums = match from {
            CpuStorage::F32(columns) => CpuStorage::F32(self.sums(&columns[start..end])),
            CpuStorage::F64(columns) => CpuStorage::F64(self.sums(&columns[start..end])),
            other => bail!("expected columns of f32 or f64, found {:?}", other.dtype()),
        };
        Ok((sums, Shape::from_dims(&self.shape())))
    }

    #[cfg(feature = "cuda")]
    fn cuda_fwd(
        &self,
        from: &candle_core::CudaStorage,
        layout: &Layout,
    ) -> Result<(candle_core::CudaStorage, Shape)> {
        use candle_core::CudaStorage;
        use candle_core::cuda_backend::CudaStorageSlice as Slice;
        use candle_core::cuda_backend::cudarc::driver::{DevicePtr, DevicePtrMut};

        let Some((start, end)) = layout.contiguous_offsets() else {
            bail!("the columns must be contiguous");
        };
        let (shape, device) = (Shape::from_dims(&self.shape()), from.device());
        let (elements, stream) = (shape.elem_count(), device.cuda_stream());
        macro_rules! sums {
            ($columns:expr, $kernel:literal, $type:ty) => {{
                // SAFETY: the kernel writes each element.
                let mut sums = unsafe { device.alloc::<$type>(elements)? };
                {
                    let columns = $columns.slice(start..end);
                    let (to, _guard) = sums.device_ptr_mut(&stream);
                    let (from, _guard) = columns.device_ptr(&stream);
                    // SAFETY: the columns and the sums have the sizes of `self`.
                    unsafe {
                        super::launch(device, $kernel, elements, &self.arguments(to, from))?;
                    }
                }
                CudaStorage::wrap_cuda_slice(sums, device.clone())
            }};
        }
        let sums = match &from.slice {
            Slice::F32(columns) => sums!(columns, "col2im_f32", f32),
            Slice::F64(columns) => sums!(columns, "col2im_f64", f64),
            _ => bail!("expected columns of f32 or f64, found {:?}", from.dtype()),
        };
        Ok((sums, shape))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Memory, Value, run};
    use super::*;
    use crate::tensor::{Tensor, rand, randint, with_seed};
    use candle_core::{DType, WithDType};

    /// Draws random sizes, which mostly differ, so that a test fails if two of them are swapped.
    fn random() -> Columns {
        let draw = |most: i64| randint(1, most + 1, ()).item() as usize;
        let kernel = [draw(4), draw(4)];
        let (stride, dilation) = (draw(3), draw(3));
        // Some pixels at the end belong to no patch.
        let reach = |kernel: usize| dilation * (kernel - 1) + 1;
        let size = [
            reach(kernel[0]) + draw(9) - 1,
            reach(kernel[1]) + draw(7) - 1,
        ];
        let output = [0, 1].map(|i| (size[i] - reach(kernel[i])) / stride + 1);
        Columns {
            batch: draw(3),
            channels: draw(3),
            size,
            kernel,
            output,
            stride,
            dilation,
        }
    }

    fn columns(of: &Columns, dtype: DType) -> Tensor {
        let rows = of.channels * of.kernel[0] * of.kernel[1];
        let shape = (rows, of.batch * of.output[0] * of.output[1]);
        rand(shape).to_dtype(dtype)
    }

    /// Compares the kernel in the emulator with the sums of the CPU, bit by bit.
    fn compare<T: Value + WithDType>(kernel: &str) -> Result<()> {
        let of = random();
        let elements: usize = of.shape().iter().product();
        let columns = columns(&of, T::DTYPE);
        let sums: Tensor = columns.raw().apply_op1_no_bwd(&of)?.into();
        let expected = sums.to_vec::<T>();
        let mut memory = Memory::default();
        let from = memory.with(&columns.to_vec::<T>());
        let to = memory.empty::<T>(elements);
        run(kernel, elements, &of.arguments(to, from), &mut memory);
        assert_eq!(
            memory.written::<T>(to),
            expected,
            "{:?}",
            of.arguments(to, from)
        );
        Ok(())
    }

    #[test]
    fn the_kernels_compute_each_element_once_and_as_the_cpu() {
        for seed in 0..40 {
            with_seed(seed, || compare::<f32>("col2im_f32")).unwrap();
            with_seed(seed, || compare::<f64>("col2im_f64")).unwrap();
        }
    }
}
