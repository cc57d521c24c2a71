//! Convolutions by cuDNN, NVIDIA's library for networks, in a build with the feature `cudnn`.
//!
//! Such a program also starts where the library is missing, if `taper cuda` has built it: then our own kernels compute.
//! The algorithm is chosen once for each shape. Handles and choices belong to a thread, as cuDNN asks.

use candle_core::{Device, Result, Tensor};

/// What is computed of a convolution, from two tensors.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) enum Product {
    /// The output, from input and weights.
    Output,
    /// The gradient of the input, from the weights and the output's gradient.
    OfInput,
    /// The gradient of the weights, from the input and the output's gradient.
    OfWeight,
}

/// The shapes of a convolution's input, weights and output, and how its windows move.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Convolution {
    pub(crate) x: [usize; 4],
    pub(crate) weight: [usize; 4],
    pub(crate) y: [usize; 4],
    pub(crate) padding: [usize; 2],
    pub(crate) stride: [usize; 2],
    pub(crate) dilation: [usize; 2],
    pub(crate) groups: usize,
}

/// Returns a product of contiguous tensors of `f32` on an NVIDIA GPU; `None` without cuDNN, or for other tensors.
pub(crate) fn by_cudnn(
    product: Product,
    convolution: Convolution,
    a: &Tensor,
    b: &Tensor,
) -> Result<Option<Tensor>> {
    #[cfg(feature = "cudnn")]
    if a.device().is_cuda() && a.dtype() == candle_core::DType::F32 && is_there() {
        let op = library::Op {
            product,
            convolution,
        };
        return a.apply_op2_no_bwd(b, &op).map(Some);
    }
    let _ = (product, convolution, a, b);
    Ok(None)
}

/// Returns whether Candle computes with cuDNN on this device, and the library is missing.
pub(crate) fn lacks_cudnn(device: &Device) -> bool {
    #[cfg(feature = "cudnn")]
    return device.is_cuda() && !is_there();
    #[cfg(not(feature = "cudnn"))]
    {
        let _ = device;
        false
    }
}

/// Returns whether the library is there, and of a version that has what Candle's bindings call.
#[cfg(feature = "cudnn")]
fn is_there() -> bool {
    use candle_core::cuda_backend::cudarc::cudnn::sys::cudnnGetVersion;

    static IS_THERE: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    // SAFETY: the function has no arguments, and needs no driver.
    *IS_THERE.get_or_init(|| is_version(unsafe { cudnnGetVersion() }))
}

/// Returns whether this is the version of a library that can be used. In place of a missing library, the code of an error is
/// returned (`crates/host/src/gpu/shims.rs`).
#[cfg(any(feature = "cudnn", test))]
fn is_version(number: usize) -> bool {
    number / 10_000 == 9
}

#[cfg(test)]
mod tests {
    use super::is_version;

    #[test]
    fn a_missing_library_is_no_version() {
        let not_initialized = 1001;
        assert!(is_version(90_000) && is_version(92_101));
        assert!(!is_version(not_initialized) && !is_version(8907) && !is_version(100_000));
    }

    #[cfg(feature = "cudnn")]
    #[test]
    fn without_a_library_nothing_fails() {
        println!("cuDNN is there: {}", super::is_there());
        assert!(!super::lacks_cudnn(&candle_core::Device::Cpu));
    }
}

#[cfg(feature = "cudnn")]
mod library {
    use super::{Convolution, Product};
    use crate::device::tf32;
    use candle_core::cuda_backend::CudaStorageSlice as Slice;
    use candle_core::cuda_backend::cudarc::cudnn::safe::{
        ConvBackwardData, ConvBackwardFilter, ConvForward, Cudnn,
    };
    use candle_core::cuda_backend::cudarc::cudnn::sys::{
        cudnnConvolutionBwdDataAlgo_t as OfInput, cudnnConvolutionBwdFilterAlgo_t as OfWeight,
        cudnnConvolutionFwdAlgo_t as Output, cudnnConvolutionMode_t as Mode,
        cudnnMathType_t as Math, cudnnTensorFormat_t as Format,
    };
    use candle_core::cuda_backend::cudarc::driver::{CudaSlice, CudaView};
    use candle_core::{
        CpuStorage, CudaDevice, CudaStorage, CustomOp2, Layout, Result, Shape, bail,
    };
    use std::cell::RefCell;
    use std::collections::HashMap;
    use std::sync::Arc;

    thread_local! {
        static CUDNN: RefCell<Vec<(CudaDevice, Arc<Cudnn>)>> = const { RefCell::new(Vec::new()) };
        static CHOSEN: RefCell<HashMap<Key, Chosen>> = RefCell::default();
    }

    /// A product, its shapes, and whether TF32 is allowed.
    type Key = (Product, Convolution, bool);

    /// An algorithm, and the bytes that it needs besides.
    #[derive(Clone, Copy)]
    enum Chosen {
        Output(Output, usize),
        OfInput(OfInput, usize),
        OfWeight(OfWeight, usize),
    }

    pub(super) struct Op {
        pub(super) product: Product,
        pub(super) convolution: Convolution,
    }

    impl CustomOp2 for Op {
        fn name(&self) -> &'static str {
            "cudnn-convolution"
        }

        fn cpu_fwd(
            &self,
            _: &CpuStorage,
            _: &Layout,
            _: &CpuStorage,
            _: &Layout,
        ) -> Result<(CpuStorage, Shape)> {
            bail!("cuDNN computes on a GPU only")
        }

        fn cuda_fwd(
            &self,
            a: &CudaStorage,
            of_a: &Layout,
            b: &CudaStorage,
            of_b: &Layout,
        ) -> Result<(CudaStorage, Shape)> {
            let device = a.device.clone();
            let shape = Shape::from(match self.product {
                Product::Output => self.convolution.y.to_vec(),
                Product::OfInput => self.convolution.x.to_vec(),
                Product::OfWeight => self.convolution.weight.to_vec(),
            });
            let inputs = [view(a, of_a)?, view(b, of_b)?];
            // SAFETY: cuDNN writes each element.
            let mut result = unsafe { device.alloc::<f32>(shape.elem_count())? };
            self.launch(&device, inputs, &mut result)?;
            Ok((CudaStorage::wrap_cuda_slice(result, device), shape))
        }
    }

    impl Op {
        fn launch(
            &self,
            device: &CudaDevice,
            [a, b]: [CudaView<'_, f32>; 2],
            result: &mut CudaSlice<f32>,
        ) -> Result<()> {
            let of = &self.convolution;
            let tf32 = tf32::is_allowed();
            let cudnn = handle(device)?;
            let pair = |sizes: [usize; 2]| sizes.map(|size| size as i32);
            let [padding, stride, dilation] = [of.padding, of.stride, of.dilation].map(pair);
            let mode = Mode::CUDNN_CROSS_CORRELATION;
            let mut conv = cudnn.create_conv2d::<f32>(padding, stride, dilation, mode)?;
            conv.set_group_count(of.groups as i32)?;
            conv.set_math_type(match tf32 {
                true => Math::CUDNN_DEFAULT_MATH,
                false => Math::CUDNN_FMA_MATH,
            })?;
            let sizes = |shape: [usize; 4]| shape.map(|size| size as i32);
            let format = Format::CUDNN_TENSOR_NCHW;
            let x = cudnn.create_4d_tensor::<f32>(format, sizes(of.x))?;
            let y = cudnn.create_4d_tensor::<f32>(format, sizes(of.y))?;
            let w = cudnn.create_4d_filter::<f32>(format, sizes(of.weight))?;
            let output = ConvForward {
                conv: &conv,
                x: &x,
                w: &w,
                y: &y,
            };
            let of_input = ConvBackwardData {
                conv: &conv,
                dx: &x,
                w: &w,
                dy: &y,
            };
            let of_weight = ConvBackwardFilter {
                conv: &conv,
                x: &x,
                dw: &w,
                dy: &y,
            };
            let choose = || {
                Ok(match self.product {
                    Product::Output => {
                        let algorithm = output.pick_algorithm()?;
                        Chosen::Output(algorithm, output.get_workspace_size(algorithm)?)
                    }
                    Product::OfInput => {
                        let algorithm = of_input.pick_algorithm()?;
                        Chosen::OfInput(algorithm, of_input.get_workspace_size(algorithm)?)
                    }
                    Product::OfWeight => {
                        let algorithm = of_weight.pick_algorithm()?;
                        Chosen::OfWeight(algorithm, of_weight.get_workspace_size(algorithm)?)
                    }
                })
            };
            let chosen = chosen((self.product, *of, tf32), choose)?;
            let (Chosen::Output(_, bytes) | Chosen::OfInput(_, bytes) | Chosen::OfWeight(_, bytes)) =
                chosen;
            // The driver keeps the memory for the next one.
            // SAFETY: cuDNN reads nothing there that it has not written.
            let mut space = unsafe { device.alloc::<u8>(bytes.max(1))? };
            let space = Some(&mut space);
            // SAFETY: the tensors have the shapes and the type of the descriptors.
            unsafe {
                match chosen {
                    Chosen::Output(algorithm, _) => {
                        output.launch(algorithm, space, (1.0, 0.0), &a, &b, result)
                    }
                    Chosen::OfInput(algorithm, _) => {
                        of_input.launch(algorithm, space, (1.0, 0.0), result, &a, &b)
                    }
                    Chosen::OfWeight(algorithm, _) => {
                        of_weight.launch(algorithm, space, (1.0, 0.0), &a, result, &b)
                    }
                }
            }?;
            Ok(())
        }
    }

    /// Returns this thread's choice for a key, and chooses if there is none.
    fn chosen(key: Key, choose: impl FnOnce() -> Result<Chosen>) -> Result<Chosen> {
        if let Some(chosen) = CHOSEN.with_borrow(|all| all.get(&key).copied()) {
            return Ok(chosen);
        }
        let chosen = choose()?;
        CHOSEN.with_borrow_mut(|all| all.insert(key, chosen));
        Ok(chosen)
    }

    /// Returns this thread's handle for a device.
    fn handle(device: &CudaDevice) -> Result<Arc<Cudnn>> {
        let of_device = |(own, _): &&(CudaDevice, Arc<Cudnn>)| own.id() == device.id();
        let found = CUDNN.with_borrow(|all| all.iter().find(of_device).map(|(_, it)| it.clone()));
        if let Some(found) = found {
            return Ok(found);
        }
        let cudnn = Cudnn::new(device.cuda_stream())?;
        CUDNN.with_borrow_mut(|all| all.push((device.clone(), cudnn.clone())));
        Ok(cudnn)
    }

    fn view<'a>(storage: &'a CudaStorage, layout: &Layout) -> Result<CudaView<'a, f32>> {
        match (&storage.slice, layout.contiguous_offsets()) {
            (Slice::F32(values), Some((start, end))) => Ok(values.slice(start..end)),
            _ => bail!("expected a contiguous tensor of f32"),
        }
    }
}
