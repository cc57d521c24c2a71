//! Comparisons, whose results are 1 where they are true and else 0, as `u8`.

use super::kernel::{Binary, values};
use super::types::{scalar, wider};
use crate::ops::broadcast::broadcast_shape;
use crate::ops::check;
use crate::ops::engine::autograd::has_kernel;
use crate::ops::engine::{Element, dispatch_dtype};
use crate::tensor::{Number, Raw};
use candle_core::op::CmpOp;
use candle_core::{DType, Device, Result};

/// Defines the comparisons, whose values are 0 and 1.
macro_rules! comparisons {
    ($($name:ident $text:literal $sign:tt;)*) => {
        $(
        #[derive(Clone, Copy)]
        struct $name;

        impl Binary for $name {
            type Output<T: Element> = u8;
            const CHEAP: bool = true;

            #[inline(always)]
            fn value<T: Element, const FUSED: bool>(self, a: T, b: T) -> u8 {
                u8::from(a $sign b)
            }
        }
        )*

        fn comparison_name(op: CmpOp) -> &'static str {
            match op { $(CmpOp::$name => $text),* }
        }

        fn on_cpu(op: CmpOp, a: &Raw, b: &Raw, shape: &[usize]) -> Result<Raw> {
            match op { $(CmpOp::$name => dispatch_dtype!(a, compare_values(a, b, shape, $name))),* }
        }
    };
}

comparisons! {
    Eq "eq" ==;
    Ne "ne" !=;
    Lt "lt" <;
    Le "le" <=;
    Gt "gt" >;
    Ge "ge" >=;
}

/// Compares two tensors.
pub(crate) fn compare(op: CmpOp, a: &Raw, b: &Raw) -> Result<Raw> {
    let name = comparison_name(op);
    check::same_device_of_two(name, a, b)?;
    let shape = broadcast_shape(name, a, b)?;
    let dtype = wider(a.dtype(), b.dtype());
    let (a, b) = (&a.to_dtype(dtype)?, &b.to_dtype(dtype)?);
    if shape.contains(&0) || !has_kernel(&[a, b]) {
        return (a.broadcast_as(&shape[..])?).cmp(&b.broadcast_as(&shape[..])?, op);
    }
    on_cpu(op, a, b, &shape)
}

fn compare_values<T: Element>(
    a: &Raw,
    b: &Raw,
    shape: &[usize],
    function: impl Binary<Output<T> = u8>,
) -> Result<Raw> {
    let (values, _) = values::<T, _>(shape, [a, b], function)?;
    Raw::from_vec(values, shape, &Device::Cpu)
}

/// Compares each element with a number.
pub(crate) fn compare_number(op: CmpOp, x: &Raw, number: Number) -> Result<Raw> {
    let dtype = match (x.dtype().is_float(), number) {
        (true, _) => x.dtype(),
        (false, Number::Int(_)) => DType::I64,
        // `f32` cannot tell large integers apart.
        (false, Number::Float(_)) => DType::F64,
    };
    compare(op, &x.to_dtype(dtype)?, &scalar(number, dtype, x.device())?)
}
