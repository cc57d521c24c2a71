//! The cells' formulas and their derivatives: one step of one example, or of a batch by operations.

use super::recurrence::Cell;
use crate::ops::engine::Element;
use crate::ops::quantity::{Lane, Quantity, Tensors};
use crate::tensor::Tensor;
use std::array;
use taper_compute::simd::multiversion;

/// The state of one example before a step. `c` is empty unless the cell is an LSTM.
pub(super) struct Before<'a, T> {
    pub(super) h: &'a [T],
    pub(super) c: &'a [T],
}

/// The state of one example after a step.
pub(super) struct After<'a, T> {
    pub(super) h: &'a mut [T],
    pub(super) c: &'a mut [T],
    /// The values that the backward pass needs.
    pub(super) saved: &'a mut [T],
}

/// The gradients of one example in one step.
pub(super) struct Gradients<'a, T> {
    /// The gradient of the new `h`, which is replaced with that of the previous `h`, without the part that
    /// flows through the products.
    pub(super) h: &'a mut [T],
    /// The gradient of the new `c`, which is replaced with that of the previous `c`.
    pub(super) c: &'a mut [T],
    /// The gradient of the products of the input.
    pub(super) x: &'a mut [T],
    /// The gradient of the products of the state, where it differs from `x`: in a GRU.
    pub(super) products: &'a mut [T],
}

impl Cell {
    /// Returns how many values the backward pass needs, for each feature of the state.
    pub(super) fn saved(self) -> usize {
        match self {
            Cell::Tanh | Cell::Relu => 1,
            Cell::Lstm => 5,
            Cell::Gru => 4,
        }
    }

    /// Computes a step from the products of input and state.
    pub(super) fn forward<T: Element>(
        self,
        x: &[T],
        products: &[T],
        before: Before<T>,
        after: After<T>,
    ) {
        match self {
            Cell::Tanh | Cell::Relu => plain_step(x, products, self == Cell::Relu, after),
            Cell::Lstm => lstm_step(x, products, before, after),
            Cell::Gru => gru_step(x, products, before, after),
        }
    }

    /// Computes the gradients of a step.
    pub(super) fn backward<T: Element>(
        self,
        saved: &[T],
        before: Before<T>,
        gradients: Gradients<T>,
    ) {
        match self {
            Cell::Tanh | Cell::Relu => plain_gradient(saved, self == Cell::Relu, gradients),
            Cell::Lstm => lstm_gradient(saved, before, gradients),
            Cell::Gru => gru_gradient(saved, before, gradients),
        }
    }
}

/// Returns the new `h`.
#[inline(always)]
fn plain<Q: Quantity>(sum: Q, relu: bool) -> Q {
    match relu {
        true => Q::select(sum.le(0.0), 0.0, sum),
        false => sum.tanh(),
    }
}

/// Returns the new `h` and `c`, and the values that the backward pass needs, from the sums of the products.
#[inline(always)]
fn lstm<Q: Quantity>(sums: [Q; 4], c: Q) -> ([Q; 2], [Q; 5]) {
    let (i, f) = (sums[0].sigmoid(), sums[1].sigmoid());
    let (g, o) = (sums[2].tanh(), sums[3].sigmoid());
    let c = f * c + i * g;
    let shown = c.tanh();
    ([o * shown, c], [i, f, g, o, shown])
}

/// Returns the new `h`, and the values that the backward pass needs.
#[inline(always)]
fn gru<Q: Quantity>(x: [Q; 3], products: [Q; 3], h: Q) -> (Q, [Q; 4]) {
    let (r, z) = (
        (x[0] + products[0]).sigmoid(),
        (x[1] + products[1]).sigmoid(),
    );
    let new = (x[2] + r * products[2]).tanh();
    (new + z * (h - new), [r, z, new, products[2]])
}

impl Cell {
    /// Returns the state after a step by operations, from the products of input and state, `(…, gates · hidden)`.
    pub fn step(self, x: &Tensor, products: &Tensor, state: &[Tensor]) -> Vec<Tensor> {
        let tensors = Tensors::default();
        let sums = || tensors.push(x + products);
        let before = |i: usize| tensors.push(state[i].clone());
        let after = match self {
            Cell::Tanh | Cell::Relu => vec![plain(sums(), self == Cell::Relu)],
            Cell::Lstm => lstm(tensors.chunks(&(x + products)), before(1)).0.to_vec(),
            Cell::Gru => vec![gru(tensors.chunks(x), tensors.chunks(products), before(0)).0],
        };
        after.into_iter().map(|x| x.tensor()).collect()
    }
}

/// Returns the parts of `n` values each.
#[inline(always)]
fn parts<T, const COUNT: usize>(values: &[T], n: usize) -> [&[T]; COUNT] {
    array::from_fn(|i| &values[i * n..][..n])
}

#[inline(always)]
fn parts_mut<T, const COUNT: usize>(values: &mut [T], n: usize) -> [&mut [T]; COUNT] {
    let mut parts = values.chunks_exact_mut(n);
    array::from_fn(|_| parts.next().expect("a part"))
}

multiversion! {
    fn plain_step<T: Element>(x: &[T], products: &[T], relu: bool, after: After<T>) {
        for (j, (h, saved)) in after.h.iter_mut().zip(after.saved).enumerate() {
            *h = plain(Lane::<T, FUSED>(x[j] + products[j]), relu).0;
            *saved = *h;
        }
    }
}

multiversion! {
    fn plain_gradient<T: Element>(saved: &[T], relu: bool, gradients: Gradients<T>) {
        let slots = gradients.x.iter_mut().zip(gradients.h.iter_mut());
        for ((x, h), y) in slots.zip(saved) {
            let slope = match relu {
                true => if *y <= T::ZERO { T::ZERO } else { T::ONE },
                false => T::ONE - *y * *y,
            };
            *x = *h * slope;
            *h = T::ZERO;
        }
    }
}

multiversion! {
    fn lstm_step<T: Element>(x: &[T], products: &[T], before: Before<T>, after: After<T>) {
        let n = before.c.len();
        let (x, products): ([_; 4], [_; 4]) = (parts(x, n), parts(products, n));
        let saved: [_; 5] = parts_mut(after.saved, n);
        let (h, c) = (&mut after.h[..n], &mut after.c[..n]);
        for j in 0..n {
            // Without methods of arrays, which would not be inlined.
            let sums = [
                Lane::<T, FUSED>(x[0][j] + products[0][j]),
                Lane(x[1][j] + products[1][j]),
                Lane(x[2][j] + products[2][j]),
                Lane(x[3][j] + products[3][j]),
            ];
            let (state, values) = lstm(sums, Lane(before.c[j]));
            (h[j], c[j]) = (state[0].0, state[1].0);
            for k in 0..5 {
                saved[k][j] = values[k].0;
            }
        }
    }
}

multiversion! {
    fn lstm_gradient<T: Element>(saved: &[T], before: Before<T>, gradients: Gradients<T>) {
        let n = before.c.len();
        let [i, f, g, o, shown] = parts(saved, n);
        let [xi, xf, xg, xo] = parts_mut(gradients.x, n);
        let (h, c) = (&mut gradients.h[..n], &mut gradients.c[..n]);
        for j in 0..n {
            let of_c = c[j] + h[j] * o[j] * (T::ONE - shown[j] * shown[j]);
            xi[j] = of_c * g[j] * i[j] * (T::ONE - i[j]);
            xf[j] = of_c * before.c[j] * f[j] * (T::ONE - f[j]);
            xg[j] = of_c * i[j] * (T::ONE - g[j] * g[j]);
            xo[j] = h[j] * shown[j] * o[j] * (T::ONE - o[j]);
            c[j] = of_c * f[j];
            h[j] = T::ZERO;
        }
    }
}

multiversion! {
    fn gru_step<T: Element>(x: &[T], products: &[T], before: Before<T>, after: After<T>) {
        let n = before.h.len();
        let (x, products): ([_; 3], [_; 3]) = (parts(x, n), parts(products, n));
        let saved: [_; 4] = parts_mut(after.saved, n);
        let h = &mut after.h[..n];
        for j in 0..n {
            let x = [Lane::<T, FUSED>(x[0][j]), Lane(x[1][j]), Lane(x[2][j])];
            let products = [Lane(products[0][j]), Lane(products[1][j]), Lane(products[2][j])];
            let (state, values) = gru(x, products, Lane(before.h[j]));
            h[j] = state.0;
            for k in 0..4 {
                saved[k][j] = values[k].0;
            }
        }
    }
}

multiversion! {
    fn gru_gradient<T: Element>(saved: &[T], before: Before<T>, gradients: Gradients<T>) {
        let n = before.h.len();
        let [r, z, new, product] = parts(saved, n);
        let [xr, xz, xn] = parts_mut(gradients.x, n);
        let [pr, pz, pn] = parts_mut(gradients.products, n);
        let h = &mut gradients.h[..n];
        for j in 0..n {
            let of_new = h[j] * (T::ONE - z[j]) * (T::ONE - new[j] * new[j]);
            xr[j] = of_new * product[j] * r[j] * (T::ONE - r[j]);
            xz[j] = h[j] * (before.h[j] - new[j]) * z[j] * (T::ONE - z[j]);
            xn[j] = of_new;
            (pr[j], pz[j], pn[j]) = (xr[j], xz[j], of_new * r[j]);
            h[j] *= z[j];
        }
    }
}
