//! The sum of gradients, on all cores.

use super::view::Place;
use crate::ops::engine::autograd::has_kernel;
use crate::ops::engine::buffer::Buffer;
use crate::tensor::Raw;
use candle_core::Result;

/// The sum of the gradients of a tensor so far.
pub(super) enum Sum {
    /// A gradient that others may have too.
    Shared(Raw),
    /// Memory into which gradients are added.
    Own(Buffer),
}

impl Sum {
    /// Adds a gradient; with a place, the gradient of a view.
    pub(super) fn add(
        sum: Option<Sum>,
        gradient: Raw,
        place: Option<&Place>,
        with_graph: bool,
    ) -> Result<Self> {
        let gradient = match place {
            None => gradient,
            Some(place) => match place.of_all(&gradient)? {
                Some(of_all) => of_all,
                None => return Sum::add_part(sum, &gradient, place),
            },
        };
        match sum {
            None => Ok(Sum::Shared(gradient)),
            Some(sum) if with_graph || !has_kernel(&[&gradient]) => {
                Ok(Sum::Shared(sum.into_raw().plus(&gradient)?))
            }
            Some(Sum::Shared(sum)) => Buffer::sum_of(&sum, &gradient).map(Sum::Own),
            Some(Sum::Own(mut buffer)) => {
                buffer.add(&gradient)?;
                Ok(Sum::Own(buffer))
            }
        }
    }

    fn add_part(sum: Option<Sum>, gradient: &Raw, place: &Place) -> Result<Self> {
        let mut buffer = match sum {
            Some(Sum::Own(buffer)) => buffer,
            Some(Sum::Shared(sum)) => Buffer::copy_of(&sum)?,
            None => Buffer::zeros(gradient.dtype(), place.shape())?,
        };
        place.add_to(&mut buffer, gradient)?;
        Ok(Sum::Own(buffer))
    }

    pub(super) fn into_raw(self) -> Raw {
        match self {
            Sum::Shared(sum) => sum,
            Sum::Own(buffer) => buffer.into_tensor(),
        }
    }
}
