//! The elements that dropout keeps, drawn on the GPU.

use super::Argument;

/// The operation that chooses the elements to keep: it returns, as `u8`, 1 where a uniform random value is at
/// least `p`, and 0 elsewhere.
///
/// The values are those that the CPU's generator would draw from `position` on. ChaCha computes each block of 16
/// words from its index, so each thread computes one block, and nothing is uploaded.
pub(crate) struct Keep {
    pub(crate) p: f32,
    pub(crate) seed: [u8; 32],
    pub(crate) stream: u64,
    /// The position in the stream, in words of 32 bits; each value takes one word.
    pub(crate) position: u128,
}

/// The number of words in a block.
const WORDS: usize = 16;

impl Keep {
    /// Returns the number of threads that draw `elements` values.
    fn threads(&self, elements: usize) -> usize {
        match elements {
            0 => 0,
            _ => (elements + self.offset()).div_ceil(WORDS),
        }
    }

    /// Returns the index of the first value in its block.
    fn offset(&self) -> usize {
        (self.position % WORDS as u128) as usize
    }

    /// Returns the kernel's arguments; `to` is the address of the result.
    fn arguments(&self, to: u64, elements: usize) -> Vec<Argument> {
        let block = (self.position / WORDS as u128) as u64;
        let (key, _) = self.seed.as_chunks::<4>();
        let key = key
            .iter()
            .map(|word| Argument::U32(u32::from_le_bytes(*word)));
        let others = [
            Argument::U64(to),
            Argument::U64(elements as u64),
            Argument::U64(block),
            Argument::U32(self.offset() as u32),
            Argument::U64(self.stream),
            Argument::F32(self.p),
        ];
        others.into_iter().chain(key).collect()
    }
}

#[cfg(feature = "cuda")]
impl candle_core::CustomOp1 for Keep {
    fn name(&self) -> &'static str {
        "elements that dropout keeps"
    }

    fn cpu_fwd(
        &self,
        _: &candle_core::CpuStorage,
        _: &candle_core::Layout,
    ) -> candle_core::Result<(candle_core::CpuStorage, candle_core::Shape)> {
        candle_core::bail!("expected a tensor on a GPU, found one on the CPU")
    }

    fn cuda_fwd(
        &self,
        like: &candle_core::CudaStorage,
        layout: &candle_core::Layout,
    ) -> candle_core::Result<(candle_core::CudaStorage, candle_core::Shape)> {
        use candle_core::backend::BackendStorage;
        use candle_core::cuda_backend::cudarc::driver::DevicePtrMut;

        let (device, shape) = (like.device(), layout.shape().clone());
        let (elements, stream) = (shape.elem_count(), device.cuda_stream());
        // SAFETY: the kernel writes each element.
        let mut kept = unsafe { device.alloc::<u8>(elements)? };
        {
            let (to, _guard) = kept.device_ptr_mut(&stream);
            let arguments = self.arguments(to, elements);
            // SAFETY: there is a byte for each element.
            unsafe { super::launch(device, "keep_u8", self.threads(elements), &arguments)? };
        }
        let kept = candle_core::CudaStorage::wrap_cuda_slice(kept, device.clone());
        Ok((kept, shape))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Memory, run};
    use super::*;
    use rand::{Rng, SeedableRng};
    use rand_chacha::ChaCha12Rng;

    #[test]
    fn the_kernel_draws_the_values_of_the_cpu() {
        let mut sizes = ChaCha12Rng::seed_from_u64(1);
        for seed in 0..60 {
            let mut rng = ChaCha12Rng::seed_from_u64(seed);
            rng.set_stream(if seed % 3 == 0 { 0 } else { sizes.random() });
            // Also beyond 2³² blocks, and in the middle of a block.
            let position = match seed % 2 {
                0 => sizes.random_range(0..100),
                _ => sizes.random_range(0..1u128 << 68),
            };
            rng.set_word_pos(position);
            let keep = Keep {
                p: sizes.random(),
                seed: rng.get_seed(),
                stream: rng.get_stream(),
                position,
            };
            let elements = sizes.random_range(1..700);
            let mut memory = Memory::default();
            let to = memory.empty::<u8>(elements);
            let arguments = keep.arguments(to, elements);
            run("keep_u8", keep.threads(elements), &arguments, &mut memory);
            let expected: Vec<u8> = (0..elements)
                .map(|_| u8::from(rng.random::<f32>() >= keep.p))
                .collect();
            assert_eq!(memory.written::<u8>(to), expected, "{arguments:?}");
        }
    }
}
