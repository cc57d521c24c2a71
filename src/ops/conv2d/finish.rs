//! What a convolution computes with each sum before it writes it: the bias, and in evaluation the batch normalisation and
//! the [`relu`](crate::ops::relu) that follow. So the output is written once, and nothing reads it again.

use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::engine::write;
use std::mem::MaybeUninit;

#[derive(Clone, Copy)]
pub(super) struct Finish<'a, T> {
    pub(super) bias: Option<&'a [T]>,
    /// For each channel the values `near`, `factor` and `offset` of `(x - near) · factor + offset`.
    pub(super) norm: Option<&'a [[T; 3]]>,
    pub(super) relu: bool,
}

impl<'a, T: Element> Finish<'a, T> {
    pub(super) fn plus(bias: Option<&'a [T]>) -> Self {
        Finish {
            bias,
            norm: None,
            relu: false,
        }
    }

    /// Returns what is computed for an output channel, numbered through all groups.
    pub(super) fn of(&self, channel: usize) -> OfChannel<T> {
        OfChannel {
            bias: self.bias.map_or(T::ZERO, |bias| bias[channel]),
            norm: self.norm.map(|norm| norm[channel]),
            relu: self.relu,
        }
    }
}

pub(super) struct OfChannel<T> {
    pub(super) bias: T,
    norm: Option<[T; 3]>,
    relu: bool,
}

impl<T: Element> OfChannel<T> {
    /// Writes what follows from the sums, and returns it.
    #[inline(always)]
    pub(super) fn write<'y>(&self, sums: &[T], y: &'y mut [MaybeUninit<T>]) -> &'y mut [T] {
        let bias = self.bias;
        let sums = sums.iter().map(|sum| *sum + bias);
        match (self.norm, self.relu) {
            (None, false) => write::each(y, sums),
            (None, true) => write::each(y, sums.map(relu)),
            (Some(norm), false) => write::each(y, sums.map(|x| scaled(x, norm))),
            (Some(norm), true) => write::each(y, sums.map(|x| relu(scaled(x, norm)))),
        }
    }

    /// Does what follows after the bias.
    pub(super) fn finish(&self, sums: &mut [T]) {
        finish(self.norm, self.relu, sums);
    }
}

multiversion! {
    fn finish<T: Element>(norm: Option<[T; 3]>, with_relu: bool, sums: &mut [T]) {
        let sums = sums.iter_mut();
        match (norm, with_relu) {
            (None, false) => {}
            (None, true) => sums.for_each(|x| *x = relu(*x)),
            (Some(norm), false) => sums.for_each(|x| *x = scaled(*x, norm)),
            (Some(norm), true) => sums.for_each(|x| *x = relu(scaled(*x, norm))),
        }
    }
}

/// The arithmetic of the batch normalisation's own kernel, so that the bits are the same.
#[inline(always)]
fn scaled<T: Element>(x: T, [near, factor, offset]: [T; 3]) -> T {
    (x - near) * factor + offset
}

/// As the kernel of ReLU, which keeps NaN.
#[inline(always)]
fn relu<T: Element>(x: T) -> T {
    if x <= T::ZERO { T::ZERO } else { x }
}
