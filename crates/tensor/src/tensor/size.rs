//! Checks that a tensor fits into the memory, before a failed allocation aborts the process.

use crate::error::refuse;
use candle_core::{Device, Result};

/// The number of bytes up to which a request is left to the allocator.
const SMALL: usize = 1 << 28;

/// Returns whether a device can hold a tensor of this shape with elements of `size` bytes. A GPU reports
/// a full memory itself, but not a size that overflows.
///
/// A large block is reserved and released again, which touches none of its pages.
#[doc(hidden)]
pub fn fits_memory(shape: &[usize], size: usize, device: &Device) -> bool {
    let bytes = shape
        .iter()
        .try_fold(size, |bytes, dim| bytes.checked_mul(*dim));
    match bytes {
        // A dimension of 0 makes the whole empty, whatever the others are.
        _ if shape.contains(&0) => true,
        Some(bytes) if bytes <= SMALL || !device.is_cpu() => bytes < isize::MAX as usize,
        Some(bytes) => Vec::<u8>::new().try_reserve_exact(bytes).is_ok(),
        None => false,
    }
}

/// Checks that a device can hold a tensor of this shape with elements of `size` bytes.
#[doc(hidden)]
pub fn check_size(function: &str, shape: &[usize], size: usize, device: &Device) -> Result<()> {
    refuse!(if !fits_memory(shape, size, device); argument(function, format_args!("{shape:?}"));
        "a shape that fits into the memory", "Choose a smaller shape");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::tensor::Tensor;
    use crate::tensor::{arange, eye, full, linspace, ones, rand, randint, randn, randperm, zeros};

    #[test]
    fn shapes_that_no_memory_holds_are_errors() {
        type Create = fn((usize, usize)) -> Tensor;
        let create: [(&str, Create); 6] = [
            ("zeros", |shape| zeros(shape)),
            ("ones", |shape| ones(shape)),
            ("full", |shape| full(shape, 2.0)),
            ("rand", |shape| rand(shape)),
            ("randn", |shape| randn(shape)),
            ("randint", |shape| randint(0, 5, shape)),
        ];
        for (name, create) in create {
            for shape in [(1 << 40, 1 << 40), (usize::MAX, 1), (1 << 22, 1 << 22)] {
                let message = attempt(|| create(shape)).unwrap_err().to_string();
                assert!(
                    message.contains("fits into the memory"),
                    "{name}: {message}"
                );
                assert_eq!(message.lines().count(), 2);
            }
            assert_eq!(create((0, 3)).elem_count(), 0);
        }
        let create: [fn() -> Tensor; 8] = [
            || arange(0.0, f64::NAN),
            || zeros(0).reshape((1usize << 32, 1usize << 32)),
            || ones(1).broadcast_as((1usize << 40, 1usize << 40)),
            || eye(1 << 40),
            || randperm(usize::MAX),
            || linspace(0.0, 1.0, usize::MAX),
            || arange(0, i64::MAX),
            || arange(0.0, f64::INFINITY),
        ];
        for create in create {
            let error = attempt(create).unwrap_err();
            assert_eq!(error.to_string().lines().count(), 2);
        }
        let fits = |shape: &[usize]| fits_memory(shape, 8, &Device::Cpu);
        assert!(fits(&[1 << 26]) && fits(&[0, usize::MAX, 2]));
    }
}
