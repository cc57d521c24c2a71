//! Calls of Taper's functions of neural networks by PyTorch's names.

use crate::arguments::{Args, Expressed, Value, missing, mistyped};
use crate::functions::{Outputs, expressed};
use taper::Tensor;
use taper::candle_core::DType;
use taper::nn::{GroupNorm, Layer, LayerNorm, RMSNorm};
use taper::ops::{self, AttentionMask, Conv2dSpec, OutputSize, Pair, Pool2dSpec, Reduction};

/// Calls the function of this name; `None` if it is in another file.
pub(crate) fn call(name: &str, a: &Args) -> Option<Outputs> {
    let name = name.strip_prefix("nn.functional.")?;
    convolution(name, a)
        .or_else(|| normalization(name, a))
        .or_else(|| loss(name, a))
        .or_else(|| other(name, a))
}

/// Reads a size or a pair of sizes.
pub(crate) fn pair(a: &Args, name: &str) -> Expressed<Option<Pair>> {
    Ok(match a.sizes(name)?.as_deref() {
        None => None,
        Some([both]) => Some((*both).into()),
        Some([height, width]) => Some((*height, *width).into()),
        Some(_) => return mistyped(format!("`{name}`: of another rank")),
    })
}

/// Reads the padding of a convolution, if it is not a text; `"valid"` is none.
pub(crate) fn padding(a: &Args) -> Expressed<Option<Pair>> {
    match a.get("padding") {
        Some(Value::Text(text)) if text == "same" || text == "valid" => Ok(None),
        _ => pair(a, "padding"),
    }
}

/// Returns whether a convolution keeps the size of its input.
pub(crate) fn is_same(a: &Args) -> bool {
    matches!(a.get("padding"), Some(Value::Text(text)) if text == "same")
}

/// Reads the size of the output of adaptive pooling, of which parts may be None.
pub(crate) fn output_size(a: &Args) -> Expressed<OutputSize> {
    let size = |value: &Value| usize::try_from(value.int()?).ok();
    match a.get("output_size") {
        Some(Value::List(list)) => match &list[..] {
            [Value::None, Value::None] => Ok((None, None).into()),
            [Value::None, width] if let Some(width) = size(width) => Ok((None, width).into()),
            [height, Value::None] if let Some(height) = size(height) => Ok((height, None).into()),
            _ => match pair(a, "output_size")? {
                Some(size) => Ok(size.into()),
                None => missing("no `output_size`"),
            },
        },
        Some(value) if let Some(size) = size(value) => Ok(size.into()),
        Some(_) => missing("`output_size`: a negative integer"),
        None => missing("`output_size`: None"),
    }
}

fn convolution(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "conv1d" | "conv2d" => expressed!({
            let rows = |pair: Pair, other: usize| match name {
                "conv1d" => Pair::from((other, pair.width)),
                _ => pair,
            };
            let mut spec = Conv2dSpec::new();
            if let Some(stride) = pair(a, "stride")? {
                spec = spec.stride(rows(stride, 1));
            }
            if let Some(padding) = padding(a)? {
                spec = spec.padding(rows(padding, 0));
            }
            if is_same(a) {
                spec = spec.padding_same();
            }
            if let Some(dilation) = pair(a, "dilation")? {
                spec = spec.dilation(rows(dilation, 1));
            }
            if let Some(groups) = a.size("groups")? {
                spec = spec.groups(groups);
            }
            let (x, weight, bias) = (a.x()?, a.tensor("weight")?, a.maybe_tensor("bias")?);
            Ok(vec![match name {
                "conv1d" => ops::conv1d(&x, &weight, bias.as_ref(), spec),
                _ => ops::conv2d(&x, &weight, bias.as_ref(), spec),
            }])
        }),
        "conv_transpose1d" | "conv_transpose2d" => Some(missing("a layer only")),
        "linear" => expressed!({
            let (x, weight, bias) = (a.x()?, a.tensor("weight")?, a.maybe_tensor("bias")?);
            Ok(vec![ops::linear(&x, &weight, bias.as_ref())])
        }),
        "avg_pool2d" | "max_pool2d" => expressed!({
            let Some(kernel) = pair(a, "kernel_size")? else {
                return missing("no `kernel_size`");
            };
            let mut spec = Pool2dSpec::new(kernel);
            if let Some(stride) = pair(a, "stride")? {
                spec = spec.stride(stride);
            }
            if let Some(padding) = pair(a, "padding")? {
                spec = spec.padding(padding);
            }
            let spec = pooling(a, spec)?;
            match (name, a.flag("return_indices", false)?) {
                ("avg_pool2d", _) => Ok(vec![ops::avg_pool2d(&a.x()?, spec)]),
                (_, false) => Ok(vec![ops::max_pool2d(&a.x()?, spec)]),
                (_, true) => {
                    let (y, indices) = ops::max_pool2d_with_indices(&a.x()?, spec);
                    Ok(vec![y, indices])
                }
            }
        }),
        "adaptive_avg_pool2d" => expressed!({
            let size = output_size(a)?;
            Ok(vec![ops::adaptive_avg_pool2d(&a.x()?, size)])
        }),
        _ => None,
    }
}

/// Reads the settings of pooling that layers have, too.
fn pooling(a: &Args, mut spec: Pool2dSpec) -> Expressed<Pool2dSpec> {
    if let Some(dilation) = pair(a, "dilation")? {
        spec = spec.dilation(dilation);
    }
    spec = spec.ceil_mode(a.flag("ceil_mode", false)?);
    if let Some(divisor) = a.size("divisor_override")? {
        spec = spec.divisor_override(divisor);
    }
    Ok(spec.count_include_pad(a.flag("count_include_pad", true)?))
}

fn normalization(name: &str, a: &Args) -> Option<Outputs> {
    let shape = || a.sizes("normalized_shape").map(Option::unwrap_or_default);
    // The functions normalise one dimension, and the layers several.
    let rows = |x: &Tensor, dims: usize| x.flatten_from(x.rank().saturating_sub(dims));
    match name {
        "layer_norm" => expressed!({
            let (x, weight, bias) = (a.x()?, a.maybe_tensor("weight")?, a.maybe_tensor("bias")?);
            let (shape, eps) = (shape()?, a.float("eps")?.unwrap_or(1e-5));
            let (weight, bias) = match (weight, bias) {
                (Some(weight), Some(bias)) => (weight.flatten_all(), bias.flatten_all()),
                (None, None) => {
                    let layer = LayerNorm::new(shape).eps(eps).elementwise_affine(false);
                    return Ok(vec![layer.forward(&x)]);
                }
                _ => return missing("no `weight` or no `bias`"),
            };
            let y = ops::layer_norm(&rows(&x, shape.len()), &weight, &bias, eps);
            Ok(vec![y.reshape(x.shape())])
        }),
        "rms_norm" => expressed!({
            let (x, shape) = (a.x()?, shape()?);
            let eps = a.float("eps")?.unwrap_or(default_eps(x.dtype()));
            let Some(weight) = a.maybe_tensor("weight")? else {
                let layer = RMSNorm::new(shape).eps(eps).elementwise_affine(false);
                return Ok(vec![layer.forward(&x)]);
            };
            let y = ops::rms_norm(&rows(&x, shape.len()), &weight.flatten_all(), eps);
            Ok(vec![y.reshape(x.shape())])
        }),
        "group_norm" => expressed!({
            let (x, groups) = (a.x()?, a.size("num_groups")?.unwrap_or(0));
            let eps = a.float("eps")?.unwrap_or(1e-5);
            match (a.maybe_tensor("weight")?, a.maybe_tensor("bias")?) {
                (Some(weight), Some(bias)) => {
                    Ok(vec![ops::group_norm(&x, groups, &weight, &bias, eps)])
                }
                (None, None) => {
                    let layer = GroupNorm::new(groups, x.dim(1)).eps(eps).affine(false);
                    Ok(vec![layer.forward(&x)])
                }
                _ => missing("no `weight` or no `bias`"),
            }
        }),
        "batch_norm" | "prelu" => Some(missing("a layer only")),
        _ => None,
    }
}

/// Returns the `eps` that PyTorch's RMS normalisation uses for a type.
fn default_eps(dtype: DType) -> f64 {
    match dtype {
        DType::F64 => f64::EPSILON,
        _ => f32::EPSILON.into(),
    }
}

/// Reads how the losses of the examples become one.
pub(crate) fn reduction(a: &Args) -> Expressed<Reduction> {
    Ok(match a.text("reduction")?.as_deref() {
        None | Some("mean") => Reduction::Mean,
        Some("sum") => Reduction::Sum,
        Some("batchmean") => Reduction::BatchMean,
        Some("none") => Reduction::None,
        Some(_) => return mistyped("`reduction`"),
    })
}

fn loss(name: &str, a: &Args) -> Option<Outputs> {
    let name = match name {
        "cross_entropy" => "CrossEntropyLoss",
        "nll_loss" => "NLLLoss",
        "mse_loss" => "MSELoss",
        "l1_loss" => "L1Loss",
        "smooth_l1_loss" => "SmoothL1Loss",
        "huber_loss" => "HuberLoss",
        "kl_div" => "KLDivLoss",
        "binary_cross_entropy_with_logits" => "BCEWithLogitsLoss",
        _ => return None,
    };
    expressed!(loss_named(name, a, &a.x()?, &a.tensor("target")?))
}

/// Computes a loss by the name of PyTorch's class. The functions have the same settings.
pub(crate) fn loss_named(name: &str, a: &Args, x: &Tensor, y: &Tensor) -> Outputs {
    let reduction = reduction(a)?;
    Ok(vec![match name {
        "MSELoss" => ops::MSELoss::new().reduction(reduction).forward(x, y),
        "L1Loss" => ops::L1Loss::new().reduction(reduction).forward(x, y),
        "SmoothL1Loss" => {
            let beta = a.float("beta")?.unwrap_or(1.0);
            ops::SmoothL1Loss::new()
                .beta(beta)
                .reduction(reduction)
                .forward(x, y)
        }
        "HuberLoss" => {
            let delta = a.float("delta")?.unwrap_or(1.0);
            ops::HuberLoss::new()
                .delta(delta)
                .reduction(reduction)
                .forward(x, y)
        }
        "KLDivLoss" => {
            let log_target = a.flag("log_target", false)?;
            ops::KLDivLoss::new()
                .log_target(log_target)
                .reduction(reduction)
                .forward(x, y)
        }
        "BCEWithLogitsLoss" => {
            let mut loss = ops::BCEWithLogitsLoss::new().reduction(reduction);
            if let Some(weight) = a.maybe_tensor("weight")? {
                loss = loss.weight(&weight);
            }
            if let Some(weight) = a.maybe_tensor("pos_weight")? {
                loss = loss.pos_weight(&weight);
            }
            loss.forward(x, y)
        }
        "NLLLoss" => {
            let mut loss = ops::NLLLoss::new().reduction(reduction);
            if let Some(weight) = a.maybe_tensor("weight")? {
                loss = loss.weight(&weight);
            }
            loss.ignore_index(a.int("ignore_index")?.unwrap_or(-100))
                .forward(x, y)
        }
        _ => {
            let mut loss = ops::CrossEntropyLoss::new().reduction(reduction);
            if let Some(weight) = a.maybe_tensor("weight")? {
                loss = loss.weight(&weight);
            }
            if let Some(smoothing) = a.float("label_smoothing")? {
                loss = loss.label_smoothing(smoothing);
            }
            loss.ignore_index(a.int("ignore_index")?.unwrap_or(-100))
                .forward(x, y)
        }
    }])
}

fn other(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "embedding" => expressed!(Ok(vec![ops::embedding(&a.x()?, &a.tensor("weight")?)])),
        "one_hot" => expressed!(match a.size("num_classes")? {
            Some(classes) => Ok(vec![ops::one_hot(&a.x()?, classes)]),
            None => {
                let x = a.x()?;
                let classes = x.max_all().item() as usize + 1;
                Ok(vec![ops::one_hot(&x, classes)])
            }
        }),
        "scaled_dot_product_attention" => expressed!({
            let (query, mut key, mut value) = (a.x()?, a.tensor("key")?, a.tensor("value")?);
            if a.flag("enable_gqa", false)? {
                let shared = |x: &Tensor| x.repeat_interleave(query.dim(-3) / x.dim(-3), -3);
                (key, value) = (shared(&key), shared(&value));
            }
            let mut mask = match a.flag("is_causal", false)? {
                true => AttentionMask::causal(),
                false => AttentionMask::none(),
            };
            if let Some(pairs) = a.maybe_tensor("attn_mask")? {
                mask = mask.pairs(&pairs);
            }
            Ok(vec![ops::scaled_dot_product_attention(
                &query, &key, &value, &mask,
            )])
        }),
        "interpolate.nearest" | "interpolate.bilinear" => {
            expressed!(crate::layers::interpolated(name, a))
        }
        _ => None,
    }
}
