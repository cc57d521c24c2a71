//! Second derivatives of linear and bilinear operations, whose gradients are linear themselves.

use super::{Backward, Downstream, Needs, Upstream, kernel, record};
use crate::ops::engine::simd::Element;
use crate::ops::tape;
use crate::tensor::Raw;
use candle_core::Result;
use std::sync::Arc;

/// Returns the gradients of a linear operation of its first input, as [`Backward::recorded`] returns them. `operation`
/// computes the operation itself: it is the backward pass of its own backward pass.
pub(in crate::ops) fn linear(
    back: &dyn Backward,
    upstream: &Upstream<'_>,
    operation: impl Fn(&Raw) -> Result<Raw> + Send + Sync + 'static,
) -> Result<Downstream> {
    let [of_x, ..] = upstream.constants(back)?;
    let Some(of_x) = of_x else {
        return Ok([None, None, None]);
    };
    let of_x = tape::record(of_x.values().clone(), &[upstream.gradient], || {
        adjoint_rule(operation)
    });
    Ok([Some(of_x), None, None])
}

/// Returns a tensor of these values, which a linear operation has computed from `x`. `adjoint` computes its backward pass.
pub(in crate::ops) fn recorded_linear<T: Element>(
    x: &Raw,
    values: Vec<T>,
    shape: &[usize],
    adjoint: impl Fn(&Raw) -> Result<Raw> + Send + Sync + 'static,
) -> Result<Raw> {
    record(&[x], values, shape, || adjoint_rule(adjoint))
}

/// Returns the rule of a linear operation: its adjoint, whose own rule is the linear operation.
fn adjoint_rule(adjoint: impl Fn(&Raw) -> Result<Raw> + Send + Sync + 'static) -> impl Backward {
    let adjoint = Arc::new(adjoint);
    let rule = |adjoint: Arc<_>| move |upstream: &Upstream<'_>| of_input(&*adjoint, upstream);
    kernel(Needs::default(), rule(adjoint.clone()), rule(adjoint))
}

fn of_input(adjoint: &impl Fn(&Raw) -> Result<Raw>, upstream: &Upstream<'_>) -> Result<Downstream> {
    Ok([Some(adjoint(upstream.gradient)?), None, None])
}

/// A bilinear operation `y(x, w)`. The sum of the elements of `g · y(x, w)` is linear in `x`, in `w` and in `g`. Its
/// derivative with respect to one of them is a bilinear operation of the other two: `y` for `g`, and the gradients of
/// `y` for `x` and `w`. So the gradients of each of these three operations are the other two.
pub(in crate::ops) trait Form: Send + Sync + 'static {
    /// Returns the derivative by `x`, `w` or `g` (0, 1, 2), from the other two; that at its own place is ignored.
    fn derivative(&self, by: usize, of: [&Raw; 3]) -> Result<Raw>;
}

/// The backward pass of a [derivative](Form::derivative).
pub(in crate::ops) struct Third {
    form: Arc<dyn Form>,
    by: usize,
    /// The other two arguments.
    others: [Raw; 2],
}

impl Third {
    /// Returns the derivative by one of the arguments, recorded.
    pub(in crate::ops) fn record(
        form: &Arc<dyn Form>,
        by: usize,
        others: [&Raw; 2],
    ) -> Result<Raw> {
        let third = Third {
            form: form.clone(),
            by,
            others: others.map(Raw::detach),
        };
        let [a, b] = &third.others;
        let values = form.derivative(by, place(by, a, [a, b]))?;
        Ok(tape::record(values.values().clone(), &others, || third))
    }

    /// Returns which argument the first and the second of the others are.
    fn others(&self) -> [usize; 2] {
        match self.by {
            0 => [1, 2],
            1 => [0, 2],
            _ => [0, 1],
        }
    }
}

/// Returns the three arguments.
fn place<'a>(by: usize, own: &'a Raw, [a, b]: [&'a Raw; 2]) -> [&'a Raw; 3] {
    match by {
        0 => [own, a, b],
        1 => [a, own, b],
        _ => [a, b, own],
    }
}

impl Backward for Third {
    fn keeps(&self) -> [bool; 3] {
        [true, true, false]
    }

    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let [a, b] = &self.others;
        let arguments = place(self.by, upstream.gradient, [a, b]);
        let mut gradients = [None, None, None];
        for (i, by) in self
            .others()
            .into_iter()
            .enumerate()
            .filter(|(i, _)| upstream.wanted[*i])
        {
            gradients[i] = Some(self.form.derivative(by, arguments)?);
        }
        Ok(gradients)
    }

    fn recorded(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        let (a, b) = (upstream.input(0)?, upstream.input(1)?);
        let arguments = place(self.by, upstream.gradient, [a, b]);
        let mut gradients = [None, None, None];
        for (i, by) in self
            .others()
            .into_iter()
            .enumerate()
            .filter(|(i, _)| upstream.wanted[*i])
        {
            let others = match by {
                0 => [arguments[1], arguments[2]],
                1 => [arguments[0], arguments[2]],
                _ => [arguments[0], arguments[1]],
            };
            gradients[i] = Some(Third::record(&self.form, by, others)?);
        }
        Ok(gradients)
    }
}
