//! What the operations of a thread do while a model is measured.

use crate::tensor::with_counters;
use std::time::Instant;

/// Notes that an operation begins.
pub(super) fn begin() {
    with_counters(|it| it.began = Some(Instant::now()));
}

/// Counts multiply-adds.
pub(super) fn count(multiply_adds: usize) {
    with_counters(|it| it.multiply_adds += multiply_adds as u64);
}

/// Notes that a backward pass has come to the output with a mark, or has ended, with mark 0.
pub(crate) fn came_to(mark: u64) {
    with_counters(|it| it.backward.push((mark, Instant::now())));
}

/// Returns the bytes that the C library has allocated and not freed; `None` where it does not say.
pub fn memory_in_use() -> Option<i64> {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        use std::sync::OnceLock;
        type Function = unsafe extern "C" fn() -> libc::mallinfo2;
        static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
        // Looked up: an older C library does not have it.
        let function = FUNCTION.get_or_init(|| {
            // SAFETY: the name is a C string, and the symbol of this name is this function.
            unsafe {
                let found = libc::dlsym(libc::RTLD_DEFAULT, c"mallinfo2".as_ptr());
                let is_there = !found.is_null();
                is_there.then(|| std::mem::transmute::<*mut libc::c_void, Function>(found))
            }
        });
        // SAFETY: the function takes the allocator's locks, and has no conditions.
        let info = unsafe { (*function)?() };
        Some((info.uordblks + info.hblkhd) as i64)
    }
    #[cfg(not(all(target_os = "linux", target_env = "gnu", not(miri))))]
    None
}
