//! One step of one example: the cells' formulas and their derivatives.

use super::recurrence::Cell;
use crate::ops::engine::simd::{Element, multiversion};
use std::array;

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
            Cell::Tanh | Cell::Relu => plain(x, products, self == Cell::Relu, after),
            Cell::Lstm => lstm(x, products, before, after),
            Cell::Gru => gru(x, products, before, after),
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

#[inline(always)]
fn sigmoid<T: Element, const FUSED: bool>(x: T) -> T {
    T::ONE / (T::ONE + (-x).exp::<FUSED>())
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
    fn plain<T: Element>(x: &[T], products: &[T], relu: bool, after: After<T>) {
        for (j, (h, saved)) in after.h.iter_mut().zip(after.saved).enumerate() {
            let sum = x[j] + products[j];
            *h = match relu {
                true => if sum <= T::ZERO { T::ZERO } else { sum },
                false => Element::tanh::<FUSED>(sum),
            };
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
    fn lstm<T: Element>(x: &[T], products: &[T], before: Before<T>, after: After<T>) {
        let n = before.c.len();
        let ([xi, xf, xg, xo], [pi, pf, pg, po]) = (parts(x, n), parts(products, n));
        let [si, sf, sg, so, sc] = parts_mut(after.saved, n);
        let (h, c) = (&mut after.h[..n], &mut after.c[..n]);
        for j in 0..n {
            let (i, f) = (sigmoid::<T, FUSED>(xi[j] + pi[j]), sigmoid::<T, FUSED>(xf[j] + pf[j]));
            let (g, o) = (Element::tanh::<FUSED>(xg[j] + pg[j]), sigmoid::<T, FUSED>(xo[j] + po[j]));
            c[j] = f * before.c[j] + i * g;
            let shown = Element::tanh::<FUSED>(c[j]);
            h[j] = o * shown;
            (si[j], sf[j], sg[j], so[j], sc[j]) = (i, f, g, o, shown);
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
    fn gru<T: Element>(x: &[T], products: &[T], before: Before<T>, after: After<T>) {
        let n = before.h.len();
        let ([xr, xz, xn], [pr, pz, pn]) = (parts(x, n), parts(products, n));
        let [sr, sz, sn, sp] = parts_mut(after.saved, n);
        let h = &mut after.h[..n];
        for j in 0..n {
            let (r, z) = (sigmoid::<T, FUSED>(xr[j] + pr[j]), sigmoid::<T, FUSED>(xz[j] + pz[j]));
            let new = Element::tanh::<FUSED>(xn[j] + r * pn[j]);
            h[j] = new + z * (before.h[j] - new);
            (sr[j], sz[j], sn[j], sp[j]) = (r, z, new, pn[j]);
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
