//! The loops that find the largest and smallest values, and their indices.

use crate::simd::{Float, multiversion};
use crate::sums::{LANES, fold_lanes};
use crate::write::{self, Parts};
use std::mem::MaybeUninit;

/// The number of elements that the search for an index compares at once.
const BLOCK: usize = 128;
/// A shorter row than this is searched to its end: to leave the loop early would take longer.
const SHORT: usize = 32;

/// Returns the larger or, if `smallest`, the smaller value; NaN if one of them is NaN.
#[inline(always)]
pub fn pick<T: Float>(a: T, b: T, smallest: bool) -> T {
    let first = if smallest { a <= b } else { a >= b };
    if first | a.is_nan() { a } else { b }
}

multiversion! {
    /// Writes the largest or, if `smallest`, the smallest value of each row, which has `row` values.
    pub fn extremes_of_rows<'a, T: Float>(values: &[T], row: usize, smallest: bool, found: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        let (rows, mut found) = (values.chunks(row).take(found.len()), Parts::new(found));
        for row in rows {
            found.put(extreme_of(row, smallest));
        }
        found.finish()
    }
}

#[inline(always)]
fn extreme_of<T: Float>(values: &[T], smallest: bool) -> T {
    match smallest {
        true => extreme(values, |a, b| if b < a { b } else { a }),
        false => extreme(values, |a, b| if b > a { b } else { a }),
    }
}

/// Returns the value that `pick` selects from all values, or NaN if one of them is NaN. The search for
/// NaN has lanes of its own: so the processor needs one instruction to pick, and does not wait for the
/// comparison with NaN.
#[inline(always)]
fn extreme<T: Float>(values: &[T], pick: impl Fn(T, T) -> T) -> T {
    let nan_of = |value: T, other: T| if value.is_nan() { value } else { other };
    let (blocks, rest) = values.as_chunks::<LANES>();
    let (mut found, mut nan) = (values[0], T::ZERO);
    if !blocks.is_empty() {
        let (mut lanes, mut nans) = ([found; LANES], [nan; LANES]);
        for block in blocks {
            for i in 0..LANES {
                lanes[i] = pick(lanes[i], block[i]);
                nans[i] = nan_of(block[i], nans[i]);
            }
        }
        (found, nan) = (fold_lanes(lanes, &pick), fold_lanes(nans, nan_of));
    }
    for value in rest {
        found = pick(found, *value);
        nan = nan_of(*value, nan);
    }
    nan_of(nan, found)
}

multiversion! {
    /// Returns the largest or smallest value of each of the first `width` columns.
    pub fn extremes_of_columns<T: Float>(values: &[T], columns: usize, width: usize, smallest: bool) -> Vec<T> {
        let mut found = values[..width].to_vec();
        for row in values.chunks(columns) {
            for (found, value) in found.iter_mut().zip(row) {
                *found = pick(*found, *value, smallest);
            }
        }
        found
    }
}

multiversion! {
    /// Returns for each row the index of its extreme.
    pub fn places_in_rows<T: Float>(values: &[T], extremes: &[T]) -> Vec<u32> {
        let place = |(row, extreme): (&[T], &T)| {
            let here = |value: &T| is_extreme(*value, *extreme);
            if row.len() < SHORT {
                let values = row.iter().enumerate().rev();
                return values.fold(0, |place, (i, value)| if here(value) { i as u32 } else { place });
            }
            // Compares whole blocks, without an early exit, so that the compiler vectorises the loop.
            let block = row.chunks(BLOCK).position(|block| block.iter().fold(false, |found, value| found | here(value)));
            let first = block.unwrap_or(0) * BLOCK;
            (first + row[first..].iter().position(here).unwrap_or(0)) as u32
        };
        let rows = values.chunks(values.len() / extremes.len());
        rows.zip(extremes).map(place).collect()
    }
}

multiversion! {
    /// Returns for each column the index of the row with its extreme, where the first row has the index `first`; `u32::MAX`
    /// if it is not in these rows.
    pub fn places_in_columns<T: Float>(values: &[T], columns: usize, first: usize, extremes: &[T]) -> Vec<u32> {
        let mut places = vec![u32::MAX; extremes.len()];
        for (i, row) in values.chunks(columns).enumerate().rev() {
            for ((place, value), extreme) in places.iter_mut().zip(row).zip(extremes) {
                *place = if is_extreme(*value, *extreme) { (first + i) as u32 } else { *place };
            }
        }
        places
    }
}

/// Returns whether a value is equal to the extreme, which is NaN if a value is.
#[inline(always)]
fn is_extreme<T: Float>(value: T, extreme: T) -> bool {
    (value == extreme) | value.is_nan()
}

multiversion! {
    /// Returns how many values are equal to the extreme.
    pub fn count<T: Float>(values: &[T], extreme: T) -> usize {
        values.iter().map(|value| u32::from(is_extreme(*value, extreme))).sum::<u32>() as usize
    }
}

multiversion! {
    cheap true;
    /// Writes `share` where a value is equal to the extreme, and zeros elsewhere.
    pub fn distribute<'a, T: Float>(values: &[T], extreme: T, share: T, out: &'a mut [MaybeUninit<T>]) -> &'a mut [T] {
        let share_of = |value: &T| if is_extreme(*value, extreme) { share } else { T::ZERO };
        write::each(out, values.iter().map(share_of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns values of which some are equal; in some rows of the size `row`, one is NaN.
    fn values(rows: usize, row: usize) -> Vec<f32> {
        let value = |i: usize| (i * 37 % 23) as f32 - 11.0;
        let mut values: Vec<f32> = (0..rows * row).map(value).collect();
        for i in (1..rows).step_by(3) {
            values[i * row + i * 7 % row] = f32::NAN;
            values[i * row + row - 1] = f32::NAN;
        }
        values
    }

    /// Returns the extreme of some values and its first index.
    fn naive(values: impl Iterator<Item = f32> + Clone, smallest: bool) -> (f32, u32) {
        if let Some(at) = values.clone().position(f32::is_nan) {
            return (f32::NAN, at as u32);
        }
        let extreme = match smallest {
            true => values.clone().fold(f32::INFINITY, f32::min),
            false => values.clone().fold(f32::NEG_INFINITY, f32::max),
        };
        (
            extreme,
            values
                .clone()
                .position(|value| value == extreme)
                .expect("one") as u32,
        )
    }

    fn bits(values: impl IntoIterator<Item = f32>) -> Vec<u32> {
        let bits = |value: f32| if value.is_nan() { f32::NAN } else { value };
        values
            .into_iter()
            .map(|value| bits(value).to_bits())
            .collect()
    }

    #[test]
    fn extremes_and_their_places_follow_the_definition() {
        let sizes = [
            (1, 1),
            (5, 3),
            (2, 31),
            (5, 129),
            (9, 32),
            (40, 33),
            (7, 300),
        ];
        for (rows, row) in sizes.into_iter().take(if cfg!(miri) { 4 } else { 7 }) {
            let x = values(rows, row);
            for smallest in [false, true] {
                let (want, places): (Vec<f32>, Vec<u32>) = x
                    .chunks(row)
                    .map(|row| naive(row.iter().copied(), smallest))
                    .unzip();
                let got = write::by_chunks(rows, rows, |_, out| {
                    extremes_of_rows(&x, row, smallest, out)
                });
                assert_eq!(bits(got), bits(want.clone()), "{rows} {row}");
                assert_eq!(places_in_rows(&x, &want), places, "{rows} {row}");
                let columns =
                    (0..row).map(|i| naive(x[i..].iter().step_by(row).copied(), smallest));
                let (want, places): (Vec<f32>, Vec<u32>) = columns.unzip();
                let got = extremes_of_columns(&x, row, row, smallest);
                assert_eq!(bits(got), bits(want.clone()), "{rows} {row}");
                let got = places_in_columns(&x, row, 10, &want);
                assert!(got.iter().zip(places).all(|(got, want)| *got == want + 10));
                assert_eq!(
                    places_in_columns(&[-99.0; 2], 2, 0, &[1.0; 2]),
                    [u32::MAX; 2]
                );
            }
        }
    }

    #[test]
    fn equal_extremes_are_counted_and_share() {
        let x = [1.0, 3.0, 2.0, 3.0, f32::NAN];
        assert_eq!((count(&x[..4], 3.0), count(&x, f32::NAN)), (2, 1));
        let shares = write::by_chunks(4, 4, |_, out| distribute(&x[..4], 3.0, 0.5, out));
        assert_eq!(shares, [0.0, 0.5, 0.0, 0.5]);
    }
}
