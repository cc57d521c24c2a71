//! The trait of the methods that compute the weights' gradients, and their input.

use crate::conv2d::geometry::Geometry;
use crate::conv2d::layout::RowLayout;
use crate::simd::Float;
use std::ops::Range;

/// A method that computes the gradients of a group's weights and bias as sums over the images.
pub(super) trait Method<T>: Sync {
    fn layout(&self) -> &RowLayout;

    /// Returns the number of a group's sums: those of the weights, in the method's own order, then those
    /// of the bias.
    fn elements(&self) -> usize;

    /// Adds the contribution of some chunks of the images.
    fn add(&self, images: &Images<T>, chunks: Range<usize>, sums: &mut [T]);

    /// Appends the gradients of a group's weights, in the order of the weights.
    fn unpack(&self, sums: &[T], weights: &mut Vec<T>);
}

/// One group of all images, with the gradient of the output.
pub(super) struct Images<'a, T> {
    pub(super) geometry: &'a Geometry,
    pub(super) layout: &'a RowLayout,
    pub(super) x: &'a [T],
    pub(super) gradient: &'a [T],
    pub(super) group: usize,
}

impl<T: Float> Images<'_, T> {
    /// Copies the rows of a chunk into `xs`; returns the gradient of its image and group, and the chunk's
    /// output rows.
    pub(super) fn chunk(&self, index: usize, xs: &mut [T]) -> (&[T], Range<usize>) {
        let (from, to) = (self.geometry.from.elements(), self.geometry.to.elements());
        let plane = index / self.layout.chunks * self.geometry.groups + self.group;
        let rows = self.layout.rows_of(index % self.layout.chunks);
        let x = &self.x[plane * from..][..from];
        self.layout.fill(self.geometry, x, rows.start, xs);
        (&self.gradient[plane * to..][..to], rows)
    }
}
