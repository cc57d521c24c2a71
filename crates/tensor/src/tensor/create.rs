//! Creation of tensors, on the [default device](super::default_device).

use crate::device::explain_gpu;
use crate::error::{OrRaise, raise, refuse};
use crate::tensor::{Number, Raw, Tensor, check_size, default_device, moved};
use candle_core::{DType, Device, NdArray, Result, Shape};

functions! {
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
    pub fn tensor(data: impl NdArray) = converted(Raw::new(data, &Device::Cpu));

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
    pub fn zeros(shape: impl Into<Shape>) = filled(shape.into(), 0.into(), DType::F32);

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
    pub fn ones(shape: impl Into<Shape>) = filled(shape.into(), 1.into(), DType::F32);

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
    pub fn full(shape: impl Into<Shape>, value: f64) = filled(shape.into(), value.into(), DType::F32);

    /// Creates a tensor with the same value everywhere, in a type. The value is converted to it at once: an `i64` keeps all its
    /// digits, and an `f64`, too.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = full_with_dtype(2, 0.1, DType::F64); // (2,)
    /// assert_eq!(x.to_vec1::<f64>(), [0.1, 0.1]);
    /// let x = full_with_dtype(2, i64::MAX, DType::I64); // (2,)
    /// assert_eq!(x.to_vec1::<i64>(), [i64::MAX, i64::MAX]);
    /// ```
    pub fn full_with_dtype(shape: impl Into<Shape>, value: impl Into<Number>, dtype: DType)
     = filled(shape.into(), value.into(), dtype);

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
    /// assert_eq!(arange(1, vec![0; 3].len()).to_vec1::<i64>(), [1, 2]); // any type of integer
    /// ```
    pub fn arange(start: impl Into<Number>, end: impl Into<Number>) = counted(start.into(), end.into());

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
    pub fn arange_step(start: impl Into<Number>, end: impl Into<Number>, step: impl Into<Number>)
     = placed(stepped([start.into(), end.into(), step.into()], None));

    /// Creates a tensor of `steps` equally spaced `f32` values from `start` to `end`, both included.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = linspace(0.0, 1.0, 5); // (5,)
    /// assert_eq!(x.to_vec1::<f32>(), [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// ```
    pub fn linspace(start: f64, end: f64, steps: usize) = placed(spaced(start, end, steps, DType::F32));

    /// Creates a tensor of `steps` equally spaced values from `start` to `end`, both included, in a type. They are computed in
    /// `f64`; for a type of integers, `start` and `end` lose their fraction first, and then each value, as in PyTorch.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = linspace_with_dtype(0.0, 1.0, 11, DType::F64); // (11,)
    /// assert_eq!(x.i(3).item(), 0.30000000000000004);
    /// let x = linspace_with_dtype(0.0, 10.0, 4, DType::I64); // (4,)
    /// assert_eq!(x.to_vec1::<i64>(), [0, 3, 6, 10]);
    /// ```
    pub fn linspace_with_dtype(start: f64, end: f64, steps: usize, dtype: DType)
     = placed(spaced(start, end, steps, dtype));

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
    pub fn eye(shape: impl Into<Shape>) => identity(&shape.into());
}

#[track_caller]
fn counted(start: Number, end: Number) -> Tensor {
    let count = distance(start.to_f64(), end.to_f64());
    check_size("arange", &[count], size_of::<i64>(), &Device::Cpu).or_raise();
    let values = match (start, end) {
        (Number::Int(start), Number::Int(_)) => {
            Raw::from_iter((0..count as i64).map(|i| start + i), &Device::Cpu)
        }
        _ => {
            let start = start.to_f64();
            Raw::from_iter((0..count).map(|i| (start + i as f64) as f32), &Device::Cpu)
        }
    };
    placed(values)
}

#[track_caller]
fn distance(start: f64, end: f64) -> usize {
    let count = (end - start).ceil();
    raise!(if count.is_nan(); argument("arange", format_args!("{start} and {end}"));
        "a start and an end", "Pass finite values");
    // The conversion saturates, so that an infinite range is refused as well.
    count as usize
}

/// Creates a tensor of one dimension with the values `start`, `start + step`, … before `end`, in a type. They are computed
/// in `f64`, or from integers. For a type of integers, `start` and `step` lose their fraction, but not before the values are
/// counted, as in PyTorch.
///
/// # Panics
/// As [`arange_step`], or if the integer of `step` is 0.
///
/// ```
/// use taper::prelude::*;
///
/// let x = arange_with_dtype(0.0, 0.3, 0.1, DType::F64); // (3,)
/// assert_eq!(x.to_vec1::<f64>(), [0.0, 0.1, 0.2]);
/// let x = arange_with_dtype(0, 3, 1, DType::U8); // (3,)
/// assert_eq!(x.to_vec1::<u8>(), [0, 1, 2]);
/// ```
#[inline]
#[track_caller]
pub fn arange_with_dtype(
    start: impl Into<Number>,
    end: impl Into<Number>,
    step: impl Into<Number>,
    dtype: DType,
) -> Tensor {
    placed(stepped(
        [start.into(), end.into(), step.into()],
        Some(dtype),
    ))
}

fn stepped(values: [Number; 3], dtype: Option<DType>) -> Result<Raw> {
    let [first, last, by] = values.map(Number::to_f64);
    let [start, _, step] = values.map(Number::to_i64);
    let of_integers = matches!(values, [Number::Int(_), Number::Int(_), Number::Int(_)])
        || dtype.is_some_and(|dtype| dtype.is_int());
    let steps = (last - first) / by;
    refuse!(if by == 0.0 || of_integers && step == 0 || steps.is_nan() || steps < 0.0;
        argument("arange_step", format_args!("{by} from {first} to {last}"));
        "a step that leads from the start to the end", "Pass a negative step to count down");
    // The conversion saturates, so that an infinite range is refused as well.
    let count = steps.ceil() as usize;
    check_size("arange_step", &[count], size_of::<i64>(), &Device::Cpu)?;
    if of_integers {
        let values = (0..count).map(|i| start + i as i64 * step);
        return Raw::from_iter(values, &Device::Cpu)?.to_dtype(dtype.unwrap_or(DType::I64));
    }
    let values = (0..count).map(|i| first + i as f64 * by);
    Raw::from_iter(values, &Device::Cpu)?.to_dtype(dtype.unwrap_or(DType::F32))
}

fn spaced(start: f64, end: f64, steps: usize, dtype: DType) -> Result<Raw> {
    check_size("linspace", &[steps], size_of::<f64>(), &Device::Cpu)?;
    let of_integers = dtype.is_int();
    let [start, end] = [start, end].map(|x| if of_integers { x.trunc() } else { x });
    let last = steps.saturating_sub(1);
    let distance = (end - start) / last.max(1) as f64;
    let value = |i: usize| match last {
        0 => start,
        // As in PyTorch, so that rounding does not change an integer.
        _ if of_integers && i >= steps / 2 => end - distance * (last - i) as f64,
        _ if i == last => end,
        _ => start + distance * i as f64,
    };
    let values = (0..steps).map(value).collect::<Vec<f64>>();
    Raw::from_vec(values, steps, &Device::Cpu)?.to_dtype(dtype)
}

fn identity(shape: &Shape) -> Result<Raw> {
    let (rows, columns) = match *shape.dims() {
        [n] => (n, n),
        [rows, columns] => (rows, columns),
        ref dims => {
            let advice = "Pass eye(n) or eye((rows, columns))";
            refuse!(shape("eye", dims); "one or two sizes", advice);
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
fn filled(shape: Shape, value: Number, dtype: DType) -> Tensor {
    let (device, size) = (&default_device(), dtype.size_in_bytes());
    check_size("a tensor", shape.dims(), size, device).or_raise();
    let bytes = shape.elem_count() * size;
    // The operating system provides memory that is already zero.
    let is_zero = value.to_f64().to_bits() == 0;
    let made = match (is_zero, dtype, value) {
        (true, ..) => Raw::zeros(shape, dtype, device),
        (_, DType::F32, value) => Raw::full(value.to_f64() as f32, shape, device),
        (_, _, Number::Int(value)) => of_one(Raw::new(value, device), shape, dtype),
        (_, _, Number::Float(value)) => of_one(Raw::new(value, device), shape, dtype),
    };
    explain_gpu(made, device, Some(bytes)).or_raise().into()
}

/// Returns copies of one value, in a type.
fn of_one(value: Result<Raw>, shape: Shape, dtype: DType) -> Result<Raw> {
    value?.to_dtype(dtype)?.broadcast_as(shape)?.contiguous()
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
        assert_eq!(linspace(0.0, 1.0, 0).dims(), [0]);
    }

    #[test]
    fn values_are_converted_to_their_type_at_once() {
        let x = linspace_with_dtype(4.3, -3.0, 8, DType::I64);
        assert_eq!(x.to_vec1::<i64>(), [4, 3, 2, 1, 0, -1, -2, -3]);
        let x = linspace_with_dtype(0.5, 9.5, 1, DType::F64);
        assert_eq!(x.to_vec1::<f64>(), [0.5]);
        let x = arange_with_dtype(0.9, 5.2, 2.9, DType::I64);
        assert_eq!(x.to_vec1::<i64>(), [0, 2]);
        assert!(attempt(|| arange_with_dtype(0, 2, 0.5, DType::I64)).is_err());
        let x = full_with_dtype((1, 2), 2.5, DType::U32);
        assert_eq!(x.to_vec2::<u32>(), [[2, 2]]);
        assert_eq!(full_with_dtype((), -0.0, DType::BF16).dtype(), DType::BF16);
        assert_eq!(full_with_dtype((0, 2), 1, DType::F64).dims(), [0, 2]);
    }
}
