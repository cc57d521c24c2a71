//! Groups of 32 weights in 8 or 4 bits each.

use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::engine::sums::fold_lanes;
use std::hint::black_box;
use std::mem::MaybeUninit;

/// The weights that share a scale.
pub(super) const GROUP: usize = 32;

/// How a group is stored.
pub(super) trait Code {
    /// The bytes of a group.
    const BYTES: usize;
    /// Returns the scale of a group, in 16 bits.
    fn scale(group: &[f32; GROUP]) -> u16;
    /// Stores weights that are divided by the scale.
    fn encode(multiples: &[f32; GROUP], codes: &mut [u8]);
    /// Returns what [`encode`](Code::encode) has stored.
    fn decode(codes: &[u8]) -> [f32; GROUP];
}

/// Integers from -127 to 127.
pub(super) struct Eight;

/// Integers from -8 to 7: weights `i` and `i + 16` are the lower and the upper half of a byte.
pub(super) struct Four;

impl Code for Eight {
    const BYTES: usize = GROUP;

    fn scale(group: &[f32; GROUP]) -> u16 {
        rounded(farthest(group).abs() / 127.0)
    }

    fn encode(multiples: &[f32; GROUP], codes: &mut [u8]) {
        for (code, multiple) in codes.iter_mut().zip(multiples) {
            *code = multiple.clamp(-127.0, 127.0).round() as i8 as u8;
        }
    }

    #[inline(always)]
    fn decode(codes: &[u8]) -> [f32; GROUP] {
        let codes = &codes[..GROUP];
        let mut values = [0.0; GROUP];
        for i in 0..GROUP {
            values[i] = f32::from(codes[i] as i8);
        }
        values
    }
}

impl Code for Four {
    const BYTES: usize = GROUP / 2;

    /// The farthest weight becomes -8, so that all 16 codes are in use.
    fn scale(group: &[f32; GROUP]) -> u16 {
        rounded(farthest(group) / -8.0)
    }

    fn encode(multiples: &[f32; GROUP], codes: &mut [u8]) {
        let code = |multiple: f32| (multiple.clamp(-8.0, 7.0).round() + 8.0) as u8;
        let (lower, upper) = multiples.split_at(GROUP / 2);
        for (byte, (lower, upper)) in codes.iter_mut().zip(lower.iter().zip(upper)) {
            *byte = code(*lower) | code(*upper) << 4;
        }
    }

    #[inline(always)]
    fn decode(codes: &[u8]) -> [f32; GROUP] {
        let codes = &codes[..GROUP / 2];
        let mut values = [0.0; GROUP];
        for i in 0..GROUP / 2 {
            values[i] = f32::from((codes[i] & 15) as i8 - 8);
            values[i + GROUP / 2] = f32::from((codes[i] >> 4) as i8 - 8);
        }
        values
    }
}

/// Returns the weight that is farthest from 0.
fn farthest(group: &[f32; GROUP]) -> f32 {
    let farther = |a: f32, b: &f32| if b.abs() > a.abs() { *b } else { a };
    group.iter().fold(0.0, farther)
}

/// Returns the upper half of the nearest `f32` whose lower half is 0.
fn rounded(scale: f32) -> u16 {
    let upper = (scale.to_bits().saturating_add(1 << 15) >> 16) as u16;
    match wide(upper).is_finite() {
        true => upper,
        false => upper - 1,
    }
}

#[inline(always)]
fn wide(scale: u16) -> f32 {
    f32::from_bits(u32::from(scale) << 16)
}

/// Stores a row. A last group that is not full ends with zeros.
pub(super) fn quantized<C: Code>(row: &[f32], codes: &mut [u8], scales: &mut [u16]) {
    let groups = codes.chunks_exact_mut(C::BYTES).zip(scales);
    for (weights, (codes, scale)) in row.chunks(GROUP).zip(groups) {
        let mut group = [0.0; GROUP];
        group[..weights.len()].copy_from_slice(weights);
        *scale = C::scale(&group);
        let factor = match wide(*scale) {
            0.0 => 0.0,
            scale => 1.0 / scale,
        };
        C::encode(&group.map(|weight| weight * factor), codes);
    }
}

/// Returns the weights of a group.
#[inline(always)]
fn scaled<C: Code>(codes: &[u8], scale: u16) -> [f32; GROUP] {
    let (mut group, scale) = (C::decode(codes), wide(scale));
    for weight in &mut group {
        *weight *= scale;
    }
    group
}

multiversion! {
    /// Writes the values of a row.
    pub(super) fn values<C: Code>(codes: &[u8], scales: &[u16], out: &mut [f32]) {
        let mut groups = codes.chunks_exact(C::BYTES).zip(scales);
        // Whole groups by themselves: their length is known, so that they are computed in vectors.
        let (whole, rest) = out.as_chunks_mut::<GROUP>();
        for (out, (codes, scale)) in whole.iter_mut().zip(&mut groups) {
            *out = scaled::<C>(codes, *scale);
        }
        if let Some((codes, scale)) = groups.next() {
            rest.copy_from_slice(&scaled::<C>(codes, *scale)[..rest.len()]);
        }
    }
}

multiversion! {
    /// Writes the products of `x`, whose groups are full, and some rows.
    pub(super) fn dots<C: Code>(x: &[f32], codes: &[u8], scales: &[u16], out: &mut [MaybeUninit<f32>]) {
        let groups = x.len() / GROUP;
        let rows = codes.chunks_exact(groups * C::BYTES).zip(scales.chunks_exact(groups));
        for (out, (codes, scales)) in out.iter_mut().zip(rows) {
            let mut sums = [0.0f32; GROUP];
            let (x, _) = x.as_chunks::<GROUP>();
            for (x, (codes, scale)) in x.iter().zip(codes.chunks_exact(C::BYTES).zip(scales)) {
                let group = scaled::<C>(codes, *scale);
                for i in 0..GROUP {
                    sums[i] = group[i].multiply_add::<FUSED>(x[i], sums[i]);
                }
            }
            // The sums are in memory once, so that the loop before fills whole vectors: else the compiler begins with
            // the last additions, and makes all vectors as short as theirs.
            out.write(fold_lanes(black_box(sums), |a, b| a + b));
        }
    }
}
