//! Elementwise losses: a function of the prediction and the target, with both derivatives.

use super::reduction::{Reduction, reduce};
use super::targets::same_shape;
use crate::ops::check;
use crate::ops::engine::autograd::{Backward, Downstream, Held, Upstream, has_kernel, record};
use crate::ops::engine::simd::{Element, multiversion};
use crate::ops::engine::strided::in_order;
use crate::ops::engine::{CpuView, dispatch_dtype, vec_by_chunks};
use crate::tensor::Raw;
use candle_core::Result;
use std::mem::MaybeUninit;

/// The elements of one task.
const CHUNK: usize = 1 << 14;

/// The loss of one element.
pub(super) trait ElementLoss: Copy + Send + Sync + 'static {
    const NAME: &'static str;

    /// Prints a note if the predictions are not what the loss expects.
    fn check(self, _y_hat: &Raw) {}

    fn value<T: Element>(self, y_hat: T, y: T) -> T;

    /// Returns the derivatives with respect to the prediction and to the target.
    fn derivatives<T: Element>(self, y_hat: T, y: T) -> [T; 2];

    /// Returns the losses with Candle's operations.
    fn with_candle(self, y_hat: &Raw, y: &Raw) -> Result<Raw>;
}

/// Returns the reduced loss.
pub(super) fn loss<L: ElementLoss>(
    rule: L,
    y_hat: &Raw,
    y: &Raw,
    reduction: Reduction,
) -> Result<Raw> {
    same_shape(L::NAME, y_hat, y)?;
    check::floating(&L::NAME, y_hat)?;
    rule.check(y_hat);
    reduced(rule, y_hat, y, reduction)
}

/// Returns the reduced loss of inputs that were checked.
fn reduced<L: ElementLoss>(rule: L, y_hat: &Raw, y: &Raw, reduction: Reduction) -> Result<Raw> {
    if check::is_half(y_hat) {
        return check::in_single([y_hat, y], |[y_hat, y]| {
            reduced(rule, &y_hat, &y, reduction)
        });
    }
    let losses = match has_kernel(&[y_hat, y]) {
        true => dispatch_dtype!(y_hat, forward(rule, y_hat, y))?,
        false if y_hat.elem_count() == 0 => y_hat.clone(),
        false => rule.with_candle(y_hat, y)?,
    };
    reduce(L::NAME, &losses, reduction)
}

fn forward<T: Element>(rule: impl ElementLoss, y_hat: &Raw, y: &Raw) -> Result<Raw> {
    let value: &Values<T> = &move |pairs, out| values(pairs, out, rule);
    let slope: Box<Slopes<T>> = Box::new(move |pairs, gradient, input, out| {
        slopes(pairs, gradient, input, out, rule);
    });
    let composed: Box<Compose> = Box::new(move |y_hat, y| rule.with_candle(y_hat, y));
    run(value, (slope, composed), y_hat, y)
}

/// A loop over predictions and targets, which initialises an element of its output for each pair.
type Values<T> = dyn Fn((&[T], &[T]), &mut [MaybeUninit<T>]) + Sync;
/// A loop that computes the gradient of an input (0: the predictions, 1: the targets) for each pair,
/// times the gradient of the loss.
type Slopes<T> = dyn Fn((&[T], &[T]), &[T], usize, &mut [MaybeUninit<T>]) + Send + Sync;
type Compose = dyn Fn(&Raw, &Raw) -> Result<Raw> + Send + Sync;

/// Does the rest of [`forward`]. It is compiled once for each element type, not again for each loss.
fn run<T: Element>(
    value: &Values<T>,
    (slope, composed): (Box<Slopes<T>>, Box<Compose>),
    y_hat: &Raw,
    y: &Raw,
) -> Result<Raw> {
    let (a, b) = (in_order(y_hat)?, in_order(y)?);
    let losses = {
        let (a, b) = (CpuView::of(&a)?, CpuView::of(&b)?);
        let (a, b) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
        // SAFETY: the slices have the same length, and the loop initialises one element for each pair.
        unsafe {
            vec_by_chunks(a.len(), CHUNK, |first, out| {
                let range = first..first + out.len();
                value((&a[range.clone()], &b[range]), out);
            })
        }
    };
    record(&[y_hat, y], losses, y_hat.shape(), || Back {
        slope,
        composed,
        y_hat: a.detach(),
        y: b.detach(),
    })
}

struct Back<T> {
    slope: Box<Slopes<T>>,
    composed: Box<Compose>,
    y_hat: Raw,
    y: Raw,
}

impl<T: Element> Backward for Back<T> {
    fn hold(&self, held: &mut Held) {
        held.tensor(&self.y_hat);
        held.tensor(&self.y);
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (gradient, wanted) = (upstream.gradient, upstream.wanted);
        let (a, b) = (CpuView::of(&self.y_hat)?, CpuView::of(&self.y)?);
        let (a, b) = (a.as_slice::<T>()?, b.as_slice::<T>()?);
        let g = CpuView::of(gradient)?;
        let g = g.as_slice::<T>()?;
        let mut gradients = [None, None, None];
        for input in (0..2).filter(|input| wanted[*input]) {
            // SAFETY: the slices have the same length, and the loop initialises one element for each pair.
            let of_input = unsafe {
                vec_by_chunks(g.len(), CHUNK, |first, out| {
                    let range = first..first + out.len();
                    let pairs = (&a[range.clone()], &b[range.clone()]);
                    (self.slope)(pairs, &g[range], input, out);
                })
            };
            let of_input = Raw::from_vec(of_input, gradient.shape(), gradient.device())?;
            gradients[input] = Some(of_input);
        }
        Ok(gradients)
    }

    fn keeps(&self) -> [bool; 3] {
        [true, true, false]
    }

    fn composed(&self, inputs: &[Raw]) -> Result<Raw> {
        (self.composed)(&inputs[0], &inputs[1])
    }
}

multiversion! {
    fn values<T: Element, L: ElementLoss>(pairs: (&[T], &[T]), out: &mut [MaybeUninit<T>], rule: L) {
        for ((out, a), b) in out.iter_mut().zip(pairs.0).zip(pairs.1) {
            out.write(rule.value(*a, *b));
        }
    }
}

multiversion! {
    fn slopes<T: Element, L: ElementLoss>(pairs: (&[T], &[T]), gradient: &[T], input: usize, out: &mut [MaybeUninit<T>], rule: L) {
        for (((out, a), b), g) in out.iter_mut().zip(pairs.0).zip(pairs.1).zip(gradient) {
            out.write(rule.derivatives(*a, *b)[input] * *g);
        }
    }
}

/// Defines the struct of an elementwise loss, with its reduction.
macro_rules! elementwise_loss {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty = $default:literal),* } => $rule:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name {
            reduction: $crate::ops::loss::Reduction,
            $($field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self {
                    reduction: Default::default(),
                    $($field: $default,)*
                }
            }
        }

        impl $name {
            /// Creates the loss with the default settings: the mean over all elements.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            /// let x = ones((2, 3));
            #[doc = concat!("assert_eq!(", stringify!($name), "::new().forward(&x, &x).rank(), 0);")]
            /// ```
            pub fn new() -> Self {
                Self::default()
            }

            /// Sets how the losses of the elements become the loss of the batch.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            /// let x = ones((2, 3));
            #[doc = concat!("let loss = ", stringify!($name), "::new().reduction(Reduction::None);")]
            /// assert_eq!(loss.forward(&x, &x).dims(), [2, 3]);
            /// ```
            pub fn reduction(mut self, reduction: $crate::ops::loss::Reduction) -> Self {
                self.reduction = reduction;
                self
            }

            $(
                $(#[$field_doc])*
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )*

            /// Returns the loss of predictions.
            ///
            /// # Panics
            /// If the shapes, types or devices differ, the types are integers, or a setting is out of its
            /// range; for a mean, if the batch is empty.
            ///
            /// ```
            /// use taper::prelude::*;
            ///
            /// let (y_hat, y) = (zeros(2), ones(2));
            #[doc = concat!("assert_eq!(", stringify!($name), "::new().forward(&y_hat, &y).rank(), 0);")]
            /// ```
            #[inline]
            #[track_caller]
            pub fn forward(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
                self.of(y_hat.raw(), y.raw()).or_raise().into()
            }

            fn of(&self, y_hat: &Raw, y: &Raw) -> Result<Raw> {
                loss(($rule)(self)?, y_hat, y, self.reduction)
            }
        }
    };
}
pub(super) use elementwise_loss;
