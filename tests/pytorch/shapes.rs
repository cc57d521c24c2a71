//! Calls of Taper's functions that change a shape, choose a part, or create a tensor, by PyTorch's names.

use crate::arguments::{Args, Expressed, Value, missing, mistyped};
use crate::functions::{Outputs, expressed, one};
use taper::Tensor;
use taper::candle_core::DType;
use taper::ops;
use taper::tensor::{Axes, Index, Number, arange, arange_step, arange_with_dtype, eye};
use taper::tensor::{full, full_with_dtype, linspace, linspace_with_dtype, ones, zeros};

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
            let (x, dim, length) = (a.x()?, a.axis("dim")?, a.size("length")?.unwrap_or(0));
            let start = match a.get("start") {
                Some(Value::Tensor(start)) if start.dtype() == DType::U8 => {
                    return mistyped("`start`: a mask");
                }
                Some(Value::Tensor(start)) => start.item() as i64,
                _ => a.int("start")?.unwrap_or(0),
            };
            match usize::try_from(start) {
                Ok(start) => one(x.narrow(dim, start, length)),
                Err(_) => from_the_end(a, start, length),
            }
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
                None if shifts.len() != 1 => return mistyped("`shifts` of no dimension"),
                None => x.flatten_all().roll(shifts[0], 0).reshape(x.shape()),
                Some(dims) if dims.len() != shifts.len() => {
                    return mistyped("`shifts` of other dimensions");
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

/// Returns a part that begins at a negative index: a range, for which `i` counts from the end.
fn from_the_end(a: &Args, start: i64, length: usize) -> Outputs {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let (x, dim) = (a.x()?, a.int("dim")?.unwrap_or(0));
    let end = match start + length as i64 {
        0 => Unbounded,
        end if end < 0 => Excluded(end),
        _ => return missing("`start` and `length`: beyond the end"),
    };
    let range = Index::Range(Included(start), end);
    one(x.movedim(dim, 0).i((range,)).movedim(0, dim))
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
    let in_type = |x: Tensor| {
        one(match a.dtype("dtype")? {
            Some(dtype) => x.to_dtype(dtype),
            None => x,
        })
    };
    let sizes = |name| a.sizes(name).map(Option::unwrap_or_default);
    match name {
        "eye" => expressed!({
            let n = a.size("n")?.unwrap_or(0);
            in_type(match a.size("m")? {
                Some(m) => eye((n, m)),
                None => eye(n),
            })
        }),
        "zeros" => expressed!(in_type(zeros(sizes("size")?))),
        "ones" => expressed!(in_type(ones(sizes("size")?))),
        "full" => expressed!({
            let Some(value) = a.number("fill_value")? else {
                return missing("no `fill_value`");
            };
            one(match a.dtype("dtype")? {
                Some(dtype) => full_with_dtype(sizes("size")?, value, dtype),
                None => full(sizes("size")?, a.float("fill_value")?.unwrap_or(0.0)),
            })
        }),
        "linspace" => expressed!({
            let limit = |name: &str| match a.get(name) {
                Some(Value::Tensor(x)) => Ok(x.clone()),
                _ => Ok(full_with_dtype(
                    (),
                    a.float(name)?.unwrap_or(0.0),
                    DType::F64,
                )),
            };
            let (start, end) = (limit("start")?, limit("end")?);
            let (steps, dtype) = (a.size("steps")?.unwrap_or(0), a.dtype("dtype")?);
            let (start, end) = (start.item(), end.item());
            one(match dtype {
                Some(dtype) => linspace_with_dtype(start, end, steps, dtype),
                None => linspace(start, end, steps),
            })
        }),
        "arange" => expressed!(range(a)),
        _ => None,
    }
}

fn range(a: &Args) -> Outputs {
    let (start, end) = match (a.number("start")?, a.number("end")?) {
        (Some(end), None) => (Number::Int(0), end),
        (Some(start), Some(end)) => (start, end),
        _ => return missing("no `end`"),
    };
    let step = a.number("step")?;
    one(match (a.dtype("dtype")?, step, start, end) {
        (Some(dtype), ..) => arange_with_dtype(start, end, step.unwrap_or(1.into()), dtype),
        (_, Some(step), ..) => arange_step(start, end, step),
        (_, _, Number::Int(start), Number::Int(end)) => arange(start, end),
        (.., start, end) => arange_step(start, end, 1),
    })
}
