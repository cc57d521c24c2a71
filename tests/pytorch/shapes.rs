//! Calls of Taper's functions that change a shape, choose a part, or create a tensor, by PyTorch's names.

use crate::arguments::{Args, Expressed, Value, missing};
use crate::functions::{Outputs, expressed, one};
use taper::Tensor;
use taper::candle_core::DType;
use taper::ops;
use taper::tensor::{Axes, Index, arange, arange_step, eye, full, linspace, ones, zeros};

/// Calls the function of this name; `None` if it is in another file.
pub(crate) fn call(name: &str, a: &Args) -> Option<Outputs> {
    shape(name, a)
        .or_else(|| selection(name, a))
        .or_else(|| creation(name, a))
}

fn shape(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "reshape" => expressed!({
            let (x, sizes) = (a.x()?, a.ints("shape")?.unwrap_or_default());
            if let [rows, -1] = sizes[..] {
                return one(x.reshape((rows as usize, ())));
            }
            let known: i64 = sizes.iter().filter(|size| **size >= 0).product();
            let sizes = sizes.iter().map(|size| match size {
                -1 if known > 0 => x.elem_count() / known as usize,
                size => *size as usize,
            });
            one(x.reshape(sizes.collect::<Vec<_>>()))
        }),
        "flatten" => expressed!({
            let (start, end) = (
                a.int("start_dim")?.unwrap_or(0),
                a.int("end_dim")?.unwrap_or(-1),
            );
            one(a.x()?.flatten(start, end))
        }),
        "t" | "mT" => expressed!(one(a.x()?.t())),
        "transpose" => expressed!(one(a.x()?.transpose(a.axis("dim0")?, a.axis("dim1")?))),
        "permute" => expressed!(one(a.x()?.permute(a.ints("dims")?.unwrap_or_default()))),
        "squeeze" => expressed!({
            let dims = a.ints("dim")?;
            one(a
                .x()?
                .squeeze(dims.map_or_else(|| Axes::from(..), Axes::from)))
        }),
        "unsqueeze" => expressed!(one(a.x()?.unsqueeze(a.axis("dim")?))),
        "broadcast_to" => expressed!({
            let Some(shape) = a.sizes("shape")? else {
                return missing("`shape`");
            };
            one(a.x()?.broadcast_as(shape))
        }),
        "repeat" => expressed!(one(a.x()?.repeat(a.sizes("repeats")?.unwrap_or_default()))),
        "cat" => expressed!(one(ops::cat(&a.tensors("x")?, a.int("dim")?.unwrap_or(0)))),
        "stack" => expressed!(one(Tensor::stack(
            &a.tensors("x")?,
            a.int("dim")?.unwrap_or(0)
        ))),
        _ => None,
    }
}

fn selection(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "chunk" => expressed!({
            let (chunks, dim) = (a.size("chunks")?.unwrap_or(0), a.int("dim")?.unwrap_or(0));
            Ok(a.x()?.chunk(chunks, dim))
        }),
        "narrow" => expressed!({
            let (dim, start, length) = (a.axis("dim")?, a.size("start")?, a.size("length")?);
            one(a.x()?.narrow(dim, start.unwrap_or(0), length.unwrap_or(0)))
        }),
        "index_select" => expressed!(one(a
            .x()?
            .index_select(&a.tensor("index")?, a.axis("dim")?))),
        "gather" => expressed!(one(a.x()?.gather(&a.tensor("index")?, a.axis("dim")?))),
        "flip" => expressed!({
            let dims = a.ints("dims")?.unwrap_or_default();
            one(a.x()?.flip(Axes::from(dims)))
        }),
        "roll" => expressed!({
            let (x, shifts) = (a.x()?, a.ints("shifts")?.unwrap_or_default());
            one(match a.ints("dims")?.filter(|dims| !dims.is_empty()) {
                None if shifts.len() != 1 => return missing("`shifts` of no dimension"),
                None => x.flatten_all().roll(shifts[0], 0).reshape(x.shape()),
                Some(dims) if dims.len() != shifts.len() => {
                    return missing("`shifts` of other dimensions");
                }
                Some(dims) => shifts
                    .iter()
                    .zip(dims)
                    .fold(x, |x, (shift, dim)| x.roll(*shift, dim)),
            })
        }),
        _ => None,
    }
}

/// Returns the indices of a sample of `__getitem__`.
pub(crate) fn indices(a: &Args) -> Expressed<Vec<Index>> {
    let list = match a.get("index") {
        Some(Value::List(list)) => list.clone(),
        Some(index) => vec![index.clone()],
        None => vec![Value::None],
    };
    let mut indices = vec![];
    for index in list {
        indices.push(match index {
            Value::Int(at) => Index::At(at),
            Value::Slice([from, to, None]) => {
                use std::ops::Bound::{Excluded, Included, Unbounded};
                Index::Range(
                    from.map_or(Unbounded, Included),
                    to.map_or(Unbounded, Excluded),
                )
            }
            Value::Tensor(each) => Index::Each(each),
            Value::None => Index::New,
            Value::Ellipsis => Index::Rest,
            Value::Slice(_) => return missing("`index`: a step"),
            index => match index.ints() {
                Some(each) => {
                    let count = each.len();
                    Index::Each(Tensor::from_vec(each, count))
                }
                None => return missing("`index`: a bool"),
            },
        });
    }
    Ok(indices)
}

/// Creates a tensor in the type of the argument `dtype`.
fn creation(name: &str, a: &Args) -> Option<Outputs> {
    let outputs = created(name, a)?;
    let in_type = |x: Tensor| -> Expressed<Tensor> {
        // Values of f32 have lost digits.
        let is_exact =
            name != "linspace" && (x.dtype().is_int() || !matches!(name, "arange" | "full"));
        match a.dtype("dtype")? {
            Some(DType::F64 | DType::I64) if !is_exact => missing("`dtype`: f64 or i64"),
            Some(dtype) => Ok(x.to_dtype(dtype)),
            None => Ok(x),
        }
    };
    Some(outputs.and_then(|outputs| outputs.into_iter().map(in_type).collect()))
}

fn created(name: &str, a: &Args) -> Option<Outputs> {
    match name {
        "eye" => expressed!({
            let n = a.size("n")?.unwrap_or(0);
            match a.size("m")? {
                Some(m) => one(eye((n, m))),
                None => one(eye(n)),
            }
        }),
        "arange" => expressed!(match (a.get("start"), a.get("end")) {
            _ if let Some(step) = a.number("step")? => match (a.number("start")?, a.number("end")?)
            {
                (Some(end), None) => one(arange_step(0, end, step)),
                (Some(start), Some(end)) => one(arange_step(start, end, step)),
                _ => missing("no `end`"),
            },
            (Some(Value::Int(end)), None) => one(arange(0, *end)),
            (Some(Value::Float(end)), None) => one(arange(0.0, *end)),
            (Some(Value::Int(start)), Some(Value::Int(end))) => one(arange(*start, *end)),
            (start, end) => match (a.float("start")?, a.float("end")?) {
                (Some(first), Some(last)) if start.is_some() && end.is_some() =>
                    one(arange(first, last)),
                _ => missing("no `end`"),
            },
        }),
        "linspace" => expressed!(
            match (a.float("start")?, a.float("end")?, a.size("steps")?) {
                (Some(start), Some(end), Some(steps)) => one(linspace(start, end, steps)),
                _ => missing("no `steps`"),
            }
        ),
        "full" => expressed!(match (a.sizes("size")?, a.float("fill_value")?) {
            (Some(shape), Some(value)) => one(full(shape, value)),
            _ => missing("`fill_value`"),
        }),
        "zeros" => expressed!(one(zeros(a.sizes("size")?.unwrap_or_default()))),
        "ones" => expressed!(one(ones(a.sizes("size")?.unwrap_or_default()))),
        _ => None,
    }
}
