//! Groups of 32 weights in 8 or 4 bits each, and their products with inputs in 16 bits.

use std::hint::black_box;
use std::mem::MaybeUninit;
use taper_compute::simd::{Float, multiversion};
use taper_compute::sums::fold_lanes;

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
    fn decode(codes: &[u8]) -> Integers;
}

/// A group of integers, in two halves.
pub(super) type Integers = [[i16; GROUP / 2]; 2];

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
    fn decode(codes: &[u8]) -> Integers {
        let codes = &codes[..GROUP];
        let mut integers = [[0; GROUP / 2]; 2];
        for i in 0..GROUP / 2 {
            integers[0][i] = i16::from(codes[i] as i8);
            integers[1][i] = i16::from(codes[i + GROUP / 2] as i8);
        }
        integers
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
    fn decode(codes: &[u8]) -> Integers {
        let codes = &codes[..GROUP / 2];
        let mut integers = [[0; GROUP / 2]; 2];
        for i in 0..GROUP / 2 {
            integers[0][i] = i16::from(codes[i] & 15) - 8;
            integers[1][i] = i16::from(codes[i] >> 4) - 8;
        }
        integers
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
    let (integers, scale) = (C::decode(codes), wide(scale));
    let integers = integers.as_flattened();
    let mut group = [0.0; GROUP];
    for i in 0..GROUP {
        group[i] = f32::from(integers[i]) * scale;
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

/// A row of inputs in 16 bits, the last group padded with zeros.
pub(super) struct Inputs {
    groups: Vec<Integers>,
    scales: Vec<f32>,
}

impl Inputs {
    /// Rounds a row. Returns `None` if an input is infinite or NaN.
    pub(super) fn of(row: &[f32]) -> Option<Inputs> {
        let count = row.len().div_ceil(GROUP);
        let (mut groups, mut scales) = (vec![Integers::default(); count], vec![0.0; count]);
        round::<f32>(row, &mut groups, &mut scales);
        // Of a group that is not finite, the scale is not either.
        let is_finite = scales.iter().all(|scale| scale.is_finite());
        is_finite.then_some(Inputs { groups, scales })
    }

    /// Returns the rounded values.
    #[cfg(test)]
    pub(super) fn values(&self, count: usize) -> Vec<f32> {
        let groups = self.groups.iter().zip(&self.scales);
        let values = groups.flat_map(|(group, scale)| {
            let integers = group.as_flattened().iter();
            integers.map(move |integer| f32::from(*integer) * scale)
        });
        values.take(count).collect()
    }
}

/// The largest integer of the inputs. The sum of a group's products with weights of 8 bits needs 27 bits then.
const LARGEST: f32 = 32767.0;

multiversion! {
    fn round<T: Float>(row: &[f32], groups: &mut [Integers], scales: &mut [f32]) {
        for (row, (integers, scale)) in row.chunks(GROUP).zip(groups.iter_mut().zip(scales)) {
            let mut group = [0.0; GROUP];
            group[..row.len()].copy_from_slice(row);
            let (mut sizes, mut zeros) = ([0.0; GROUP], [0.0; GROUP]);
            for i in 0..GROUP {
                // A zero is NaN where an input is not finite.
                (sizes[i], zeros[i]) = (group[i].abs(), group[i] * 0.0);
            }
            let largest = fold_lanes(sizes, f32::max);
            let zero = fold_lanes(zeros, |a, b| a + b);
            *scale = largest / LARGEST + zero;
            // Inputs so small that the factor overflows become 0.
            let factor = Some(LARGEST / largest).filter(|it| it.is_finite()).unwrap_or(0.0);
            for (integer, input) in integers.as_flattened_mut().iter_mut().zip(group) {
                *integer = (input * factor).round_ties_even() as i16;
            }
        }
    }
}

/// Returns sums of two products each. `IS_FAST` promises AVX2 on x86: it is `FUSED` of [`multiversion!`].
#[inline(always)]
fn products<const IS_FAST: bool>(a: [i16; GROUP / 2], b: [i16; GROUP / 2]) -> [i32; GROUP / 4] {
    #[cfg(target_arch = "x86_64")]
    if IS_FAST {
        use std::arch::x86_64::{__m256i, _mm256_madd_epi16};
        use std::mem::transmute;
        type Sixteen = [i16; GROUP / 2];
        // SAFETY: the caller promises the instruction. Arrays and vectors have the same size, and any bits are integers.
        return unsafe {
            let (a, b) = (
                transmute::<Sixteen, __m256i>(a),
                transmute::<Sixteen, __m256i>(b),
            );
            transmute::<__m256i, [i32; GROUP / 4]>(_mm256_madd_epi16(a, b))
        };
    }
    let mut sums = [0; GROUP / 4];
    for i in 0..GROUP / 4 {
        let upper = i + GROUP / 4;
        sums[i] = i32::from(a[i]) * i32::from(b[i]) + i32::from(a[upper]) * i32::from(b[upper]);
    }
    sums
}

multiversion! {
    /// Writes the products of a row of inputs and some rows of weights.
    pub(super) fn dots<C: Code>(x: &Inputs, codes: &[u8], scales: &[u16], out: &mut [MaybeUninit<f32>]) {
        let groups = x.groups.len();
        let rows = codes.chunks_exact(groups * C::BYTES).zip(scales.chunks_exact(groups));
        let mut factors = vec![0.0; groups];
        for (out, (codes, scales)) in out.iter_mut().zip(rows) {
            for group in 0..groups {
                factors[group] = wide(scales[group]) * x.scales[group];
            }
            // Indices, because iterators over several lists would not be inlined here.
            let mut sums = [0.0f32; GROUP / 4];
            for group in 0..groups {
                let weights = C::decode(&codes[group * C::BYTES..][..C::BYTES]);
                let (x, factor) = (&x.groups[group], factors[group]);
                let lower = products::<FUSED>(weights[0], x[0]);
                let upper = products::<FUSED>(weights[1], x[1]);
                for i in 0..GROUP / 4 {
                    sums[i] = ((lower[i] + upper[i]) as f32).multiply_add::<FUSED>(factor, sums[i]);
                }
            }
            // The sums are in memory once, so that the loop before fills whole vectors: else the compiler begins with
            // the last additions, and makes all vectors as short as theirs.
            let sums = black_box(sums);
            let mut sum = 0.0;
            for lane in &sums {
                sum += lane;
            }
            out.write(sum);
        }
    }
}
