//! What drawn pictures have in common: a source of numbers for each, and colours.

use rand::distr::{Distribution, StandardUniform};
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Red, green and blue from 0 to 1.
pub(super) type Color = [f32; 3];

/// The random numbers of one picture: those of its number and the set's seed alone, so that it is
/// the same whatever else is drawn.
pub(super) struct Dice(ChaCha8Rng);

impl Dice {
    pub(super) fn new(seed: u64, number: usize) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(number as u64);
        Dice(rng)
    }

    pub(super) fn between(&mut self, low: f32, high: f32) -> f32 {
        let part: f32 = StandardUniform.sample(&mut self.0);
        low + part * (high - low)
    }

    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.0.next_u32() as usize) % end
    }

    /// Close enough to the normal distribution for noise: the sum of four uniform numbers.
    pub(super) fn noise(&mut self, std: f32) -> f32 {
        let bits = self.0.next_u32();
        let sum: u32 = bits.to_le_bytes().into_iter().map(u32::from).sum();
        (sum as f32 - 510.0) / 147.8 * std
    }

    pub(super) fn color(&mut self, low: Color, high: Color) -> Color {
        std::array::from_fn(|i| self.between(low[i], high[i]))
    }
}

/// `part` of the second colour over the first.
pub(super) fn mix(under: Color, over: Color, part: f32) -> Color {
    std::array::from_fn(|i| under[i] + (over[i] - under[i]) * part)
}

/// 0 below `from`, 1 above `to`, a straight line between.
pub(super) fn ramp(from: f32, to: f32, value: f32) -> f32 {
    ((value - from) / (to - from)).clamp(0.0, 1.0)
}

/// Calls `draw` for every number below `count`, on all processors; the results come in order.
pub(super) fn in_parallel<T: Send>(count: usize, draw: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get());
    let share = count.div_ceil(threads).max(1);
    let draw = &draw;
    std::thread::scope(|scope| {
        let starts = (0..count).step_by(share);
        let workers: Vec<_> = starts
            .map(|start| {
                let end = (start + share).min(count);
                scope.spawn(move || (start..end).map(draw).collect::<Vec<T>>())
            })
            .collect();
        let parts = workers.into_iter().map(|worker| match worker.join() {
            Ok(part) => part,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        parts.flatten().collect()
    })
}
