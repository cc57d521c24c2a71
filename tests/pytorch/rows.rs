//! Calls of the layers for sequences that pool, by PyTorch's names.

use crate::arguments::{Args, Expressed, missing, mistyped};
use taper::nn::*;
use taper::ops::Pool2dSpec;

/// Reads a size, which may be in a list.
fn size(a: &Args, name: &str) -> Expressed<Option<usize>> {
    match a.sizes(name)?.as_deref() {
        None => Ok(None),
        Some([size]) => Ok(Some(*size)),
        Some(_) => mistyped(format!("`{name}`: of another rank")),
    }
}

/// Reads the settings of max pooling, for images of one row.
pub(crate) fn spec(a: &Args) -> Expressed<Pool2dSpec> {
    let kernel = size(a, "kernel_size")?.unwrap_or(0);
    let spec = Pool2dSpec::new((1, kernel)).ceil_mode(a.flag("ceil_mode", false)?);
    let spec = spec.stride((1, size(a, "stride")?.unwrap_or(kernel)));
    let spec = spec.padding((0, size(a, "padding")?.unwrap_or(0)));
    Ok(spec.dilation((1, size(a, "dilation")?.unwrap_or(1))))
}

/// Creates the layer of this name.
pub(crate) fn layer(name: &str, a: &Args) -> Expressed<Box<dyn Layer>> {
    if name.starts_with("Adaptive") {
        let Some(size) = size(a, "output_size")? else {
            return missing("no `output_size`");
        };
        return Ok(match name {
            "AdaptiveAvgPool1d" => Box::new(AdaptiveAvgPool1d::new(size)),
            _ => Box::new(AdaptiveMaxPool1d::new(size)),
        });
    }
    let kernel = size(a, "kernel_size")?.unwrap_or(0);
    macro_rules! pool {
        ($layer:expr) => {{
            let layer = $layer.stride(size(a, "stride")?.unwrap_or(kernel));
            let layer = layer.padding(size(a, "padding")?.unwrap_or(0));
            Ok(Box::new(layer.ceil_mode(a.flag("ceil_mode", false)?)))
        }};
    }
    match name {
        "MaxPool1d" => {
            let dilation = size(a, "dilation")?.unwrap_or(1);
            pool!(MaxPool1d::new(kernel).dilation(dilation))
        }
        _ => {
            let counted = a.flag("count_include_pad", true)?;
            pool!(AvgPool1d::new(kernel).count_include_pad(counted))
        }
    }
}
