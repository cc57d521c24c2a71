//! Layers for volumes, such as videos and scans. They have no kernels of their own: for each place of the output, the
//! slices that it depends on become the channels of one image.

mod convolution;
mod pooling;

pub use convolution::Conv3d;
pub use pooling::{AvgPool3d, MaxPool3d};

use crate::error::{Result, raise};
use crate::nn::{Parameters, Visitor, VisitorMut, check};
use crate::ops::Pair;
use crate::tensor::{Tensor, tensor};
use std::fmt;

/// A setting for depth, height and width: `3` for all, or `(1, 3, 3)`.
///
/// ```
/// use taper::prelude::*;
///
/// let all = Conv3d::new(1, 1, 3).padding(1);
/// let each = Conv3d::new(1, 1, (1, 3, 5)).padding((0, 1, 2));
/// let x = zeros((1, 1, 4, 8, 8));
/// assert_eq!(all.forward(&x).dims(), each.forward(&x).dims());
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Triple {
    /// The setting for the depth.
    pub depth: usize,
    /// The settings for height and width.
    pub image: Pair,
}

impl From<usize> for Triple {
    fn from(size: usize) -> Self {
        Self {
            depth: size,
            image: size.into(),
        }
    }
}

impl From<(usize, usize, usize)> for Triple {
    fn from((depth, height, width): (usize, usize, usize)) -> Self {
        Self {
            depth,
            image: Pair { height, width },
        }
    }
}

/// Equal settings are written as one.
impl fmt::Debug for Triple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Pair { height, width } = self.image;
        match *self == self.depth.into() {
            true => write!(f, "{}", self.depth),
            false => write!(f, "({}, {height}, {width})", self.depth),
        }
    }
}

impl Parameters for Triple {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.value(self);
    }

    fn visit_mut(&mut self, _: &mut dyn VisitorMut) -> Result<()> {
        Ok(())
    }

    fn shallow_copy(&self) -> Self {
        *self
    }
}

/// The slices along the depth that a place of the output depends on.
#[derive(Clone, Copy)]
struct Slices {
    kernel: usize,
    stride: usize,
    padding: usize,
    dilation: usize,
}

impl Slices {
    /// Returns for each place the indices of its slices, after padding at both ends.
    fn indices(self, layer: &dyn Parameters, depth: usize) -> Vec<Vec<i64>> {
        let reach = self.dilation * self.kernel.saturating_sub(1);
        let Some(last) = (depth + 2 * self.padding).checked_sub(reach + 1) else {
            raise!(
                ("{}: the depth of {depth} is too small", check::name(layer));
                "Pass a deeper volume, or choose a smaller kernel or more padding")
        };
        let starts = (0..=last).step_by(self.stride.max(1));
        let place = |start| (0..self.kernel).map(move |k| (start + k * self.dilation) as i64);
        starts.map(|start| place(start).collect()).collect()
    }
}

/// Checks that an input is a volume with or without a batch, and returns it as a batch.
#[track_caller]
fn batch(layer: &dyn Parameters, x: &Tensor) -> Tensor {
    match x.rank() {
        4 => x.unsqueeze(0),
        5 => x.clone(),
        _ => raise(check::refused(
            layer,
            x,
            "Expected volumes (batch, channels, depth, height, width)",
        )),
    }
}

/// Returns the slices of each place: `(batch, channels, places, kernel, height, width)`.
#[track_caller]
fn taken(x: &Tensor, places: &[Vec<i64>]) -> Tensor {
    let [batch, channels, _, height, width] = x.dims() else {
        unreachable!("a batch of volumes");
    };
    let kernel = places[0].len();
    let slices = x.index_select(&tensor(places.concat()), 2);
    slices.reshape(&[*batch, *channels, places.len(), kernel, *height, *width][..])
}
