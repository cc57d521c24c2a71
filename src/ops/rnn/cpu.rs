//! The recurrence on the CPU: all steps in one kernel, forward and backward.

use super::cells::{After, Before, Gradients};
use super::recurrence::{Cell, Recurrence};
use crate::ops::engine::CpuView;
use crate::ops::engine::autograd::{Backward, record};
use crate::ops::engine::gemm::{Matrix, Packed, product};
use crate::ops::engine::simd::Element;
use candle_core::{Result, Tensor};

/// Returns the outputs of all steps, followed by the state after the last:
/// `(steps + states, batch, hidden)`. The bias is the last column of the weight, if it has one more than
/// the state has features.
pub(super) fn forward<T: Element>(inputs: [&Tensor; 3], recurrence: &Recurrence) -> Result<Tensor> {
    let [gates, weight, state] = inputs;
    let (steps, batch, _) = gates.dims3()?;
    let (states, _, hidden) = state.dims3()?;
    let (gates, weight) = (gates.contiguous()?, weight.contiguous()?);
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
            for i in (0..batch).filter(|&i| self.is_valid(t, i)) {
                let (h_before, c_before) = self.before(t);
                let (h, c) = state.split_at_mut(size);
                let after = After {
                    h: &mut h[i * hidden..][..hidden],
                    c: part_mut(c, i, hidden),
                    saved: &mut saved[t * saved_size + i * saved_row..][..saved_row],
                };
                let before = Before {
                    h: &h_before[i * hidden..][..hidden],
                    c: part(c_before, i, hidden),
                };
                let x = &gates[t * all + i * width..][..width];
                let products = &products[i * width..][..width];
                self.sizes.cell.forward(x, products, before, after);
                outputs[t * size + i * hidden..][..hidden]
                    .copy_from_slice(&state[i * hidden..][..hidden]);
            }
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
            for i in (0..batch).filter(|&i| self.is_valid(t, i)) {
                let (h, c) = state.split_at_mut(size);
                let h = &mut h[i * hidden..][..hidden];
                let output = &outputs[t * size + i * hidden..][..hidden];
                h.iter_mut().zip(output).for_each(|(h, g)| *h += *g);
                let row = (t * batch + i) * width;
                let products = of_products.as_deref_mut().unwrap_or_default();
                let gradients = Gradients {
                    h,
                    c: part_mut(c, i, hidden),
                    x: &mut of_x[row..][..width],
                    products: products.get_mut(row..row + width).unwrap_or_default(),
                };
                let before = Before {
                    h: &h_before[i * hidden..][..hidden],
                    c: part(c_before, i, hidden),
                };
                let saved = &self.saved[(t * batch + i) * saved_row..][..saved_row];
                cell.backward(saved, before, gradients);
            }
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
        let ones = vec![T::ONE; rows];
        let of_bias = product(
            [width, rows, 1],
            g.transposed(),
            Matrix::of_rows(&ones, 1),
            None,
        );
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

fn part_mut<T>(values: &mut [T], index: usize, size: usize) -> &mut [T] {
    values
        .get_mut(index * size..(index + 1) * size)
        .unwrap_or_default()
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
