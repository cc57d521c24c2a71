//! The recurrence on the CPU: all steps in one kernel, forward and backward.

use super::cells::{After, Before, Gradients};
use super::recurrence::{Cell, Recurrence};
use crate::ops::engine::CpuView;
use crate::ops::engine::autograd::{Backward, record};
use crate::ops::engine::gemm::{Matrix, Packed, product};
use crate::ops::engine::shared_slice::SharedSlice;
use crate::ops::engine::simd::Element;
use crate::ops::engine::strided::in_order;
use crate::ops::engine::threads::for_each_task;
use candle_core::{Result, Tensor};

/// Returns the outputs of all steps, followed by the state after the last:
/// `(steps + states, batch, hidden)`. The bias is the last column of the weight, if it has one more than
/// the state has features.
pub(super) fn forward<T: Element>(inputs: [&Tensor; 3], recurrence: &Recurrence) -> Result<Tensor> {
    let [gates, weight, state] = inputs;
    let (steps, batch, _) = gates.dims3()?;
    let (states, _, hidden) = state.dims3()?;
    let (gates, weight) = (in_order(gates)?, in_order(weight)?);
    let sizes = Sizes {
        cell: recurrence.cell,
        steps,
        batch,
        hidden,
        columns: weight.dim(1)?,
    };
    let mut run = Run {
        sizes,
        order: recurrence.order(steps).collect(),
        valid: recurrence.valid_steps()?,
        weight: weight.flatten_all()?.to_vec1::<T>()?,
        before: vec![T::ZERO; states * steps * sizes.state()],
        saved: vec![T::ZERO; steps * sizes.saved()],
    };
    let state = state.flatten_all()?.to_vec1::<T>()?;
    let outputs = run.forward(CpuView::of(&gates)?.as_slice::<T>()?, state);
    record(&inputs, outputs, (steps + states, batch, hidden), || run)
}

/// The features of the state in a task: as many examples as have these.
const TASK: usize = 1024;

/// The examples, in all steps, whose gradients of the bias are added one after the other.
const ROWS: usize = 512;

#[derive(Clone, Copy)]
struct Sizes {
    cell: Cell,
    steps: usize,
    batch: usize,
    hidden: usize,
    /// The columns of the weight: those of the state's features, and the bias if there is one.
    columns: usize,
}

impl Sizes {
    /// Returns the number of values of one tensor of the state.
    fn state(self) -> usize {
        self.batch * self.hidden
    }

    /// Returns the number of products for one example.
    fn gates(self) -> usize {
        self.cell.gates() * self.hidden
    }

    /// Returns the number of values that are saved in a step.
    fn saved(self) -> usize {
        self.cell.saved() * self.state()
    }
}

/// A run through all steps, with what its backward pass needs.
struct Run<T> {
    sizes: Sizes,
    order: Vec<usize>,
    valid: Option<Vec<bool>>,
    weight: Vec<T>,
    /// `h` before each step, and then `c` before each step.
    before: Vec<T>,
    saved: Vec<T>,
}

impl<T: Element> Run<T> {
    fn is_valid(&self, t: usize, example: usize) -> bool {
        let index = t * self.sizes.batch + example;
        self.valid.as_ref().is_none_or(|valid| valid[index])
    }

    /// Calls `work` with each example that is valid in a step, on all cores.
    fn for_each_valid(&self, t: usize, work: impl Fn(usize) + Sync) {
        let (batch, together) = (self.sizes.batch, (TASK / self.sizes.hidden).max(1));
        for_each_task(batch.div_ceil(together), |task| {
            let examples = task * together..((task + 1) * together).min(batch);
            examples.filter(|&i| self.is_valid(t, i)).for_each(&work);
        });
    }

    fn weight(&self) -> Matrix<'_, T> {
        Matrix::of_rows(&self.weight, self.sizes.columns)
    }

    /// Returns `h` and `c` before a step; `c` is empty if there is none.
    fn before(&self, t: usize) -> (&[T], &[T]) {
        let (h, c) = self.before.split_at(self.sizes.steps * self.sizes.state());
        (
            &h[t * self.sizes.state()..][..self.sizes.state()],
            part(c, t, self.sizes.state()),
        )
    }

    fn forward(&mut self, gates: &[T], mut state: Vec<T>) -> Vec<T> {
        let Sizes {
            batch,
            hidden,
            columns,
            ..
        } = self.sizes;
        let (width, all) = (self.sizes.gates(), self.sizes.gates() * batch);
        let (size, saved_size) = (self.sizes.state(), self.sizes.saved());
        let saved_row = saved_size / batch;
        let bias: Option<Vec<T>> = (columns > hidden).then(|| {
            self.weight
                .chunks_exact(columns)
                .map(|row| row[hidden])
                .collect()
        });
        let mut outputs = vec![T::ZERO; self.sizes.steps * size];
        let weight = Packed::new(self.weight().transposed(), hidden, width);
        for t in self.order.clone() {
            for (i, values) in state.chunks_exact(size).enumerate() {
                self.before[(i * self.sizes.steps + t) * size..][..size].copy_from_slice(values);
            }
            let h = Matrix::of_rows(&state[..size], hidden);
            let products = weight.product(batch, h, bias.as_deref());
            let mut saved = std::mem::take(&mut self.saved);
            let (h, c) = state.split_at_mut(size);
            let (h, c) = (SharedSlice::new(h), SharedSlice::new(c));
            let of_step = SharedSlice::new(&mut saved[t * saved_size..][..saved_size]);
            let shown = SharedSlice::new(&mut outputs[t * size..][..size]);
            let (h_before, c_before) = self.before(t);
            let work = |i: usize| {
                // SAFETY: each task has the parts of its own examples.
                let (h, c, saved, shown) = unsafe {
                    (
                        h.part(i * hidden, hidden),
                        part_of(c, i, hidden),
                        of_step.part(i * saved_row, saved_row),
                        shown.part(i * hidden, hidden),
                    )
                };
                let before = Before {
                    h: &h_before[i * hidden..][..hidden],
                    c: part(c_before, i, hidden),
                };
                let x = &gates[t * all + i * width..][..width];
                let products = &products[i * width..][..width];
                let after = After {
                    h: &mut *h,
                    c,
                    saved,
                };
                self.sizes.cell.forward(x, products, before, after);
                shown.copy_from_slice(h);
            };
            self.for_each_valid(t, work);
            self.saved = saved;
        }
        outputs.extend(state);
        outputs
    }

    /// Returns the gradients of `gates`, of the products of the state where they differ, and of the
    /// state before the first step.
    fn gradients(&self, gradient: &[T]) -> (Vec<T>, Option<Vec<T>>, Vec<T>) {
        let Sizes {
            cell,
            steps,
            batch,
            hidden,
            ..
        } = self.sizes;
        let (width, size) = (self.sizes.gates(), self.sizes.state());
        let saved_row = cell.saved() * hidden;
        let (outputs, state) = gradient.split_at(steps * size);
        let mut state = state.to_vec();
        let mut of_x = vec![T::ZERO; steps * batch * width];
        let mut of_products = (cell == Cell::Gru).then(|| of_x.clone());
        let weight = Packed::new(self.weight(), width, hidden);
        for &t in self.order.iter().rev() {
            let (h_before, c_before) = self.before(t);
            let (h, c) = state.split_at_mut(size);
            let (h, c) = (SharedSlice::new(h), SharedSlice::new(c));
            let x = SharedSlice::new(&mut of_x);
            let products = SharedSlice::new(of_products.as_deref_mut().unwrap_or_default());
            let work = |i: usize| {
                let row = t * batch + i;
                // SAFETY: each task has the parts of its own examples.
                let gradients = unsafe {
                    Gradients {
                        h: h.part(i * hidden, hidden),
                        c: part_of(c, i, hidden),
                        x: x.part(row * width, width),
                        products: part_of(products, row, width),
                    }
                };
                let output = &outputs[t * size + i * hidden..][..hidden];
                let of_h = gradients.h.iter_mut().zip(output);
                of_h.for_each(|(h, g)| *h += *g);
                let before = Before {
                    h: &h_before[i * hidden..][..hidden],
                    c: part(c_before, i, hidden),
                };
                cell.backward(part(&self.saved, row, saved_row), before, gradients);
            };
            self.for_each_valid(t, work);
            let products = of_products.as_ref().unwrap_or(&of_x);
            let products = Matrix::of_rows(&products[t * batch * width..][..batch * width], width);
            let through = weight.product(batch, products, None);
            state.iter_mut().zip(through).for_each(|(h, g)| *h += g);
        }
        (of_x, of_products, state)
    }

    /// Returns the gradient of the weight, and of the bias in its last column.
    fn weight_gradient(&self, of_products: &[T]) -> Vec<T> {
        let Sizes {
            steps,
            batch,
            hidden,
            columns,
            ..
        } = self.sizes;
        let (width, rows) = (self.sizes.gates(), steps * batch);
        let h = Matrix::of_rows(&self.before[..rows * hidden], hidden);
        let g = Matrix::of_rows(of_products, width);
        let of_weight = product([width, rows, hidden], g.transposed(), h, None);
        if columns == hidden {
            return of_weight;
        }
        // A row of ones times the gradients: as columns, these would be read all over.
        let ones = vec![T::ONE; rows.min(ROWS)];
        let parts = of_products.chunks(ROWS * width).map(|part| {
            let count = part.len() / width;
            let sizes = [1, count, width];
            let part = Matrix::of_rows(part, width);
            product(sizes, Matrix::of_rows(&ones, count), part, None)
        });
        let of_bias = parts.reduce(|mut sums, part| {
            sums.iter_mut()
                .zip(part)
                .for_each(|(sum, part)| *sum += part);
            sums
        });
        let of_bias = of_bias.unwrap_or_default();
        let rows = of_weight.chunks_exact(hidden).zip(&of_bias);
        rows.flat_map(|(row, bias)| row.iter().chain([bias]))
            .copied()
            .collect()
    }
}

/// Returns the part with this index, or nothing if there are no values.
fn part<T>(values: &[T], index: usize, size: usize) -> &[T] {
    values
        .get(index * size..(index + 1) * size)
        .unwrap_or_default()
}

/// Returns the part with this index, or nothing if there are no values.
///
/// # Safety
/// As for [`SharedSlice::part`].
unsafe fn part_of<'a, T>(values: SharedSlice<'a, T>, index: usize, size: usize) -> &'a mut [T] {
    match values.is_empty() {
        true => &mut [],
        // SAFETY: the caller's promise.
        false => unsafe { values.part(index * size, size) },
    }
}

impl<T: Element> Backward for Run<T> {
    fn backward(
        &self,
        _: Option<&Tensor>,
        gradient: &Tensor,
        [_, weight_wanted, state_wanted]: [bool; 3],
    ) -> Result<[Option<Tensor>; 3]> {
        let Sizes {
            cell,
            steps,
            batch,
            hidden,
            columns,
        } = self.sizes;
        let view = CpuView::of(gradient)?;
        let (of_x, of_products, of_state) = self.gradients(view.as_slice()?);
        let width = self.sizes.gates();
        let device = gradient.device();
        let of_weight = weight_wanted.then(|| {
            let values = self.weight_gradient(of_products.as_ref().unwrap_or(&of_x));
            Tensor::from_vec(values, (width, columns), device)
        });
        let of_state = state_wanted
            .then(|| Tensor::from_vec(of_state, (cell.states(), batch, hidden), device));
        let of_x = Tensor::from_vec(of_x, (steps, batch, width), device)?;
        Ok([Some(of_x), of_weight.transpose()?, of_state.transpose()?])
    }
}
