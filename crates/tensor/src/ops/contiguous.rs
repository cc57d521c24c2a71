//! A tensor with its elements one after the other in memory.

use super::engine::autograd::{can_move, recorded_linear};
use super::engine::strided::elements;
use crate::tensor::{Raw, Tensor};
use candle_core::Result;

functions! {
    /// Returns the tensor with its elements one after the other in memory: itself, or a copy.
    ///
    /// # Panics
    /// If there is not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]); // (2, 3)
    /// let y = contiguous(&x.t()); // (3, 2)
    /// assert!(!x.t().is_contiguous() && y.is_contiguous());
    /// assert_eq!(y.to_vec2::<f32>(), [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]);
    /// ```
    pub fn contiguous(x: &Tensor) => contiguous_raw(x.raw());
}

/// Computes [`contiguous`].
pub(crate) fn contiguous_raw(x: &Raw) -> Result<Raw> {
    match !x.is_contiguous() && x.elem_count() > 0 && can_move(x) {
        true => copied_in_order(x),
        false if x.is_contiguous() => Ok(x.clone()),
        false => x.force_contiguous(),
    }
}

/// Returns a copy that is contiguous, of a tensor that has a kernel.
pub(super) fn copied_in_order(x: &Raw) -> Result<Raw> {
    let y = Raw::from_cpu(elements(x, &[])?, x.dims());
    Ok(recorded_linear(x, y, || |g: &Raw| Ok(g.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::testing::compare;
    use crate::tensor::rand;

    #[test]
    fn the_kernel_agrees_with_candle() {
        compare("contiguous", 12, |case| {
            let shape = [case.between(2, 40), case.between(2, 70), case.between(2, 5)];
            let x = case.input(rand(shape.as_slice()));
            Some((
                vec![x],
                Box::new(|x| contiguous_raw(&x[0].transpose(0, 1)?)),
                Box::new(|x| x[0].transpose(0, 1)?.contiguous()),
            ))
        });
    }
}
