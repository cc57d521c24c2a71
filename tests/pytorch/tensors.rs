//! Calls of Taper's functions of whole tensors by PyTorch's names: writing at indices, ranking, matrices, patches.

use crate::arguments::{Args, Expressed, Value, missing, mistyped};
use crate::functions::{Outputs, converted, expressed, one};
use crate::reductions::kept;
use crate::shapes::indices;
use taper::Tensor;
use taper::candle_core::DType;
use taper::ops::{Conv2dSpec, Interpolation, PaddingMode, Pair};
use taper::ops::{einsum, fold, grid_sample, unfold};
use taper::tensor::{Axes, Index, zeros};

/// Calls the function of this name; `None` if it is in another file.
pub(crate) fn call(name: &str, a: &Args) -> Option<Outputs> {
    arranging(name, a)
        .or_else(|| writing(name, a))
        .or_else(|| ranking(name, a))
        .or_else(|| reduction(name, a))
        .or_else(|| logic(name, a))
        .or_else(|| matrices(name, a))
        .or_else(|| patches(name, a))
}

fn arranging(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "split" => expressed!({
            let dim = a.int("dim")?.unwrap_or(0);
            Ok(match a.get("split_size") {
                Some(Value::Int(size)) => a.x()?.split(*size as usize, dim),
                _ => a
                    .x()?
                    .split_into(&a.sizes("split_size")?.unwrap_or_default(), dim),
            })
        }),
        "unbind" => expressed!(Ok(a.x()?.unbind(a.int("dim")?.unwrap_or(0)))),
        "movedim" => expressed!({
            let (from, to) = (a.ints("source")?, a.ints("destination")?);
            one(a
                .x()?
                .movedim(from.unwrap_or_default(), to.unwrap_or_default()))
        }),
        "tile" => expressed!(one(a.x()?.tile(a.sizes("dims")?.unwrap_or_default()))),
        "repeat_interleave" => expressed!({
            let (x, Some(times)) = (a.x()?, a.size("repeats")?) else {
                return missing("no `repeats`");
            };
            one(match a.int("dim")? {
                Some(dim) => x.repeat_interleave(times, dim),
                None => x.flatten_all().repeat_interleave(times, 0),
            })
        }),
        _ => None,
    }
}

fn writing(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "scatter" => expressed!({
            let (x, index, dim) = (a.x()?, a.tensor("index")?, a.axis("dim")?);
            match a.text("reduce")?.as_deref() {
                Some("add") => one(x.scatter_add(&index, &a.tensor("src")?, dim)),
                Some(other) => missing(format!("`reduce`: {other}")),
                None => one(x.scatter(&index, a.operand("src")?, dim)),
            }
        }),
        "scatter_add" => expressed!(one(a.x()?.scatter_add(
            &a.tensor("index")?,
            &a.tensor("src")?,
            a.axis("dim")?
        ))),
        "index_add" => expressed!({
            let mut source = a.tensor("source")?;
            if let Some(alpha) = a.number("alpha")? {
                source *= alpha;
            }
            one(a
                .x()?
                .index_add(&a.tensor("index")?, &source, a.axis("dim")?))
        }),
        "index_put" => expressed!({
            let indices = a.tensors("indices")?;
            let indices: Vec<Index> = indices.iter().map(Index::from).collect();
            if a.flag("accumulate", false)? {
                return missing("`accumulate`");
            }
            let (x, values) = (a.x()?, a.operand("values")?);
            one(match &indices[..] {
                [a] => x.index_put((a.clone(),), values),
                [a, b] => x.index_put((a.clone(), b.clone()), values),
                [a, b, c] => x.index_put((a.clone(), b.clone(), c.clone()), values),
                _ => return missing("`indices`: four or more"),
            })
        }),
        "masked_select" => expressed!({
            let (x, mask) = (a.x()?, a.tensor("mask")?);
            let shape = (&x.zeros_like() + &mask).dims().to_vec();
            one(x
                .broadcast_as(&shape[..])
                .i(&mask.broadcast_as(&shape[..]).contiguous())
                .flatten_all())
        }),
        "__getitem__" => expressed!({
            let x = a.x()?;
            let indices = indices(a)?;
            one(match &indices[..] {
                [] => x,
                [a] => x.i((a.clone(),)),
                [a, b] => x.i((a.clone(), b.clone())),
                [a, b, c] => x.i((a.clone(), b.clone(), c.clone())),
                [a, b, c, d] => x.i((a.clone(), b.clone(), c.clone(), d.clone())),
                _ => return missing("`index`: five or more"),
            })
        }),
        _ => None,
    }
}

fn ranking(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "topk" => expressed!({
            let (k, dim) = (a.size("k")?.unwrap_or(0), a.int("dim")?.unwrap_or(-1));
            if !a.flag("largest", true)? {
                return missing("`largest`");
            }
            a.flag("sorted", true)?;
            let x = a.x()?;
            if x.dtype().is_int() {
                return missing("the order of equal integers");
            }
            let (values, indices) = x.topk(k, dim);
            Ok(vec![values, indices])
        }),
        "median" => expressed!({
            let x = a.x()?;
            match a.int("dim")? {
                None => one(x.flatten_all().median(0)),
                Some(_) => missing("the indices of `median`"),
            }
        }),
        "quantile" => expressed!({
            if a.get("interpolation").is_some() {
                return missing("`interpolation`");
            }
            match a.get("q") {
                Some(Value::Float(q)) => one(quantile(a, *q)?),
                Some(Value::Tensor(q)) if q.track_op() => missing("`q` with a gradient"),
                Some(Value::Tensor(q)) if q.rank() == 0 => one(quantile(a, q.item())?),
                Some(Value::Tensor(each)) => {
                    let each = each.to_dtype(DType::F64).to_vec::<f64>().into_iter();
                    let each = each
                        .map(|q| quantile(a, q))
                        .collect::<Expressed<Vec<_>>>()?;
                    one(Tensor::stack(&each, 0))
                }
                _ => missing("no `q`"),
            }
        }),
        "unique" => expressed!({
            a.flag("sorted", true)?;
            let (values, inverse, counts) = match a.int("dim")? {
                Some(dim) => a.x()?.unique_along(dim),
                None => a.x()?.unique_all(),
            };
            let mut outputs = vec![values];
            if a.flag("return_inverse", false)? {
                outputs.push(inverse);
            }
            if a.flag("return_counts", false)? {
                outputs.push(counts);
            }
            Ok(outputs)
        }),
        "bincount" => expressed!({
            let x = a.x()?;
            let counts = x.bincount(a.size("minlength")?.unwrap_or(0));
            one(match a.maybe_tensor("weights")? {
                Some(weights) => {
                    let zeros = zeros(counts.elem_count()).to_dtype(DType::F64);
                    zeros.index_add(&x, &weights.to_dtype(DType::F64), 0)
                }
                None => counts,
            })
        }),
        "nonzero" => expressed!(match a.flag("as_tuple", false)? {
            true if a.x()?.rank() == 0 => Ok(a.x()?.reshape(1).nonzero().unbind(1)),
            true => Ok(a.x()?.nonzero().unbind(1)),
            false => one(a.x()?.nonzero()),
        }),
        _ => None,
    }
}

fn quantile(a: &Args, q: f64) -> Expressed<Tensor> {
    let x = a.x()?;
    if let Some(dim) = a.int("dim")? {
        return kept(a, &x, |x, _| x.quantile(q, dim));
    }
    let all = x.flatten_all().quantile(q, 0);
    Ok(match a.flag("keepdim", false)? {
        true => all.reshape(vec![1; x.rank()]),
        false => all,
    })
}

fn reduction(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "prod" => expressed!(one(kept(a, &converted(a)?, |x, dims| x.prod(dims))?)),
        "any" => expressed!(one(kept(a, &a.x()?, |x, dims| x.any(dims))?)),
        "all" => expressed!(one(kept(a, &a.x()?, |x, dims| x.all(dims))?)),
        "logsumexp" => expressed!(one(kept(a, &a.x()?, |x, dims| x.logsumexp(dims))?)),
        "cumprod" => expressed!(one(converted(a)?.cumprod(a.axis("dim")?))),
        "linalg.vector_norm" => expressed!({
            let p = a.float("ord")?.unwrap_or(2.0);
            one(kept(a, &converted(a)?, |x, dims| x.vector_norm(p, dims))?)
        }),
        "var" | "std" => expressed!({
            let along = |x: &Tensor, correction: f64, dims: Axes| match name {
                "var" => x.var_with_correction(correction, dims),
                _ => x.std_with_correction(correction, dims),
            };
            if let Some(Value::Bool(unbiased)) = a.get("dim") {
                // Of all elements: it is in the place of `dim`.
                return one(along(&a.x()?, f64::from(*unbiased), (..).into()));
            }
            let unbiased = a.flag("unbiased", true)?;
            let correction = a.float("correction")?.unwrap_or(f64::from(unbiased));
            one(kept(a, &a.x()?, |x, dims| along(x, correction, dims))?)
        }),
        "nn.functional.normalize" => expressed!({
            let (x, dim) = (a.x()?, a.int("dim")?.unwrap_or(1));
            one(match (a.float("p")?.unwrap_or(2.0), a.float("eps")?) {
                (2.0, None) => x.normalize(dim),
                (p, eps) => {
                    let least = eps.unwrap_or(1e-12);
                    &x / kept_at(&x, p, dim).clamp(least, f64::INFINITY)
                }
            })
        }),
        "nn.functional.cosine_similarity" => expressed!({
            if a.float("eps")?.is_some() {
                return missing("`eps`");
            }
            let dim = a.int("dim")?.unwrap_or(1);
            one(a.x()?.cosine_similarity(&a.tensor("other")?, dim))
        }),
        "cdist" => expressed!({
            a.text("compute_mode")?; // how, not what
            match a.float("p")? {
                None | Some(2.0) => one(a.x()?.cdist(&a.tensor("other")?)),
                Some(p) => one(a.x()?.cdist_with_norm(&a.tensor("other")?, p)),
            }
        }),
        _ => None,
    }
}

/// Returns norms along a dimension, which keeps its place; a scalar has none.
fn kept_at(x: &Tensor, p: f64, dim: i64) -> Tensor {
    let norms = x.vector_norm(p, dim);
    match x.rank() {
        0 => norms,
        _ => norms.unsqueeze(dim),
    }
}

fn logic(name: &str, a: &Args) -> Option<Outputs> {
    let f: fn(&Tensor) -> Tensor = match name {
        "isnan" => Tensor::isnan,
        "isinf" => Tensor::isinf,
        "isfinite" => Tensor::isfinite,
        "logical_not" => Tensor::logical_not,
        "logical_and" => return expressed!(one(a.x()?.logical_and(&a.tensor("other")?))),
        "logical_or" => return expressed!(one(a.x()?.logical_or(&a.tensor("other")?))),
        "logical_xor" => return expressed!(one(a.x()?.logical_xor(&a.tensor("other")?))),
        "remainder" => {
            return expressed!(match (a.get("x"), a.operand("other")?) {
                (Some(Value::Tensor(x)), taper::tensor::Operand::Tensor(y)) => one(x % y),
                (Some(Value::Tensor(x)), taper::tensor::Operand::Number(y)) => one(x % y),
                _ => missing("`x`: a number"),
            });
        }
        _ => return None,
    };
    expressed!(one(f(&a.x()?)))
}

fn matrices(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "triu" => expressed!(one(a.x()?.triu(a.int("diagonal")?.unwrap_or(0)))),
        "tril" => expressed!(one(a.x()?.tril(a.int("diagonal")?.unwrap_or(0)))),
        "diagonal" => expressed!({
            let (x, offset) = (a.x()?, a.int("offset")?.unwrap_or(0));
            let dims = [a.int("dim1")?.unwrap_or(0), a.int("dim2")?.unwrap_or(1)];
            one(x.movedim(dims, [-2, -1]).diagonal(offset))
        }),
        "diag_embed" => expressed!({
            let y = a.x()?.diag_embed(a.int("offset")?.unwrap_or(0));
            let dims = [a.int("dim1")?.unwrap_or(-2), a.int("dim2")?.unwrap_or(-1)];
            one(y.movedim([-2, -1], dims))
        }),
        "trace" => expressed!(one(a.x()?.trace())),
        "outer" => expressed!(one(a.x()?.outer(&a.tensor("other")?))),
        "lerp" => expressed!(one(a.x()?.lerp(&a.tensor("end")?, a.operand("weight")?))),
        "einsum" => expressed!({
            let (operands, equation) = (a.tensors("x")?, a.text("equation")?.unwrap_or_default());
            one(einsum(&equation, &operands.iter().collect::<Vec<_>>()))
        }),
        "linalg.cholesky" => expressed!(match a.flag("upper", false)? {
            true => one(a.x()?.cholesky().t()),
            false => one(a.x()?.cholesky()),
        }),
        "linalg.solve" => expressed!(match a.flag("left", true)? {
            true => one(a.x()?.solve(&a.tensor("other")?)),
            false => missing("`left`"),
        }),
        "linalg.inv" => expressed!(one(a.x()?.inverse())),
        _ => None,
    }
}

fn patches(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "unfold" => expressed!({
            let (dim, size, step) = (a.axis("dimension")?, a.size("size")?, a.size("step")?);
            one(a.x()?.unfold(dim, size.unwrap_or(0), step.unwrap_or(0)))
        }),
        "nn.functional.unfold" => expressed!(one(unfold(
            &a.x()?,
            pair(a, "kernel_size", 1)?,
            settings(a)?
        ))),
        "nn.functional.fold" => expressed!({
            let (size, kernel) = (pair(a, "output_size", 1)?, pair(a, "kernel_size", 1)?);
            let x = a.x()?;
            match x.rank() {
                2 => one(fold(&x.unsqueeze(0), size, kernel, settings(a)?).squeeze(0)),
                _ => one(fold(&x, size, kernel, settings(a)?)),
            }
        }),
        "nn.functional.pixel_shuffle" => {
            expressed!(one(a
                .x()?
                .pixel_shuffle(a.size("upscale_factor")?.unwrap_or(0))))
        }
        "nn.functional.pixel_unshuffle" => {
            expressed!(one(a
                .x()?
                .pixel_unshuffle(a.size("downscale_factor")?.unwrap_or(0))))
        }
        "nn.functional.pad.constant" => expressed!({
            a.text("mode")?;
            let value = a.number("value")?.unwrap_or(0.into());
            one(a.x()?.pad_with(&a.ints("pad")?.unwrap_or_default(), value))
        }),
        "nn.functional.pad.reflect" => expressed!(padded(a, PaddingMode::Reflect)),
        "nn.functional.pad.replicate" => expressed!(padded(a, PaddingMode::Replicate)),
        "nn.functional.pad.circular" => expressed!(padded(a, PaddingMode::Circular)),
        "nn.functional.grid_sample" => expressed!({
            let mode = match a.text("mode")?.as_deref() {
                None => Interpolation::Bilinear,
                Some("nearest") => Interpolation::Nearest,
                Some(other) => return missing(format!("`mode`: {other}")),
            };
            let padding = match a.text("padding_mode")?.as_deref() {
                None => PaddingMode::Zeros,
                Some("border") => PaddingMode::Replicate,
                Some(other) => return missing(format!("`padding_mode`: {other}")),
            };
            let (x, align_corners) = (a.x()?, a.flag("align_corners", false)?);
            if x.rank() == 5 {
                return missing("volumes");
            }
            one(grid_sample(
                &x,
                &a.tensor("grid")?,
                mode,
                padding,
                align_corners,
            ))
        }),
        _ => None,
    }
}

fn padded(a: &Args, mode: PaddingMode) -> Outputs {
    a.text("mode")?;
    one(a.x()?.pad(&a.ints("pad")?.unwrap_or_default(), mode))
}

fn settings(a: &Args) -> Expressed<Conv2dSpec> {
    let (stride, padding) = (pair(a, "stride", 1)?, pair(a, "padding", 0)?);
    let dilation = pair(a, "dilation", 1)?;
    Ok(Conv2dSpec::new()
        .stride(stride)
        .padding(padding)
        .dilation(dilation))
}

fn pair(a: &Args, name: &str, default: usize) -> Expressed<Pair> {
    match a.sizes(name)?.as_deref() {
        None => Ok(default.into()),
        Some([size]) => Ok((*size).into()),
        Some([height, width]) => Ok((*height, *width).into()),
        Some(_) => mistyped(format!("`{name}`: of another rank")),
    }
}
