//! TF32: products of `f32` matrices on an NVIDIA GPU, whose inputs are rounded to 11 digits.

use candle_core::cuda::set_gemm_reduced_precision_f32;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

static IS_ALLOWED: AtomicBool = AtomicBool::new(true);
/// How many threads multiply in TF32 now: the setting of cuBLAS concerns all of them.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// Sets whether convolutions on an NVIDIA GPU may round their inputs to 11 binary digits, as is the default, which its
/// tensor cores multiply several times as fast; sums are `f32`. PyTorch's `torch.backends.cudnn.allow_tf32`. Other
/// products of matrices are computed in `f32`, as in PyTorch.
///
/// ```
/// use taper::device::allow_tf32;
/// use taper::prelude::*;
///
/// allow_tf32(false);
/// let y = Conv2d::new(3, 8, 3).forward(&ones((1, 3, 5, 5)).to_device(&try_gpu(0))); // exact to f32
/// # allow_tf32(true);
/// assert_eq!(y.dims(), [1, 8, 3, 3]);
/// ```
pub fn allow_tf32(allowed: bool) {
    IS_ALLOWED.store(allowed, SeqCst);
}

/// Returns whether convolutions may be computed in TF32.
pub(super) fn is_allowed() -> bool {
    IS_ALLOWED.load(SeqCst)
}

/// Runs `work`, whose products on a GPU are computed in TF32 if that is allowed.
pub(crate) fn in_tf32<T>(work: impl FnOnce() -> T) -> T {
    struct Use;

    impl Drop for Use {
        fn drop(&mut self) {
            if USERS.fetch_sub(1, SeqCst) == 1 {
                set_gemm_reduced_precision_f32(false);
            }
        }
    }

    if !is_allowed() {
        return work();
    }
    USERS.fetch_add(1, SeqCst);
    let _use = Use;
    set_gemm_reduced_precision_f32(true);
    work()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_ends_with_the_work_also_after_a_panic() {
        assert!(in_tf32(|| USERS.load(SeqCst) > 0));
        let failing = || in_tf32(|| panic!("on purpose"));
        assert!(std::panic::catch_unwind(failing).is_err());
        allow_tf32(false);
        assert_eq!(in_tf32(|| 3), 3);
        allow_tf32(true);
    }
}
