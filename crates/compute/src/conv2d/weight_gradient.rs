//! The gradients of the weights and the bias of a convolution.
//!
//! For narrow images they are a product of matrices with [`patches`](super::patches). Otherwise two methods
//! compute the sums over all positions of all images: [`matrix_product`] has its vectors along the output's
//! channels, [`correlation`] along the positions. The first is faster if there are enough channels.

mod correlation;
mod matrix_product;
mod method;

use super::geometry::Geometry;
use super::patches::Patches;
use crate::simd::{Float, multiversion};
use crate::sums::{Pairwise, add_pairwise, sum_all, sum_terms};
use crate::threads::map_tasks;
use crate::write;
use correlation::Correlation;
use matrix_product::MatrixProduct;
use method::{Images, Method};

/// The largest number of partial sums. Their number depends on the shapes alone.
const PARTS: usize = 16;
/// The fewest positions of a partial sum if there are groups enough for all cores.
const FEWEST_POSITIONS: usize = 1 << 10;
/// The most elements of all partial sums together.
const PARTS_ELEMENTS: usize = 1 << 22;
/// The number of sums for which one task adds the parts.
const PIECE: usize = 1 << 13;

/// Returns the gradients of the weights and of the bias.
pub fn weight_gradient<T: Float>(geometry: &Geometry, x: &[T], gradient: &[T]) -> (Vec<T>, Vec<T>) {
    let fast = if Patches::<T>::suit(geometry) {
        Patches::weight_gradient(geometry, x, gradient)
    } else if MatrixProduct::suits::<T>(geometry) {
        sum_parts(&MatrixProduct::new::<T>(geometry), geometry, x, gradient)
    } else {
        sum_parts(&Correlation::new(geometry), geometry, x, gradient)
    };
    // An element that is not finite makes each sum so that it is in: looking at the sums takes less than at all elements.
    match finite(&fast.0) && finite(&fast.1) {
        true => fast,
        false => direct(geometry, x, gradient),
    }
}

multiversion! {
    fn finite<T: Float>(values: &[T]) -> bool {
        // A product with 0 is 0 unless a value is infinite or NaN.
        let [zero] = sum_terms(values, |value| [value * T::ZERO]);
        !zero.is_nan()
    }
}

/// Returns the gradients by their definition, for sums that are not all finite. The methods multiply the zeros
/// between the rows with pixels that a weight never meets: an infinite one would turn the sum into NaN.
fn direct<T: Float>(geometry: &Geometry, x: &[T], gradient: &[T]) -> (Vec<T>, Vec<T>) {
    let (from, to, [rows, columns]) = (geometry.from, geometry.to, geometry.kernel);
    let kernel = rows * columns;
    let planes = |channel: usize, image: usize| {
        let (group, output) = (channel / to.channels, channel % to.channels);
        let plane = image * geometry.groups + group;
        let g = &gradient[plane * to.elements()..][..to.elements()];
        (
            &x[plane * from.elements()..][..from.elements()],
            &g[output * to.height * to.width..][..to.height * to.width],
        )
    };
    let channels = geometry.groups * to.channels;
    let bias = map_tasks(channels, |channel| {
        sum_all((0..geometry.batch).flat_map(|image| planes(channel, image).1.iter().copied()))
    });
    let weights = map_tasks(channels * from.channels * kernel, |weight| {
        let (channel, rest) = (
            weight / (from.channels * kernel),
            weight % (from.channels * kernel),
        );
        let (input, tap) = (rest / kernel, rest % kernel);
        let mut sums = Pairwise::new();
        for image in 0..geometry.batch {
            let (x, g) = planes(channel, image);
            let x = &x[input * from.height * from.width..][..from.height * from.width];
            for (position, g) in g.iter().enumerate() {
                let at = [position / to.width, position % to.width];
                let tap = [tap / columns, tap % columns];
                let [row, column] = [0, 1].map(|i| {
                    let place = at[i] * geometry.stride[i] + tap[i] * geometry.dilation[i];
                    place.checked_sub(geometry.padding[i] as usize)
                });
                if let (Some(row), Some(column)) = (row, column)
                    && row < from.height
                    && column < from.width
                {
                    sums.add(x[row * from.width + column] * *g);
                }
            }
        }
        sums.sum()
    });
    (weights, bias)
}

fn sum_parts<T: Float>(
    method: &impl Method<T>,
    geometry: &Geometry,
    x: &[T],
    gradient: &[T],
) -> (Vec<T>, Vec<T>) {
    let chunks = geometry.batch * method.layout().chunks;
    let most = (PARTS_ELEMENTS / method.elements()).max(2);
    let parts = match geometry.groups >= PARTS {
        true => {
            (geometry.batch * geometry.to.height * geometry.to.width).div_ceil(FEWEST_POSITIONS)
        }
        false => PARTS,
    };
    let count = chunks.min(PARTS).min(parts).min(most);
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
        let added;
        let sums = match parts {
            [only] => only,
            _ => {
                added = write::by_chunks(method.elements(), PIECE, |first, sums| {
                    let piece = |part: &Vec<T>| part[first..first + sums.len()].to_vec();
                    let piece = add_pairwise(parts.iter().map(piece)).unwrap_or_default();
                    sums.write_copy_of_slice(&piece)
                });
                &added
            }
        };
        let (of_weights, of_bias) = sums.split_at(sums.len() - geometry.to.channels);
        method.unpack(of_weights, &mut weights);
        bias.extend_from_slice(of_bias);
    }
    (weights, bias)
}
