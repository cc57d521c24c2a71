//! The sum of gradients, on all cores.

use super::view::Place;
use crate::ops::{Arithmetic, arithmetic, elements, has_kernel, sum_in_order, zeros};
use crate::tensor::{Candle, Raw};
use candle_core::op::BackpropOp;
use candle_core::{CpuStorage, DType, Result, Shape, Storage, bail};

/// The sum of the gradients of a tensor so far.
pub(super) enum Sum {
    /// A gradient that others may have too.
    Shared(Raw),
    /// Memory into which gradients are added.
    Own(CpuStorage, Shape),
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
                let sum = arithmetic(Arithmetic::Add, &sum.into_raw(), &gradient)?;
                Ok(Sum::Shared(sum))
            }
            Some(Sum::Shared(sum)) => {
                let shape = sum.shape().clone();
                Ok(Sum::Own(sum_in_order(&sum, &gradient)?, shape))
            }
            Some(Sum::Own(mut values, shape)) => {
                Place::add_to_all(&mut values, &gradient)?;
                Ok(Sum::Own(values, shape))
            }
        }
    }

    fn add_part(sum: Option<Sum>, gradient: &Raw, place: &Place) -> Result<Self> {
        let (mut values, shape) = match sum {
            Some(Sum::Own(values, shape)) => (values, shape),
            Some(Sum::Shared(sum)) => {
                let values = match sum.dtype() {
                    DType::F32 => CpuStorage::F32(elements(&sum)?),
                    DType::F64 => CpuStorage::F64(elements(&sum)?),
                    other => bail!("kernel: expected f32 or f64, found {other:?}"),
                };
                (values, sum.shape().clone())
            }
            None => {
                let count = place.shape().elem_count();
                let values = match gradient.dtype() {
                    DType::F32 => CpuStorage::F32(zeros(count)),
                    DType::F64 => CpuStorage::F64(zeros(count)),
                    other => bail!("kernel: expected f32 or f64, found {other:?}"),
                };
                (values, place.shape().clone())
            }
        };
        place.add_to(&mut values, gradient)?;
        Ok(Sum::Own(values, shape))
    }

    pub(super) fn into_raw(self) -> Raw {
        match self {
            Sum::Shared(sum) => sum,
            Sum::Own(values, shape) => {
                let values = Storage::Cpu(values);
                Candle::from_storage(values, shape, BackpropOp::none(), false).into()
            }
        }
    }
}
