//! What the process does with memory that is free again.

/// Tells the C library to keep what one training step frees for the next. By itself it gives large
/// pieces back to the system at once, and each step then waits while the system hands out zeroed
/// pages anew: a seventh of the time of a small network's step. A limit that is set in the
/// environment (`MALLOC_TRIM_THRESHOLD_`, `MALLOC_MMAP_THRESHOLD_`) stays.
pub(in crate::ops) fn keep_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu", not(miri)))]
    {
        static ONCE: std::sync::Once = std::sync::Once::new();
        ONCE.call_once(|| {
            for (name, setting, limit) in [
                // Larger pieces are mapped each time: the most that the C library takes here.
                ("MALLOC_MMAP_THRESHOLD_", libc::M_MMAP_THRESHOLD, 32 << 20),
                ("MALLOC_TRIM_THRESHOLD_", libc::M_TRIM_THRESHOLD, 128 << 20),
            ] {
                if std::env::var_os(name).is_none() {
                    // SAFETY: it changes numbers that `malloc` looks at, under a lock of its own.
                    unsafe { libc::mallopt(setting, limit) };
                }
            }
        });
    }
}
