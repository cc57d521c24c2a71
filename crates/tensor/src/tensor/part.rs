//! Random values for some of a batch's examples, as if they were drawn for the whole batch.

use super::context::{self, Field, Part, Scope};
use super::ext::moved;
use super::random::{rand, skip};
use crate::tensor::{Raw, with_device};
use candle_core::{Device, Result};

/// Runs `work` on a part of a batch, for which [`keep_by_example`] then draws its values.
#[doc(hidden)]
pub fn with_part<T>(part: Part, work: impl FnOnce() -> T) -> T {
    let _scope = Scope::new(Field::Part(Some(part)));
    work()
}

/// Draws a uniform value from `[0, 1)` for each element of `x`, and returns 1 where it is at least `p`, else 0, as
/// `u8` on the device of `x`: the same values on each device. If the first dimension counts the examples, or
/// several rows of each, each example gets the values that it would get in the whole batch.
#[doc(hidden)]
pub fn keep_by_example(x: &Raw, p: f64) -> Result<Raw> {
    let rows = x.dims().first().copied().unwrap_or(0);
    let part = context::part().filter(|part| part.len < part.total);
    match part.filter(|part| rows > 0 && rows.is_multiple_of(part.len.max(1))) {
        None => keep(x, p),
        Some(Part { start, len, total }) => {
            let each = x.elem_count() / len;
            skip(start * each);
            let values = keep(x, p)?;
            skip((total - start - len) * each);
            Ok(values)
        }
    }
}

fn keep(x: &Raw, p: f64) -> Result<Raw> {
    #[cfg(feature = "cuda")]
    if x.device().is_cuda() {
        use crate::device::{Keep, explain_gpu};
        let (seed, stream, position) = skip(x.elem_count());
        let keep = Keep {
            p: p as f32,
            seed,
            stream,
            position,
        };
        return explain_gpu(x.apply_op1_no_bwd(&keep), x.device(), Some(x.elem_count()));
    }
    moved(
        with_device(&Device::Cpu, || rand(x.shape())).ge(p).raw(),
        x.device(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{with_seed, zeros};

    #[test]
    fn the_parts_of_a_batch_get_the_values_of_the_whole() -> Result<()> {
        let draw = |shape: (usize, usize)| -> Result<Vec<Vec<u8>>> {
            let x = zeros(shape);
            keep_by_example(x.raw(), 0.5)?;
            keep_by_example(x.raw(), 0.5)?.to_vec2()
        };
        let whole = with_seed(1, || draw((14, 5)))?; // 7 examples with 2 rows each
        for (start, len) in [(0, 3), (3, 2), (5, 2)] {
            let part = Part {
                start,
                len,
                total: 7,
            };
            let values = with_seed(1, || with_part(part, || draw((len * 2, 5))))?;
            assert_eq!(values, whole[start * 2..(start + len) * 2]);
        }
        Ok(())
    }
}
