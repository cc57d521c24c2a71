//! Error messages for inputs that a layer cannot take.

use crate::device::DeviceExt;
use crate::error::explain;
use crate::nn::Parameters;
use candle_core::{Error, Result, Tensor};

/// Refuses an input on another device, or of another type, than the layer's weight.
pub(crate) fn same_place(layer: &dyn Parameters, input: &Tensor, weight: &Tensor) -> Result<()> {
    same_device(layer, input, weight)?;
    if input.dtype() != weight.dtype() {
        let layer = layer.describe();
        let (x, w) = (input.dtype(), weight.dtype());
        let (x, name) = (x.as_str(), w.as_str());
        return Err(explain(
            format!("{layer} computes in {name}, but its input is {x}"),
            format!("Convert the input: x.to_dtype(DType::{w:?})?"),
        ));
    }
    Ok(())
}

/// Refuses an input on another device than the layer's weight.
pub(crate) fn same_device(layer: &dyn Parameters, input: &Tensor, weight: &Tensor) -> Result<()> {
    match input.device().same_device(weight.device()) {
        true => Ok(()),
        false => {
            let (own, other) = (weight.device().label(), input.device().label());
            Err(apart(&layer.describe(), &own, &other))
        }
    }
}

/// Returns the error for a layer and an input on two devices.
fn apart(layer: &str, own: &str, other: &str) -> Error {
    explain(
        format!("{layer} is on {own}, but its input is on {other}"),
        "Move one of them: model.to_device(x.device())?, or x.to_device(&device)?",
    )
}

/// Refuses an input without four dimensions.
pub(crate) fn image(layer: &dyn Parameters, x: &Tensor) -> Result<(usize, usize, usize, usize)> {
    x.dims4().map_err(|_| {
        let wanted =
            "It takes images: (batch, channels, height, width); add a dimension with unsqueeze(…)?";
        refused(layer, x, wanted)
    })
}

/// Returns the error for an input of a shape that the layer cannot take.
pub(crate) fn refused(layer: &dyn Parameters, x: &Tensor, what_to_do: impl Into<String>) -> Error {
    let (layer, shape) = (layer.describe(), x.dims());
    explain(
        format!("{layer} cannot take an input of shape {shape:?}"),
        what_to_do.into(),
    )
}

/// Refuses a size that must be at least 1.
pub(crate) fn positive(layer: &str, sizes: &[(&str, usize)]) -> Result<()> {
    match sizes.iter().find(|(_, size)| *size == 0) {
        Some((name, _)) => Err(explain(
            format!("{layer}: {name} is 0"),
            format!("Give {name} a value of at least 1"),
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_devices_are_named() {
        assert_eq!(
            apart("Linear(…)", "cuda:0", "cpu").to_string(),
            "Linear(…) is on cuda:0, but its input is on cpu\n\
             Move one of them: model.to_device(x.device())?, or x.to_device(&device)?"
        );
    }
}
