//! What batch normalisation computes for each element, with factors of its channel.

use super::Argument::{U32, U64};
use super::operation::{Input, Launch, of_type, range};
use candle_core::backend::BackendStorage;
use candle_core::{DType, Layout, Result, Tensor, WithDType, bail};

/// Returns `x · a + b`. `x` is `(batch, channels, area)`; the rows of `table`, `(2, channels)`, are `a` and `b`.
pub(crate) fn affine(x: &Tensor, table: &Tensor) -> Result<Tensor> {
    let (x, table) = (x.contiguous()?, table.contiguous()?);
    let run = |launch: &Launch<'_>| x.apply_op2_no_bwd(&table, launch);
    launch("affine", x.layout(), x.dtype(), run)
}

/// Returns `x · a + other · b + c`. `x` and `other` are `(batch, channels, area)`; the rows of `table`, `(3, channels)`,
/// are `a`, `b` and `c`.
pub(crate) fn combined(x: &Tensor, other: &Tensor, table: &Tensor) -> Result<Tensor> {
    let (x, other, table) = (x.contiguous()?, other.contiguous()?, table.contiguous()?);
    let run = |launch: &Launch<'_>| x.apply_op3_no_bwd(&other, &table, launch);
    launch("combine", x.layout(), x.dtype(), run)
}

fn launch<R>(
    kernel: &'static str,
    x: &Layout,
    dtype: DType,
    run: impl FnOnce(&Launch<'_>) -> Result<R>,
) -> Result<R> {
    let (_, channels, area) = x.shape().dims3()?;
    let elements = x.shape().elem_count();
    let sizes = [area, channels].map(|size| U32(u32::try_from(size).expect("a size")));
    run(&Launch {
        kernel,
        shape: x.shape().clone(),
        dtype,
        threads: elements,
        sizes: [U64(elements as u64)].into_iter().chain(sizes).collect(),
        on_cpu: &|inputs: &[Input<'_>]| {
            let [(x, of_x), others @ .., (table, of_table)] = inputs else {
                bail!("expected two or three inputs");
            };
            of_type!(x, T => {
                let other = match others {
                    [(other, layout), ..] => Some(&other.as_slice::<T>()?[range(layout)?]),
                    [] => None,
                };
                let x = &x.as_slice::<T>()?[range(of_x)?];
                let table = &table.as_slice::<T>()?[range(of_table)?];
                on_cpu(x, other, table, (area, channels))
            })
        },
    })
}

fn on_cpu<T: WithDType>(
    x: &[T],
    other: Option<&[T]>,
    table: &[T],
    (area, channels): (usize, usize),
) -> Vec<T> {
    let value = |(i, x): (usize, &T)| {
        let channel = i / area % channels;
        let [a, b] = [0, 1].map(|row| table[row * channels + channel]);
        match other {
            Some(other) => *x * a + other[i] * b + table[2 * channels + channel],
            None => *x * a + b,
        }
    };
    x.iter().enumerate().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Memory, run};
    use super::*;
    use crate::tensor::randint;

    #[test]
    fn the_kernels_agree_with_the_cpu() {
        // Small integers, whose sums and products are exact.
        let draw = |count: usize| randint(-4, 5, count).to_dtype(DType::F32).to_vec::<f32>();
        let (batch, channels, area) = (2, 3, 5);
        let count = batch * channels * area;
        let (x, other, table) = (draw(count), draw(count), draw(3 * channels));
        for (kernel, other) in [("affine_f32", None), ("combine_f32", Some(&other[..]))] {
            let mut memory = Memory::default();
            let to = memory.empty::<f32>(count);
            let from = [Some(&x[..]), other, Some(&table[..])]
                .into_iter()
                .flatten();
            let from: Vec<u64> = from.map(|values| memory.with(values)).collect();
            let arguments = [to].into_iter().chain(from).chain([count as u64]).map(U64);
            let sizes = [U32(area as u32), U32(channels as u32)];
            let arguments: Vec<_> = arguments.chain(sizes).collect();
            run(kernel, count, &arguments, &mut memory);
            let expected = on_cpu(&x, other, &table, (area, channels));
            assert_eq!(memory.written::<f32>(to), expected);
        }
    }
}
