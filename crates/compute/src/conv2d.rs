//! Two-dimensional convolution, without a matrix of patches (im2col).
//!
//! - [`mod@convolve`] computes the sums from rows in scratch memory, which have the [`layout`] in which each
//!   element of the convolution's kernel is one fixed offset. Its [`epilogue`] adds the bias.
//! - For narrow images, a product of matrices computes them instead, with [`patches`] as columns.
//! - Where each channel has a kernel of its own, several rows of sums share the inputs ([`depthwise`]).
//! - With many channels, kernels of 3×3 need fewer multiplications ([`winograd`]).
//! - The gradient of the input is the convolution of the output's gradient with the rotated weights: the
//!   same code with another [`geometry`]. With a stride, the zeros between the gradients' pixels are left out
//!   ([`sub_kernels`]).
//! - `weight_gradient` correlates the input with the output's gradient.

mod convolve;
mod depthwise;
mod epilogue;
mod geometry;
mod layout;
mod narrow;
mod patches;
mod sub_kernels;
mod weight_gradient;
mod winograd;

pub use convolve::convolve;
pub use epilogue::Epilogue;
pub use geometry::{Geometry, Size};
pub use weight_gradient::weight_gradient;

use crate::simd::Float;

/// Returns the transposed convolution, which maps from the output of a convolution to its input, plus a bias. Without the
/// bias, it is the gradient of the input.
pub fn transposed<T: Float>(
    forward: &Geometry,
    x: &[T],
    weight: &[T],
    bias: Option<&[T]>,
) -> Vec<T> {
    match forward.stride {
        [1, 1] => convolve::convolve_rotated(forward, x, weight, bias),
        _ => sub_kernels::convolve_between(forward, x, weight, bias),
    }
}

#[cfg(test)]
mod tests;
