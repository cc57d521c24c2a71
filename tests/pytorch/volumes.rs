//! Calls of the layers for volumes, by PyTorch's names.

use crate::arguments::{Args, Expressed, Value, missing, mistyped};
use taper::nn::*;

fn triple(a: &Args, name: &str) -> Expressed<Option<Triple>> {
    Ok(match a.sizes(name)?.as_deref() {
        None => None,
        Some([all]) => Some((*all).into()),
        Some([depth, height, width]) => Some((*depth, *height, *width).into()),
        Some(_) => return mistyped(format!("`{name}`: of another rank")),
    })
}

/// Creates the layer of this name; `None` if it is in another file.
pub(crate) fn layer(name: &str, a: &Args) -> Option<Expressed<Box<dyn Layer>>> {
    Some(match name {
        "Conv3d" => convolution(a),
        "MaxPool3d" | "AvgPool3d" => pooling(name, a),
        "BatchNorm3d" => norm(a),
        _ => return None,
    })
}

fn convolution(a: &Args) -> Expressed<Box<dyn Layer>> {
    let size = |name: &str| a.size(name).map(Option::unwrap_or_default);
    let Some(kernel) = triple(a, "kernel_size")? else {
        return missing("no `kernel_size`");
    };
    let mut layer = Conv3d::new(size("in_channels")?, size("out_channels")?, kernel);
    if let Some(groups) = a.size("groups")? {
        layer = layer.groups(groups);
    }
    if let Some(stride) = triple(a, "stride")? {
        layer = layer.stride(stride);
    }
    match a.get("padding") {
        Some(Value::Text(text)) if text == "valid" => {}
        // For odd kernels; others need `Tensor::pad`.
        Some(Value::Text(text)) if text == "same" => match a.sizes("kernel_size")?.as_deref() {
            Some([size]) if size % 2 == 1 => layer = layer.padding(size / 2),
            _ => return missing("`padding`: same"),
        },
        _ => {
            if let Some(padding) = triple(a, "padding")? {
                layer = layer.padding(padding);
            }
        }
    }
    if let Some(dilation) = triple(a, "dilation")? {
        layer = layer.dilation(dilation);
    }
    Ok(Box::new(layer.bias(a.flag("bias", true)?)))
}

fn pooling(name: &str, a: &Args) -> Expressed<Box<dyn Layer>> {
    let Some(kernel) = triple(a, "kernel_size")? else {
        return missing("no `kernel_size`");
    };
    macro_rules! pool {
        ($name:ident) => {{
            let mut layer = $name::new(kernel);
            if let Some(stride) = triple(a, "stride")? {
                layer = layer.stride(stride);
            }
            if let Some(padding) = triple(a, "padding")? {
                layer = layer.padding(padding);
            }
            Ok(Box::new(layer))
        }};
    }
    match name {
        "MaxPool3d" => pool!(MaxPool3d),
        _ => pool!(AvgPool3d),
    }
}

fn norm(a: &Args) -> Expressed<Box<dyn Layer>> {
    let mut layer = BatchNorm3d::new(a.size("num_features")?.unwrap_or(0));
    if let Some(eps) = a.float("eps")? {
        layer = layer.eps(eps);
    }
    if a.is_none("momentum") {
        layer = layer.momentum(None);
    } else if let Some(momentum) = a.float("momentum")? {
        layer = layer.momentum(momentum);
    }
    let layer = layer.track_running_stats(a.flag("track_running_stats", true)?);
    let affine = a.flag("affine", true)?;
    let bias = affine && a.flag("bias", true)?;
    Ok(Box::new(layer.affine(affine).bias(bias)))
}
