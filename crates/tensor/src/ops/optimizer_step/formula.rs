//! The formula of an optimiser, for the elements of a chunk and for whole tensors.

#[cfg(any(feature = "cuda", feature = "testing", test))]
use super::trace::Trace;
#[cfg(any(feature = "cuda", feature = "testing", test))]
use crate::device::optimizer_step::Program;
use crate::ops::engine::Element;
use crate::ops::quantity::{Lane, Numeric, Tensors};
use crate::tensor::Tensor;
use taper_compute::simd::multiversion;

/// The formula of an optimiser, with its settings for a step.
#[doc(hidden)]
pub trait Formula: Copy + Send + Sync + 'static {
    /// Returns the new value, and changes the state, which is in the order of the optimiser's names.
    fn apply<Q: Numeric>(self, value: Q, gradient: Q, state: &mut [Q]) -> Q;
}

/// A [`Formula`] of any optimiser, so that what calls it is compiled only once.
#[doc(hidden)]
pub trait StepRule: UpdateChunk<f32> + UpdateChunk<f64> {
    /// Returns the new value and state.
    fn of_tensors(
        &self,
        value: &Tensor,
        gradient: &Tensor,
        state: &[Tensor],
    ) -> (Tensor, Vec<Tensor>);

    /// Returns the kernel for a GPU, for this number of states.
    #[cfg(any(feature = "cuda", feature = "testing", test))]
    fn on_gpu(&self, states: usize) -> Program;
}

#[doc(hidden)]
pub trait UpdateChunk<T>: Sync {
    /// Updates chunks of the value and of its state.
    fn update(&self, changed: &mut [&mut [T]], gradient: &[T]);
}

impl<T: Element, F: Formula> UpdateChunk<T> for F {
    fn update(&self, changed: &mut [&mut [T]], gradient: &[T]) {
        update_chunk(changed, gradient, *self);
    }
}

impl<F: Formula> StepRule for F {
    fn of_tensors(
        &self,
        value: &Tensor,
        gradient: &Tensor,
        state: &[Tensor],
    ) -> (Tensor, Vec<Tensor>) {
        let tensors = Tensors::default();
        let [value, gradient] = [value, gradient].map(|x| tensors.push(x.clone()));
        let mut state: Vec<_> = state.iter().map(|x| tensors.push(x.clone())).collect();
        let value = self.apply(value, gradient, &mut state);
        let state = state.into_iter().map(|x| x.tensor());
        (value.tensor(), state.collect())
    }

    #[cfg(any(feature = "cuda", feature = "testing", test))]
    fn on_gpu(&self, states: usize) -> Program {
        let trace = Trace::new(states);
        let mut state: Vec<_> = (1..=states).map(|i| trace.input(i)).collect();
        let value = self.apply(trace.input(0), trace.input(states + 1), &mut state);
        state.insert(0, value);
        trace.finish(&state)
    }
}

multiversion! {
    fn update_chunk<T: Element, F: Formula>(changed: &mut [&mut [T]], gradient: &[T], formula: F) {
        match changed {
            [value] => {
                for (value, g) in value.iter_mut().zip(gradient) {
                    *value = formula.apply(Lane::<T, FUSED>(*value), Lane(*g), &mut []).0;
                }
            }
            [value, a] => {
                for ((value, a), g) in value.iter_mut().zip(a.iter_mut()).zip(gradient) {
                    let mut state = [Lane::<T, FUSED>(*a)];
                    *value = formula.apply(Lane(*value), Lane(*g), &mut state).0;
                    [Lane(*a)] = state;
                }
            }
            [value, a, b] => {
                let state = a.iter_mut().zip(b.iter_mut());
                for ((value, (a, b)), g) in value.iter_mut().zip(state).zip(gradient) {
                    let mut state = [Lane::<T, FUSED>(*a), Lane(*b)];
                    *value = formula.apply(Lane(*value), Lane(*g), &mut state).0;
                    [Lane(*a), Lane(*b)] = state;
                }
            }
            [value, a, b, c] => {
                let state = a.iter_mut().zip(b.iter_mut()).zip(c.iter_mut());
                for ((value, ((a, b), c)), g) in value.iter_mut().zip(state).zip(gradient) {
                    let mut state = [Lane::<T, FUSED>(*a), Lane(*b), Lane(*c)];
                    *value = formula.apply(Lane(*value), Lane(*g), &mut state).0;
                    [Lane(*a), Lane(*b), Lane(*c)] = state;
                }
            }
            _ => unreachable!("the optimiser passes the state that the rule needs"),
        }
    }
}
