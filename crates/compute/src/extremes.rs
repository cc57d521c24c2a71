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
