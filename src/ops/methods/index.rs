//! The part of a tensor that indices choose.

use crate::error::{self, OrRaise};
use crate::ops;
use crate::tensor::{Index, Raw, Tensor};
use candle_core::Result;
use std::ops::Bound;

/// Returns the part of a tensor that the indices choose.
#[track_caller]
pub(crate) fn select(x: &Tensor, indices: &[Index]) -> Tensor {
    let mut part = x.clone();
    let mut dim = 0;
    for (of, index) in indices.iter().enumerate() {
        if dim >= part.rank() {
            error::raise(error::shape(
                "i",
                format_args!(
                    "at least {} dimensions, for {} indices",
                    of + 1,
                    indices.len()
                ),
                x.dims(),
                "Pass at most one index for each dimension",
            ));
        }
        let size = part.dims()[dim];
        match index {
            Index::At(at) => {
                let start = within(*at, size, of).or_raise();
                part = part.narrow(dim, start, 1).squeeze(dim);
            }
            Index::Range(from, to) => {
                let (start, end) = bounds(*from, *to, size, of).or_raise();
                part = part.narrow(dim, start, end.saturating_sub(start));
                dim += 1;
            }
            Index::Each(each) => {
                part = ops::index_select(&part, each, dim);
                dim += 1;
            }
        }
    }
    part
}

/// Returns an index from 0 on that is in a dimension.
fn within(at: i64, size: usize, dim: usize) -> Result<usize> {
    let from_start = if at < 0 {
        at.saturating_add(size as i64)
    } else {
        at
    };
    match (0..size as i64).contains(&from_start) {
        true => Ok(from_start as usize),
        false => Err(out_of_range(at, size, dim)),
    }
}

/// Returns the start and the end of a range in a dimension.
fn bounds(from: Bound<i64>, to: Bound<i64>, size: usize, dim: usize) -> Result<(usize, usize)> {
    let place = |at: i64| {
        let from_start = if at < 0 {
            at.saturating_add(size as i64)
        } else {
            at
        };
        match (0..=size as i64).contains(&from_start) {
            true => Ok(from_start as usize),
            false => Err(out_of_range(at, size, dim)),
        }
    };
    let start = match from {
        Bound::Included(at) => place(at)?,
        Bound::Excluded(at) => within(at, size, dim)? + 1,
        Bound::Unbounded => 0,
    };
    let end = match to {
        Bound::Included(at) => within(at, size, dim)? + 1,
        Bound::Excluded(at) => place(at)?,
        Bound::Unbounded => size,
    };
    Ok((start, end))
}

fn out_of_range(at: i64, size: usize, dim: usize) -> candle_core::Error {
    let advice = match size {
        0 => format!("Dimension {dim} is empty"),
        size => format!(
            "Dimension {dim} has the indices 0 to {}, or -{size} to -1 from the end",
            size - 1
        ),
    };
    error::index("i", "index", at, size, advice).into()
}

/// Returns a view of `len` indices of a dimension.
pub(crate) fn narrowed(x: &Raw, dim: usize, start: usize, len: usize) -> Result<Raw> {
    let size = x.dims()[dim];
    match start.checked_add(len).is_some_and(|end| end <= size) {
        true => x.narrow(dim, start, len),
        false => Err(error::argument(
            "narrow",
            format_args!(
                "indices below {size}, the size of dimension {dim} of {:?}",
                x.dims()
            ),
            format_args!("{len} from {start} on"),
            "Choose a smaller start or length",
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::{arange, tensor};

    /// Returns the integers from 0 to 11 as `(3, 4)`.
    fn matrix() -> Tensor {
        arange(0, 12).reshape((3, 4))
    }

    #[test]
    fn an_index_removes_its_dimension_and_a_range_keeps_it() {
        let x = matrix();
        assert_eq!(x.i((1, 2)).item(), 6.0);
        assert_eq!(x.i((-1, -4)).item(), 8.0);
        assert_eq!(x.i((.., 1)).to_vec1::<i64>(), [1, 5, 9]);
        assert_eq!(x.i((1..2, -2..)).to_vec2::<i64>(), [[6, 7]]);
        assert_eq!(x.i((..-2, ..=1)).to_vec2::<i64>(), [[0, 1]]);
        let last = -2;
        assert_eq!(x.i((2usize, 1..=last)).to_vec1::<i64>(), [9, 10]);
        assert_eq!(x.i((3.., ..0)).dims(), [0, 0]);
        let each = tensor(&[2, 0]);
        assert_eq!(x.i((&each, 3)).to_vec1::<i64>(), [11, 3]);
    }

    #[test]
    fn what_is_out_of_range_is_refused() {
        let x = matrix();
        let refusal = |index: &[Index]| {
            let error = attempt(|| select(&x, index)).unwrap_err().to_string();
            assert_eq!(error.lines().count(), 2, "{error}");
            error.lines().next().unwrap_or_default().to_owned()
        };
        assert_eq!(
            refusal(&[(..).into(), (-5).into()]),
            "i: index -5 is out of range: there are 4, counted from 0"
        );
        assert_eq!(
            refusal(&[(..4).into()]),
            "i: index 4 is out of range: there are 3, counted from 0"
        );
        assert_eq!(
            refusal(&[(..=3).into()]),
            "i: index 3 is out of range: there are 3, counted from 0"
        );
        assert_eq!(
            refusal(&[0.into(), 0.into(), 0.into()]),
            "i: expected at least 3 dimensions, for 3 indices, found shape [3, 4]"
        );
        assert!(refusal(&[usize::MAX.into()]).starts_with("i: index "));
    }
}
