//! The loops of the largest and smallest values.

use crate::ops::engine::simd::{Element, multiversion};
use std::mem::MaybeUninit;

/// The values that are compared side by side.
const LANES: usize = 32;
/// The elements that are searched at once.
const BLOCK: usize = 128;

/// Returns the larger or the smaller value; NaN if one is.
#[inline(always)]
pub(super) fn pick<T: Element>(a: T, b: T, smallest: bool) -> T {
    let first = if smallest { a <= b } else { a >= b };
    if first | a.is_nan() { a } else { b }
}

multiversion! {
    pub(super) fn extremes_of_rows<T: Element>(values: &[T], row: usize, smallest: bool, found: &mut [MaybeUninit<T>]) {
        for (found, row) in found.iter_mut().zip(values.chunks(row)) {
            found.write(extreme_of(row, smallest));
        }
    }
}

#[inline(always)]
fn extreme_of<T: Element>(values: &[T], smallest: bool) -> T {
    match smallest {
        true => extreme(values, |a, b| if b < a { b } else { a }),
        false => extreme(values, |a, b| if b > a { b } else { a }),
    }
}

/// Returns the value that is picked among all; NaN if there is one. NaN is looked for apart: in lanes, the
/// processor needs one instruction to pick, and does not wait for the comparison with NaN.
#[inline(always)]
fn extreme<T: Element>(values: &[T], pick: impl Fn(T, T) -> T) -> T {
    let nan_of = |value: T, other: T| if value.is_nan() { value } else { other };
    let (blocks, rest) = values.as_chunks::<LANES>();
    let (mut found, mut nan) = ([values[0]; LANES], [T::ZERO; LANES]);
    if !blocks.is_empty() {
        for block in blocks {
            for i in 0..LANES {
                found[i] = pick(found[i], block[i]);
                nan[i] = nan_of(block[i], nan[i]);
            }
        }
        let mut half = LANES / 2;
        while half > 0 {
            for i in 0..half {
                found[i] = pick(found[i], found[i + half]);
                nan[i] += nan[i + half];
            }
            half /= 2;
        }
    }
    for value in rest {
        found[0] = pick(found[0], *value);
        nan[0] = nan_of(*value, nan[0]);
    }
    nan_of(nan[0], found[0])
}

multiversion! {
    pub(super) fn extremes_of_columns<T: Element>(values: &[T], columns: usize, width: usize, smallest: bool) -> Vec<T> {
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
    pub(super) fn places_in_rows<T: Element>(values: &[T], extremes: &[T]) -> Vec<u32> {
        let place = |(row, extreme): (&[T], &T)| {
            let here = |value: &T| (*value == *extreme) | value.is_nan();
            // Whole blocks, so that the compiler fills vectors.
            let block = row.chunks(BLOCK).position(|block| block.iter().fold(false, |found, value| found | here(value)));
            let first = block.unwrap_or(0) * BLOCK;
            (first + row[first..].iter().position(here).unwrap_or(0)) as u32
        };
        let rows = values.chunks(values.len() / extremes.len());
        rows.zip(extremes).map(place).collect()
    }
}

multiversion! {
    pub(super) fn places_in_columns<T: Element>(values: &[T], columns: usize, first: usize, extremes: &[T]) -> Vec<u32> {
        let mut places = vec![u32::MAX; extremes.len()];
        for (i, row) in values.chunks(columns).enumerate().rev() {
            for ((place, value), extreme) in places.iter_mut().zip(row).zip(extremes) {
                let here = (*value == *extreme) | value.is_nan();
                *place = if here { (first + i) as u32 } else { *place };
            }
        }
        places
    }
}
