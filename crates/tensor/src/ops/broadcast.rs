//! Broadcasting: the shape that operands have in common, and the loops over their elements.

use super::engine::read::{read, read_strided};
use super::engine::strided::in_order;
use crate::error::problem;
use crate::tensor::Raw;
use candle_core::{Result, WithDType};
use std::mem::MaybeUninit;
use std::ops::Range;
use taper_compute::runs::Runs;
use taper_compute::simd::multiversion;
use taper_compute::whole_rows;
use taper_compute::write::vec_by_chunks;

/// The elements of one task, and those for outputs of at least a million elements.
const CHUNK: usize = 1 << 14;
const LARGE_CHUNK: usize = 1 << 16;
/// The elements of a run that a loop computes at once if an operand has one for all of the run.
pub(super) const RUN: usize = 32;
/// The elements that are copied into one piece.
const PIECE: usize = 2048;
/// A shorter run than this is not worth a call of a loop: then operands are copied into pieces.
const SHORT: usize = 256;

/// Returns the shape to which two tensors are broadcast.
pub(crate) fn broadcast_shape(caller: &str, a: &Raw, b: &Raw) -> Result<Vec<usize>> {
    let (left, right) = (a.dims(), b.dims());
    common_shape(left, right).ok_or_else(|| {
        problem!(shape(caller, right);
            "a shape that can be broadcast with {left:?}",
            "Sizes must be equal or 1, compared from the last dimension on; add a dimension with unsqueeze(dim)").into()
    })
}

/// Returns the shape to which two shapes are broadcast: dimensions are aligned at the end, and must be equal or 1.
pub(super) fn common_shape(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |dims: &[usize], i: usize| match (i + dims.len()).checked_sub(rank) {
        Some(i) => dims[i],
        None => 1,
    };
    (0..rank)
        .map(|i| match (size(a, i), size(b, i)) {
            (a, b) if a == b => Some(a),
            (1, size) | (size, 1) => Some(size),
            _ => None,
        })
        .collect()
}

/// The order in which the elements of `N` operands are read for an output to whose shape they are broadcast.
///
/// Dimensions are merged as far as possible. In the last that is left, the run, the elements of an operand
/// are adjacent in memory, or one is read again and again.
pub(super) struct Plan<const N: usize> {
    /// The sizes of the merged dimensions, with the run.
    sizes: Vec<usize>,
    /// For each operand the distance in memory from one index of a dimension to the next.
    steps: [Vec<usize>; N],
    reads: [Read; N],
    count: usize,
    /// The elements that are computed together; `None` for those of a run.
    segment: Option<usize>,
    /// An operand that has one element for all of a run, next to operands that have all of them in order.
    by_run: Option<usize>,
}

/// How the elements of an operand are read.
#[derive(Clone, Copy, PartialEq)]
enum Read {
    /// One for all of the output.
    One,
    /// Each once, in the order of the output.
    InOrder,
    /// Again and again, in the order of the output.
    Repeated,
    Strided,
}

impl<const N: usize> Plan<N> {
    /// Returns the plan, and the operands, of which those are copied that are not adjacent in memory.
    /// None of them may be empty.
    pub(super) fn of(shape: &[usize], operands: [&Raw; N]) -> Result<(Self, [Raw; N])> {
        let mut inputs = operands.map(Raw::detach);
        for input in &mut inputs {
            let mut last = input.dims().iter().zip(input.stride()).rev();
            if last
                .find(|(size, _)| **size > 1)
                .is_some_and(|(_, step)| *step > 1)
            {
                *input = in_order(input)?;
            }
        }
        let (sizes, steps) = merged(shape, inputs.each_ref().map(|x| steps_in(shape.len(), x)));
        let count = sizes.iter().product();
        let periods = steps.each_ref().map(|steps| period(&sizes, steps));
        let mut reads = [Read::Strided; N];
        for k in 0..N {
            reads[k] = way_to_read(&sizes, &steps[k], periods[k]);
        }
        let strided = reads.contains(&Read::Strided);
        let longest = (0..N)
            .filter(|k| reads[*k] == Read::Repeated)
            .map(|k| periods[k])
            .max();
        let segment = match (strided, longest) {
            (false, None) => Some(PIECE),
            (true, _) if sizes[sizes.len() - 1] >= SHORT => None,
            // Whole runs, so that each piece begins with one.
            (_, period) => Some(whole_rows(PIECE, period.unwrap_or(sizes[sizes.len() - 1]))),
        };
        let run = sizes[sizes.len() - 1];
        let by_run = (0..N)
            .filter(|_| segment.is_some() && run >= RUN && run % RUN < RUN / 4)
            .find(|&k| {
                let others_in_order = (0..N).all(|i| i == k || reads[i] == Read::InOrder);
                reads[k] == Read::Strided && steps[k].last() == Some(&0) && others_in_order
            });
        Ok((
            Plan {
                sizes,
                steps,
                reads,
                count,
                segment,
                by_run,
            },
            inputs,
        ))
    }

    /// Returns the size of the run, and the sizes of the dimensions before it.
    fn run(&self) -> (usize, &[usize]) {
        let last = self.sizes.len() - 1;
        (self.sizes[last], &self.sizes[..last])
    }

    /// Returns a vector with a value for each element of the output, computed on all cores. `write` initialises
    /// the values of a task, with the elements that its [`Walk`] returns.
    ///
    /// # Safety
    /// `write` must initialise all of the slice.
    pub(super) unsafe fn fill<O: Send>(
        &self,
        write: impl Fn(Walk<'_, N>, &mut [MaybeUninit<O>]) + Sync,
    ) -> Vec<O> {
        let most = if self.count < 1 << 20 {
            CHUNK
        } else {
            LARGE_CHUNK
        };
        let chunk = self
            .segment
            .map_or(most, |segment| whole_rows(most, segment));
        // SAFETY: guaranteed by the caller.
        unsafe {
            vec_by_chunks(self.count, chunk, |first, out| {
                write(Walk::new(self, first, out.len()), out);
            })
        }
    }
}

/// Computes the elements of an output from the elements of its operands.
type Compute<T, O, const N: usize> = dyn Fn([&[T]; N], &mut [MaybeUninit<O>]) + Sync;

/// The elements of an output, and the operands as they were read.
pub(super) type Mapped<O, const N: usize> = (Vec<O>, [Raw; N]);

/// Broadcasts operands to a shape, none of them empty, and returns the elements that `compute` writes, and the operands as
/// they were read. With `BY_RUN`, [`Walk::by_run`] reads all operands; without it, [`Walk::each`] reads the first, and
/// [`Walk::part`] the others.
///
/// # Safety
/// `compute` must initialise all of the slice.
pub(super) unsafe fn map<T: WithDType, O: Send, const N: usize, const BY_RUN: bool>(
    shape: &[usize],
    operands: [&Raw; N],
    compute: &Compute<T, O, N>,
) -> Result<Mapped<O, N>> {
    let mut in_order = operands.iter();
    if in_order.all(|x| x.dims() == shape && x.is_contiguous()) {
        let count = shape.iter().product();
        // SAFETY: guaranteed by the caller.
        let values = read(operands, |values| unsafe {
            vec_by_chunks(count, CHUNK, |first, out| {
                compute(values.map(|values| &values[first..][..out.len()]), out);
            })
        })?;
        return Ok((values, operands.map(Raw::detach)));
    }
    let (plan, inputs) = Plan::of(shape, operands)?;
    // SAFETY: guaranteed by the caller.
    let values = read_strided(inputs.each_ref(), |values| unsafe {
        plan.fill(|mut walk, out| {
            let mut pieces = [const { Piece::new() }; N];
            while let Some(range) = walk.next() {
                let mut parts: [&[T]; N] = [&[]; N];
                let slots = parts.iter_mut().zip(values).zip(&mut pieces);
                for (k, ((part, values), piece)) in slots.enumerate() {
                    *part = match k {
                        _ if BY_RUN => walk.by_run(k, values, piece),
                        0 => walk.each(k, values, piece),
                        _ => walk.part(k, values, piece),
                    };
                }
                compute(parts, &mut out[range]);
            }
        })
    })?;
    Ok((values, inputs))
}

/// Returns the merged sizes and steps.
fn merged<const N: usize>(shape: &[usize], dims: [Vec<usize>; N]) -> (Vec<usize>, [Vec<usize>; N]) {
    let mut sizes: Vec<usize> = vec![];
    let mut steps = [const { Vec::<usize>::new() }; N];
    for (dim, &size) in shape.iter().enumerate().filter(|(_, size)| **size != 1) {
        let merged =
            !sizes.is_empty() && (0..N).all(|k| steps[k].last() == Some(&(dims[k][dim] * size)));
        for (steps, dims) in steps.iter_mut().zip(&dims) {
            if merged {
                steps.pop();
            }
            steps.push(dims[dim]);
        }
        match sizes.last_mut().filter(|_| merged) {
            Some(last) => *last *= size,
            None => sizes.push(size),
        }
    }
    if sizes.is_empty() {
        sizes.push(1);
        steps.iter_mut().for_each(|steps| steps.push(0));
    }
    (sizes, steps)
}

/// Returns after how many elements of the output those of an operand repeat themselves.
fn period(sizes: &[usize], steps: &[usize]) -> usize {
    let first = steps.iter().position(|step| *step != 0);
    sizes[first.unwrap_or(sizes.len())..].iter().product()
}

fn way_to_read(sizes: &[usize], steps: &[usize], period: usize) -> Read {
    let last = steps.len() - 1;
    let first = steps.iter().position(|step| *step != 0).unwrap_or(last);
    let in_order =
        steps[last] == 1 && (first..last).all(|i| steps[i] == steps[i + 1] * sizes[i + 1]);
    match first {
        _ if steps[first] == 0 => Read::One,
        0 if in_order => Read::InOrder,
        1.. if period <= PIECE => Read::Repeated,
        _ => Read::Strided,
    }
}

/// The elements of a task.
pub(super) struct Walk<'a, const N: usize> {
    plan: &'a Plan<N>,
    first: usize,
    end: usize,
    /// The elements that are computed now.
    now: Range<usize>,
    /// Where in their run they begin.
    within: usize,
    /// The run that they belong to; all of the output, if the elements of several runs are computed together.
    runs: Runs<'a, N>,
}

/// Memory for the elements of an operand, which [`Walk::part`] copies if necessary.
pub(super) type Piece<T> = Vec<T>;

impl<'a, const N: usize> Walk<'a, N> {
    fn new(plan: &'a Plan<N>, first: usize, count: usize) -> Self {
        let (run, outer) = plan.run();
        let outer = if plan.segment.is_none() { outer } else { &[] };
        let steps = plan.steps.each_ref().map(Vec::as_slice);
        Walk {
            plan,
            first,
            end: first + count,
            now: first..first,
            within: first % run,
            runs: Runs::at(first / run, outer, steps),
        }
    }

    /// Goes on to the next elements: returns their range in the task's slice.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Range<usize>> {
        let at = self.now.end;
        if at >= self.end {
            return None;
        }
        let count = match self.plan.segment {
            Some(count) => count,
            None => {
                if at > self.first {
                    self.within = 0;
                    self.runs.advance();
                }
                self.plan.run().0 - self.within
            }
        };
        self.now = at..self.end.min(at + count);
        Some(at - self.first..self.now.end - self.first)
    }

    /// Returns the elements of operand `k`: either each, or the one that all of them are.
    #[inline]
    pub(super) fn part<'b, T: Copy>(
        &self,
        k: usize,
        values: &'b [T],
        piece: &'b mut Piece<T>,
    ) -> &'b [T] {
        let count = self.now.len();
        match (self.plan.reads[k], self.plan.segment) {
            (Read::InOrder, _) => &values[self.now.clone()],
            (Read::One, _) => &values[..1],
            (_, None) => {
                let steps = &self.plan.steps[k];
                match steps[steps.len() - 1] {
                    0 => &values[self.runs.starts[k]..][..1],
                    _ => &values[self.runs.starts[k] + self.within..][..count],
                }
            }
            // Segments begin where the elements repeat themselves.
            (Read::Repeated, _) if piece.len() >= count => &piece[..count],
            _ => {
                self.copy_runs(k, values, piece, self.plan.run().0);
                &piece[..count]
            }
        }
    }

    /// Returns the elements of operand `k`: each, one for each run, or one. Then the other operand has each.
    #[inline]
    pub(super) fn by_run<'b, T: Copy>(
        &self,
        k: usize,
        values: &'b [T],
        piece: &'b mut Piece<T>,
    ) -> &'b [T] {
        if self.plan.by_run != Some(k) {
            return self.part(k, values, piece);
        }
        self.copy_runs(k, values, piece, 1);
        &piece[..self.now.len() / self.plan.run().0]
    }

    /// Returns the elements of operand `k`, each.
    pub(super) fn each<'b, T: Copy>(
        &self,
        k: usize,
        values: &'b [T],
        piece: &'b mut Piece<T>,
    ) -> &'b [T] {
        let count = self.now.len();
        let is_one = match self.plan.reads[k] {
            Read::One => true,
            Read::InOrder => false,
            _ => self.plan.segment.is_none() && self.plan.steps[k].last() == Some(&0),
        };
        if count == 1 || !is_one {
            return self.part(k, values, piece);
        }
        if self.plan.reads[k] != Read::One || piece.len() < count {
            let value = self.part(k, values, piece)[0];
            piece.clear();
            piece.resize(count, value);
        }
        &piece[..count]
    }

    /// Copies the first elements of each run of an operand.
    fn copy_runs<T: Copy>(&self, k: usize, values: &[T], piece: &mut Piece<T>, width: usize) {
        let (steps, (run, outer)) = (&self.plan.steps[k], self.plan.run());
        let count = self.now.len().min(period(&self.plan.sizes, steps));
        let (mut row, end) = (self.now.start / run, (self.now.start + count).div_ceil(run));
        let needed = (end - row) * width + BLOCK;
        if piece.len() < needed {
            piece.resize(needed, values[0]);
        }
        // The last dimension before the run has a loop of its own.
        let inner = outer.len().saturating_sub(1);
        let size = outer.last().copied().unwrap_or(1);
        let mut rest = &mut piece[..];
        while row < end {
            let (at, start) = (
                row % size,
                Runs::at(row / size, &outer[..inner], [steps]).starts[0],
            );
            let rows = (size - at).min(end - row);
            let values = &values[start + at * steps[inner]..];
            match steps[outer.len()] {
                0 if width == 1 => {
                    for (row, out) in rest.iter_mut().take(rows).enumerate() {
                        *out = values[row * steps[inner]];
                    }
                }
                0 => repeat_each(values, steps[inner], width, rows, rest),
                _ => copy_each(values, steps[inner], width, rows, rest),
            }
            rest = &mut rest[rows * width..];
            row += rows;
        }
        if width < run {
            return;
        }
        if count < self.now.len() {
            piece.truncate(count);
        }
        while piece.len() < self.now.len() {
            let count = piece.len().min(self.now.len() - piece.len());
            piece.extend_from_within(..count);
        }
    }
}

/// The elements that [`repeat_each`] writes at once.
const BLOCK: usize = 16;

multiversion! {
    cheap true;
    /// Writes `rows` values, of which each is `step` after the one before, `run` times each. Up to a block behind a run
    /// is written as well, before the next run.
    fn repeat_each<T: Copy>(values: &[T], step: usize, run: usize, rows: usize, out: &mut [T]) {
        for row in 0..rows {
            let (block, out) = ([values[row * step]; BLOCK], &mut out[row * run..]);
            for out in out.chunks_exact_mut(BLOCK).take(run.div_ceil(BLOCK)) {
                out.copy_from_slice(&block);
            }
        }
    }
}

/// Copies `rows` runs, of which each begins `step` after the one before.
fn copy_each<T: Copy>(values: &[T], step: usize, run: usize, rows: usize, out: &mut [T]) {
    for (row, out) in out.chunks_exact_mut(run).take(rows).enumerate() {
        out.copy_from_slice(&values[row * step..][..run]);
    }
}

/// Returns the distances in memory along each of `rank` dimensions, 0 for a broadcast dimension.
fn steps_in(rank: usize, x: &Raw) -> Vec<usize> {
    let mut steps = vec![0; rank - x.rank()];
    let own = x.dims().iter().zip(x.stride());
    steps.extend(own.map(|(size, step)| if *size == 1 { 0 } else { *step }));
    steps
}

#[cfg(test)]
mod tests;
