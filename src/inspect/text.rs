//! Values as short text.

use crate::error::attempt;
use crate::notebook::digits::without_zeros;
use crate::ops::tape::{Graph, graph_of};
use crate::tensor::{Tensor, collect_formatted};
use candle_core::DType;
use std::fmt::{self, Debug, Write};

/// The largest number of characters in the description of a value.
pub(super) const VALUE: usize = 60;
/// The largest number of elements of a tensor in its description.
const ELEMENTS: usize = 6;
/// About the largest number of elements of a tensor in its content.
const ELEMENTS_OF_CONTENT: f64 = 100.0;
/// The largest size of a value's content, in bytes.
const CONTENT: usize = 2000;
/// How far a value is formatted to find the tensors in it, in bytes.
const SEARCHED: usize = 1 << 16;

/// A value's `{:?}`: in one short line, and as far as [`CONTENT`] allows.
pub(super) struct Written {
    pub(super) value: String,
    pub(super) content: String,
    /// The graphs of the tensors in the value.
    pub(super) graph: Graph,
}

/// Returns the beginning of a value's `{:?}`, and formats no more than [`SEARCHED`] bytes.
pub(super) fn written(value: &(impl Debug + ?Sized)) -> Written {
    let mut room = Room::default();
    let (result, tensors) = collect_formatted(|| write!(room, "{value:?}"));
    let mut graph = graph_of(&tensors);
    graph.is_part |= result.is_err() && graph.bytes > 0;
    Written {
        value: one_line(&room.content),
        content: room.content,
        graph,
    }
}

/// The beginning of a text.
#[derive(Default)]
struct Room {
    content: String,
    is_full: bool,
    /// The bytes behind the content.
    rest: usize,
}

impl Write for Room {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if !self.is_full {
            let room = CONTENT - self.content.len();
            if text.len() <= room {
                self.content.push_str(text);
                return Ok(());
            }
            self.content
                .push_str(&text[..text.floor_char_boundary(room)]);
            self.content.push('…');
            self.is_full = true;
        }
        self.rest += text.len();
        match self.rest <= SEARCHED {
            true => Ok(()),
            false => Err(fmt::Error),
        }
    }
}

/// Joins the lines of a text and shortens it.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

pub(super) fn bytes_of(tensor: &Tensor) -> usize {
    tensor.elem_count() * tensor.dtype().size_in_bytes()
}

/// Formats a size in bytes, as `24 B` or `1.5 MiB`.
pub(super) fn bytes(size: usize) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| size >> shift > 0) {
        Some((shift, unit)) => format!("{:.1} {unit}", size as f64 / (1_u64 << shift) as f64),
        None => format!("{size} B"),
    }
}

/// Formats the size of a value and of the graphs that it holds, as `1.6 KiB + 222.0 MiB of graph`.
pub(super) fn sizes(size: usize, graph: &Graph) -> String {
    let part = if graph.is_part { "over " } else { "" };
    match graph.bytes {
        0 => bytes(size),
        held => format!("{} + {part}{} of graph", bytes(size), bytes(held)),
    }
}

/// Formats a shape, as `(2, 3)`, `(3,)` or `()`.
pub(super) fn shape_of(dims: &[usize]) -> String {
    match dims {
        [one] => format!("({one},)"),
        dims => {
            let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
            format!("({})", dims.join(", "))
        }
    }
}

/// Returns the first elements of a tensor; no others are copied from its device.
pub(super) fn first_elements(tensor: &Tensor) -> String {
    let count = tensor.elem_count().min(ELEMENTS);
    let values = attempt(|| {
        let mut first = tensor.clone();
        while first.rank() > 1 {
            // Only the first rows are joined, because joining may copy them.
            let rows = first.dims()[0].min(ELEMENTS);
            first = first.narrow(0, 0, rows).flatten(0, 1);
        }
        values_of(&first.flatten_all().narrow(0, 0, count))
    });
    let values: Vec<String> = values.unwrap_or_default().iter().map(element).collect();
    let more = if tensor.elem_count() > count {
        ", …"
    } else {
        ""
    };
    match tensor.rank() {
        0 => values.concat(),
        _ => format!("[{}{more}]", values.join(", ")),
    }
}

/// Returns the first elements of each dimension of a tensor, as lists of lists. No others are copied from its device.
pub(super) fn rows(tensor: &Tensor) -> String {
    let dims = tensor.dims();
    let most = ELEMENTS_OF_CONTENT.powf(1.0 / dims.len() as f64) as usize;
    let shown: Vec<usize> = dims.iter().map(|&size| size.min(most)).collect();
    let values = attempt(|| {
        let first = { shown.iter().enumerate() }.fold(tensor.clone(), |first, (dim, &size)| {
            first.narrow(dim, 0, size)
        });
        values_of(&first.flatten_all())
    });
    values.map_or(String::new(), |values| nested(&values, &shown, dims))
}

fn nested(values: &[f64], shown: &[usize], dims: &[usize]) -> String {
    let (Some(count), false) = (shown.first(), values.is_empty()) else {
        return values.first().map_or("[]".to_owned(), element);
    };
    let parts = values.chunks(values.len() / count);
    let mut parts: Vec<String> =
        { parts.map(|part| nested(part, &shown[1..], &dims[1..])) }.collect();
    if *count < dims[0] {
        parts.push("…".to_owned());
    }
    format!("[{}]", parts.join(", "))
}

fn values_of(tensor: &Tensor) -> Vec<f64> {
    tensor.to_dtype(DType::F64).to_vec::<f64>()
}

/// Formats an element with at most four decimals.
fn element(value: &f64) -> String {
    without_zeros(&format!("{value:.4}")).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{arange, full, zeros};

    #[test]
    fn a_long_value_is_cut_before_it_is_formatted() {
        struct Endless;
        impl Debug for Endless {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                loop {
                    f.write_str("more\n ")?;
                }
            }
        }
        let Written { value, content, .. } = written(&Endless);
        assert!(
            value.starts_with("more more") && value.ends_with('…'),
            "{value}"
        );
        assert_eq!(value.chars().count(), VALUE + 1);
        assert_eq!(content.len(), CONTENT + '…'.len_utf8());
        let content = written(&"é".repeat(CONTENT)).content;
        assert!(
            content.len() <= CONTENT + '…'.len_utf8(),
            "{}",
            content.len()
        );
    }

    #[test]
    fn the_content_of_a_tensor_is_lists_of_its_first_elements() {
        assert_eq!(
            rows(&arange(0.0, 6.0).reshape((2, 3))),
            "[[0, 1, 2], [3, 4, 5]]"
        );
        assert_eq!(rows(&full((), 2.5)), "2.5");
        assert_eq!(rows(&zeros((2, 0))), "[]");
        let long = rows(&zeros((2, 200)));
        assert!(
            long.starts_with("[[0, 0, ") && long.ends_with("0, …]]"),
            "{long}"
        );
        assert_eq!(long.matches('0').count(), 20);
    }
}
