//! Second derivatives of bilinear operations, whose gradients are bilinear themselves.

use super::{Backward, Downstream, Upstream};
use crate::ops::tape;
use crate::tensor::Raw;
use candle_core::Result;
use std::sync::Arc;

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
