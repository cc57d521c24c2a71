//! Drawing images: random generator and colours.

use rand::distr::{Distribution, StandardUniform};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Red, green and blue from 0 to 1.
pub(super) type Color = [f32; 3];

/// The random generator of one image. It depends only on the image's index and the seed of the set, so
/// that the image is the same whatever else is drawn.
pub(super) struct ImageRng(ChaCha8Rng);

impl ImageRng {
    pub(super) fn new(seed: u64, number: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number as u64);
        ImageRng(rng)
    }

    pub(super) fn between(&mut self, low: f32, high: f32) -> f32 {
        let part: f32 = StandardUniform.sample(&mut self.0);
        low + part * (high - low)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.0.next_u32() as usize) % end
    }

    /// Draws a value that is close enough to the normal distribution for noise: the sum of four
    /// uniform ones.
    pub(super) fn noise(&mut self, std: f32) -> f32 {
        let bits = self.0.next_u32();
        let sum: u32 = bits.to_le_bytes().into_iter().map(u32::from).sum();
        (sum as f32 - 510.0) / 147.8 * std
    }

    pub(super) fn color(&mut self, low: Color, high: Color) -> Color {
        std::array::from_fn(|i| self.between(low[i], high[i]))
    }
}

/// Mixes `part` of the second colour into the first.
pub(super) fn mix(under: Color, over: Color, part: f32) -> Color {
    std::array::from_fn(|i| under[i] + (over[i] - under[i]) * part)
}

/// Returns 0 below `from`, 1 above `to`, and a linear transition between them.
pub(super) fn ramp(from: f32, to: f32, value: f32) -> f32 {
    ((value - from) / (to - from)).clamp(0.0, 1.0)
}
