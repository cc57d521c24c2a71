//! The gradients of the weights and the bias of a convolution.
//!
//! Two methods compute the sums over all positions of all images: [`matrix_product`] has its vectors along
//! the output's channels, [`correlation`] along the positions. The first is faster where there are
//! channels enough.

mod correlation;
mod matrix_product;
mod method;

use super::geometry::Geometry;
use crate::ops::engine::simd::Element;
use crate::ops::engine::threads::map_tasks;
use correlation::Correlation;
use matrix_product::MatrixProduct;
use method::{Images, Method};

/// The number of partial sums. It follows from the shapes alone.
const PARTS: usize = 16;
/// The most elements of all partial sums together.
const PARTS_ELEMENTS: usize = 1 << 22;

/// Returns the gradients of the weights and of the bias.
pub(super) fn weight_gradient<T: Element>(
    geometry: &Geometry,
    x: &[T],
    gradient: &[T],
) -> (Vec<T>, Vec<T>) {
    match MatrixProduct::suits::<T>(geometry) {
        true => sum_parts(&MatrixProduct::new::<T>(geometry), geometry, x, gradient),
        false => sum_parts(&Correlation::new::<T>(geometry), geometry, x, gradient),
    }
}

fn sum_parts<T: Element>(
    method: &impl Method<T>,
    geometry: &Geometry,
    x: &[T],
    gradient: &[T],
) -> (Vec<T>, Vec<T>) {
    let chunks = geometry.batch * method.layout().chunks;
    let most = (PARTS_ELEMENTS / method.elements()).max(2);
    let count = chunks.min(PARTS).min(most);
    let parts: Vec<Vec<T>> = map_tasks(geometry.groups * count, |task| {
        let (group, part) = (task / count, task % count);
        let range = part * chunks / count..(part + 1) * chunks / count;
        let mut sums = vec![T::ZERO; method.elements()];
        method.add(
            &Images {
                geometry,
                layout: method.layout(),
                x,
                gradient,
                group,
            },
            range,
            &mut sums,
        );
        sums
    });
    let (mut weights, mut bias) = (Vec::new(), Vec::new());
    for parts in parts.chunks_exact(count) {
        let mut sums = parts[0].clone();
        for part in &parts[1..] {
            sums.iter_mut()
                .zip(part)
                .for_each(|(sum, part)| *sum += *part);
        }
        let (of_weights, of_bias) = sums.split_at(sums.len() - geometry.to.channels);
        method.unpack(of_weights, &mut weights);
        bias.extend_from_slice(of_bias);
    }
    (weights, bias)
}
