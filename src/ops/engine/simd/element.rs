//! The element types of the kernels, with functions in a form that the compiler can vectorise.

use candle_core::cpu::erf::erf_f64;
use candle_core::{CpuStorage, Result, WithDType, bail};

/// A type that the kernels compute with: `f32` or `f64`.
pub(in crate::ops) trait Element:
    WithDType + Default + std::iter::Sum + std::ops::AddAssign + std::ops::Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    fn of(value: f64) -> Self;
    /// Returns `eˣ`; for `f32` in a form that the compiler can vectorise.
    fn exp(self) -> Self;
    /// Returns `eˣ - 1`, exact near 0.
    fn exp_m1(self) -> Self;
    /// Returns `ln(1 + x)`, exact near 0.
    fn ln_1p(self) -> Self;
    fn abs(self) -> Self;
    fn tanh(self) -> Self;
    /// Returns the natural logarithm; for `f32` in a form that the compiler can vectorise.
    fn ln(self) -> Self;
    /// Returns the cumulative distribution function of the standard normal distribution,
    /// `(1 + erf(x/√2)) / 2`.
    fn normal_cdf(self) -> Self;
    fn sqrt(self) -> Self;
    fn is_nan(self) -> bool;
    /// Returns the elements of a storage of this type.
    fn storage_slice_mut(storage: &mut CpuStorage) -> Result<&mut [Self]>;
}

impl Element for f32 {
    const ZERO: f32 = 0.0;
    const ONE: f32 = 1.0;

    #[inline(always)]
    fn of(value: f64) -> f32 {
        value as f32
    }

    /// A power of two times a polynomial, exact to 2 units in the last place. From Cephes.
    #[inline(always)]
    fn exp(self) -> f32 {
        // Above this range the result is infinite; below, it is subnormal and set to 0.
        let x = if self > 88.8 { 88.8 } else { self };
        let x = if x < -87.3 { -87.3 } else { x };
        // Adding and subtracting this constant rounds to an integer.
        const ROUND: f32 = 12_582_912.0;
        let shifted = x * std::f32::consts::LOG2_E + ROUND;
        let n = shifted - ROUND;
        let r = x - n * 0.693_359_4 + n * 2.121_944_4e-4;
        let mut p = 1.987_569_1e-4;
        p = p * r + 1.398_199_9e-3;
        p = p * r + 8.333_452e-3;
        p = p * r + 4.166_579_6e-2;
        p = p * r + 1.666_666_5e-1;
        p = p * r + 0.5;
        let e = p * r * r + r + 1.0;
        // `power` is half of 2ⁿ, because 2¹²⁸ is out of f32's range where e · 2¹²⁸ may be in it.
        let power = f32::from_bits((((shifted.to_bits() as i32) << 23) + (126 << 23)) as u32);
        let value = e * power * 2.0;
        let value = if self < -87.3 { 0.0 } else { value };
        if self > 88.722_84 {
            f32::INFINITY
        } else {
            value
        }
    }

    /// A polynomial near 0, where the form with `exp` loses digits. From Cephes.
    #[inline(always)]
    fn tanh(self) -> f32 {
        let z = self * self;
        let mut p = -5.704_988_7e-3;
        p = p * z + 2.063_909e-2;
        p = p * z - 5.373_972e-2;
        p = p * z + 1.333_144_2e-1;
        p = p * z - 3.333_328e-1;
        let near = p * z * self + self;
        let far = 1.0 - 2.0 / (Element::exp(2.0 * self.abs()) + 1.0);
        let far = if self < 0.0 { -far } else { far };
        if self.abs() < 0.625 { near } else { far }
    }

    fn exp_m1(self) -> f32 {
        f32::exp_m1(self)
    }

    fn ln_1p(self) -> f32 {
        f32::ln_1p(self)
    }

    #[inline(always)]
    fn abs(self) -> f32 {
        f32::abs(self)
    }

    /// The exponent, and a polynomial of the mantissa between √½ and √2, exact to 2 units in the last
    /// place. From Cephes.
    #[inline(always)]
    fn ln(self) -> f32 {
        // A subnormal number has no exponent of its own.
        let subnormal = self < f32::MIN_POSITIVE;
        let x = if subnormal { self * 8_388_608.0 } else { self };
        let bits = x.to_bits() as i32;
        let exponent = bits.wrapping_sub(0x3f35_04f3) >> 23;
        let mantissa = f32::from_bits(bits.wrapping_sub(exponent << 23) as u32);
        let e = exponent as f32 - if subnormal { 23.0 } else { 0.0 };
        let f = mantissa - 1.0;
        let mut p = 7.037_683_6e-2;
        p = p * f - 1.151_461e-1;
        p = p * f + 1.167_699_9e-1;
        p = p * f - 1.242_014_1e-1;
        p = p * f + 1.424_932_3e-1;
        p = p * f - 1.666_805_8e-1;
        p = p * f + 2.000_071_5e-1;
        p = p * f - 2.499_999_4e-1;
        p = p * f + 3.333_333e-1;
        let y = p * f * f * f - 2.121_944_4e-4 * e - 0.5 * f * f;
        let value = f + y + 0.693_359_4 * e;
        let value = if self < f32::INFINITY { value } else { self };
        let value = if self == 0.0 {
            f32::NEG_INFINITY
        } else {
            value
        };
        if self < 0.0 { f32::NAN } else { value }
    }

    /// From the error function, approximated to 3e-9 by polynomials interpolated at Chebyshev nodes: in
    /// the square of `x` near 0; further out in `t`, for the complement (1 minus the function).
    #[inline(always)]
    fn normal_cdf(self) -> f32 {
        let x = self * std::f32::consts::FRAC_1_SQRT_2;
        let square = x * x;
        let mut p = 7.875_875e-5;
        p = p * square - 8.016_864e-4;
        p = p * square + 5.189_087e-3;
        p = p * square - 2.685_421_2e-2;
        p = p * square + 1.128_359_5e-1;
        p = p * square - 3.761_262_7e-1;
        p = p * square + std::f32::consts::FRAC_2_SQRT_PI;
        let near = 0.5 + 0.5 * x * p;
        let t = 1.0 / (1.0 + 0.4 * x.abs());
        let mut q = -1.179_534e-1;
        q = q * t + 2.484_255_7e-1;
        q = q * t + 2.594_302_5e-3;
        q = q * t + 2.166_078e-1;
        q = q * t + 1.974_998_2e-1;
        q = q * t + 2.269_573_2e-1;
        q = q * t + 2.255_981_6e-1;
        q = q * t + 1.274_694_3e-6;
        let tail = 0.5 * Element::exp(-square) * q;
        let far = if self < 0.0 { tail } else { 1.0 - tail };
        if square < 1.0 { near } else { far }
    }

    #[inline(always)]
    fn sqrt(self) -> f32 {
        f32::sqrt(self)
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        f32::is_nan(self)
    }

    fn storage_slice_mut(storage: &mut CpuStorage) -> Result<&mut [f32]> {
        match storage {
            CpuStorage::F32(values) => Ok(values),
            _ => bail!("kernel: expected a storage of f32"),
        }
    }
}

impl Element for f64 {
    const ZERO: f64 = 0.0;
    const ONE: f64 = 1.0;

    #[inline(always)]
    fn of(value: f64) -> f64 {
        value
    }

    fn exp(self) -> f64 {
        f64::exp(self)
    }

    fn tanh(self) -> f64 {
        f64::tanh(self)
    }

    fn exp_m1(self) -> f64 {
        f64::exp_m1(self)
    }

    fn ln_1p(self) -> f64 {
        f64::ln_1p(self)
    }

    #[inline(always)]
    fn abs(self) -> f64 {
        f64::abs(self)
    }

    fn ln(self) -> f64 {
        f64::ln(self)
    }

    fn normal_cdf(self) -> f64 {
        0.5 * (1.0 + erf_f64(self * std::f64::consts::FRAC_1_SQRT_2))
    }

    #[inline(always)]
    fn sqrt(self) -> f64 {
        f64::sqrt(self)
    }

    #[inline(always)]
    fn is_nan(self) -> bool {
        f64::is_nan(self)
    }

    fn storage_slice_mut(storage: &mut CpuStorage) -> Result<&mut [f64]> {
        match storage {
            CpuStorage::F64(values) => Ok(values),
            _ => bail!("kernel: expected a storage of f64"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_exact_to_a_few_units_in_the_last_place() {
        // Miri interprets a thousand times slower.
        let step = if cfg!(miri) { 1009 } else { 1 };
        for i in (-200_000..200_000).step_by(step) {
            let x = i as f32 * 0.000_5;
            let (got, want) = (Element::exp(x), f64::from(x).exp());
            let off = (f64::from(got) - want).abs();
            assert!(
                off <= want * 3e-7 + 2e-38 || got.is_infinite() && want > f64::from(f32::MAX),
                "exp({x}) is {want}, not {got}"
            );
            let (got, want) = (Element::tanh(x), f64::from(x).tanh());
            let off = (f64::from(got) - want).abs();
            assert!(off <= want.abs() * 3e-7, "tanh({x}) is {want}, not {got}");
        }
        for i in (-150_000..150_000).step_by(step) {
            let x = i as f32 * 0.000_1;
            let (got, want) = (x.normal_cdf(), f64::from(x).normal_cdf());
            let off = (f64::from(got) - want).abs();
            assert!(off <= 1.2e-7, "{x}: {want}, not {got}");
        }
        for bits in (1..0x7f80_0000).step_by(997 * step) {
            let x = f32::from_bits(bits);
            let (got, want) = (Element::ln(x), f64::from(x).ln());
            let off = (f64::from(got) - want).abs();
            assert!(off <= want.abs() * 2.4e-7, "ln({x}) is {want}, not {got}");
        }
        assert_eq!(Element::ln(0.0f32), f32::NEG_INFINITY);
        assert_eq!(Element::ln(f32::INFINITY), f32::INFINITY);
        assert!(Element::ln(-1.0f32).is_nan() && Element::ln(f32::NAN).is_nan());
        assert_eq!(f32::INFINITY.normal_cdf(), 1.0);
        assert_eq!(f32::NEG_INFINITY.normal_cdf(), 0.0);
        assert!(f32::NAN.normal_cdf().is_nan());
        assert_eq!(Element::exp(f32::NEG_INFINITY), 0.0);
        assert_eq!(Element::exp(f32::INFINITY), f32::INFINITY);
        assert!(Element::exp(f32::NAN).is_nan() && Element::tanh(f32::NAN).is_nan());
        assert_eq!(Element::tanh(f32::INFINITY), 1.0);
    }
}
