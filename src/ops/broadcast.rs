//! Broadcasting: the shape that operands have in common, and the loops over their elements.

use super::engine::strided::in_order;
use super::engine::vec_by_chunks;
use crate::error;
use crate::tensor::Raw;
use candle_core::Result;
use std::mem::MaybeUninit;
use std::ops::Range;

/// The elements of one task.
const CHUNK: usize = 1 << 14;
/// The elements that are copied into one piece.
const PIECE: usize = 4096;
/// A shorter run than this is not worth a call of a loop: then operands are copied into pieces.
const SHORT: usize = 16;

/// Returns the shape to which two tensors are broadcast: dimensions are aligned at the end, and must be
/// equal or 1.
pub(crate) fn broadcast_shape(caller: &str, a: &Raw, b: &Raw) -> Result<Vec<usize>> {
    let (left, right) = (a.dims(), b.dims());
    let rank = left.len().max(right.len());
    let size = |dims: &[usize], i: usize| match (i + dims.len()).checked_sub(rank) {
        Some(i) => dims[i],
        None => 1,
    };
    (0..rank)
        .map(|i| match (size(left, i), size(right, i)) {
            (a, b) if a == b => Ok(a),
            (1, size) | (size, 1) => Ok(size),
            _ => Err(error::shape(
                caller,
                format_args!("a shape that can be broadcast with {left:?}"),
                right,
                "Sizes must be equal or 1, compared from the last dimension on; add a dimension with unsqueeze(dim)",
            )),
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
            reads[k] = read(&sizes, &steps[k], periods[k]);
        }
        let strided = reads.contains(&Read::Strided);
        let longest = (0..N)
            .filter(|k| reads[*k] == Read::Repeated)
            .map(|k| periods[k])
            .max();
        let segment = match (strided, longest) {
            (false, None) => Some(PIECE),
            (true, _) if sizes[sizes.len() - 1] >= SHORT => None,
            (_, period) => Some(period.map_or(PIECE, |period| PIECE / period * period)),
        };
        Ok((
            Plan {
                sizes,
                steps,
                reads,
                count,
                segment,
            },
            inputs,
        ))
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
        let chunk = self
            .segment
            .map_or(CHUNK, |segment| CHUNK / segment * segment);
        // SAFETY: guaranteed by the caller.
        unsafe {
            vec_by_chunks(self.count, chunk, |first, out| {
                write(Walk::new(self, first, out.len()), out);
            })
        }
    }
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

fn read(sizes: &[usize], steps: &[usize], period: usize) -> Read {
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
    /// The indices of the dimensions before the run, and where the operands' runs begin in memory.
    indices: Vec<usize>,
    starts: [usize; N],
}

/// Memory for the elements of an operand, which [`Walk::part`] copies if necessary.
pub(super) type Piece<T> = Vec<T>;

impl<'a, const N: usize> Walk<'a, N> {
    fn new(plan: &'a Plan<N>, first: usize, count: usize) -> Self {
        let run = plan.sizes[plan.sizes.len() - 1];
        let (mut row, mut starts) = (first / run, [0; N]);
        let mut indices = vec![0; plan.sizes.len() - 1];
        if plan.segment.is_none() {
            for (i, index) in indices.iter_mut().enumerate().rev() {
                *index = row % plan.sizes[i];
                row /= plan.sizes[i];
                for (start, steps) in starts.iter_mut().zip(&plan.steps) {
                    *start += *index * steps[i];
                }
            }
        }
        let end = first + count;
        Walk {
            plan,
            first,
            end,
            now: first..first,
            within: first % run,
            indices,
            starts,
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
                let run = self.plan.sizes[self.indices.len()];
                if at > self.first {
                    self.within = 0;
                    self.next_run();
                }
                run - self.within
            }
        };
        self.now = at..self.end.min(at + count);
        Some(at - self.first..self.now.end - self.first)
    }

    fn next_run(&mut self) {
        for i in (0..self.indices.len()).rev() {
            self.indices[i] += 1;
            let around = self.indices[i] == self.plan.sizes[i];
            for (start, steps) in self.starts.iter_mut().zip(&self.plan.steps) {
                *start += steps[i];
                if around {
                    *start -= steps[i] * self.plan.sizes[i];
                }
            }
            if !around {
                return;
            }
            self.indices[i] = 0;
        }
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
                    0 => &values[self.starts[k]..][..1],
                    _ => &values[self.starts[k] + self.within..][..count],
                }
            }
            // Segments begin where the elements repeat themselves.
            (Read::Repeated, _) if piece.len() >= count => &piece[..count],
            _ => {
                self.copy_runs(k, values, piece);
                piece
            }
        }
    }

    /// Returns the elements of operand `k`, each.
    pub(super) fn each<'b, T: Copy>(
        &self,
        k: usize,
        values: &'b [T],
        piece: &'b mut Piece<T>,
    ) -> &'b [T] {
        let count = self.now.len();
        match self.part(k, values, piece) {
            &[value] if count > 1 => {
                if self.plan.reads[k] != Read::One || piece.len() < count {
                    piece.clear();
                    piece.resize(count, value);
                }
                &piece[..count]
            }
            // The borrow checker does not see that the piece is free above.
            _ => self.part(k, values, piece),
        }
    }

    /// Copies the elements of an operand.
    fn copy_runs<T: Copy>(&self, k: usize, values: &[T], piece: &mut Piece<T>) {
        let (sizes, steps) = (&self.plan.sizes, &self.plan.steps[k]);
        let last = steps.len() - 1;
        let (run, step) = (sizes[last], steps[last]);
        let end = self.now.end.min(self.now.start + period(sizes, steps));
        piece.clear();
        let mut at = self.now.start;
        let (mut row, mut start) = (at / run, 0);
        let mut indices = vec![0; last];
        for i in (0..last).rev() {
            indices[i] = row % sizes[i];
            row /= sizes[i];
            start += indices[i] * steps[i];
        }
        while at < end {
            let next = end.min(at + run - at % run);
            match step {
                0 => piece.resize(piece.len() + next - at, values[start]),
                _ => piece.extend_from_slice(&values[start + at % run..][..next - at]),
            }
            at = next;
            for i in (0..last).rev() {
                (indices[i], start) = (indices[i] + 1, start + steps[i]);
                if indices[i] < sizes[i] {
                    break;
                }
                (indices[i], start) = (0, start - steps[i] * sizes[i]);
            }
        }
        while piece.len() < self.now.len() {
            let count = piece.len().min(self.now.len() - piece.len());
            piece.extend_from_within(..count);
        }
    }
}

/// Returns the distances in memory along each of `rank` dimensions, 0 for a broadcast dimension.
fn steps_in(rank: usize, x: &Raw) -> Vec<usize> {
    let mut steps = vec![0; rank - x.rank()];
    let own = x.dims().iter().zip(x.stride());
    steps.extend(own.map(|(size, step)| if *size == 1 { 0 } else { *step }));
    steps
}
