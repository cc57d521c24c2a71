//! Elements of one of two tensors, as a mask says.

use crate::ops::arithmetic::operands;
use crate::ops::broadcast::{Piece, Plan, broadcast_shape};
use crate::ops::check;
use crate::ops::engine::autograd::{Upstream, can_move, recorded};
use crate::ops::engine::{CpuView, with_elements};
use crate::tensor::{Operand, Raw, Tensor};
use candle_core::{DType, Device, Result};
use std::mem::MaybeUninit;
use taper_compute::simd::multiversion;

functions! {
    /// Returns the elements of `yes` where the mask is not 0, and those of `no` elsewhere. All three are broadcast;
    /// `yes` and `no` may be scalars.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[-1.0, 2.0]); // (2,)
    /// assert_eq!(x.gt(0.0).where_cond(&x, 0.0).to_vec1::<f32>(), [0.0, 2.0]);
    /// ```
    pub fn where_cond(mask: &Tensor, yes: impl Into<Operand>, no: impl Into<Operand>) =>
        of_operands(mask.raw(), yes.into(), no.into());
}

fn of_operands(mask: &Raw, yes: Operand, no: Operand) -> Result<Raw> {
    let mask = match mask.dtype() {
        DType::U8 => mask.clone(),
        DType::I64 => mask.ne(0i64)?,
        _ => mask.ne(0.0)?,
    };
    let [yes, no] = operands(mask.device(), &yes, &no)?;
    check::same_device_of_two("where_cond", &mask, &yes)?;
    check::same_device_of_two("where_cond", &mask, &no)?;
    let shape = broadcast_shape("where_cond", &yes, &no)?;
    let shape = broadcast_shape("where_cond", &mask, &yes.broadcast_as(shape)?)?;
    check::output(&"where_cond", &shape, &yes)?;
    chosen(&mask, &yes, &no, &shape)
}

/// Chooses by a mask of `u8`; all are broadcast to a shape.
pub(in crate::ops) fn chosen(mask: &Raw, yes: &Raw, no: &Raw, shape: &[usize]) -> Result<Raw> {
    if !can_move(yes) || shape.contains(&0) {
        let [mask, yes, no] = [mask, yes, no].map(|x| x.broadcast_as(shape));
        return mask?.where_cond(&yes?, &no?);
    }
    let y = values_chosen(mask, yes, no, shape)?;
    Ok(recorded(&[yes, no], y, || {
        let (mask, shapes) = (mask.detach(), [yes, no].map(|x| x.dims().to_vec()));
        move |up: &Upstream<'_>| {
            let zero = Raw::zeros((), up.gradient.dtype(), &Device::Cpu)?;
            up.each(|i| {
                let mut choices = [&zero; 2];
                choices[i] = up.gradient;
                let terms = chosen(&mask, choices[0], choices[1], up.gradient.dims())?;
                terms.sum_to(&shapes[i])
            })
        }
    }))
}

fn values_chosen(mask: &Raw, yes: &Raw, no: &Raw, shape: &[usize]) -> Result<Raw> {
    let (plan, [mask, yes, no]) = Plan::of(shape, [mask, yes, no])?;
    let views = [&mask, &yes, &no].map(CpuView::of_strided);
    let [mask, yes, no] = views;
    let (mask, yes, no) = (mask?, yes?, no?);
    let mask = mask.as_slice::<u8>()?;
    with_elements!(yes, |yes| {
        let no = no.as_slice()?;
        // SAFETY: `choose` initialises the whole slice.
        let values = unsafe {
            plan.fill(|mut walk, out| {
                let (mut a, mut b, mut c) = (Piece::new(), Piece::new(), Piece::new());
                while let Some(range) = walk.next() {
                    let (mask, yes) = (walk.part(0, mask, &mut a), walk.part(1, yes, &mut b));
                    choose(mask, yes, walk.part(2, no, &mut c), &mut out[range]);
                }
            })
        };
        Raw::from_vec(values, shape, &Device::Cpu)
    })
}

multiversion! {
    cheap true;
    /// Each operand has as many values as the output, or one.
    fn choose<T: Copy>(mask: &[u8], yes: &[T], no: &[T], out: &mut [MaybeUninit<T>]) {
        let count = out.len();
        if mask.len() < count {
            match if mask[0] != 0 { yes } else { no } {
                [value] => out.fill(MaybeUninit::new(*value)),
                values => _ = out.write_copy_of_slice(values),
            }
            return;
        }
        let (first_yes, first_no) = (yes[0], no[0]);
        match [yes.len() == count, no.len() == count] {
            [true, true] => {
                for (((out, mask), yes), no) in out.iter_mut().zip(mask).zip(yes).zip(no) {
                    out.write(if *mask != 0 { *yes } else { *no });
                }
            }
            [true, false] => {
                for ((out, mask), yes) in out.iter_mut().zip(mask).zip(yes) {
                    out.write(if *mask != 0 { *yes } else { first_no });
                }
            }
            [false, true] => {
                for ((out, mask), no) in out.iter_mut().zip(mask).zip(no) {
                    out.write(if *mask != 0 { first_yes } else { *no });
                }
            }
            [false, false] => {
                for (out, mask) in out.iter_mut().zip(mask) {
                    out.write(if *mask != 0 { first_yes } else { first_no });
                }
            }
        }
    }
}
