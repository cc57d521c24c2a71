//! Attention in one pass on the CPU, without the weights of all pairs of queries and keys in memory.
//!
//! A task multiplies some queries of a head with all keys that they may attend to, and the resulting weights with the
//! values. The backward pass computes the weights again from the logarithm of the sum of the exponentials. Heads are
//! read and written where they are: no projection is split or transposed in memory. With grouped queries, several heads
//! of queries share a head of keys and values.

use super::mask::{AttentionMask, CausalWindow};
use super::pairs::attention;
use crate::ops::engine::autograd::{Backward, Downstream, Held, IndexedCopy, Upstream, record};
use crate::ops::engine::{CpuView, Element, dispatch_dtype};
use crate::ops::finite::{all_finite, is_finite};
use crate::ops::profile;
use crate::ops::softmax::softmax_in_place;
use crate::tensor::Raw;
use candle_core::{Result, Shape};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use taper_compute::gemm::{Matrix, product_to};
use taper_compute::scratch::with_scratch;
use taper_compute::shared_slice::{SharedSlice, vec_filled_by};
use taper_compute::simd::multiversion;
use taper_compute::sums::dot;
use taper_compute::threads::for_each_task;

/// The queries of a task.
const QUERIES: usize = 64;

/// The sizes of an attention. Values have as many features as queries and keys.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) batch: usize,
    pub(super) heads: usize,
    /// How many heads of queries share a head of keys and values.
    pub(super) group: usize,
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) features: usize,
    pub(super) reach: CausalWindow,
}

/// The memory layout of the heads: the index of the first feature, and the distances from one example, head and step
/// to the next.
#[derive(Clone, Copy)]
pub(super) struct HeadStrides {
    pub(super) start: usize,
    pub(super) batch: usize,
    pub(super) head: usize,
    pub(super) step: usize,
}

impl HeadStrides {
    fn of(&self, example: usize, head: usize, step: usize) -> usize {
        self.start + example * self.batch + head * self.head + step * self.step
    }

    /// Returns the positions in a tensor of these dimensions, for `(batch, heads, steps, features)`. `group` heads share
    /// the same ones.
    fn positions(
        &self,
        sizes: &Sizes,
        group: usize,
        steps: usize,
        within: &[usize],
    ) -> Result<IndexedCopy> {
        let Sizes {
            batch,
            heads,
            features,
            ..
        } = *sizes;
        let rows = (0..batch * heads * steps).flat_map(|row| {
            let (head, step) = (row / steps, row % steps);
            let start = self.of(head / heads, head % heads / group, step);
            start as i64..(start + features) as i64
        });
        IndexedCopy::at(rows.collect(), within, &[batch, heads, steps, features])
    }

    /// Returns some steps of a head as a matrix of rows.
    fn rows<'a, T>(
        &self,
        values: &'a [T],
        [example, head]: [usize; 2],
        first: usize,
    ) -> Matrix<'a, T> {
        Matrix {
            values: &values[self.of(example, head, first)..],
            row_step: self.step,
            column_step: 1,
        }
    }
}

/// Queries, keys and values: in three contiguous tensors, or in one.
pub(super) struct Inputs<'a> {
    pub(super) tensors: &'a [&'a Raw],
    pub(super) places: [HeadStrides; 3],
}

/// Returns the attention in a tensor of this shape, whose heads have the layout `output`. Returns `None` if keys that are
/// hidden from some queries only may have brought NaN to the output.
pub(super) fn fused(
    inputs: Inputs,
    sizes: Sizes,
    shape: Shape,
    output: HeadStrides,
) -> Result<Option<Raw>> {
    let pairs = sizes.batch * sizes.heads * sizes.queries * sizes.keys;
    profile::count(2 * pairs * sizes.features);
    let first = inputs.tensors[0];
    dispatch_dtype!(first, forward(inputs, sizes, shape, output))
}

fn forward<T: Element>(
    inputs: Inputs,
    sizes: Sizes,
    shape: Shape,
    output: HeadStrides,
) -> Result<Option<Raw>> {
    let tensors: Vec<Raw> = inputs.tensors.iter().map(|x| x.detach()).collect();
    let views = tensors
        .iter()
        .map(CpuView::of)
        .collect::<Result<Vec<_>>>()?;
    let last = views.len() - 1;
    let [q, k, v] = [0, 1.min(last), last].map(|i| views[i].as_slice::<T>());
    let (q, k, v) = (q?, k?, v?);
    let blocks = sizes.queries.div_ceil(QUERIES);
    let mut logarithms = vec![T::ZERO; sizes.batch * sizes.heads * sizes.queries];
    let of_sums = SharedSlice::new(&mut logarithms);
    // The rows of a task share its keys, so what is hidden from some of them has the weight 0: 0 · NaN is NaN.
    let is_wrong = AtomicBool::new(false);
    let attend = |task: usize, y: SharedSlice<MaybeUninit<T>>| {
        let (index, block) = (task / blocks, task % blocks);
        let head = [index / sizes.heads, index % sizes.heads];
        let rows = block * QUERIES..((block + 1) * QUERIES).min(sizes.queries);
        let keys = sizes.visible_to(&rows);
        let count = keys.len();
        let (features, scale) = (sizes.features, sizes.scale::<T>());
        with_scratch(rows.len() * (count + features), |scratch: &mut [T]| {
            let (weights, means) = scratch.split_at_mut(rows.len() * count);
            sizes.scores(&inputs.places, [q, k], head, [&rows, &keys], weights);
            // SAFETY: each task has queries of its own.
            let of_sums = unsafe { of_sums.part(index * sizes.queries + rows.start, rows.len()) };
            for (i, (weights, sum)) in weights.chunks_exact_mut(count).zip(of_sums).enumerate() {
                *sum = softmax_of(weights, sizes.visible(rows.start + i, &keys), scale);
            }
            let values = inputs.places[2].rows(v, sizes.shared(head), keys.start);
            let weights = Matrix::of_rows(weights, count);
            product_to([rows.len(), count, features], weights, values, means, false);
            if sizes.reach.causal && !is_finite(means) {
                is_wrong.store(true, Ordering::Relaxed);
            }
            for (i, means) in rows.zip(means.chunks_exact(features)) {
                let start = output.of(head[0], head[1], i);
                // SAFETY: each query and head has an output of its own.
                let y = unsafe { y.part(start, features) };
                y.write_copy_of_slice(means);
            }
        });
    };
    let count = sizes.batch * sizes.heads * sizes.queries * sizes.features;
    // SAFETY: the blocks cover all queries of all heads, whose outputs are all elements.
    let y = unsafe {
        vec_filled_by(count, |y| {
            for_each_task(sizes.batch * sizes.heads * blocks, |task| attend(task, y));
        })
    };
    drop(views);
    if is_wrong.into_inner() {
        for x in &tensors {
            if !all_finite(x)? {
                return Ok(None);
            }
        }
    }
    let places = inputs.places;
    let y = record(inputs.tensors, y, shape, || Back::<T> {
        tensors,
        places,
        output,
        sizes,
        logarithms,
    })?;
    Ok(Some(y))
}

impl Sizes {
    /// Returns the keys to which at least one of some queries attends.
    fn visible_to(&self, queries: &Range<usize>) -> Range<usize> {
        let [first, last] = [queries.start, queries.end - 1].map(|i| self.reach.of(i, self.keys));
        first.start..last.end
    }

    /// Returns the keys to which a query attends, counted from the first of `keys`.
    fn visible(&self, query: usize, keys: &Range<usize>) -> Range<usize> {
        let visible = self.reach.of(query, self.keys);
        visible.start - keys.start..visible.end - keys.start
    }

    /// Returns the head of keys and values of a head of queries.
    fn shared(&self, [example, head]: [usize; 2]) -> [usize; 2] {
        [example, head / self.group]
    }

    fn scale<T: Element>(&self) -> T {
        T::of(1.0 / (self.features as f64).sqrt())
    }

    /// Computes the products of some queries with some keys.
    fn scores<T: Element>(
        &self,
        places: &[HeadStrides; 3],
        [q, k]: [&[T]; 2],
        head: [usize; 2],
        [queries, keys]: [&Range<usize>; 2],
        scores: &mut [T],
    ) {
        let sizes = [queries.len(), self.features, keys.len()];
        let queries = places[0].rows(q, head, queries.start);
        let keys = places[1].rows(k, self.shared(head), keys.start);
        product_to(sizes, queries, keys.transposed(), scores, false);
    }
}

multiversion! {
    /// Replaces the scores of the visible keys by weights, the others by 0. Returns the logarithm of the sum of the
    /// exponentials.
    fn softmax_of<T: Element>(scores: &mut [T], visible: Range<usize>, scale: T) -> T {
        let scores = hide_others(scores, visible);
        for score in scores.iter_mut() {
            *score *= scale;
        }
        let (largest, sum) = softmax_in_place::<T, FUSED>(scores);
        largest + sum.ln::<FUSED>()
    }
}

multiversion! {
    /// Replaces the scores of the visible keys by weights, computed from the logarithm that [`softmax_of`] returned,
    /// the others by 0.
    fn weights_of<T: Element>(scores: &mut [T], visible: Range<usize>, scale: T, logarithm: T) {
        for score in hide_others(scores, visible) {
            *score = (*score * scale - logarithm).exp::<FUSED>();
        }
    }
}

/// Sets the scores of hidden keys to 0, and returns the others.
#[inline(always)]
fn hide_others<T: Element>(scores: &mut [T], visible: Range<usize>) -> &mut [T] {
    scores[visible.end..].fill(T::ZERO);
    scores[..visible.start].fill(T::ZERO);
    &mut scores[visible]
}

multiversion! {
    /// Replaces the gradients of weights by those of the products of queries and keys.
    fn gradients_of_scores<T: Element>(weights: &[T], gradients: &mut [T], scale: T) {
        let common = dot(weights, gradients);
        for (gradient, weight) in gradients.iter_mut().zip(weights) {
            *gradient = *weight * (*gradient - common) * scale;
        }
    }
}

struct Back<T> {
    tensors: Vec<Raw>,
    places: [HeadStrides; 3],
    output: HeadStrides,
    sizes: Sizes,
    /// The logarithm of the sum of the exponentials, for each head and query.
    logarithms: Vec<T>,
}

impl<T: Element> Backward for Back<T> {
    fn hold(&self, held: &mut Held) {
        held.slice(&self.logarithms);
    }

    fn keeps(&self) -> [bool; 3] {
        [true; 3]
    }

    /// Computes with the weights of all pairs in memory.
    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (sizes, shape) = (&self.sizes, upstream.gradient.dims());
        let mut mask = AttentionMask::none();
        mask.reach = sizes.reach;
        upstream.of_composed(&|inputs| {
            let last = inputs.len() - 1;
            let heads = |i: usize, group: usize, input: usize, steps: usize| {
                let x = &inputs[input];
                self.places[i]
                    .positions(sizes, group, steps, x.dims())?
                    .take(x, || Ok(()))
            };
            let query = heads(0, 1, 0, sizes.queries)?;
            let (key, value) = (
                heads(1, sizes.group, 1.min(last), sizes.keys)?,
                heads(2, sizes.group, last, sizes.keys)?,
            );
            let (y, _) = attention(&"attention", [&query, &key, &value], &mask, 0.0)?;
            self.output
                .positions(sizes, 1, sizes.queries, shape)?
                .add(&y)
        })
    }

    fn backward(&self, Upstream { gradient, .. }: &Upstream<'_>) -> Result<Downstream> {
        let view = CpuView::of(gradient)?;
        let g = view.as_slice::<T>()?;
        let views = { self.tensors.iter().map(CpuView::of) }.collect::<Result<Vec<_>>>()?;
        let last = views.len() - 1;
        let [q, k, v] = [0, 1.min(last), last].map(|i| views[i].as_slice::<T>());
        let inputs = [q?, k?, v?];
        let mut of_inputs: Vec<Vec<T>> = self
            .tensors
            .iter()
            .map(|x| vec![T::ZERO; x.elem_count()])
            .collect();
        let shared: Vec<SharedSlice<T>> = of_inputs
            .iter_mut()
            .map(|values| SharedSlice::new(values))
            .collect();
        let to = [0, 1.min(last), last].map(|i| shared[i]);
        let shared = self.sizes.heads / self.sizes.group;
        for_each_task(self.sizes.batch * shared, |index| {
            let head = [index / shared, index % shared];
            // SAFETY: each task has a head of its own.
            unsafe { self.of_head(head, g, inputs, to) };
        });
        let mut gradients = [None, None, None];
        for ((to, values), x) in gradients.iter_mut().zip(of_inputs).zip(&self.tensors) {
            *to = Some(Raw::from_vec(values, x.shape(), x.device())?);
        }
        Ok(gradients)
    }
}

impl<T: Element> Back<T> {
    /// Computes the gradients of a head of keys and values, and of the queries that share it.
    ///
    /// # Safety
    /// No other task accesses these gradients.
    unsafe fn of_head(
        &self,
        shared: [usize; 2],
        g: &[T],
        inputs: [&[T]; 3],
        to: [SharedSlice<T>; 3],
    ) {
        let Sizes {
            group,
            keys,
            features,
            ..
        } = self.sizes;
        // Copies the gradients of some steps to their place.
        let put = |input: usize, head: [usize; 2], first: usize, rows: &[T]| {
            for (i, row) in rows.chunks_exact(features).enumerate() {
                let start = self.places[input].of(head[0], head[1], first + i);
                // SAFETY: this step of the head belongs to this task.
                let to = unsafe { to[input].part(start, features) };
                to.copy_from_slice(row);
            }
        };
        with_scratch(2 * keys * features, |scratch: &mut [T]| {
            scratch.fill(T::ZERO);
            let (of_keys, of_values) = scratch.split_at_mut(keys * features);
            for head in shared[1] * group..(shared[1] + 1) * group {
                let head = [shared[0], head];
                self.add_of_queries(head, g, inputs, [of_keys, of_values], &|first, rows| {
                    put(0, head, first, rows)
                });
            }
            put(1, shared, 0, of_keys);
            put(2, shared, 0, of_values);
        });
    }

    /// Adds the gradients of keys and values that come from a head of queries, and passes the gradients of the queries
    /// to `put`, with the index of the first query.
    fn add_of_queries(
        &self,
        head: [usize; 2],
        g: &[T],
        [q, k, v]: [&[T]; 3],
        [of_keys, of_values]: [&mut [T]; 2],
        put: &dyn Fn(usize, &[T]),
    ) {
        let Sizes {
            heads,
            queries,
            keys,
            features,
            ..
        } = self.sizes;
        let (scale, shared) = (self.sizes.scale::<T>(), self.sizes.shared(head));
        let most = QUERIES.min(queries);
        with_scratch(most * (2 * keys + features), |scratch: &mut [T]| {
            for first in (0..queries).step_by(QUERIES) {
                let rows = first..(first + QUERIES).min(queries);
                let keys = self.sizes.visible_to(&rows);
                let (length, count) = (rows.len(), keys.len());
                let (weights, scratch) = scratch.split_at_mut(length * count);
                let (of_scores, scratch) = scratch.split_at_mut(length * count);
                let of_queries = &mut scratch[..length * features];
                self.sizes
                    .scores(&self.places, [q, k], head, [&rows, &keys], weights);
                let g = self.output.rows(g, head, first);
                let values = self.places[2].rows(v, shared, keys.start).transposed();
                product_to([length, features, count], g, values, of_scores, false);
                let logarithms = &self.logarithms[(head[0] * heads + head[1]) * queries + first..];
                let lines = weights
                    .chunks_exact_mut(count)
                    .zip(of_scores.chunks_exact_mut(count));
                for ((i, (weights, of_scores)), logarithm) in lines.enumerate().zip(logarithms) {
                    let visible = self.sizes.visible(first + i, &keys);
                    weights_of(weights, visible, scale, *logarithm);
                    gradients_of_scores(weights, of_scores, scale);
                }
                let weights = Matrix::of_rows(weights, count).transposed();
                let of_scores = Matrix::of_rows(of_scores, count);
                let part = keys.start * features..keys.end * features;
                let to = &mut of_values[part.clone()];
                product_to([count, length, features], weights, g, to, true);
                let keys = self.places[1].rows(k, shared, keys.start);
                let sizes = [length, count, features];
                product_to(sizes, of_scores, keys, of_queries, false);
                let queries = self.places[0].rows(q, head, first);
                let sizes = [count, length, features];
                product_to(
                    sizes,
                    of_scores.transposed(),
                    queries,
                    &mut of_keys[part],
                    true,
                );
                put(first, of_queries);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::ops::attention::{AttentionMask, attention, without_dropout};
    use crate::ops::testing::compare;
    use crate::tensor::{Raw, randn};

    #[test]
    fn the_kernel_agrees_with_the_weights_of_all_pairs() {
        compare("attention", 30, |case| {
            let features = case.one_of(&[1, 4, 9, 32]);
            let steps = [(); 2].map(|()| case.one_of(&[1, 5, 64, 130]));
            let leading = [case.between(1, 3), case.between(1, 2)];
            let mut input =
                |steps: usize| case.input(randn([&leading[..], &[steps, features]].concat()));
            let inputs = vec![input(steps[0]), input(steps[1]), input(steps[1])];
            let mask = match case.between(0, 2) {
                0 => AttentionMask::causal(),
                1 if steps[0] <= steps[1] => AttentionMask::window(case.one_of(&[1, 3, 100])),
                _ => AttentionMask::none(),
            };
            let same = mask.clone();
            let kernel = move |x: &[Raw]| without_dropout(&"", [&x[0], &x[1], &x[2]], &same);
            let pairs = move |x: &[Raw]| Ok(attention(&"", [&x[0], &x[1], &x[2]], &mask, 0.0)?.0);
            Some((inputs, Box::new(kernel), Box::new(pairs)))
        });
    }
}
