//! Softmax of lines side by side: each row of a block has an element of each line.

use crate::ops::engine::Element;
use taper_compute::lines::COLUMNS;
use taper_compute::simd::multiversion;

/// The rows whose terms are added one after the other.
const ROWS: usize = 256;

/// Returns the sum of the terms of all rows, for each column.
#[inline(always)]
fn sums<T: Element, R>(rows: &mut [R], term: impl Fn(&mut R, usize) -> T) -> [T; COLUMNS] {
    let mut total = [T::ZERO; COLUMNS];
    for rows in rows.chunks_mut(ROWS) {
        let mut sums = [T::ZERO; COLUMNS];
        for row in rows {
            for (i, sum) in sums.iter_mut().enumerate() {
                *sum += term(row, i);
            }
        }
        add(&mut total, &sums);
    }
    total
}

#[inline(always)]
fn add<T: Element>(total: &mut [T; COLUMNS], sums: &[T; COLUMNS]) {
    for i in 0..COLUMNS {
        total[i] += sums[i];
    }
}

multiversion! {
    pub(super) fn softmax<T: Element>(x: &mut [[T; COLUMNS]], log: bool) {
        let mut largest = x[0];
        for row in x.iter() {
            for i in 0..COLUMNS {
                largest[i] = if row[i] > largest[i] { row[i] } else { largest[i] };
            }
        }
        if log {
            let shifts = sums(x, |row, i| (row[i] - largest[i]).exp::<FUSED>()).map(T::ln::<FUSED>);
            for row in x {
                for i in 0..COLUMNS {
                    row[i] = row[i] - largest[i] - shifts[i];
                }
            }
            return;
        }
        let sums = sums(x, |row, i| {
            row[i] = (row[i] - largest[i]).exp::<FUSED>();
            row[i]
        });
        for row in x {
            for i in 0..COLUMNS {
                row[i] /= sums[i];
            }
        }
    }
}

multiversion! {
    pub(super) fn gradient<T: Element>(gradient: &mut [[T; COLUMNS]], y: &[[T; COLUMNS]], log: bool) {
        let mut common = [T::ZERO; COLUMNS];
        for (g, y) in gradient.chunks(ROWS).zip(y.chunks(ROWS)) {
            let mut sums = [T::ZERO; COLUMNS];
            for (g, y) in g.iter().zip(y) {
                for i in 0..COLUMNS {
                    sums[i] += if log { g[i] } else { g[i] * y[i] };
                }
            }
            add(&mut common, &sums);
        }
        for (g, y) in gradient.iter_mut().zip(y) {
            for i in 0..COLUMNS {
                g[i] = if log { g[i] - y[i].exp::<FUSED>() * common[i] } else { y[i] * (g[i] - common[i]) };
            }
        }
    }
}
