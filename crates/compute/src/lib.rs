//! The kernels' engine: what computes on slices, on all cores and with the vectors of the processor. It does not depend
//! on Candle.
//!
//! The path of the data through a kernel, and the module that does each part:
//!
//! 1. A kernel is generic over [`simd::Float`], `f32` or `f64`. Its inputs are slices; [`lines`] divides a tensor's elements into
//!    the lines along a dimension, [`runs`] finds the contiguous runs of strided ones, and [`strided`] copies them in
//!    order.
//! 2. [`threads`] runs the kernel's tasks on all cores. [`mod@write`] lets each task write a chunk of the output, and
//!    [`shared_slice`] other disjoint parts; [`scratch`] lends each task temporary memory.
//! 3. Within a task, [`simd::multiversion!`] compiles a loop for each instruction set. The loops
//!    with explicit vectors are in [`microkernel`]; [`gemm`] builds the matrix product on them, [`conv2d`] convolutions.
//!    [`sums`] adds values in an order that keeps their digits; [`reduce`], [`extremes`] and [`batch_norm`] are built on it.
//!
//! Work is split by the sizes alone, never by the number of threads, so the results do not depend
//! on the number of threads.
//!
//! What the crate `taper` calls in a loop is generic or `#[inline]`: other functions are not inlined across crates.

// Its documentation is for maintainers, and made with the private items.
#![allow(rustdoc::private_intra_doc_links)]

pub mod batch_norm;
pub mod conv2d;
pub mod extremes;
pub mod gemm;
pub mod lines;
pub mod microkernel;
pub mod reduce;
pub mod runs;
pub mod scratch;
pub mod shared_slice;
pub mod simd;
pub mod strided;
pub mod sums;
pub mod threads;
pub mod write;

/// Returns the number of elements in as many whole rows as have at most `most` elements, but at least one row.
pub fn whole_rows(most: usize, row: usize) -> usize {
    (most / row).max(1) * row
}

/// Splits `count` into parts of at most `most` whose sizes differ by at most one.
pub fn split_evenly(count: usize, most: usize) -> Vec<usize> {
    let parts = count.div_ceil(most);
    (0..parts)
        .map(|i| (i + 1) * count / parts - i * count / parts)
        .collect()
}
