//! Random values for some of a batch's examples, as if they were drawn for the whole batch.

use super::random::{rand, skip};
use candle_core::{Device, Result, Shape, Tensor};
use std::cell::Cell;

/// The examples of a batch that this process computes, among those of all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Part {
    pub(crate) start: usize,
    pub(crate) len: usize,
    pub(crate) total: usize,
}

thread_local! {
    static PART: Cell<Option<Part>> = const { Cell::new(None) };
}

/// Runs `work` on a part of a batch; [`rand_by_example`] draws for it.
pub(crate) fn with_part<T>(part: Part, work: impl FnOnce() -> T) -> T {
    /// Restores the previous part when it is dropped, also after a panic.
    struct Restore(Option<Part>);
    impl Drop for Restore {
        fn drop(&mut self) {
            PART.set(self.0);
        }
    }
    let _restore = Restore(PART.replace(Some(part)));
    work()
}

/// Draws uniform values from `[0, 1)` on the CPU. If the first dimension is that of the examples, or of
/// several rows for each, each example gets the values that it would get in the whole batch.
pub(crate) fn rand_by_example(shape: &Shape) -> Result<Tensor> {
    let rows = shape.dims().first().copied().unwrap_or(0);
    let part = PART.get().filter(|part| part.len < part.total);
    match part.filter(|part| rows > 0 && rows.is_multiple_of(part.len.max(1))) {
        None => rand(shape, &Device::Cpu),
        Some(Part { start, len, total }) => {
            let each = shape.elem_count() / len;
            skip(start * each);
            let values = rand(shape, &Device::Cpu)?;
            skip((total - start - len) * each);
            Ok(values)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::with_seed;

    #[test]
    fn the_parts_of_a_batch_get_the_values_of_the_whole() -> Result<()> {
        let draw = |shape: (usize, usize)| -> Result<Vec<Vec<f32>>> {
            rand_by_example(&shape.into())?;
            rand_by_example(&shape.into())?.to_vec2()
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
