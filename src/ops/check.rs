//! Checks of an operation's inputs, and the errors for inputs that it cannot take.
//!
//! Each has a `caller`, the name at the beginning of the message: the operation's, or the description
//! of the layer that calls the operation, `Linear(in_features=3, out_features=2, bias=true)`.

use crate::device::DeviceExt;
use crate::error::explain;
use candle_core::{Error, Result, Tensor};
use std::fmt::Display;

/// Checks that an input has the device and the type of the weight.
pub(crate) fn same_place(caller: &dyn Display, x: &Tensor, weight: &Tensor) -> Result<()> {
    same_device(caller, x, weight)?;
    if x.dtype() != weight.dtype() {
        let (found, expected) = (x.dtype(), weight.dtype());
        let (found, name) = (found.as_str(), expected.as_str());
        return Err(explain(
            format!("{caller} computes in {name}, but its input is {found}"),
            format!("Convert the input: x.to_dtype(DType::{expected:?})?"),
        ));
    }
    Ok(())
}

/// Checks that an input is on the device of the weight.
pub(crate) fn same_device(caller: &dyn Display, x: &Tensor, weight: &Tensor) -> Result<()> {
    match x.device().same_device(weight.device()) {
        true => Ok(()),
        false => {
            let (own, other) = (weight.device().label(), x.device().label());
            Err(two_devices(caller, &own, &other))
        }
    }
}

fn two_devices(caller: &dyn Display, own: &str, other: &str) -> Error {
    explain(
        format!("{caller} is on {own}, but its input is on {other}"),
        "Move one of them: model.to_device(x.device())?, or x.to_device(&device)?",
    )
}

/// Checks that an input is a batch of images, and returns its dimensions.
pub(crate) fn images(caller: &dyn Display, x: &Tensor) -> Result<(usize, usize, usize, usize)> {
    x.dims4().map_err(|_| {
        let expected =
            "Expected images (batch, channels, height, width); add a dimension with unsqueeze(…)?";
        wrong_shape(caller, x, expected)
    })
}

/// Checks that an input is a batch of sequences, and returns its dimensions.
pub(crate) fn sequences(caller: &dyn Display, x: &Tensor) -> Result<(usize, usize, usize)> {
    x.dims3().map_err(|_| {
        let expected =
            "Expected sequences (batch, channels, length); add a dimension with unsqueeze(…)?";
        wrong_shape(caller, x, expected)
    })
}

/// Checks that an input has floating-point values.
pub(crate) fn float(caller: &dyn Display, x: &Tensor) -> Result<()> {
    match x.dtype().is_float() {
        true => Ok(()),
        false => Err(explain(
            format!(
                "{caller} computes in floating point, but its input is {}",
                x.dtype().as_str()
            ),
            "Convert the input: x.to_dtype(DType::F32)?",
        )),
    }
}

/// Returns the error for an input whose shape the operation cannot take.
pub(crate) fn wrong_shape(caller: &dyn Display, x: &Tensor, expected: impl Display) -> Error {
    let shape = x.dims();
    explain(
        format!("{caller} cannot take an input of shape {shape:?}"),
        expected,
    )
}

/// Checks that there may be memory for an output of this shape. Otherwise the process would be aborted.
pub(crate) fn memory(caller: &dyn Display, shape: &[usize]) -> Result<()> {
    let count = { shape.iter() }.try_fold(1usize, |n, size| n.checked_mul(*size.max(&1)));
    match count.is_some_and(|count| Vec::<f64>::new().try_reserve_exact(count).is_ok()) {
        true => Ok(()),
        false => Err(explain(
            format!("{caller}: there is no memory for an output of shape {shape:?}"),
            "Choose smaller sizes",
        )),
    }
}

/// Checks that sizes are at least 1.
pub(crate) fn positive(caller: &dyn Display, sizes: &[(&str, usize)]) -> Result<()> {
    match sizes.iter().find(|(_, size)| *size == 0) {
        Some((name, _)) => Err(explain(
            format!("{caller}: {name} is 0"),
            format!("Give {name} a value of at least 1"),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_both_devices() {
        assert_eq!(
            two_devices(&"Linear(…)", "cuda:0", "cpu").to_string(),
            "Linear(…) is on cuda:0, but its input is on cpu\n\
             Move one of them: model.to_device(x.device())?, or x.to_device(&device)?"
        );
    }
}
