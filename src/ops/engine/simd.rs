//! Vectors of numbers, and the choice of the widest that the processor has.
//!
//! A kernel is written once over [`Vector`], in functions that are always inlined, and compiled for
//! each instruction set by a caller with `#[target_feature]`. Simple loops need no vectors: the
//! macro [`multiversion!`] compiles them for each instruction set and leaves the rest to the compiler.

mod element;

pub(in crate::ops) use element::Element;

use std::sync::LazyLock;

/// An instruction set for which the kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::ops) enum Level {
    /// What every processor of the kind has: SSE2, NEON.
    Baseline,
    /// AVX2 with fused multiply-add.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The best that this processor has, or what `TAPER_SIMD` asks for if that is less:
    /// `baseline`, `avx2`.
    pub(in crate::ops) fn get() -> Level {
        static LEVEL: LazyLock<Level> = LazyLock::new(|| {
            let wanted = std::env::var("TAPER_SIMD").unwrap_or_default();
            let most = Level::of_processor();
            let known = Level::all().into_iter();
            let named = known.filter(|level| format!("{level:?}").eq_ignore_ascii_case(&wanted));
            named.min().map_or(most, |level| level.min(most))
        });
        *LEVEL
    }

    /// All that this processor has, the least first.
    pub(in crate::ops) fn all() -> Vec<Level> {
        let most = Level::of_processor();
        let all = [
            Level::Baseline,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512,
        ];
        all.into_iter().filter(|level| *level <= most).collect()
    }

    #[cfg(target_arch = "x86_64")]
    fn of_processor() -> Level {
        let avx2 = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        match (avx2, is_x86_feature_detected!("avx512f")) {
            (true, true) => Level::Avx512,
            (true, false) => Level::Avx2,
            _ => Level::Baseline,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn of_processor() -> Level {
        Level::Baseline
    }
}

/// Compiles a function for each instruction set; a call takes the best that there is. Its body is
/// safe code, and what it calls in a loop must be always inlined.
macro_rules! multiversion {
    ($(#[$doc:meta])* $vis:vis fn $name:ident<$t:ident: $bound:path $(, $f:ident: $fbound:path)?>($($arg:ident: $type:ty),* $(,)?) $(-> $result:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name<$t: $bound $(, $f: $fbound)?>($($arg: $type),*) $(-> $result)? {
            #[inline(always)]
            fn body<$t: $bound $(, $f: $fbound)?>($($arg: $type),*) $(-> $result)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
            fn avx512<$t: $bound $(, $f: $fbound)?>($($arg: $type),*) $(-> $result)? {
                body::<$t $(, $f)?>($($arg),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2<$t: $bound $(, $f: $fbound)?>($($arg: $type),*) $(-> $result)? {
                body::<$t $(, $f)?>($($arg),*)
            }

            match $crate::ops::engine::simd::Level::get() {
                // SAFETY: the level says that the processor has these instructions.
                #[cfg(target_arch = "x86_64")]
                $crate::ops::engine::simd::Level::Avx512 => unsafe { avx512::<$t $(, $f)?>($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                $crate::ops::engine::simd::Level::Avx2 => unsafe { avx2::<$t $(, $f)?>($($arg),*) },
                $crate::ops::engine::simd::Level::Baseline => body::<$t $(, $f)?>($($arg),*),
            }
        }
    };
}
pub(in crate::ops) use multiversion;

/// As many numbers as an instruction takes at once.
///
/// # Safety
/// Each method may be called only where the processor has the vector's instructions. Pointers must
/// be good for [`LANES`](Vector::LANES) numbers; they need no alignment beyond that of one number.
pub(in crate::ops) trait Vector: Copy {
    type Element: Element;
    const LANES: usize;
    unsafe fn splat(number: Self::Element) -> Self;
    unsafe fn load(from: *const Self::Element) -> Self;
    unsafe fn store(self, to: *mut Self::Element);
    /// `self * by + to`.
    unsafe fn multiply_add(self, by: Self, to: Self) -> Self;
    /// The sum of the numbers.
    unsafe fn sum(self) -> Self::Element;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::Vector;
    use std::arch::x86_64::*;

    macro_rules! vector {
        ($name:ident, $element:ty, $lanes:literal, $set1:ident, $load:ident, $store:ident, $fma:ident, $sum:expr) => {
            impl Vector for $name {
                type Element = $element;
                const LANES: usize = $lanes;

                #[inline(always)]
                unsafe fn splat(number: $element) -> Self {
                    unsafe { $set1(number) }
                }

                #[inline(always)]
                unsafe fn load(from: *const $element) -> Self {
                    unsafe { $load(from) }
                }

                #[inline(always)]
                unsafe fn store(self, to: *mut $element) {
                    unsafe { $store(to, self) }
                }

                #[inline(always)]
                unsafe fn multiply_add(self, by: Self, to: Self) -> Self {
                    unsafe { $fma(self, by, to) }
                }

                #[inline(always)]
                unsafe fn sum(self) -> $element {
                    unsafe { ($sum)(self) }
                }
            }
        };
    }

    #[rustfmt::skip]
    mod vectors {
        use super::*;
        vector!(__m512, f32, 16, _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_fmadd_ps, |v| _mm512_reduce_add_ps(v));
        vector!(__m512d, f64, 8, _mm512_set1_pd, _mm512_loadu_pd, _mm512_storeu_pd, _mm512_fmadd_pd, |v| _mm512_reduce_add_pd(v));
        vector!(__m256, f32, 8, _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_fmadd_ps, |v| super::super::sum_in_pairs(std::mem::transmute::<__m256, [f32; 8]>(v)));
        vector!(__m256d, f64, 4, _mm256_set1_pd, _mm256_loadu_pd, _mm256_storeu_pd, _mm256_fmadd_pd, |v| super::super::sum_in_pairs(std::mem::transmute::<__m256d, [f64; 4]>(v)));
    }
}

/// The vector of a processor of which nothing is known: the compiler makes of it what there is.
#[derive(Clone, Copy)]
pub(in crate::ops) struct Plain<T, const LANES: usize>([T; LANES]);

impl<T: Element, const LANES: usize> Vector for Plain<T, LANES> {
    type Element = T;
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn splat(number: T) -> Self {
        Plain([number; LANES])
    }

    #[inline(always)]
    unsafe fn load(from: *const T) -> Self {
        Plain(unsafe { from.cast::<[T; LANES]>().read() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut T) {
        unsafe { to.cast::<[T; LANES]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn multiply_add(self, by: Self, to: Self) -> Self {
        Plain(std::array::from_fn(|i| self.0[i] * by.0[i] + to.0[i]))
    }

    #[inline(always)]
    unsafe fn sum(self) -> T {
        sum_in_pairs(self.0)
    }
}

/// The sum, halves first: the compiler can make vectors of it.
#[inline(always)]
fn sum_in_pairs<T: Element, const N: usize>(mut numbers: [T; N]) -> T {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            numbers[i] += numbers[i + half];
        }
        half /= 2;
    }
    numbers[0]
}
