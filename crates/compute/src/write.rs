//! Writes new memory, in chunks on all cores.
//!
//! The memory of an output is not initialised. A function that writes it takes `&mut [MaybeUninit<T>]`, and returns the
//! same memory as `&mut [T]`: nothing but memory that is initialised has this type. So that only this module needs
//! `unsafe`, [`each`], [`by_index`], [`fill`] and [`Parts`] initialise, as does `write_copy_of_slice` of the standard library.

mod blocks;

pub use blocks::{Block, Blocks};

use crate::shared_slice::{SharedSlice, vec_filled_by};
use crate::simd::Float;
use crate::threads::for_each_task;
use std::mem::MaybeUninit;

/// Returns a vector of `count` elements, computed in chunks of `chunk` elements; several chunks are computed on all
/// cores. `compute(first, out)` initialises and returns `out`, the chunk that begins at index `first`.
pub fn by_chunks<T: Copy + Send>(
    count: usize,
    chunk: usize,
    compute: impl for<'a> Fn(usize, &'a mut [MaybeUninit<T>]) -> &'a mut [T] + Sync,
) -> Vec<T> {
    // SAFETY: each chunk is returned as initialised memory.
    unsafe {
        vec_by_chunks(count, chunk, |first, out| {
            whole(out, |out| compute(first, out));
        })
    }
}

/// Does the same as [`by_chunks`]; also returns the other results of `compute`, one for each chunk.
pub fn with_results<T: Copy + Send, R: Send>(
    count: usize,
    chunk: usize,
    compute: impl for<'a> Fn(usize, &'a mut [MaybeUninit<T>]) -> (&'a mut [T], R) + Sync,
) -> (Vec<T>, Vec<R>) {
    let mut values = vec![];
    // SAFETY: each chunk has one result.
    let results = unsafe {
        vec_filled_by(count.div_ceil(chunk), |results| {
            values = by_chunks(count, chunk, |first, out| {
                let (out, result) = compute(first, out);
                results.part(first / chunk, 1)[0].write(result);
                out
            });
        })
    };
    (values, results)
}

/// Returns a vector of zeros, written on all cores.
pub fn zeros<T: Float>(count: usize) -> Vec<T> {
    by_chunks(count, 1 << 15, |_, out| fill(out, T::ZERO))
}

/// Replaces the content of a vector with `count` elements, which `compute` initialises and returns.
pub fn replace<T: Copy>(
    values: &mut Vec<T>,
    count: usize,
    compute: impl for<'a> FnOnce(&'a mut [MaybeUninit<T>]) -> &'a mut [T],
) {
    values.clear();
    values.reserve(count);
    whole(&mut values.spare_capacity_mut()[..count], compute);
    // SAFETY: the elements are returned as initialised memory.
    unsafe { values.set_len(count) };
}

/// Does the work of [`by_chunks`] for a loop that does not return the memory.
///
/// # Safety
/// `compute(first, out)` must initialise all of `out`, the chunk that begins at index `first`.
pub unsafe fn vec_by_chunks<T: Send>(
    count: usize,
    chunk: usize,
    compute: impl Fn(usize, &mut [MaybeUninit<T>]) + Sync,
) -> Vec<T> {
    // SAFETY: guaranteed by the caller.
    unsafe { fill_by_chunks(count, chunk, &compute) }
}

/// Does the work of [`vec_by_chunks`]. It is compiled once for each element type, not again for each
/// kernel.
///
/// # Safety
/// As for [`vec_by_chunks`].
unsafe fn fill_by_chunks<T: Send>(
    count: usize,
    chunk: usize,
    compute: &(dyn Fn(usize, &mut [MaybeUninit<T>]) + Sync),
) -> Vec<T> {
    // SAFETY: the chunks cover all indices and do not overlap, and `compute` initialises each.
    unsafe {
        vec_filled_by(count, |out| {
            for_each_task(count.div_ceil(chunk), |i| {
                let (first, end) = (i * chunk, ((i + 1) * chunk).min(count));
                compute(first, out.part(first, end - first));
            });
        })
    }
}

/// Calls `compute` with the memory.
///
/// # Panics
/// If it does not return all of the memory.
fn whole<T>(
    out: &mut [MaybeUninit<T>],
    compute: impl for<'a> FnOnce(&'a mut [MaybeUninit<T>]) -> &'a mut [T],
) {
    let memory = out.as_ptr_range();
    let written = compute(out).as_ptr_range();
    assert!(
        memory.start.cast() == written.start && memory.end.cast() == written.end,
        "the memory that was returned is not the output"
    );
}

/// Writes a value to each element, and returns them.
///
/// # Panics
/// If there are fewer values than elements.
#[inline(always)]
pub fn each<T: Copy>(out: &mut [MaybeUninit<T>], values: impl IntoIterator<Item = T>) -> &mut [T] {
    let (start, mut count) = (out.as_mut_ptr(), 0);
    // Not a loop over `zip`, which a call would construct: what the iterator refers to could then change with each write.
    values.into_iter().take(out.len()).for_each(|value| {
        // SAFETY: there are at most as many values as elements.
        unsafe { start.add(count).write(MaybeUninit::new(value)) };
        count += 1;
    });
    assert!(count == out.len(), "fewer values than elements");
    // SAFETY: the loop has initialised `count` elements, which are all.
    unsafe { out.assume_init_mut() }
}

/// Writes to each element the value for its index, and returns them. The compiler makes the best loop of slices with the
/// same length as `out`.
#[inline(always)]
pub fn by_index<T: Copy>(out: &mut [MaybeUninit<T>], value: impl Fn(usize) -> T) -> &mut [T] {
    for (i, out) in out.iter_mut().enumerate() {
        out.write(value(i));
    }
    // SAFETY: the loop has initialised all elements.
    unsafe { out.assume_init_mut() }
}

/// Fills the memory with a value, and returns it.
#[inline(always)]
pub fn fill<T: Copy>(out: &mut [MaybeUninit<T>], value: T) -> &mut [T] {
    out.fill(MaybeUninit::new(value));
    // SAFETY: `fill` has initialised every element.
    unsafe { out.assume_init_mut() }
}

/// Memory that is written part after part, from its beginning to its end.
pub struct Parts<'a, T> {
    memory: SharedSlice<'a, MaybeUninit<T>>,
    count: usize,
    /// The number of elements that [`next`](Parts::next) has returned.
    taken: usize,
    /// The number of elements that are known to be initialised.
    written: usize,
}

impl<'a, T: Copy> Parts<'a, T> {
    /// Begins with the first element of the memory.
    #[inline(always)]
    pub fn new(memory: &'a mut [MaybeUninit<T>]) -> Self {
        const {
            assert!(
                size_of::<T>() > 0,
                "parts are told apart by their addresses"
            )
        };
        Parts {
            count: memory.len(),
            memory: SharedSlice::new(memory),
            taken: 0,
            written: 0,
        }
    }

    /// Returns the next part, which has `count` elements. When it is initialised, [`push`](Parts::push) takes it back.
    #[inline(always)]
    pub fn next(&mut self, count: usize) -> &'a mut [MaybeUninit<T>] {
        // SAFETY: each element is in one part, because `taken` only grows.
        let part = unsafe { self.memory.part(self.taken, count) };
        self.taken += count;
        part
    }

    /// Takes back a part that is initialised.
    ///
    /// # Panics
    /// If it is not the part after those before.
    #[inline(always)]
    pub fn push(&mut self, part: &'a mut [T]) {
        let (start, end) = (self.written, self.written + part.len());
        // SAFETY: the pointer is only compared.
        let here = unsafe { self.memory.pointer(start, end) };
        assert!(
            here.cast_const().cast() == part.as_ptr(),
            "not the next part"
        );
        self.written = end;
    }

    /// Returns the next part, if all parts before are initialised. The caller initialises it at once: to compare addresses,
    /// as [`push`](Parts::push) does, would take longer than a short part.
    #[inline(always)]
    fn next_alone(&mut self, count: usize) -> &'a mut [MaybeUninit<T>] {
        assert!(self.written == self.taken, "not the next part");
        self.next(count)
    }

    /// Copies values into the next part.
    #[inline(always)]
    pub fn copy(&mut self, values: &[T]) {
        self.next_alone(values.len()).write_copy_of_slice(values);
        self.written = self.taken;
    }

    /// Writes the next element.
    #[inline(always)]
    pub fn put(&mut self, value: T) {
        self.fill(1, value);
    }

    /// Returns what is written already.
    #[inline(always)]
    pub fn written(&self) -> &[T] {
        // SAFETY: these elements are initialised, and nothing else has access to them.
        unsafe { self.memory.part(0, self.written).assume_init_ref() }
    }

    /// Fills the next part, which has `count` elements, with a value.
    #[inline(always)]
    pub fn fill(&mut self, count: usize, value: T) {
        self.next_alone(count).fill(MaybeUninit::new(value));
        self.written = self.taken;
    }

    /// Returns the memory.
    ///
    /// # Panics
    /// If not all of it is written.
    #[inline(always)]
    pub fn finish(self) -> &'a mut [T] {
        assert!(self.written == self.count, "a part is missing");
        // SAFETY: the parts were initialised, and cover the memory. They are no longer in use.
        unsafe { self.memory.part(0, self.count).assume_init_mut() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn chunks_and_their_results_are_in_order() {
        let (values, results) = with_results(10, 4, |first, out| (each(out, first..), first));
        assert_eq!(values, (0..10).collect::<Vec<_>>());
        assert_eq!(results, [0, 4, 8]);
        assert!(by_chunks(0, 4, |_, out| fill(out, 1)).is_empty());
        assert_eq!(by_chunks(3, 2, |_, out| by_index(out, |i| i)), [0, 1, 0]);
        assert_eq!(zeros::<f32>(3), [0.0; 3]);
    }

    #[test]
    fn memory_that_is_not_the_whole_chunk_panics() {
        let other = || Box::leak(vec![0; 4].into_boxed_slice());
        assert!(catch_unwind(|| by_chunks(4, 4, |_, _| other())).is_err());
        assert!(catch_unwind(|| by_chunks(4, 4, |_, out| fill(&mut out[1..], 0))).is_err());
        assert!(catch_unwind(|| by_chunks(4, 4, |_, out| fill(&mut out[..3], 0))).is_err());
        assert!(catch_unwind(|| by_chunks(4, 4, |_, out| each(out, 0..3))).is_err());
    }

    #[test]
    fn parts_become_the_whole() {
        let values = by_chunks(6, 6, |_, out| {
            let mut parts = Parts::new(out);
            parts.copy(&[1, 2]);
            let part = parts.next(3);
            parts.push(each(part, [3, 4, 5]));
            assert_eq!(parts.written(), [1, 2, 3, 4, 5]);
            parts.put(6);
            parts.finish()
        });
        assert_eq!(values, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn parts_that_are_missing_or_out_of_order_panic() {
        let missing = || {
            by_chunks(4, 4, |_, out| {
                let mut parts = Parts::new(out);
                parts.fill(3, 0);
                parts.finish()
            })
        };
        assert!(catch_unwind(missing).is_err());
        let swapped = || {
            by_chunks(4, 4, |_, out| {
                let mut parts = Parts::new(out);
                let (first, second) = (parts.next(2), parts.next(2));
                parts.push(fill(second, 0));
                parts.push(fill(first, 0));
                parts.finish()
            })
        };
        assert!(catch_unwind(swapped).is_err());
        let too_many = || by_chunks(4, 4, |_, out| Parts::new(out).finish_after(5));
        assert!(catch_unwind(too_many).is_err());
    }

    impl<'a> Parts<'a, i32> {
        fn finish_after(mut self, count: usize) -> &'a mut [i32] {
            self.fill(count, 0);
            self.finish()
        }
    }
}
