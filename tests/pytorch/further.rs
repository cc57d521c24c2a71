//! Calls of the layers, losses and functions of the samples in `further.gz`, by PyTorch's names.

use crate::arguments::{Args, Expressed, Value, missing};
use crate::functions::{Outputs, expressed};
use crate::layers::{Ran, Run};
use crate::networks::{output_size, reduction};
use crate::rows;
use crate::volumes;
use taper::nn::*;
use taper::ops;

/// Runs the layer of this name; `None` if it is in another file.
pub(crate) fn run(name: &str, run: &Run<'_>) -> Option<Expressed<Ran>> {
    let a = &run.sample.args;
    if let Some(loss) = name.strip_suffix("Loss")
        && let Some(outputs) = loss_of(loss, a, &run.sample.forward)
    {
        return Some(outputs.map(|outputs| Ran {
            outputs,
            parameters: vec![],
            buffers: vec![],
        }));
    }
    match name {
        "RNNCell" | "GRUCell" | "LSTMCell" => Some(cell(name, run)),
        "Bilinear" => expressed!({
            let size = |name| a.size(name).map(Option::unwrap_or_default);
            let (first, second) = (size("in1_features")?, size("in2_features")?);
            let layer = Bilinear::new(first, second, size("out_features")?);
            run.of(layer.bias(a.flag("bias", true)?), |layer, a| {
                Ok(vec![
                    layer.forward(&(a.tensor("input1")?, a.tensor("input2")?)),
                ])
            })
        }),
        _ => {
            let layer = match name.ends_with("Pool1d") {
                true => Some(rows::layer(name, a)),
                false => layer(name, a).or_else(|| volumes::layer(name, a)),
            }?;
            Some(layer.and_then(|layer| {
                run.of(layer, |layer, a| {
                    Ok(vec![layer.forward(&a.tensor("input")?)])
                })
            }))
        }
    }
}

fn cell(name: &str, run: &Run<'_>) -> Expressed<Ran> {
    let a = &run.sample.args;
    let size = |name| a.size(name).map(Option::unwrap_or_default);
    let (inputs, hidden) = (size("input_size")?, size("hidden_size")?);
    let bias = a.flag("bias", true)?;
    match name {
        "LSTMCell" => run.of(LSTMCell::new(inputs, hidden).bias(bias), |layer, a| {
            let state = a.tensors("hx")?;
            let (h, c) = layer.forward(
                &a.tensor("input")?,
                Some(&(state[0].clone(), state[1].clone())),
            );
            Ok(vec![h, c])
        }),
        "GRUCell" => run.of(GRUCell::new(inputs, hidden).bias(bias), |layer, a| {
            Ok(vec![
                layer.forward(&a.tensor("input")?, Some(&a.tensor("hx")?)),
            ])
        }),
        _ => {
            let mut layer = RNNCell::new(inputs, hidden).bias(bias);
            if a.text("nonlinearity")?.as_deref() == Some("relu") {
                layer = layer.nonlinearity(ReLU);
            }
            run.of(layer, |layer, a| {
                Ok(vec![
                    layer.forward(&a.tensor("input")?, Some(&a.tensor("hx")?)),
                ])
            })
        }
    }
}

fn layer(name: &str, a: &Args) -> Option<Expressed<Box<dyn Layer>>> {
    macro_rules! instance_norm {
        ($name:ident) => {{
            a.float("momentum")?; // of the running statistics, which it does not have
            if a.flag("track_running_stats", false)? {
                return missing("`track_running_stats`");
            }
            let mut layer = $name::new(a.size("num_features")?.unwrap_or(0));
            layer = layer
                .affine(a.flag("affine", false)?)
                .bias(a.flag("bias", true)?);
            if let Some(eps) = a.float("eps")? {
                layer = layer.eps(eps);
            }
            Ok(Box::new(layer) as Box<dyn Layer>)
        }};
    }
    match name {
        "Hardswish" => Some(Ok(Box::new(Hardswish))),
        "Mish" => Some(Ok(Box::new(Mish))),
        "GLU" => expressed!(Ok(
            Box::new(GLU::new().dim(a.int("dim")?.unwrap_or(-1))) as Box<dyn Layer>
        )),
        "Softplus" => expressed!({
            let (beta, threshold) = (a.float("beta")?, a.float("threshold")?);
            let layer = Softplus::new().beta(beta.unwrap_or(1.0));
            Ok(Box::new(layer.threshold(threshold.unwrap_or(20.0))) as Box<dyn Layer>)
        }),
        "AdaptiveMaxPool2d" => {
            expressed!({ Ok(Box::new(AdaptiveMaxPool2d::new(output_size(a)?)) as Box<dyn Layer>) })
        }
        "LocalResponseNorm" => expressed!(Ok(Box::new(response_norm(a)?) as Box<dyn Layer>)),
        "InstanceNorm1d" => expressed!(instance_norm!(InstanceNorm1d)),
        "InstanceNorm2d" => expressed!(instance_norm!(InstanceNorm2d)),
        _ => None,
    }
}

fn response_norm(a: &Args) -> Expressed<LocalResponseNorm> {
    let layer = LocalResponseNorm::new(a.size("size")?.unwrap_or(0));
    let (alpha, beta, k) = (a.float("alpha")?, a.float("beta")?, a.float("k")?);
    let layer = layer
        .alpha(alpha.unwrap_or(1e-4))
        .beta(beta.unwrap_or(0.75));
    Ok(layer.k(k.unwrap_or(1.0)))
}

/// Computes a loss, with the arguments of the constructor and of `forward`.
fn loss_of(name: &str, a: &Args, forward: &Args) -> Option<Outputs> {
    let x = |name: &str| forward.tensor(name);
    let float = |name: &str, default: f64| a.float(name).map(|value| value.unwrap_or(default));
    macro_rules! reduced {
        ($loss:expr) => {
            $loss.reduction(reduction(a)?)
        };
    }
    match name {
        "BCE" => expressed!({
            let mut loss = reduced!(ops::BCELoss::new());
            if let Some(weight) = a.maybe_tensor("weight")? {
                loss = loss.weight(&weight);
            }
            Ok(vec![loss.forward(&x("input")?, &x("target")?)])
        }),
        "HingeEmbedding" => expressed!({
            let loss = reduced!(ops::HingeEmbeddingLoss::new()).margin(float("margin", 1.0)?);
            Ok(vec![loss.forward(&x("input")?, &x("target")?)])
        }),
        "CosineEmbedding" => expressed!({
            let loss = reduced!(ops::CosineEmbeddingLoss::new()).margin(float("margin", 0.0)?);
            Ok(vec![loss.forward(
                &x("input1")?,
                &x("input2")?,
                &x("target")?,
            )])
        }),
        "TripletMargin" => expressed!({
            let loss = reduced!(ops::TripletMarginLoss::new()).margin(float("margin", 1.0)?);
            let loss = loss.p(float("p", 2.0)?).eps(float("eps", 1e-6)?);
            let loss = loss.swap(a.flag("swap", false)?);
            Ok(vec![loss.forward(
                &x("anchor")?,
                &x("positive")?,
                &x("negative")?,
            )])
        }),
        "MultiMargin" => expressed!({
            let mut loss = reduced!(ops::MultiMarginLoss::new()).margin(float("margin", 1.0)?);
            if let Some(weight) = a.maybe_tensor("weight")? {
                loss = loss.weight(&weight);
            }
            Ok(vec![
                loss.p(float("p", 1.0)?)
                    .forward(&x("input")?, &x("target")?),
            ])
        }),
        "PoissonNLL" => expressed!({
            let loss = reduced!(ops::PoissonNLLLoss::new()).log_input(a.flag("log_input", true)?);
            let loss = loss.full(a.flag("full", false)?).eps(float("eps", 1e-8)?);
            Ok(vec![loss.forward(&x("log_input")?, &x("target")?)])
        }),
        "GaussianNLL" => expressed!({
            let loss = reduced!(ops::GaussianNLLLoss::new()).full(a.flag("full", false)?);
            let loss = loss.eps(float("eps", 1e-6)?);
            Ok(vec![loss.forward(&x("input")?, &x("target")?, &x("var")?)])
        }),
        "CTC" => expressed!({
            let loss = reduced!(ops::CTCLoss::new()).blank(a.size("blank")?.unwrap_or(0));
            let loss = loss.zero_infinity(a.flag("zero_infinity", false)?);
            let (steps, labels) = (
                lengths(forward, "input_lengths")?,
                lengths(forward, "target_lengths")?,
            );
            Ok(vec![loss.forward(
                &x("log_probs")?,
                &x("targets")?,
                &steps,
                &labels,
            )])
        }),
        _ => None,
    }
}

/// Reads lengths, a list or a tensor.
fn lengths(a: &Args, name: &str) -> Expressed<Vec<usize>> {
    if let Some(Value::Tensor(x)) = a.get(name) {
        let lengths = x.to_vec::<i64>().into_iter();
        return Ok(lengths.map(|length| length as usize).collect());
    }
    match a.sizes(name)? {
        Some(lengths) => Ok(lengths),
        None => missing(format!("no `{name}`")),
    }
}

/// Calls the function of this name; `None` if it is in another file.
pub(crate) fn call(name: &str, a: &Args) -> Option<Outputs> {
    let name = name.strip_prefix("nn.functional.")?;
    let y = |layer: &dyn Layer| Ok(vec![layer.forward(&a.x()?)]);
    match name {
        "hardswish" => expressed!(y(&Hardswish)),
        "mish" => expressed!(y(&Mish)),
        "softplus" => expressed!({
            let (beta, threshold) = (a.float("beta")?, a.float("threshold")?);
            let (beta, threshold) = (beta.unwrap_or(1.0), threshold.unwrap_or(20.0));
            Ok(vec![ops::softplus(&a.x()?, beta, threshold)])
        }),
        "glu" => expressed!(Ok(vec![ops::glu(&a.x()?, a.int("dim")?.unwrap_or(-1))])),
        "adaptive_max_pool2d" => expressed!(y(&AdaptiveMaxPool2d::new(output_size(a)?))),
        "max_pool1d" if a.flag("return_indices", false).ok()? => expressed!({
            let (y, indices) = ops::max_pool2d_with_indices(&a.x()?.unsqueeze(-2), rows::spec(a)?);
            Ok(vec![y.squeeze(-2), indices.squeeze(-2)])
        }),
        "max_pool1d" => expressed!(y(&*rows::layer("MaxPool1d", a)?)),
        "avg_pool1d" => expressed!(y(&*rows::layer("AvgPool1d", a)?)),
        "adaptive_avg_pool1d" => expressed!(y(&*rows::layer("AdaptiveAvgPool1d", a)?)),
        "adaptive_max_pool1d" => expressed!(y(&*rows::layer("AdaptiveMaxPool1d", a)?)),
        "local_response_norm" => expressed!(y(&response_norm(a)?)),
        _ => {
            let (loss, names) = match name {
                "binary_cross_entropy" => ("BCE", ["input", "target", ""]),
                "hinge_embedding_loss" => ("HingeEmbedding", ["input", "target", ""]),
                "cosine_embedding_loss" => ("CosineEmbedding", ["input1", "input2", "target"]),
                "triplet_margin_loss" => ("TripletMargin", ["anchor", "positive", "negative"]),
                "multi_margin_loss" => ("MultiMargin", ["input", "target", ""]),
                "poisson_nll_loss" => ("PoissonNLL", ["log_input", "target", ""]),
                "gaussian_nll_loss" => ("GaussianNLL", ["input", "target", "var"]),
                "ctc_loss" => ("CTC", ["log_probs", "targets", ""]),
                _ => return None,
            };
            expressed!({
                let own = ["x", "target", "third"];
                let mut values = vec![];
                for (own, name) in own
                    .into_iter()
                    .zip(names)
                    .filter(|(_, name)| !name.is_empty())
                {
                    values.push((name.to_owned(), Value::Tensor(a.tensor(own)?)));
                }
                for name in ["input_lengths", "target_lengths"] {
                    values.extend(a.get(name).map(|value| (name.to_owned(), value.clone())));
                }
                let outputs = loss_of(loss, a, &Args::new(values));
                outputs.unwrap_or_else(|| missing("the function"))
            })
        }
    }
}
