//! Sums along any dimensions.

use crate::simd::{Float, multiversion};
use crate::sums::{ROWS, add_pairwise, matrix_sums, sum_all, sum_of};
use crate::threads::map_chunks;
use crate::write::{self, Parts};
use std::mem::MaybeUninit;

/// The values of a task.
const TASK: usize = 1 << 15;
/// The values of a task, if all values have one sum.
const TOTAL: usize = 1 << 16;
/// Fewer columns than this are added together with those of the next rows, so that vectors are full.
const NARROW: usize = 128;

/// What is added up: a function of each value.
trait Term: Copy + Send + Sync {
    fn of<T: Float>(self, value: T) -> T;
}

#[derive(Clone, Copy)]
struct Value;

impl Term for Value {
    #[inline(always)]
    fn of<T: Float>(self, value: T) -> T {
        value
    }
}

#[derive(Clone, Copy)]
struct Square;

impl Term for Square {
    #[inline(always)]
    fn of<T: Float>(self, value: T) -> T {
        value * value
    }
}

/// Returns the sums along sorted dimensions of contiguous values, which are not empty.
pub fn sums_along<T: Float>(values: &[T], shape: &[usize], dims: &[usize]) -> Vec<T> {
    let mut groups = groups(shape, dims);
    match pop(&mut groups) {
        Some(first) => sums_of_groups(stage(values, first, Value), groups),
        None => values.to_vec(),
    }
}

/// Returns the sums of the squares, as [`sums_along`].
pub fn squares_along<T: Float>(values: &[T], shape: &[usize], dims: &[usize]) -> Vec<T> {
    let mut groups = groups(shape, dims);
    match pop(&mut groups) {
        Some(first) => sums_of_groups(stage(values, first, Square), groups),
        None => values.iter().map(|value| *value * *value).collect(),
    }
}

fn sums_of_groups<T: Float>(mut sums: Vec<T>, mut groups: Vec<(usize, bool)>) -> Vec<T> {
    while let Some(next) = pop(&mut groups) {
        sums = stage(&sums, next, Value);
    }
    sums
}

/// Returns the sums along one dimension of this size, before others of the size `columns`.
fn stage<T: Float>(values: &[T], (rows, columns): (usize, usize), term: impl Term) -> Vec<T> {
    match columns {
        1 => sums_of_rows(values, rows, term),
        _ => sums_of_columns(values, rows, columns, term),
    }
}

/// Returns the sizes of adjacent dimensions, alternately summed and kept.
fn groups(shape: &[usize], dims: &[usize]) -> Vec<(usize, bool)> {
    let mut groups: Vec<(usize, bool)> = vec![];
    for (dim, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
        let summed = dims.contains(&dim);
        match groups.last_mut() {
            Some(last) if last.1 == summed => last.0 *= size,
            _ => groups.push((size, summed)),
        }
    }
    groups
}

/// Removes the last summed group, and returns its size and the size of the dimensions after it.
fn pop(groups: &mut Vec<(usize, bool)>) -> Option<(usize, usize)> {
    let (size, summed) = groups.pop()?;
    if summed {
        return Some((size, 1));
    }
    let (rows, _) = groups.pop()?;
    match groups.last_mut() {
        Some(kept) => kept.0 *= size,
        None => groups.push((size, false)),
    }
    Some((rows, size))
}

/// Returns the sum of each row.
fn sums_of_rows<T: Float>(values: &[T], row: usize, term: impl Term) -> Vec<T> {
    if values.len() == row {
        return vec![sum_all(map_chunks(values, TOTAL, |values| {
            sum_terms(values, term)
        }))];
    }
    write::by_chunks(values.len() / row, (TASK / row).max(1), |first, sums| {
        add_up(&values[first * row..], row, sums, term)
    })
}

multiversion! {
    fn add_up<'a, T: Float, F: Term>(values: &[T], row: usize, sums: &'a mut [MaybeUninit<T>], term: F) -> &'a mut [T] {
        let (rows, mut sums) = (values[..sums.len() * row].chunks_exact(row), Parts::new(sums));
        for row in rows {
            sums.put(sum_of(row, |value| term.of(value)));
        }
        sums.finish()
    }
}

multiversion! {
    fn sum_terms<T: Float, F: Term>(values: &[T], term: F) -> T {
        sum_of(values, |value| term.of(value))
    }
}

/// Returns the sums of the columns of each part of `rows` times `columns` values.
fn sums_of_columns<T: Float>(values: &[T], rows: usize, columns: usize, term: impl Term) -> Vec<T> {
    let part = rows * columns;
    if part <= TASK / 2 {
        // A task is several parts.
        let parts = (TASK / part).max(1);
        return write::by_chunks(values.len() / rows, parts * columns, |first, sums| {
            let values = &values[first * rows..][..sums.len() * rows];
            let mut sums = Parts::new(sums);
            for values in values.chunks_exact(part) {
                sums.copy(&block_sums(values, columns, columns, term));
            }
            sums.finish()
        });
    }
    let sums = matrix_sums(values.len() / part, rows, columns, |index, rows, strip| {
        let start = index * part + rows.start * columns + strip.start;
        let end = index * part + (rows.end - 1) * columns + strip.end;
        block_sums(&values[start..end], columns, strip.len(), term)
    });
    sums.concat()
}

/// Returns the sums of the first `width` of the columns, within a task.
fn block_sums<T: Float>(values: &[T], columns: usize, width: usize, term: impl Term) -> Vec<T> {
    let together = NARROW / columns;
    let wide = together * columns;
    if columns == width && together > 1 && values.len() >= 4 * wide {
        let (whole, rest) = values.split_at(values.len() / wide * wide);
        let mut sums = block_sums(whole, wide, wide, term);
        sums.extend(rest.iter().map(|value| term.of(*value)));
        return sums_in_pairs(&sums, columns, width, Value);
    }
    sums_in_pairs(values, columns, width, term)
}

/// Adds blocks of rows, and those in pairs.
fn sums_in_pairs<T: Float>(values: &[T], columns: usize, width: usize, term: impl Term) -> Vec<T> {
    let blocks = values.chunks(ROWS * columns).map(|rows| {
        let mut sums: Vec<T> = rows[..width].iter().map(|value| term.of(*value)).collect();
        add_rows(&rows[columns.min(rows.len())..], columns, &mut sums, term);
        sums
    });
    add_pairwise(blocks).unwrap_or_default()
}

multiversion! {
    /// Adds each row to the sums of the first columns; four rows at once, so that the sums are read and written less often.
    fn add_rows<T: Float, F: Term>(rows: &[T], columns: usize, sums: &mut [T], term: F) {
        let width = sums.len();
        let count = (rows.len() + columns - width) / columns;
        for top in (0..count / 4 * 4).step_by(4) {
            let rows = &rows[top * columns..];
            let (a, b) = (&rows[..width], &rows[columns..][..width]);
            let (c, d) = (&rows[2 * columns..][..width], &rows[3 * columns..][..width]);
            for i in 0..width {
                sums[i] += (term.of(a[i]) + term.of(b[i])) + (term.of(c[i]) + term.of(d[i]));
            }
        }
        for row in count / 4 * 4..count {
            for (sum, value) in sums.iter_mut().zip(&rows[row * columns..]) {
                *sum += term.of(*value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small integers, so that the sums are exact in any order. The sizes are below and above the sizes of blocks and tasks.
    #[test]
    fn sums_follow_the_definition() {
        let large: &[(&[usize], &[usize])] = &[
            (&[70_001], &[0]),
            (&[300, 200], &[0]),
            (&[2, 40, 1100], &[1]),
            (&[2, 9, 2100], &[1]),
            (&[3, 70, 300], &[0, 2]),
            (&[90, 600], &[1]),
        ];
        let small: &[(&[usize], &[usize])] = &[
            (&[2, 3], &[]),
            (&[5, 1, 3], &[1]),
            (&[7, 3], &[0]),
            (&[3, 7], &[1]),
            (&[1003, 3], &[0]),
            (&[130, 9], &[0]),
            (&[3, 67, 5], &[1]),
            (&[3, 4, 5], &[0, 2]),
            (&[2, 3, 4, 5], &[0, 2]),
            (&[2, 3, 4, 5, 3], &[1, 3]),
            (&[2, 3, 4, 5], &[1, 2]),
        ];
        let large = large.iter().filter(|_| !cfg!(miri));
        for &(shape, dims) in small.iter().chain(large) {
            let count = shape.iter().product();
            let values: Vec<f32> = (0..count).map(|i| (i * 5 % 7) as f32 - 2.0).collect();
            let kept = |dim: usize| if dims.contains(&dim) { 1 } else { shape[dim] };
            let sizes: Vec<usize> = (0..shape.len()).map(kept).collect();
            let mut want = [0, 1].map(|_| vec![0.0; sizes.iter().product()]);
            for (i, value) in values.iter().enumerate() {
                let (mut rest, mut to, mut step) = (i, 0, 1);
                for dim in (0..shape.len()).rev() {
                    to += rest % shape[dim] % sizes[dim] * step;
                    (rest, step) = (rest / shape[dim], step * sizes[dim]);
                }
                want[0][to] += value;
                want[1][to] += value * value;
            }
            assert_eq!(
                sums_along(&values, shape, dims),
                want[0],
                "{shape:?} {dims:?}"
            );
            assert_eq!(
                squares_along(&values, shape, dims),
                want[1],
                "{shape:?} {dims:?}"
            );
        }
    }
}
