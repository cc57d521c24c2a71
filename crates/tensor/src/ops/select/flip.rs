//! The elements in reverse order.

use crate::ops::engine::autograd::{can_move, recorded_linear};
use crate::ops::engine::strided::elements;
use crate::tensor::{Axes, Raw, Tensor};
use candle_core::Result;

functions! {
    /// Returns the elements in reverse order along dimensions.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
    /// assert_eq!(x.flip(0).to_vec2::<f32>(), [[3.0, 4.0], [1.0, 2.0]]);
    /// ```
    pub fn flip(x: &Tensor, dims: impl Into<Axes>) => flipped(x.raw(), &dims.into());
}

fn flipped(x: &Raw, dims: &Axes) -> Result<Raw> {
    reversed(x, dims.of(&"flip", x)?)
}

fn reversed(x: &Raw, dims: Vec<usize>) -> Result<Raw> {
    if x.elem_count() == 0 || dims.is_empty() {
        return Ok(x.clone());
    }
    let y = match can_move(x) {
        true => Raw::from_cpu(elements(x, &dims)?, x.dims()),
        false => x.values().contiguous()?.flip(&dims)?.into(),
    };
    Ok(recorded_linear(x, y, || {
        move |g: &Raw| reversed(g, dims.clone())
    }))
}
