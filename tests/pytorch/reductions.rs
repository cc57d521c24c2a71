//! Calls of Taper's reductions and sorting by PyTorch's names.

use crate::arguments::{Args, Expressed, Value, missing};
use crate::functions::{Outputs, converted, expressed, one};
use taper::Tensor;
use taper::tensor::Axes;

/// Calls the function of this name; `None` if it is in another file.
pub(crate) fn call(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "sum" | "mean" => expressed!({
            let (x, dims, keepdim) = (converted(a)?, a.axes("dim")?, a.flag("keepdim", false)?);
            one(match (name, keepdim) {
                ("sum", false) => x.sum(dims),
                ("sum", true) => x.sum_keepdim(dims),
                (_, false) => x.mean(dims),
                (_, true) => x.mean_keepdim(dims),
            })
        }),
        "norm" => expressed!({
            let p = match a.get("p") {
                None => 2.0,
                Some(Value::Text(p)) if p == "fro" => 2.0,
                Some(Value::Text(p)) => return missing(format!("`p`: {p}")),
                Some(_) => a.float("p")?.unwrap_or(2.0),
            };
            one(kept(a, &converted(a)?, |x, dims| x.vector_norm(p, dims))?)
        }),
        "max" | "min" => expressed!(extreme(name, a)),
        "argmax" => expressed!(one(index(a, Tensor::argmax)?)),
        "argmin" => expressed!(one(index(a, Tensor::argmin)?)),
        "sort" => expressed!({
            // Taper's order is always stable.
            a.flag("stable", false)?;
            let (dim, descending) = (a.int("dim")?.unwrap_or(-1), a.flag("descending", false)?);
            let (sorted, order) = a.x()?.sort(dim, descending);
            Ok(vec![sorted, order])
        }),
        "argsort" => expressed!({
            // Taper's order is always stable.
            a.flag("stable", false)?;
            let (dim, descending) = (a.int("dim")?.unwrap_or(-1), a.flag("descending", false)?);
            one(a.x()?.argsort(dim, descending))
        }),
        _ => None,
    }
}

/// Reduces along dimensions, which keep their places if `keepdim` is set.
pub(crate) fn kept(
    a: &Args,
    x: &Tensor,
    reduce: impl Fn(&Tensor, Axes) -> Tensor,
) -> Expressed<Tensor> {
    let keepdim = a.flag("keepdim", false)?;
    let y = reduce(x, a.axes("dim")?);
    if !keepdim {
        return Ok(y);
    }
    let rank = x.rank() as i64;
    let dims = a.ints("dim")?.filter(|dims| !dims.is_empty());
    let dims = dims.unwrap_or_else(|| (0..rank).collect());
    let sizes = x.dims().iter().enumerate().map(|(i, size)| {
        let i = i as i64;
        if dims.contains(&i) || dims.contains(&(i - rank)) {
            1
        } else {
            *size
        }
    });
    Ok(y.reshape(sizes.collect::<Vec<_>>()))
}

/// Returns the index of an extreme value along a dimension, or among all elements.
fn index(a: &Args, along: fn(&Tensor, i64) -> Tensor) -> Expressed<Tensor> {
    let (x, keepdim) = (a.x()?, a.flag("keepdim", false)?);
    Ok(match a.int("dim")? {
        Some(dim) if keepdim && x.rank() > 0 => along(&x, dim).unsqueeze(dim),
        Some(dim) => along(&x, dim),
        None if keepdim => along(&x.flatten_all(), 0).reshape(vec![1; x.rank()]),
        None => along(&x.flatten_all(), 0),
    })
}

/// `max` and `min` along a dimension also return the indices.
fn extreme(name: &str, a: &Args) -> Outputs {
    let (x, keepdim) = (a.x()?, a.flag("keepdim", false)?);
    let Some(dim) = a.int("dim")? else {
        return one(match name {
            "max" => x.max_all(),
            _ => x.min_all(),
        });
    };
    let (values, order) = match (name, keepdim) {
        ("max", false) => (x.max(dim), x.argmax(dim)),
        ("max", true) if x.rank() > 0 => (x.max_keepdim(dim), x.argmax(dim).unsqueeze(dim)),
        ("max", true) => (x.max_keepdim(dim), x.argmax(dim)),
        (_, true) if x.rank() > 0 => (x.min_keepdim(dim), x.argmin(dim).unsqueeze(dim)),
        (_, true) => (x.min_keepdim(dim), x.argmin(dim)),
        (_, false) => (x.min(dim), x.argmin(dim)),
    };
    Ok(vec![values, order])
}
