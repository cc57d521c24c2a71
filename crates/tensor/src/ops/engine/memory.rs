//! The C library's settings for freed memory.

/// Makes the C library keep the memory that one training step frees, for use by the next step.
///
/// By default it returns large blocks to the system at once, and each step then waits for newly
/// zeroed pages: a seventh of the time of a step of a small network. A limit that the environment
/// sets (`MALLOC_TRIM_THRESHOLD_`, `MALLOC_MMAP_THRESHOLD_`) is kept.
///
/// This is ambient state: `malloc` has one setting for the whole process. The first result of a
/// kernel sets it, so that a process that never computes on the CPU keeps the C library's default.
pub(super) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            for (name, setting, limit) in [
                // The highest limit that the C library accepts; larger blocks are mapped each time.
                ("MALLOC_MMAP_THRESHOLD_", libc::M_MMAP_THRESHOLD, 32 << 20),
                ("MALLOC_TRIM_THRESHOLD_", libc::M_TRIM_THRESHOLD, 128 << 20),
            ] {
                if std::env::var_os(name).is_none() {
                    // SAFETY: the call reads no memory of this program. The manual calls `mallopt` unsafe while other
                    // threads are in `mallopt`, which `Once` excludes here, or in `malloc`: there glibc takes the lock
                    // of its main arena, and threads that allocate without it read one of these two integers.
                    unsafe { libc::mallopt(setting, limit) };
                }
            }
        });
    }
}
