//! The epilogue of a convolution, which it computes with each sum before it writes it: the bias, and in evaluation the batch
//! normalisation and the ReLU that follow. So the output is written once, and nothing reads it again.

use crate::batch_norm::{relu, scaled};
use crate::simd::{Float, multiversion};
use crate::write;
use std::mem::MaybeUninit;

/// What follows the sums.
#[derive(Clone, Copy)]
pub struct Epilogue<'a, T> {
    /// What is added to the sums of each channel.
    pub bias: Option<&'a [T]>,
    /// For each channel the values `near`, `factor` and `offset` of `(x - near) · factor + offset`.
    pub norm: Option<&'a [[T; 3]]>,
    /// Whether negative results become 0.
    pub relu: bool,
}

impl<'a, T: Float> Epilogue<'a, T> {
    /// Returns the epilogue that adds a bias.
    pub fn plus(bias: Option<&'a [T]>) -> Self {
        Epilogue {
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

impl<T: Float> OfChannel<T> {
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
    pub(super) fn apply(&self, sums: &mut [T]) {
        apply(self.norm, self.relu, sums);
    }
}

multiversion! {
    fn apply<T: Float>(norm: Option<[T; 3]>, with_relu: bool, sums: &mut [T]) {
        let sums = sums.iter_mut();
        match (norm, with_relu) {
            (None, false) => {}
            (None, true) => sums.for_each(|x| *x = relu(*x)),
            (Some(norm), false) => sums.for_each(|x| *x = scaled(*x, norm)),
            (Some(norm), true) => sums.for_each(|x| *x = relu(scaled(*x, norm))),
        }
    }
}
