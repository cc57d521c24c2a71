//! The gradients of the weights and the bias of a convolution.

mod channels;
mod places;

use super::flat::{Flat, Passage};
use crate::ops::engine::simd::Element;
use crate::ops::engine::threads::map_tasks;
use std::ops::Range;

/// Sums are made in so many parts, by the shapes alone.
const PARTS: usize = 16;
/// All parts together have at most so many numbers.
const PARTS_ROOM: usize = 1 << 22;

/// The gradients of the weights and of the bias.
pub(super) fn gradients<T: Element>(
    passage: &Passage,
    x: &[T],
    gradient: &[T],
) -> (Vec<T>, Vec<T>) {
    match channels::Sums::pay_for::<T>(passage) {
        true => summed(&channels::Sums::new::<T>(passage), passage, x, gradient),
        false => summed(&places::Sums::new::<T>(passage), passage, x, gradient),
    }
}

fn summed<T: Element>(
    way: &impl Way<T>,
    passage: &Passage,
    x: &[T],
    gradient: &[T],
) -> (Vec<T>, Vec<T>) {
    let items = passage.batch * way.flat().chunks;
    let room = (PARTS_ROOM / way.numbers()).max(2);
    let count = items.min(PARTS).min(room);
    let parts: Vec<Vec<T>> = map_tasks(passage.groups * count, |task| {
        let (group, part) = (task / count, task % count);
        let range = part * items / count..(part + 1) * items / count;
        let mut sums = vec![T::ZERO; way.numbers()];
        way.add(
            &Pictures {
                passage,
                flat: way.flat(),
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
        let (of_weights, of_bias) = sums.split_at(sums.len() - passage.to.channels);
        way.unpack(of_weights, &mut weights);
        bias.extend_from_slice(of_bias);
    }
    (weights, bias)
}

/// How the sums are made.
trait Way<T>: Sync {
    fn flat(&self) -> &Flat;

    /// How many numbers the sums of a group are: those of the weights, in an order of their own, then
    /// those of the bias.
    fn numbers(&self) -> usize;

    /// Adds what some chunks of the pictures give.
    fn add(&self, pictures: &Pictures<T>, chunks: Range<usize>, sums: &mut [T]);

    /// Appends the weights of a group in their own order.
    fn unpack(&self, sums: &[T], weights: &mut Vec<T>);
}

/// What is correlated: one group of all pictures, with the gradient of the output.
struct Pictures<'a, T> {
    passage: &'a Passage,
    flat: &'a Flat,
    x: &'a [T],
    gradient: &'a [T],
    group: usize,
}

impl<T: Element> Pictures<'_, T> {
    /// Copies the rows of a chunk into `xs`; gives their gradient, channel after channel of the picture,
    /// and which output rows they are.
    fn chunk(&self, index: usize, xs: &mut [T]) -> (&[T], Range<usize>) {
        let (from, to) = (self.passage.from.numbers(), self.passage.to.numbers());
        let picture = index / self.flat.chunks * self.passage.groups + self.group;
        let rows = self.flat.rows_of(index % self.flat.chunks);
        let x = &self.x[picture * from..][..from];
        self.flat.fill(self.passage, x, rows.start, xs);
        (&self.gradient[picture * to..][..to], rows)
    }
}
