//! SIMD vectors, and the choice of the widest that the processor has.
//!
//! A kernel is written once over `Vector`, in functions that are always inlined, and compiled for
//! each instruction set by a caller with `#[target_feature]`. Simple loops need no explicit vectors:
//! the macro [`multiversion!`] compiles them for each instruction set, and the compiler vectorises.

mod float;

pub use float::{DENSITY_AT_0, FARTHEST, Float};

use std::sync::LazyLock;

/// An instruction set for which the kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What every processor of the architecture has: SSE2 or NEON.
    Baseline,
    /// AVX2 with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with the extensions that [`multiversion!`] names.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// Returns the best level of this processor, or a lower level if `TAPER_SIMD` names it:
    /// `baseline` or `avx2`. The level is determined once per process.
    #[inline]
    pub fn get() -> Level {
        SETTING.as_ref().copied().unwrap_or(Level::Baseline)
    }

    /// Returns the level that a setting names, at most the processor's; an empty setting names the best.
    fn of_setting(setting: &str) -> Result<Level, String> {
        let most = Level::of_processor();
        match setting.to_ascii_lowercase().as_str() {
            "" => Ok(most),
            "baseline" => Ok(Level::Baseline),
            #[cfg(target_arch = "x86_64")]
            "avx2" => Ok(most.min(Level::Avx2)),
            #[cfg(target_arch = "x86_64")]
            "avx512" => Ok(most.min(Level::Avx512)),
            _ => Err(setting.to_owned()),
        }
    }

    #[cfg(target_arch = "x86_64")]
    fn of_processor() -> Level {
        Level::of_features(
            is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            [
                is_x86_feature_detected!("avx512f"),
                is_x86_feature_detected!("avx512dq"),
                is_x86_feature_detected!("avx512vl"),
                is_x86_feature_detected!("avx512bw"),
            ],
        )
    }

    /// Returns the level of a processor with these features: a level needs all features for
    /// which [`multiversion!`] compiles its functions.
    #[cfg(target_arch = "x86_64")]
    fn of_features(avx2_and_fma: bool, avx512: [bool; 4]) -> Level {
        match (avx2_and_fma, avx512) {
            (true, [true, true, true, true]) => Level::Avx512,
            (true, _) => Level::Avx2,
            _ => Level::Baseline,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of_processor() -> Level {
        Level::Baseline
    }
}

static SETTING: LazyLock<Result<Level, String>> =
    LazyLock::new(|| Level::of_setting(&std::env::var("TAPER_SIMD").unwrap_or_default()));

/// Returns what `TAPER_SIMD` says if it names no level.
pub fn unknown_setting() -> Option<&'static str> {
    SETTING.as_ref().err().map(String::as_str)
}

/// Compiles a function for each instruction set; a call uses the best that the processor has. The
/// body is safe code. Functions that it calls in a loop must be `#[inline(always)]`. In the body, `FUSED` says whether
/// the instruction set has a fused multiply-add, for the functions of [`Float`]. `cheap …;` before the function
/// says whether its loop has a few cheap instructions for each element, and so waits for memory: vectors of 256 bits cross
/// fewer borders of cache lines. It is not compiled for wider ones then.
#[macro_export]
macro_rules! multiversion {
    (cheap $cheap:expr; $(#[$doc:meta])* $vis:vis fn $name:ident<$($life:lifetime,)? $t:ident: $bound:path $(, $f:ident: $fbound:path)?>($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name<$($life,)? $t: $bound $(, $f: $fbound)?>($($arg: $type),*) $(-> $result)? {
            #[inline(always)]
            fn body<$($life,)? $t: $bound $(, $f: $fbound)?, const FUSED: bool>($($arg: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
            fn avx512<$($life,)? $t: $bound $(, $f: $fbound)?>($($arg: $type),*) $(-> $result)? {
                body::<$t $(, $f)?, true>($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<$($life,)? $t: $bound $(, $f: $fbound)?>($($arg: $type),*) $(-> $result)? {
                body::<$t $(, $f)?, true>($($arg),*)
            }

            match $crate::simd::Level::get() {
                // SAFETY: `Level::get` returns this level only if the processor has the instructions, which include AVX2.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx512 if const { $cheap } => unsafe { avx2::<$t $(, $f)?>($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx512 => unsafe { avx512::<$t $(, $f)?>($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx2 => unsafe { avx2::<$t $(, $f)?>($($arg),*) },
                $crate::simd::Level::Baseline => body::<$t $(, $f)?, { cfg!(target_arch = "aarch64") }>($($arg),*),
            }
        }
    };
    ($($function:tt)*) => {
        $crate::simd::multiversion! { cheap false; $($function)* }
    };
}
pub use multiversion;

/// A SIMD vector: the elements that one instruction processes.
///
/// # Safety
/// Each method may be called only where the processor has the vector's instructions. Pointers must
/// be valid for [`LANES`](Vector::LANES) elements and aligned for one element.
pub(crate) trait Vector: Copy {
    /// The type of the elements.
    type Element: Float;
    /// The number of elements.
    const LANES: usize;
    /// Returns a vector of equal elements.
    unsafe fn splat(value: Self::Element) -> Self;
    /// Reads the elements.
    unsafe fn load(from: *const Self::Element) -> Self;
    /// Writes the elements.
    unsafe fn store(self, to: *mut Self::Element);
    /// Returns `self * factor + addend`.
    unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self;
    /// Returns the sum of the lanes.
    unsafe fn sum(self) -> Self::Element;
}

/// Implements [`Vector`] for a type of the processor.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! vector {
    ($name:ident, $element:ty, $lanes:literal, $set1:ident, $load:ident, $store:ident, $fma:expr, $sum:expr) => {
        impl Vector for $name {
            type Element = $element;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn splat(value: $element) -> Self {
                // SAFETY: the caller promises that the processor has the instruction.
                unsafe { $set1(value) }
            }

            #[inline(always)]
            unsafe fn load(from: *const $element) -> Self {
                // SAFETY: the caller promises the instruction and a pointer valid for all lanes.
                unsafe { $load(from) }
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut $element) {
                // SAFETY: the caller promises the instruction and a pointer valid for all lanes.
                unsafe { $store(to, self) }
            }

            #[inline(always)]
            unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self {
                // SAFETY: the caller promises that the processor has the instruction.
                unsafe { ($fma)(self, factor, addend) }
            }

            #[inline(always)]
            unsafe fn sum(self) -> $element {
                // SAFETY: the caller promises that the processor has the instruction. Where it
                // transmutes, a vector and the array of its lanes have the same size, and every
                // bit pattern is a float.
                unsafe { ($sum)(self) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
#[rustfmt::skip]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    vector!(__m512, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, |v| _mm512_reduce_add_ps(v));
    vector!(__m512d, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, |v| _mm512_reduce_add_pd(v));
    vector!(__m256, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, |v| super::pairwise_sum(std::mem::transmute::<__m256, [f32; 8]>(v)));
    vector!(__m256d, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, |v| super::pairwise_sum(std::mem::transmute::<__m256d, [f64; 4]>(v)));
}

/// Explicit vectors, because the compiler makes scalar code of `Plain` in some places, and never fuses a product and
/// a sum.
#[cfg(target_arch = "aarch64")]
#[rustfmt::skip]
#[allow(unused_unsafe, reason = "every processor of the architecture has the instructions")]
mod arm {
    use super::Vector;
    use std::arch::aarch64::*;

    vector!(float32x4_t, f32, 4, vdupq_n_f32, vld1q_f32, vst1q_f32, |a, b, sum| vfmaq_f32(sum, a, b), |v| vaddvq_f32(v));
    vector!(float64x2_t, f64, 2, vdupq_n_f64, vld1q_f64, vst1q_f64, |a, b, sum| vfmaq_f64(sum, a, b), |v| vaddvq_f64(v));
}

/// The vectors of [`Level::Baseline`].
#[cfg(target_arch = "aarch64")]
pub(crate) mod baseline {
    pub(crate) type F32 = std::arch::aarch64::float32x4_t;
    pub(crate) type F64 = std::arch::aarch64::float64x2_t;
}

/// The vectors of [`Level::Baseline`].
#[cfg(not(target_arch = "aarch64"))]
pub(crate) mod baseline {
    pub(crate) type F32 = super::Plain<f32, 4>;
    pub(crate) type F64 = super::Plain<f64, 2>;
}

/// A vector for any processor: an array, which the compiler maps to the vectors of the baseline.
#[cfg(not(target_arch = "aarch64"))]
#[derive(Clone, Copy)]
pub(crate) struct Plain<T, const LANES: usize>([T; LANES]);

#[cfg(not(target_arch = "aarch64"))]
impl<T: Float, const LANES: usize> Vector for Plain<T, LANES> {
    type Element = T;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn splat(value: T) -> Self {
        Plain([value; LANES])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        // SAFETY: the caller promises a pointer valid for all lanes; an array has the alignment of
        // its element.
        Plain(unsafe { from.cast::<[T; LANES]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        // SAFETY: as for `load`.
        unsafe { to.cast::<[T; LANES]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, addend: Self) -> Self {
        Plain(std::array::from_fn(|i| {
            self.0[i] * factor.0[i] + addend.0[i]
        }))
    }

    #[inline(always)]
    unsafe fn sum(self) -> T {
        pairwise_sum(self.0)
    }
}

/// Returns the sum, adding the upper half to the lower half until one element is left: a form that
/// the compiler can vectorise.
#[cfg(not(target_arch = "aarch64"))]
#[inline(always)]
fn pairwise_sum<T: Float, const N: usize>(mut values: [T; N]) -> T {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            values[i] += values[i + half];
        }
        half /= 2;
    }
    values[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_setting_is_refused() {
        for known in ["", "baseline", "AVX2", "avx512"] {
            let level = Level::of_setting(known);
            assert!(
                level.is_ok() || cfg!(not(target_arch = "x86_64")),
                "{known}"
            );
        }
        assert_eq!(Level::of_setting("typo"), Err("typo".to_owned()));
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn avx512_needs_every_feature_of_its_functions() {
        assert_eq!(Level::of_features(true, [true; 4]), Level::Avx512);
        for missing in 0..4 {
            let features = std::array::from_fn(|i| i != missing);
            assert_eq!(Level::of_features(true, features), Level::Avx2);
        }
        assert_eq!(Level::of_features(false, [true; 4]), Level::Baseline);
    }
}
