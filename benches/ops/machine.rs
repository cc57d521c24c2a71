//! The limits of the machine: multiply-adds in registers, and copies of memory.

use crate::Work;
use serde_json::Value;
use std::hint::black_box;

/// The number of rounds of [`multiply_add`] that each thread computes.
pub(crate) const ROUNDS: usize = 1 << 20;

/// Returns work on all cores for a case: `{"copy": BYTES}`, the sum of those read and written, or
/// `{"arithmetic": true}`.
pub(crate) fn work(case: &Value) -> Work {
    let threads = std::env::var("RAYON_NUM_THREADS")
        .ok()
        .and_then(|count| count.parse().ok());
    let threads = threads
        .unwrap_or_else(|| std::thread::available_parallelism().map_or(1, |count| count.get()));
    match case["copy"].as_u64() {
        Some(bytes) => {
            let each = bytes as usize / 2 / threads;
            let mut memory: Vec<(Vec<u8>, Vec<u8>)> = (0..threads)
                .map(|i| (vec![i as u8; each], vec![0; each]))
                .collect();
            Box::new(move || {
                rayon::scope(|scope| {
                    for (from, to) in &mut memory {
                        scope.spawn(|_| black_box(to).copy_from_slice(black_box(from)));
                    }
                });
                Ok(())
            })
        }
        None => Box::new(move || {
            rayon::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|_| _ = black_box(multiply_add()));
                }
            });
            Ok(())
        }),
    }
}

/// Computes [`ROUNDS`] times 256 independent multiply-adds: 16 vectors of 16 elements.
fn multiply_add() -> f32 {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") {
            // SAFETY: the processor has the instructions.
            return unsafe { with_avx512() };
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            // SAFETY: as above.
            return unsafe { with_avx2() };
        }
    }
    rounds()
}

/// Returns different values: of equal ones, the compiler would move sums from register to register.
fn starts<const N: usize>() -> [f32; N] {
    std::array::from_fn(|i| black_box(i as f32 / N as f32))
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn with_avx512() -> f32 {
    use std::arch::x86_64::*;
    let (mut sums, x) = (
        starts::<16>().map(|start| _mm512_set1_ps(start)),
        _mm512_set1_ps(black_box(0.5)),
    );
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = _mm512_fmadd_ps(*sum, x, x);
        }
    }
    sums.iter().map(|sum| _mm512_reduce_add_ps(*sum)).sum()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn with_avx2() -> f32 {
    use std::arch::x86_64::*;
    let (mut sums, x) = (
        starts::<8>().map(|start| _mm256_set1_ps(start)),
        _mm256_set1_ps(black_box(0.5)),
    );
    for _ in 0..4 * ROUNDS {
        for sum in &mut sums {
            *sum = _mm256_fmadd_ps(*sum, x, x);
        }
    }
    sums.iter().map(|sum| _mm256_cvtss_f32(*sum)).sum()
}

fn rounds() -> f32 {
    let (mut sums, x) = (starts::<256>(), black_box(0.5));
    for _ in 0..ROUNDS {
        for sum in &mut sums {
            *sum = *sum * x + x;
        }
    }
    sums.iter().sum()
}
