//! Rotary positions: pairs of features, turned by angles that grow with the position.

use super::check;
use super::dispatch::run;
use super::engine::autograd::recorded_linear;
use super::engine::read::read;
use super::engine::{Element, dispatch_dtype};
use crate::tensor::Raw;
use candle_core::{D, Result};
use std::fmt::Display;
use std::mem::MaybeUninit;
use std::sync::Arc;
use taper_compute::simd::multiversion;
use taper_compute::whole_rows;
use taper_compute::write::vec_by_chunks;

/// The elements of one task.
const CHUNK: usize = 1 << 13;

/// The angles of some steps, with half as many for each step as there are features.
#[derive(Clone)]
#[doc(hidden)]
pub struct Angles {
    values: Arc<[f64]>,
    half: usize,
}

impl Angles {
    /// Returns the angles of `steps` positions from `first` on, for the angles of one position.
    pub fn new(frequencies: &[f64], first: usize, steps: usize) -> Self {
        let of = |step| frequencies.iter().map(move |angle| angle * step as f64);
        Self {
            values: (first..first + steps).flat_map(of).collect(),
            half: frequencies.len(),
        }
    }

    /// Returns the opposite angles, which turn back.
    fn opposite(&self) -> Self {
        Self {
            values: self.values.iter().map(|angle| -angle).collect(),
            half: self.half,
        }
    }
}

/// Turns features `i` and `i + half` of each step by the angle `i` of the step: `(batch, steps, heads, features)`.
/// Errors begin with the name of the caller.
#[doc(hidden)]
pub fn rotate_as(caller: &dyn Display, x: &Raw, angles: &Angles) -> Result<Raw> {
    let features = 2 * angles.half;
    if x.rank() != 4 || x.dims()[3] != features {
        let expected = format!("Expected (batch, steps, heads, {features})");
        return Err(check::wrong_shape(caller, x, expected));
    }
    check::floating(caller, x)?;
    if x.elem_count() == 0 {
        return Ok(x.clone());
    }
    let kernel = |x: &[&Raw]| dispatch_dtype!(x[0], forward(x[0], angles));
    run(&[x], kernel, |x| rotate_with_candle(x[0], angles))
}

fn rotate_with_candle(x: &Raw, angles: &Angles) -> Result<Raw> {
    let table = |function: fn(f64) -> f64| {
        let values: Vec<f64> = angles.values.iter().map(|angle| function(*angle)).collect();
        Raw::from_vec(values, (x.dim(1)?, 1, angles.half), x.device())?.to_dtype(x.dtype())
    };
    let (cos, sin) = (table(f64::cos)?, table(f64::sin)?);
    let [a, b] = [0, 1].map(|part| x.narrow(D::Minus1, part * angles.half, angles.half));
    let (a, b) = (a?, b?);
    let first = (a.mul(&cos)? - b.mul(&sin)?)?;
    let second = (b.mul(&cos)? + a.mul(&sin)?)?;
    Raw::cat(&[first, second], D::Minus1)
}

fn forward<T: Element>(x: &Raw, angles: &Angles) -> Result<Raw> {
    let y = Raw::from_vec(rotated::<T>(x, angles)?, x.shape(), x.device())?;
    Ok(recorded_linear(x, y, || {
        let opposite = angles.opposite();
        move |g: &Raw| rotate_as(&"rotate", g, &opposite)
    }))
}

fn rotated<T: Element>(x: &Raw, angles: &Angles) -> Result<Vec<T>> {
    let (_, steps, heads, features) = x.dims4()?;
    let of = |function: fn(f64) -> f64| -> Vec<T> {
        angles
            .values
            .iter()
            .map(|angle| T::of(function(*angle)))
            .collect()
    };
    let table = [of(f64::cos), of(f64::sin)];
    // SAFETY: chunks are whole rows, and each row is initialised.
    read([x], |[values]: [&[T]; 1]| unsafe {
        vec_by_chunks(values.len(), whole_rows(CHUNK, features), |first, y| {
            let rows = values[first..]
                .chunks_exact(features)
                .zip(y.chunks_exact_mut(features));
            for (row, (x, y)) in (first / features..).zip(rows) {
                let step = row / heads % steps * angles.half;
                let [cos, sin] = [0, 1].map(|i| &table[i][step..][..angles.half]);
                turn(x, cos, sin, y);
            }
        })
    })
}

multiversion! {
    /// Turns the pairs of one row.
    fn turn<T: Element>(x: &[T], cos: &[T], sin: &[T], y: &mut [MaybeUninit<T>]) {
        let half = cos.len();
        let (a, b) = x.split_at(half);
        let (first, second) = y.split_at_mut(half);
        let b = &b[..half];
        let sin = &sin[..half];
        let second = &mut second[..half];
        for i in 0..half {
            first[i].write(a[i] * cos[i] - b[i] * sin[i]);
            second[i].write(b[i] * cos[i] + a[i] * sin[i]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::randn;

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("rotate", 20, |case| {
            let (steps, half) = (case.between(1, 9), case.between(1, 20));
            let shape = (case.between(1, 3), steps, case.between(1, 3), 2 * half);
            let frequencies: Vec<f64> = (0..half).map(|i| 1.0 / (i + 1) as f64).collect();
            let angles = Angles::new(&frequencies, case.between(0, 50), steps);
            let same = angles.clone();
            let kernel = move |x: &[Raw]| rotate_as(&"rotate", &x[0], &angles);
            let candle = move |x: &[Raw]| rotate_with_candle(&x[0], &same);
            let inputs = vec![case.input(randn(shape))];
            Some((inputs, Box::new(kernel), Box::new(candle)))
        });
    }
}
