//! Pairwise summation: sums that keep their digits.
//!
//! A loop that adds one value after the other loses digits as its sum grows: in `f32` the sum of 20
//! million ones is 16,777,216. Here blocks are summed in many lanes, and the sums of the blocks in pairs,
//! so that the error grows with the logarithm of the count only.

use crate::simd::{Float, multiversion};
use crate::threads::map_tasks;
use std::ops::Range;

/// Up to this many values are summed in fewer lanes.
const SHORT: usize = 64;
/// The values of a block.
const BLOCK: usize = 1024;
/// The rows of a matrix that are added one after the other.
pub const ROWS: usize = 64;
/// The largest number of columns that a task adds up: their sums stay in the fastest cache.
const WIDTH: usize = 1024;
/// The elements of a task.
const TASK: usize = 1 << 16;
/// The partial sums of a block, which the compiler keeps in vectors.
pub const LANES: usize = 32;

/// Adds values in pairs, the pairs in pairs, and so on, in the order in which they come.
#[derive(Clone, Copy)]
pub struct Pairwise<T> {
    count: usize,
    /// `levels[i]` is the sum of 2ⁱ values if bit `i` of the count is set.
    levels: [T; 48],
}

impl<T: Float> Default for Pairwise<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Float> Pairwise<T> {
    /// Begins with no values.
    #[inline(always)]
    pub fn new() -> Self {
        let levels = [T::ZERO; 48];
        Pairwise { count: 0, levels }
    }

    /// Adds a value.
    #[inline(always)]
    pub fn add(&mut self, value: T) {
        let (mut sum, mut level) = (value, 0);
        while self.count >> level & 1 == 1 {
            sum = self.levels[level] + sum;
            level += 1;
        }
        self.levels[level] = sum;
        self.count += 1;
    }

    /// Returns the sum of the values.
    #[inline(always)]
    pub fn sum(&self) -> T {
        let (mut sum, mut left) = (T::ZERO, self.count);
        while left > 0 {
            sum = self.levels[left.trailing_zeros() as usize] + sum;
            left &= left - 1;
        }
        sum
    }
}

/// Returns the sum of some values.
pub fn sum_all<T: Float>(values: impl IntoIterator<Item = T>) -> T {
    let mut sums = Pairwise::new();
    values.into_iter().for_each(|value| sums.add(value));
    sums.sum()
}

/// Returns the sums of the `N` terms that `terms` computes from each pair of values.
///
/// Arrays are filled by loops here and below: `array::from_fn` would add several functions to compile for each
/// kernel, type and instruction set.
#[inline(always)]
pub fn sum_pairs<T: Float, const N: usize>(
    a: &[T],
    b: &[T],
    terms: impl Fn(T, T) -> [T; N],
) -> [T; N] {
    let b = &b[..a.len()];
    // Short rows are one block: in the loop below, which is compiled separately, they take up to three times as
    // long.
    if a.len() <= BLOCK {
        return sum_block(a, b, &terms);
    }
    let mut sums = [Pairwise::new(); N];
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let block = sum_block(a, b, &terms);
        for (sums, sum) in sums.iter_mut().zip(block) {
            sums.add(sum);
        }
    }
    let mut totals = [T::ZERO; N];
    for i in 0..N {
        totals[i] = sums[i].sum();
    }
    totals
}

/// Returns the sums of the `N` terms that `terms` computes from each value.
#[inline(always)]
pub fn sum_terms<T: Float, const N: usize>(values: &[T], terms: impl Fn(T) -> [T; N]) -> [T; N] {
    sum_pairs(values, values, |value, _| terms(value))
}

#[inline(always)]
fn sum_block<T: Float, const N: usize>(
    a: &[T],
    b: &[T],
    terms: &impl Fn(T, T) -> [T; N],
) -> [T; N] {
    let (a, a_rest) = a.as_chunks::<LANES>();
    let (b, b_rest) = b.as_chunks::<LANES>();
    let add_rest = || {
        let mut rest = [T::ZERO; N];
        for (a, b) in a_rest.iter().zip(b_rest) {
            let terms = terms(*a, *b);
            for i in 0..N {
                rest[i] += terms[i];
            }
        }
        rest
    };
    if a.is_empty() {
        return add_rest();
    }
    let mut lanes = [[T::ZERO; LANES]; N];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            let terms = terms(a[lane], b[lane]);
            for i in 0..N {
                lanes[i][lane] += terms[i];
            }
        }
    }
    let mut sums = [T::ZERO; N];
    for i in 0..N {
        sums[i] = fold_lanes(lanes[i], |a, b| a + b);
    }
    // The rest comes last, because the processor expects memory to be read in order.
    let rest = add_rest();
    for i in 0..N {
        sums[i] += rest[i];
    }
    sums
}

/// Combines the upper half with the lower half until one value is left.
#[inline(always)]
pub fn fold_lanes<T: Float>(lanes: [T; LANES], combine: impl Fn(T, T) -> T) -> T {
    // Each half has its own array: in a loop over the halves, the compiler would make all vectors as short as the last.
    let mut by_16 = [lanes[0]; 16];
    for i in 0..16 {
        by_16[i] = combine(lanes[i], lanes[i + 16]);
    }
    let mut by_8 = [lanes[0]; 8];
    for i in 0..8 {
        by_8[i] = combine(by_16[i], by_16[i + 8]);
    }
    let mut by_4 = [lanes[0]; 4];
    for i in 0..4 {
        by_4[i] = combine(by_8[i], by_8[i + 4]);
    }
    combine(combine(by_4[0], by_4[2]), combine(by_4[1], by_4[3]))
}

/// Returns the sum, within a task.
#[inline(always)]
pub fn sum<T: Float>(values: &[T]) -> T {
    sum_of(values, |value| value)
}

/// Returns the sum of a term for each value, within a task.
#[inline(always)]
pub fn sum_of<T: Float>(values: &[T], term: impl Fn(T) -> T) -> T {
    if values.len() <= SHORT {
        return sum_short(values, term);
    }
    // Two halves at once: an addition need not wait for the one before it.
    let (first, second) = values.split_at(values.len() / 2);
    let (second, rest) = second.split_at(first.len());
    let [first, second] = sum_pairs(first, second, |a, b| [term(a), term(b)]);
    let rest = rest.iter().map(|value| term(*value));
    rest.fold(first + second, |sum, term| sum + term)
}

/// Returns the sum of a few terms, in fewer lanes than [`sum_of`].
#[inline(always)]
fn sum_short<T: Float>(values: &[T], term: impl Fn(T) -> T) -> T {
    let (blocks, rest) = values.as_chunks::<8>();
    let mut lanes = [T::ZERO; 8];
    for block in blocks {
        for lane in 0..8 {
            lanes[lane] += term(block[lane]);
        }
    }
    let mut sum = T::ZERO;
    rest.iter().for_each(|value| sum += term(*value));
    if blocks.is_empty() {
        return sum;
    }
    let mut by_4 = [T::ZERO; 4];
    for lane in 0..4 {
        by_4[lane] = lanes[lane] + lanes[lane + 4];
    }
    (by_4[0] + by_4[2]) + (by_4[1] + by_4[3]) + sum
}

/// Returns the dot product, within a task.
#[inline(always)]
pub fn dot<T: Float>(a: &[T], b: &[T]) -> T {
    let [sum] = sum_pairs(a, b, |a, b| [a * b]);
    sum
}

/// Returns the largest value, within a task; NaN counts only if it comes first.
#[inline(always)]
pub fn largest<T: Float>(values: &[T]) -> T {
    let larger = |a: T, b: T| if b > a { b } else { a };
    let (blocks, rest) = values.as_chunks::<LANES>();
    let rest = rest.iter().copied();
    if blocks.is_empty() {
        return rest.fold(values[0], larger);
    }
    // Each lane has its own maximum: the compiler does not vectorise a single one, because of NaN.
    let mut lanes = [values[0]; LANES];
    for block in blocks {
        for lane in 0..LANES {
            lanes[lane] = larger(lanes[lane], block[lane]);
        }
    }
    rest.fold(fold_lanes(lanes, larger), larger)
}

/// Returns the sum of vectors of equal length, added in pairs; `None` if there are none.
pub fn add_pairwise<T: Float>(
    vectors: impl Iterator<Item = impl Into<Option<Vec<T>>>>,
) -> Option<Vec<T>> {
    let mut levels: Vec<Option<Vec<T>>> = Vec::new();
    for vector in vectors.filter_map(Into::into) {
        let mut sum = vector;
        let mut level = 0;
        while let Some(below) = levels.get_mut(level).and_then(Option::take) {
            add(&below, &mut sum);
            level += 1;
        }
        match levels.get_mut(level) {
            Some(place) => *place = Some(sum),
            None => levels.push(Some(sum)),
        }
    }
    levels.into_iter().flatten().reduce(|small, mut large| {
        add(&small, &mut large);
        large
    })
}

/// Returns sums over the rows of some matrices of this size: for each matrix and strip of its columns a vector. `of_block`
/// returns the vector for a matrix, a range of its rows, and the columns of a strip; these vectors are added in pairs.
pub fn matrix_sums<T: Float>(
    matrices: usize,
    rows: usize,
    columns: usize,
    of_block: impl Fn(usize, Range<usize>, Range<usize>) -> Vec<T> + Sync,
) -> Vec<Vec<T>> {
    let (strips, height) = (columns.div_ceil(WIDTH), TASK / columns.min(WIDTH));
    let blocks = rows.div_ceil(height);
    let found = map_tasks(matrices * strips * blocks, |task| {
        let (strip, block) = (task / blocks, task % blocks);
        let (matrix, strip) = (strip / strips, strip % strips);
        let range = |i: usize, size: usize, end: usize| i * size..end.min((i + 1) * size);
        of_block(
            matrix,
            range(block, height, rows),
            range(strip, WIDTH, columns),
        )
    });
    let mut found = found.into_iter();
    let of_strip = |_| add_pairwise(found.by_ref().take(blocks)).unwrap_or_default();
    (0..matrices * strips).map(of_strip).collect()
}

multiversion! {
    /// Adds each value to the sum at its index.
    pub fn add<T: Float>(values: &[T], sums: &mut [T]) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += *value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_exact_to_the_last_digits_for_any_length() {
        let most = if cfg!(miri) { 8001 } else { 3_000_001 };
        for count in [0, 1, 31, 32, 33, 1023, 1024, 1025, 5000, most] {
            let values: Vec<f32> = (0..count).map(|i| 0.1 + (i % 7) as f32 * 0.01).collect();
            let want: f64 = values.iter().map(|v| f64::from(*v)).sum();
            let sums = [
                sum(&values),
                sum_all(values.iter().copied()),
                dot(&values, &vec![1.0; count]),
            ];
            for sum in sums {
                let off = (f64::from(sum) - want).abs();
                assert!(off <= want * 3e-7, "{count}: {sum} is not {want}");
            }
        }
    }

    /// Around the lengths of blocks of lanes, with integers, whose sums are exact in any order.
    #[test]
    fn every_value_counts_once() {
        // Miri interprets a thousand times slower.
        let step = if cfg!(miri) { 23 } else { 1 };
        for count in (1..200).chain([2047, 2048, 2049, 3001]).step_by(step) {
            let values: Vec<f64> = (0..count).map(|i| (i * i % 101) as f64).collect();
            let want: f64 = values.iter().sum();
            assert_eq!(sum(&values), want, "{count}");
            assert_eq!(
                sum_of(&values, |value| value * value),
                dot(&values, &values),
                "{count}"
            );
            let last = count as f64 + 200.0;
            for at in [0, count / 2, count - 1] {
                let mut values = values.clone();
                values[at] = last;
                assert_eq!(largest(&values), last, "{count}");
            }
        }
    }

    #[test]
    fn vectors_are_added_for_any_count() {
        assert_eq!(add_pairwise(std::iter::empty::<Vec<f32>>()), None);
        for count in 1..20 {
            let vectors = (0..count).map(|i| vec![i as f32, 1.0]);
            let want = vec![(count * (count - 1) / 2) as f32, count as f32];
            assert_eq!(add_pairwise(vectors), Some(want), "{count}");
        }
    }
}
