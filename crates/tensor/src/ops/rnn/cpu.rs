//! The recurrence on the CPU: all steps in one kernel, forward and backward.

use super::cells::{After, Before, Gradients};
use super::recurrence::{Cell, Recurrence};
use super::steps;
use crate::ops::engine::autograd::{Backward, Downstream, Held, Upstream, record};
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, Element};
use crate::tensor::Raw;
use candle_core::Result;
use std::mem::take;
use taper_compute::gemm::{Matrix, Packed, product};
use taper_compute::shared_slice::SharedSlice;
use taper_compute::threads::for_each_task;
use taper_compute::write::zeros;

/// Returns the outputs of all steps, followed by the state after the last:
/// `(steps + states, batch, hidden)`. If the weight has one column more than the state has features, its
/// last column is the bias.
pub(super) fn forward<T: Element>(inputs: [&Raw; 3], recurrence: &Recurrence) -> Result<Raw> {
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
        recurrence: recurrence.clone(),
        sizes,
        order: recurrence.order(steps).collect(),
        valid: recurrence.valid_steps()?,
        before: zeros(states * steps * sizes.state()),
        saved: zeros(steps * sizes.saved()),
        weight,
    };
    let state = state.flatten_all()?.to_vec1::<T>()?;
    let outputs = run.forward(CpuView::of(&gates)?.as_slice::<T>()?, state)?;
    record(&inputs, outputs, (steps + states, batch, hidden), || run)
}

/// The number of state features that a task computes: it takes as many examples as have them together.
const TASK: usize = 1024;

/// The number of rows (examples in a step) whose gradients of the bias are added one after the other.
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
    fn dims(self) -> [usize; 4] {
        [self.steps, self.batch, self.hidden, self.columns]
    }

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

/// A run through all steps, with the values that its backward pass needs.
struct Run<T> {
    recurrence: Recurrence,
    sizes: Sizes,
    order: Vec<usize>,
    valid: Option<Vec<bool>>,
    weight: Raw,
    /// `h` before each step, and then `c` before each step.
    before: Vec<T>,
    saved: Vec<T>,
}

/// The gradients that the backward pass through the steps computes.
struct InputGradients<T> {
    /// The gradients of the products of the input.
    x: Vec<T>,
    /// The gradients of the products of the state, where they differ from `x`.
    products: Option<Vec<T>>,
    /// The gradient of the state before the first step.
    state: Vec<T>,
}

impl<T: Element> Run<T> {
    fn is_valid(&self, t: usize, example: usize) -> bool {
        let index = t * self.sizes.batch + example;
        self.valid.as_ref().is_none_or(|valid| valid[index])
    }

    /// Calls `work` with each example, on all cores.
    fn for_each_example(&self, work: impl Fn(usize) + Sync) {
        let (batch, together) = (self.sizes.batch, (TASK / self.sizes.hidden).max(1));
        for_each_task(batch.div_ceil(together), |task| {
            (task * together..((task + 1) * together).min(batch)).for_each(&work);
        });
    }

    fn forward(&mut self, gates: &[T], mut state: Vec<T>) -> Result<Vec<T>> {
        let [steps, batch, hidden, columns] = self.sizes.dims();
        let (width, all) = (self.sizes.gates(), self.sizes.gates() * batch);
        let (size, saved_size) = (self.sizes.state(), self.sizes.saved());
        let saved_row = saved_size / batch;
        let view = CpuView::of(&self.weight)?;
        let weight = view.as_slice::<T>()?;
        let bias: Option<Vec<T>> = (columns > hidden).then(|| {
            let rows = weight.chunks_exact(columns);
            rows.map(|row| row[hidden]).collect()
        });
        let weight = Matrix::of_rows(weight, columns).transposed();
        let weight = Packed::new(weight, hidden, width);
        let mut outputs = zeros(steps * size + state.len());
        let (mut before, mut saved) = (take(&mut self.before), take(&mut self.saved));
        let (h_before, c_before) = before.split_at_mut(steps * size);
        let [h_before, c_before] = [h_before, c_before].map(SharedSlice::new);
        for t in self.order.clone() {
            let h = Matrix::of_rows(&state[..size], hidden);
            let products = weight.product(batch, h, bias.as_deref());
            let (h, c) = state.split_at_mut(size);
            let [h, c] = [h, c].map(SharedSlice::new);
            let of_step = SharedSlice::new(&mut saved[t * saved_size..][..saved_size]);
            let shown = SharedSlice::new(&mut outputs[t * size..][..size]);
            let work = |i: usize| {
                let row = t * batch + i;
                // SAFETY: each task has the parts of its own examples.
                let (h, c, h_before, c_before, saved, shown) = unsafe {
                    (
                        h.part(i * hidden, hidden),
                        part_of(c, i, hidden),
                        h_before.part(row * hidden, hidden),
                        part_of(c_before, row, hidden),
                        of_step.part(i * saved_row, saved_row),
                        shown.part(i * hidden, hidden),
                    )
                };
                h_before.copy_from_slice(h);
                c_before.copy_from_slice(c);
                if !self.is_valid(t, i) {
                    return;
                }
                let before = Before {
                    h: h_before,
                    c: c_before,
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
            self.for_each_example(work);
        }
        outputs[steps * size..].copy_from_slice(&state);
        drop(view);
        (self.before, self.saved) = (before, saved);
        Ok(outputs)
    }

    /// Returns the gradients of all inputs but the weight.
    fn gradients(&self, gradient: &[T]) -> Result<InputGradients<T>> {
        let cell = self.sizes.cell;
        let [steps, batch, hidden, columns] = self.sizes.dims();
        let (width, size) = (self.sizes.gates(), self.sizes.state());
        let saved_row = cell.saved() * hidden;
        let (outputs, state) = gradient.split_at(steps * size);
        let mut state = state.to_vec();
        let mut of_x = zeros(steps * batch * width);
        let mut of_products = (cell == Cell::Gru).then(|| zeros(of_x.len()));
        let view = CpuView::of(&self.weight)?;
        let weight = Matrix::of_rows(view.as_slice()?, columns);
        let weight = Packed::new(weight, width, hidden);
        let (h_before, c_before) = self.before.split_at(steps * size);
        for &t in self.order.iter().rev() {
            let (h, c) = state.split_at_mut(size);
            let (h, c) = (SharedSlice::new(h), SharedSlice::new(c));
            let x = SharedSlice::new(&mut of_x);
            let products = SharedSlice::new(of_products.as_deref_mut().unwrap_or_default());
            let work = |i: usize| {
                if !self.is_valid(t, i) {
                    return;
                }
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
                    h: part(h_before, row, hidden),
                    c: part(c_before, row, hidden),
                };
                cell.backward(part(&self.saved, row, saved_row), before, gradients);
            };
            self.for_each_example(work);
            let products = of_products.as_ref().unwrap_or(&of_x);
            let products = Matrix::of_rows(&products[t * batch * width..][..batch * width], width);
            let through = weight.product(batch, products, None);
            state.iter_mut().zip(through).for_each(|(h, g)| *h += g);
        }
        Ok(InputGradients {
            x: of_x,
            products: of_products,
            state,
        })
    }

    /// Returns the gradient of the weight, and of the bias in its last column.
    fn weight_gradient(&self, of_products: &[T]) -> Vec<T> {
        let [steps, batch, hidden, columns] = self.sizes.dims();
        let (width, rows) = (self.sizes.gates(), steps * batch);
        let h = Matrix::of_rows(&self.before[..rows * hidden], hidden);
        let g = Matrix::of_rows(of_products, width);
        let of_weight = product([width, rows, hidden], g.transposed(), h, None);
        if columns == hidden {
            return of_weight;
        }
        // The column sums, as products of a row of ones with the gradients, which are then read in order.
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
    fn hold(&self, held: &mut Held) {
        held.slice(&self.before);
        held.slice(&self.saved);
    }

    fn keeps(&self) -> [bool; 3] {
        [true; 3]
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        upstream.of_composed(&|inputs| {
            steps::run([&inputs[0], &inputs[1], &inputs[2]], &self.recurrence)
        })
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (gradient, [_, weight_wanted, state_wanted]) = (upstream.gradient, upstream.wanted);
        let cell = self.sizes.cell;
        let [steps, batch, hidden, columns] = self.sizes.dims();
        let view = CpuView::of(gradient)?;
        let gradients = self.gradients(view.as_slice()?)?;
        let width = self.sizes.gates();
        let device = gradient.device();
        let of_weight = weight_wanted.then(|| {
            let values = self.weight_gradient(gradients.products.as_ref().unwrap_or(&gradients.x));
            Raw::from_vec(values, (width, columns), device)
        });
        let of_state = state_wanted
            .then(|| Raw::from_vec(gradients.state, (cell.states(), batch, hidden), device));
        let of_x = Raw::from_vec(gradients.x, (steps, batch, width), device)?;
        Ok([Some(of_x), of_weight.transpose()?, of_state.transpose()?])
    }
}
