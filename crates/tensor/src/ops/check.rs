//! Checks of an operation's inputs, and the errors for inputs that it cannot take.
//!
//! The functions take a `caller`, the name at the beginning of the message: the operation's, or the description
//! of the layer that calls the operation, `Linear(in_features=3, out_features=2, bias=true)`.

use crate::device::DeviceExt;
use crate::error::{self, problem, refuse};
use crate::tensor::Raw;
use crate::tensor::fits_memory;
use candle_core::{DType, Error, Result};
use std::fmt::Display;

/// Checks that an input has a floating-point type in which operations compute, and a number of elements that
/// fits into a `usize`.
pub fn floating(caller: &dyn Display, x: &Raw) -> Result<()> {
    countable(caller, x)?;
    match x.dtype() {
        DType::F32 | DType::F64 | DType::BF16 | DType::F16 => Ok(()),
        other => refuse!(dtype(caller, other);
            "floating-point numbers", "Convert the input: x.to_dtype(DType::F32)"),
    }
}

/// Checks that the number of elements of a tensor fits into a `usize`. Candle multiplies the sizes without a
/// check, so it accepts 16 values with the shape `(16, 2⁶⁰ + 1)`: the product wraps to 16.
pub(crate) fn countable(caller: &dyn Display, x: &Raw) -> Result<()> {
    let mut sizes = x.dims().iter();
    let count = sizes.try_fold(1usize, |count, size| count.checked_mul(*size));
    refuse!(if count.is_none() && !x.dims().contains(&0); shape(caller, x.dims());
        "a shape whose number of elements fits into 64 bits", "Choose smaller sizes");
    Ok(())
}

/// Returns whether the elements of a tensor have only 16 bits, too few for a sum: operations then compute in `f32`.
pub(super) fn is_half(x: &Raw) -> bool {
    matches!(x.dtype(), DType::BF16 | DType::F16)
}

/// Returns the result of an operation on `f32` copies of its inputs, in the type of the first.
pub(super) fn in_single<const N: usize>(
    inputs: [&Raw; N],
    operation: impl FnOnce([Raw; N]) -> Result<Raw>,
) -> Result<Raw> {
    let mut copies = inputs.map(Raw::clone);
    to_single(&mut copies)?;
    operation(copies)?.to_dtype(inputs[0].dtype())
}

fn to_single(tensors: &mut [Raw]) -> Result<()> {
    for tensor in tensors {
        *tensor = tensor.to_dtype(DType::F32)?;
    }
    Ok(())
}

/// Checks that an input is on the device of the weight and has its type, which must be a floating-point type.
pub fn same_place(caller: &dyn Display, x: &Raw, weight: &Raw) -> Result<()> {
    floating(caller, weight)?;
    same_device_and_dtype(caller, INPUT, x, weight)
}

/// What an input is called in a sentence, and in code.
const INPUT: [&str; 2] = ["input", "x"];
/// What a bias is called.
const BIAS: [&str; 2] = ["bias", "bias"];

fn same_device_and_dtype(
    caller: &dyn Display,
    names: [&str; 2],
    x: &Raw,
    weight: &Raw,
) -> Result<()> {
    device_of(caller, names, x, weight)?;
    let ([what, name], expected) = (names, weight.dtype());
    if x.dtype() == expected {
        return Ok(());
    }
    let (found, own) = (x.dtype().as_str(), expected.as_str());
    refuse!(
        "{caller} computes in {own}, but its {what} is {found}";
        "Convert the {what}: {name}.to_dtype(DType::{expected:?})")
}

/// Checks that a bias has an element for each row of the weight, and the weight's type and device.
pub(super) fn bias(caller: &dyn Display, bias: Option<&Raw>, weight: &Raw) -> Result<()> {
    let Some(bias) = bias else {
        return Ok(());
    };
    if bias.dims() != [weight.dims()[0]] {
        let found = bias.dims();
        refuse!(
            "{caller}: a bias of shape {found:?} does not fit the weight";
            ("It must have the shape ({},)", weight.dims()[0]));
    }
    same_device_and_dtype(caller, BIAS, bias, weight)
}

/// Checks that two operands are on one device.
pub(super) fn same_device_of_two(caller: &str, a: &Raw, b: &Raw) -> Result<()> {
    match a.device().same_device(b.device()) {
        true => Ok(()),
        false => Err(error::Problem::Device {
            operation: caller.to_owned(),
            expected: format!("both operands on {}", a.device().label()),
            found: b.device().label(),
        }
        .with_advice("Move one of them: x.to_device(y.device())")
        .into()),
    }
}

/// Checks that an input is on the device of the weight.
pub(crate) fn same_device(caller: &dyn Display, x: &Raw, weight: &Raw) -> Result<()> {
    device_of(caller, INPUT, x, weight)
}

fn device_of(caller: &dyn Display, names: [&str; 2], x: &Raw, weight: &Raw) -> Result<()> {
    countable(caller, x)?;
    countable(caller, weight)?;
    match x.device().same_device(weight.device()) {
        true => Ok(()),
        false => {
            let (own, other) = (weight.device().label(), x.device().label());
            Err(two_devices(caller, names, &own, &other))
        }
    }
}

fn two_devices(caller: &dyn Display, names: [&str; 2], own: &str, other: &str) -> Error {
    let [what, name] = names;
    if own == other {
        return problem!(
            "{caller} and its {what} are on {own}, but belong to two devices";
            ("Open each GPU with gpu({})?, which always returns the same device: two do not wait for each other",
             own.rsplit(':').next().unwrap_or("0"))).into();
    }
    problem!(
        "{caller} is on {own}, but its {what} is on {other}";
        "Move one of them: model.to_device({name}.device()), or {name}.to_device(&device)")
    .into()
}

/// Checks that an input is a batch of images, and returns its dimensions.
pub fn images(caller: &dyn Display, x: &Raw) -> Result<(usize, usize, usize, usize)> {
    x.dims4().map_err(|_| {
        let expected =
            "Expected images (batch, channels, height, width); add a dimension with unsqueeze(…)";
        wrong_shape(caller, x, expected)
    })
}

/// Checks that an input is a batch of sequences, and returns its dimensions.
pub fn sequences(caller: &dyn Display, x: &Raw) -> Result<(usize, usize, usize)> {
    x.dims3().map_err(|_| {
        let expected =
            "Expected sequences (batch, channels, length); add a dimension with unsqueeze(…)";
        wrong_shape(caller, x, expected)
    })
}

/// Checks that the second dimension of an input has this size.
pub(super) fn channels(caller: &dyn Display, x: &Raw, count: usize) -> Result<()> {
    refuse!(if x.dims().get(1) != Some(&count);
        ("{caller} cannot take an input of shape {:?}", x.dims());
        "Its second dimension, the channels, must be {count}");
    Ok(())
}

/// Checks that the last dimension of an input has this size.
pub(super) fn features(caller: &dyn Display, x: &Raw, count: usize) -> Result<()> {
    refuse!(if x.dims().last() != Some(&count);
        ("{caller} cannot take an input of shape {:?}", x.dims());
        "Its last dimension must be {count}");
    Ok(())
}

/// Returns the error for an input whose shape the operation cannot take.
pub fn wrong_shape(caller: &dyn Display, x: &Raw, expected: impl Display) -> Error {
    let shape = x.dims();
    problem!("{caller} cannot take an input of shape {shape:?}"; expected).into()
}

/// Returns the error for a weight whose number of dimensions the operation cannot take.
pub(super) fn wrong_weight(caller: &dyn Display, weight: &Raw, expected: &str) -> Error {
    let shape = weight.dims();
    problem!("{caller} cannot take a weight of shape {shape:?}"; expected).into()
}

/// Checks that the device of `x` can hold an output of this shape, in the type of `x`.
pub fn output(caller: &dyn Display, shape: &[usize], x: &Raw) -> Result<()> {
    refuse!(if !fits_memory(shape, x.dtype().size_in_bytes(), x.device());
        argument(caller, format_args!("the shape {shape:?}"));
        "an output that fits into the memory", "Choose smaller sizes");
    Ok(())
}

/// Returns the error for a result that does not fit into `i64`.
pub(super) fn too_large(caller: &dyn Display) -> candle_core::Error {
    problem!(argument(caller, "a result that does not fit");
        "integers whose result fits into 64 bits",
        "Compute with floating-point numbers: x.to_dtype(DType::F64)")
    .into()
}

/// Checks that sizes are at least 1.
pub fn positive(caller: &dyn Display, sizes: &[(&str, usize)]) -> Result<()> {
    match sizes.iter().find(|(_, size)| *size == 0) {
        Some((name, _)) => refuse!("{caller}: {name} is 0"; "Give {name} a value of at least 1"),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::ones;

    #[test]
    fn an_error_names_both_devices() {
        assert_eq!(
            two_devices(&"Linear(…)", INPUT, "cuda:0", "cpu").to_string(),
            "Linear(…) is on cuda:0, but its input is on cpu\n\
             Move one of them: model.to_device(x.device()), or x.to_device(&device)"
        );
    }

    #[test]
    fn a_bias_is_not_called_an_input() {
        let weight = ones((2, 1));
        let wide = ones(2).to_dtype(DType::F64);
        let message = bias(&"linear", Some(wide.raw()), weight.raw()).unwrap_err();
        assert_eq!(
            message.to_string(),
            "linear computes in f32, but its bias is f64\nConvert the bias: bias.to_dtype(DType::F32)"
        );
        assert_eq!(
            two_devices(&"linear", BIAS, "cuda:0", "cpu").to_string(),
            "linear is on cuda:0, but its bias is on cpu\n\
             Move one of them: model.to_device(bias.device()), or bias.to_device(&device)"
        );
    }

    #[test]
    fn two_handles_of_a_gpu_are_told_apart() {
        assert_eq!(
            two_devices(&"Linear(…)", INPUT, "cuda:1", "cuda:1").to_string(),
            "Linear(…) and its input are on cuda:1, but belong to two devices\n\
             Open each GPU with gpu(1)?, which always returns the same device: two do not wait for each other"
        );
    }
}
