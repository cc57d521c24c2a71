//! Calls of Taper's layers and losses by PyTorch's names.

use crate::arguments::{Args, Expressed, missing, mistyped};
use crate::functions::Outputs;
use crate::further;
use crate::networks::{is_same, loss_named, output_size, padding, pair};
use crate::samples::Sample;
use crate::sequences;
use std::collections::HashMap;
use taper::Tensor;
use taper::candle_core::{DType, Device, Tensor as Raw, safetensors};
use taper::nn::*;
use taper::ops::{Interpolation, PaddingMode, Pair};

/// What a layer computed, and the tensors whose gradients and values are compared.
pub(crate) struct Ran {
    pub(crate) outputs: Vec<Tensor>,
    pub(crate) parameters: Vec<Tensor>,
    pub(crate) buffers: Vec<Tensor>,
}

/// Runs the layer of this name.
pub(crate) fn run(name: &str, sample: &Sample, dtype: DType, eval: bool) -> Expressed<Ran> {
    let run = Run {
        sample,
        dtype,
        eval,
    };
    if let Some(ran) = further::run(name, &run) {
        return ran;
    }
    if name.ends_with("Loss") {
        let (x, y) = (
            sample.forward.tensor("input")?,
            sample.forward.tensor("target")?,
        );
        let outputs = loss_named(name, &sample.args, &x, &y)?;
        let (parameters, buffers) = (vec![], vec![]);
        return Ok(Ran {
            outputs,
            parameters,
            buffers,
        });
    }
    if let Some(ran) = sequences::run(name, &run) {
        return ran;
    }
    let layer = layer(name, &sample.args)?;
    run.of(layer, |layer, a| {
        let x = match a.maybe_tensor("x")? {
            Some(x) => x,
            None => a.tensor("input")?,
        };
        Ok(vec![layer.forward(&x)])
    })
}

/// The sample that a layer runs.
pub(crate) struct Run<'a> {
    pub(crate) sample: &'a Sample,
    dtype: DType,
    eval: bool,
}

impl Run<'_> {
    /// Loads the sample's parameters into the layer, and runs it.
    pub(crate) fn of<L: Parameters>(
        &self,
        mut layer: L,
        forward: impl FnOnce(&L, &Args) -> Outputs,
    ) -> Expressed<Ran> {
        layer.to_dtype(self.dtype);
        let state = &self.sample.state;
        if !state.is_empty() {
            load(&mut layer, state);
        }
        if self.eval {
            layer.eval();
        }
        let outputs = forward(&layer, &self.sample.forward)?;
        let trained = state.iter().filter(|(_, _, trained)| *trained);
        let parameters = trained.map(|(name, ..)| layer.parameter(name).tensor());
        let parameters = parameters.collect();
        let after: HashMap<String, Tensor> = match state.is_empty() {
            true => HashMap::new(),
            false => layer.state_dict().into_iter().collect(),
        };
        let buffers = state.iter().filter(|(_, _, trained)| !trained);
        let buffers = buffers.map(|(name, ..)| after[name].clone()).collect();
        Ok(Ran {
            outputs,
            parameters,
            buffers,
        })
    }
}

/// Loads a layer's parameters and buffers as a file of PyTorch.
fn load<L: Parameters>(layer: &mut L, state: &[(String, Tensor, bool)]) {
    let tensors: HashMap<&str, Raw> = { state.iter() }
        .map(|(name, x, _)| (name.as_str(), x.as_candle().clone()))
        .collect();
    let folder = std::env::temp_dir();
    let path = folder.join(format!("taper-pytorch-{}.safetensors", std::process::id()));
    safetensors::save(&tensors, &path).unwrap();
    let loaded = layer.load_parameters(&path, &Device::Cpu);
    std::fs::remove_file(&path).unwrap();
    loaded.unwrap();
}

/// Creates a layer that maps one tensor to one.
fn layer(name: &str, a: &Args) -> Expressed<Box<dyn Layer>> {
    let features = |name: &str| Ok(a.size(name)?.unwrap_or(0));
    Ok(match name {
        "ReLU" => Box::new(ReLU),
        "Sigmoid" => Box::new(Sigmoid),
        "Tanh" => Box::new(Tanh),
        "SiLU" => Box::new(SiLU),
        "GELU" => Box::new(GELU),
        "Softmax" => match a.int("dim")? {
            Some(-1) => Box::new(Softmax),
            Some(dim) => Box::new(Lambda::new(move |x| x.softmax(dim))),
            None => return missing("no `dim`"),
        },
        "ELU" => Box::new(ELU::new().alpha(a.float("alpha")?.unwrap_or(1.0))),
        "LeakyReLU" => {
            let slope = a.float("negative_slope")?.unwrap_or(0.01);
            Box::new(LeakyReLU::new().negative_slope(slope))
        }
        "PReLU" => Box::new(PReLU::new(a.size("num_parameters")?.unwrap_or(1))),
        "Linear" => {
            let (inputs, outputs) = (features("in_features")?, features("out_features")?);
            Box::new(Linear::new(inputs, outputs).bias(a.flag("bias", true)?))
        }
        "Embedding" => Box::new(Embedding::new(
            features("num_embeddings")?,
            features("embedding_dim")?,
        )),
        _ => return other_layer(name, a),
    })
}

fn other_layer(name: &str, a: &Args) -> Expressed<Box<dyn Layer>> {
    match name {
        "AdaptiveAvgPool2d" | "AvgPool2d" | "MaxPool2d" => pooling(name, a),
        "BatchNorm1d" | "BatchNorm2d" | "GroupNorm" | "LayerNorm" | "RMSNorm" => norm(name, a),
        _ => convolution(name, a),
    }
}

fn pooling(name: &str, a: &Args) -> Expressed<Box<dyn Layer>> {
    if name == "AdaptiveAvgPool2d" {
        return Ok(Box::new(AdaptiveAvgPool2d::new(output_size(a)?)));
    }
    let Some(kernel) = pair(a, "kernel_size")? else {
        return missing("no `kernel_size`");
    };
    macro_rules! pool {
        ($layer:expr) => {{
            let mut layer = $layer.ceil_mode(a.flag("ceil_mode", false)?);
            if let Some(stride) = pair(a, "stride")? {
                layer = layer.stride(stride);
            }
            if let Some(padding) = pair(a, "padding")? {
                layer = layer.padding(padding);
            }
            Ok(Box::new(layer))
        }};
    }
    match name {
        "AvgPool2d" => {
            let layer =
                AvgPool2d::new(kernel).count_include_pad(a.flag("count_include_pad", true)?);
            match a.size("divisor_override")? {
                Some(divisor) => pool!(layer.divisor_override(divisor)),
                None => pool!(layer),
            }
        }
        _ => pool!(match pair(a, "dilation")? {
            Some(dilation) => MaxPool2d::new(kernel).dilation(dilation),
            None => MaxPool2d::new(kernel),
        }),
    }
}

fn norm(name: &str, a: &Args) -> Expressed<Box<dyn Layer>> {
    let eps = a.float("eps")?;
    macro_rules! with_eps {
        ($layer:expr) => {{
            let mut layer = $layer;
            if let Some(eps) = eps {
                layer = layer.eps(eps);
            }
            layer
        }};
    }
    let shape = || a.sizes("normalized_shape").map(Option::unwrap_or_default);
    let bias = a.flag("bias", true)?;
    macro_rules! batch_norm {
        ($name:ident) => {{
            let mut layer = with_eps!($name::new(a.size("num_features")?.unwrap_or(0)));
            if a.is_none("momentum") {
                layer = layer.momentum(None);
            } else if let Some(momentum) = a.float("momentum")? {
                layer = layer.momentum(momentum);
            }
            let layer = layer.track_running_stats(a.flag("track_running_stats", true)?);
            let affine = a.flag("affine", true)?;
            Box::new(layer.affine(affine).bias(affine && bias))
        }};
    }
    Ok(match name {
        "BatchNorm1d" => batch_norm!(BatchNorm1d),
        "BatchNorm2d" => batch_norm!(BatchNorm2d),
        "GroupNorm" => {
            let (groups, channels) = (a.size("num_groups")?, a.size("num_channels")?);
            let layer = GroupNorm::new(groups.unwrap_or(0), channels.unwrap_or(0));
            let affine = a.flag("affine", true)?;
            Box::new(with_eps!(layer).affine(affine).bias(affine && bias))
        }
        "LayerNorm" => {
            let layer = with_eps!(LayerNorm::new(shape()?));
            let affine = a.flag("elementwise_affine", true)?;
            Box::new(layer.elementwise_affine(affine).bias(affine && bias))
        }
        _ => {
            let layer = with_eps!(RMSNorm::new(shape()?));
            Box::new(layer.elementwise_affine(a.flag("elementwise_affine", true)?))
        }
    })
}

fn padding_mode(a: &Args) -> Expressed<PaddingMode> {
    Ok(match a.text("padding_mode")?.as_deref() {
        None => PaddingMode::Zeros,
        Some("reflect") => PaddingMode::Reflect,
        Some("replicate") => PaddingMode::Replicate,
        Some("circular") => PaddingMode::Circular,
        Some(_) => return mistyped("`padding_mode`"),
    })
}

fn convolution(name: &str, a: &Args) -> Expressed<Box<dyn Layer>> {
    let size = |name: &str| a.size(name).map(Option::unwrap_or_default);
    let width = |pair: Pair| pair.width;
    // The settings of all convolutions; `$extent` makes a pair what the layer takes.
    macro_rules! convolution {
        ($layer:expr, $extent:expr, $($own:tt)*) => {{
            let mut layer = $layer.bias(a.flag("bias", true)?);
            if let Some(stride) = pair(a, "stride")? {
                layer = layer.stride($extent(stride));
            }
            if let Some(padding) = padding(a)? {
                layer = layer.padding($extent(padding));
            }
            if let Some(dilation) = pair(a, "dilation")? {
                layer = layer.dilation($extent(dilation));
            }
            if let Some(groups) = a.size("groups")? {
                layer = layer.groups(groups);
            }
            Ok(Box::new(convolution!(@ layer, $extent, $($own)*)))
        }};
        (@ $layer:ident, $extent:expr, padded) => {
            match is_same(a) {
                true => $layer.padding_same().padding_mode(padding_mode(a)?),
                false => $layer.padding_mode(padding_mode(a)?),
            }
        };
        (@ $layer:ident, $extent:expr, transposed) => {
            match pair(a, "output_padding")? {
                Some(padding) => $layer.output_padding($extent(padding)),
                None => $layer,
            }
        };
    }
    let Some(kernel) = pair(a, "kernel_size")? else {
        return missing("no `kernel_size`");
    };
    let row = width(kernel);
    let both = |pair: Pair| pair;
    let outputs = size("out_channels")?;
    if let Some(name) = name.strip_prefix("Lazy") {
        return match name {
            "Conv1d" => convolution!(LazyConv1d::new(outputs, row), width, padded),
            "Conv2d" => convolution!(LazyConv2d::new(outputs, kernel), both, padded),
            "ConvTranspose1d" => {
                convolution!(LazyConvTranspose1d::new(outputs, row), width, transposed)
            }
            "ConvTranspose2d" => {
                convolution!(LazyConvTranspose2d::new(outputs, kernel), both, transposed)
            }
            _ => missing("the layer"),
        };
    }
    let inputs = size("in_channels")?;
    match name {
        "Conv1d" => convolution!(Conv1d::new(inputs, outputs, row), width, padded),
        "Conv2d" => convolution!(Conv2d::new(inputs, outputs, kernel), both, padded),
        "ConvTranspose1d" => convolution!(
            ConvTranspose1d::new(inputs, outputs, row),
            width,
            transposed
        ),
        "ConvTranspose2d" => convolution!(
            ConvTranspose2d::new(inputs, outputs, kernel),
            both,
            transposed
        ),
        _ => missing("the layer"),
    }
}

/// Resizes as the layer `Upsample` does.
pub(crate) fn interpolated(name: &str, a: &Args) -> Outputs {
    let x = a.x()?;
    a.text("mode")?;
    // The factor of the rounded size.
    let recomputed = a.flag("recompute_scale_factor", false)?;
    let layer = match (a.sizes("size")?.as_deref(), a.float("scale_factor")?) {
        (Some([height, width]), None) => Upsample::to_size(*height, *width),
        (Some([length]), None) if x.rank() == 3 && name == "interpolate.nearest" => {
            let rows = Upsample::to_size(1, *length).forward(&x.unsqueeze(2));
            return Ok(vec![rows.squeeze(2)]);
        }
        (None, Some(factor)) if recomputed && x.rank() == 4 => {
            let size = |dim| (x.dim(dim) as f64 * factor).floor() as usize;
            Upsample::to_size(size(2), size(3))
        }
        (None, Some(factor)) => Upsample::new(factor),
        _ => return missing("sequences and volumes"),
    };
    if x.rank() != 4 {
        return missing("sequences and volumes");
    }
    let layer = match name {
        "interpolate.bilinear" => layer.mode(Interpolation::Bilinear),
        _ => layer,
    };
    let layer = layer.align_corners(a.flag("align_corners", false)?);
    Ok(vec![layer.forward(&x)])
}
