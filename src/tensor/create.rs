//! Creation of tensors, on the [default device](super::default_device).

use crate::device::explain_gpu;
use crate::error::{self, OrRaise, raise};
use crate::tensor::{Number, Raw, Tensor, check_size, default_device, moved};
use candle_core::{DType, Device, NdArray, Result, Shape, WithDType};

/// Creates a tensor of these values: a number, or an array, slice or vector with up to four levels of
/// nesting.
///
/// Literals get PyTorch's types: `1.5` (Rust's `f64`) becomes `f32`, and `1` (Rust's `i32`) `i64`.
/// Other types are kept. Candle's own `Tensor::new` keeps all types.
///
/// # Panics
/// If the rows of a vector of vectors have different lengths.
///
/// ```
/// use taper::prelude::*;
///
/// let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]); // (2, 2)
/// assert_eq!(x.dtype(), DType::F32);
/// let labels = tensor(vec![3, 1, 2]); // (3,)
/// assert_eq!(labels.dtype(), DType::I64);
/// ```
#[inline]
#[track_caller]
pub fn tensor(data: impl NdArray) -> Tensor {
    converted(Raw::new(data, &Device::Cpu))
}

/// Creates a tensor of `f32` zeros in the given shape.
///
/// # Panics
/// If the device does not have enough memory.
///
/// ```
/// use taper::prelude::*;
///
/// let x = zeros((2, 3)); // (2, 3)
/// assert_eq!(x.to_vec2::<f32>(), [[0.0; 3]; 2]);
/// ```
#[inline]
#[track_caller]
pub fn zeros(shape: impl Into<Shape>) -> Tensor {
    filled(shape.into(), 0.0)
}

/// Creates a tensor of `f32` ones in the given shape.
///
/// # Panics
/// If the device does not have enough memory.
///
/// ```
/// use taper::prelude::*;
///
/// let x = ones(3); // (3,)
/// assert_eq!(x.to_vec1::<f32>(), [1.0, 1.0, 1.0]);
/// ```
#[inline]
#[track_caller]
pub fn ones(shape: impl Into<Shape>) -> Tensor {
    filled(shape.into(), 1.0)
}

/// Creates a tensor with the same `f32` value everywhere.
///
/// # Panics
/// If the device does not have enough memory.
///
/// ```
/// use taper::prelude::*;
///
/// let x = full((1, 2), 7.5); // (1, 2)
/// assert_eq!(x.to_vec2::<f32>(), [[7.5, 7.5]]);
/// ```
#[inline]
#[track_caller]
pub fn full(shape: impl Into<Shape>, value: f64) -> Tensor {
    filled(shape.into(), value as f32)
}

/// Creates a tensor of one dimension with the values `start`, `start + 1`, … below `end`.
///
/// Integers become `i64`, floating-point numbers `f32`, as in [`tensor`].
///
/// # Panics
/// If the device does not have enough memory.
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(arange(0, 4).to_vec1::<i64>(), [0, 1, 2, 3]);
/// assert_eq!(arange(0.5, 3.0).to_vec1::<f32>(), [0.5, 1.5, 2.5]);
/// ```
#[inline]
#[track_caller]
pub fn arange<N: WithDType>(start: N, end: N) -> Tensor {
    let count = distance(start.to_f64(), end.to_f64());
    check_size("arange", &[count], size_of::<N>(), &Device::Cpu).or_raise();
    converted(Raw::arange(start, end, &Device::Cpu))
}

#[track_caller]
fn distance(start: f64, end: f64) -> usize {
    let count = (end - start).ceil();
    if count.is_nan() {
        raise(error::argument(
            "arange",
            "a start and an end",
            format_args!("{start} and {end}"),
            "Pass finite values",
        ))
    }
    // The conversion saturates, so that an infinite range is refused as well.
    count as usize
}

/// Creates a tensor of one dimension with the values `start`, `start + step`, … before `end`.
///
/// Integers become `i64`, floating-point numbers `f32`, as in [`tensor`].
///
/// # Panics
/// If `step` is 0 or leads away from `end`, or the device does not have enough memory.
///
/// ```
/// use taper::prelude::*;
///
/// assert_eq!(arange_step(0, 10, 4).to_vec1::<i64>(), [0, 4, 8]);
/// assert_eq!(arange_step(1.0, 0.0, -0.5).to_vec1::<f32>(), [1.0, 0.5]);
/// ```
#[inline]
#[track_caller]
pub fn arange_step(
    start: impl Into<Number>,
    end: impl Into<Number>,
    step: impl Into<Number>,
) -> Tensor {
    placed(stepped(start.into(), end.into(), step.into()))
}

fn stepped(start: Number, end: Number, step: Number) -> Result<Raw> {
    let [first, last, by] = [start, end, step].map(Number::to_f64);
    let steps = (last - first) / by;
    if by == 0.0 || steps.is_nan() || steps < 0.0 {
        return Err(error::argument(
            "arange_step",
            "a step that leads from the start to the end",
            format_args!("{by} from {first} to {last}"),
            "Pass a negative step to count down",
        )
        .into());
    }
    // The conversion saturates, so that an infinite range is refused as well.
    let count = steps.ceil() as usize;
    check_size("arange_step", &[count], size_of::<i64>(), &Device::Cpu)?;
    if let (Number::Int(start), Number::Int(_), Number::Int(step)) = (start, end, step) {
        let values = (0..count).map(|i| start + i as i64 * step);
        return Raw::from_iter(values, &Device::Cpu);
    }
    Raw::from_iter(
        (0..count).map(|i| (first + i as f64 * by) as f32),
        &Device::Cpu,
    )
}

/// Creates a tensor of `steps` equally spaced `f32` values from `start` to `end`, both included.
///
/// # Panics
/// If `steps` is 0.
///
/// ```
/// use taper::prelude::*;
///
/// let x = linspace(0.0, 1.0, 5); // (5,)
/// assert_eq!(x.to_vec1::<f32>(), [0.0, 0.25, 0.5, 0.75, 1.0]);
/// ```
#[inline]
#[track_caller]
pub fn linspace(start: f64, end: f64, steps: usize) -> Tensor {
    placed(spaced(start, end, steps))
}

fn spaced(start: f64, end: f64, steps: usize) -> Result<Raw> {
    let Some(last) = steps.checked_sub(1) else {
        return Err(error::argument(
            "linspace",
            "at least 1 step",
            0,
            "Choose a number of steps above 0",
        )
        .into());
    };
    check_size("linspace", &[steps], size_of::<f32>(), &Device::Cpu)?;
    let distance = (end - start) / last.max(1) as f64;
    let numbers = (0..steps).map(|i| match i {
        i if i == last && last > 0 => end as f32,
        i => (start + distance * i as f64) as f32,
    });
    Raw::from_vec(numbers.collect::<Vec<f32>>(), steps, &Device::Cpu)
}

/// Creates an identity matrix, as `f32`: `eye(n)` is square, `eye((rows, columns))` has zeros beside or below it.
///
/// # Panics
/// If the device does not have enough memory, or the shape has more than two dimensions.
///
/// ```
/// use taper::prelude::*;
///
/// let x = eye(2); // (2, 2)
/// assert_eq!(x.to_vec2::<f32>(), [[1.0, 0.0], [0.0, 1.0]]);
/// assert_eq!(eye((1, 2)).to_vec2::<f32>(), [[1.0, 0.0]]);
/// ```
#[inline]
#[track_caller]
pub fn eye(shape: impl Into<Shape>) -> Tensor {
    identity(&shape.into()).or_raise().into()
}

fn identity(shape: &Shape) -> Result<Raw> {
    let (rows, columns) = match *shape.dims() {
        [n] => (n, n),
        [rows, columns] => (rows, columns),
        ref dims => {
            let advice = "Pass eye(n) or eye((rows, columns))";
            return Err(error::shape("eye", "one or two sizes", dims, advice).into());
        }
    };
    let device = default_device();
    check_size("eye", &[rows, columns], size_of::<f32>(), &device)?;
    let mut values = vec![0f32; rows * columns];
    for i in 0..rows.min(columns) {
        values[i * columns + i] = 1.0;
    }
    moved(
        &Raw::from_vec(values, (rows, columns), &Device::Cpu)?,
        &device,
    )
}

/// Creates a tensor of equal values. If the device is full, the error contains the sizes.
#[track_caller]
fn filled(shape: Shape, value: f32) -> Tensor {
    let device = &default_device();
    check_size("a tensor", shape.dims(), size_of::<f32>(), device).or_raise();
    let bytes = shape.elem_count() * size_of::<f32>();
    // The operating system provides memory that is already zero.
    let is_zero = value.to_bits() == 0;
    let made = match is_zero {
        true => Raw::zeros(shape, DType::F32, device),
        false => Raw::full(value, shape, device),
    };
    explain_gpu(made, device, Some(bytes)).or_raise().into()
}

/// Converts Rust's literal types to PyTorch's default types, and moves the result to the default device.
#[inline(never)]
#[track_caller]
fn converted(tensor: Result<Raw>) -> Tensor {
    placed(tensor.and_then(|tensor| match tensor.dtype() {
        DType::F64 => tensor.to_dtype(DType::F32),
        DType::I32 => tensor.to_dtype(DType::I64),
        _ => Ok(tensor),
    }))
}

/// Moves a new tensor to the default device.
#[inline(never)]
#[track_caller]
pub(crate) fn placed(tensor: Result<Raw>) -> Tensor {
    let placed = tensor.and_then(|tensor| moved(&tensor, &default_device()));
    placed.or_raise().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;

    #[test]
    fn every_level_of_nesting_is_read() {
        assert_eq!(tensor(1.5).dims(), [0usize; 0]);
        assert_eq!(tensor(&[1, 2]).dims(), [2]);
        assert_eq!(tensor(&[[[1u8, 2]]]).dims(), [1, 1, 2]);
        assert_eq!(tensor(&[[[1u8, 2]]]).dtype(), DType::U8);
        let rows = vec![vec![1f32, 2.], vec![3., 4.]];
        assert_eq!(tensor(rows.clone()).to_vec2::<f32>(), rows);
        assert!(attempt(|| tensor(vec![vec![1f32], vec![]])).is_err());
    }

    #[test]
    fn linspace_ends_where_it_should() {
        let x = linspace(-1.0, 0.1, 1001);
        let x = x.to_vec1::<f32>();
        assert_eq!((x[0], x[1000]), (-1.0, 0.1));
        assert_eq!(linspace(2.0, 9.0, 1).to_vec1::<f32>(), [2.0]);
        assert!(attempt(|| linspace(0.0, 1.0, 0)).is_err());
    }
}
