//! The element types of the kernels, with functions in a form that the compiler can vectorise.

use candle_core::cpu::erf::erf_f64;
use candle_core::{CpuStorage, Result, WithDType, bail};

/// The density of the standard normal distribution at 0: 1/√2π.
const DENSITY_AT_0: f64 = 0.398_942_280_401_432_7;

/// A type that the kernels compute with: `f32` or `f64`.
pub(in crate::ops) trait Element:
    WithDType + Default + std::iter::Sum + std::ops::AddAssign + std::ops::Neg<Output = Self>
{
    const ZERO: Self;
    const ONE: Self;
    fn of(value: f64) -> Self;
    /// Returns `self * factor + addend`: if `FUSED`, rounded once, by one instruction of the processor.
    fn multiply_add<const FUSED: bool>(self, factor: Self, addend: Self) -> Self;
    /// Returns `eˣ`; for `f32` in a form that the compiler can vectorise.
    fn exp<const FUSED: bool>(self) -> Self;
    /// Returns `eˣ - 1`, exact near 0.
    fn exp_m1(self) -> Self;
    /// Returns `ln(1 + x)`, exact near 0.
    fn ln_1p(self) -> Self;
    fn abs(self) -> Self;
    fn tanh<const FUSED: bool>(self) -> Self;
    /// Returns the natural logarithm; for `f32` in a form that the compiler can vectorise.
    fn ln<const FUSED: bool>(self) -> Self;
    /// Returns the cumulative distribution function of the standard normal distribution, `(1 + erf(x/√2)) / 2`, and
    /// its density.
    fn normal<const FUSED: bool>(self) -> (Self, Self);
    fn sqrt(self) -> Self;
    fn is_nan(self) -> bool;
    /// Returns the elements of a storage of this type.
    fn storage_slice_mut(storage: &mut CpuStorage) -> Result<&mut [Self]>;
}

/// Implements what is the same for both types.
macro_rules! common {
    ($float:ident, $storage:ident) => {
        const ZERO: Self = 0.0;
        const ONE: Self = 1.0;

        #[inline(always)]
        fn of(value: f64) -> Self {
            value as $float
        }

        #[inline(always)]
        fn multiply_add<const FUSED: bool>(self, factor: Self, addend: Self) -> Self {
            match FUSED {
                true => self.mul_add(factor, addend),
                false => self * factor + addend,
            }
        }

        fn exp_m1(self) -> Self {
            $float::exp_m1(self)
        }

        fn ln_1p(self) -> Self {
            $float::ln_1p(self)
        }

        #[inline(always)]
        fn abs(self) -> Self {
            $float::abs(self)
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            $float::sqrt(self)
        }

        #[inline(always)]
        fn is_nan(self) -> bool {
            $float::is_nan(self)
        }

        fn storage_slice_mut(storage: &mut CpuStorage) -> Result<&mut [Self]> {
            match storage {
                CpuStorage::$storage(values) => Ok(values),
                _ => bail!("kernel: expected a storage of {}", stringify!($float)),
            }
        }
    };
}

impl Element for f32 {
    common!(f32, F32);

    /// Computes a power of two times a polynomial, exact to 2 units in the last place. From Cephes.
    #[inline(always)]
    fn exp<const FUSED: bool>(self) -> f32 {
        // Above this range the result is infinite; below, it is subnormal and set to 0.
        let x = if self > 88.8 { 88.8 } else { self };
        let x = if x < -87.3 { -87.3 } else { x };
        // Adding and subtracting this constant rounds to an integer.
        const ROUND: f32 = 12_582_912.0;
        let shifted = x.multiply_add::<FUSED>(std::f32::consts::LOG2_E, ROUND);
        let n = shifted - ROUND;
        let r = n.multiply_add::<FUSED>(-0.693_359_4, x);
        let r = n.multiply_add::<FUSED>(2.121_944_4e-4, r);
        let mut p = 1.987_569_1e-4;
        p = p.multiply_add::<FUSED>(r, 1.398_199_9e-3);
        p = p.multiply_add::<FUSED>(r, 8.333_452e-3);
        p = p.multiply_add::<FUSED>(r, 4.166_579_6e-2);
        p = p.multiply_add::<FUSED>(r, 1.666_666_5e-1);
        p = p.multiply_add::<FUSED>(r, 0.5);
        let e = (p * r).multiply_add::<FUSED>(r, r) + 1.0;
        // `power` is half of 2ⁿ, because 2¹²⁸ is out of f32's range where e · 2¹²⁸ may be in it.
        let power = f32::from_bits((((shifted.to_bits() as i32) << 23) + (126 << 23)) as u32);
        let value = e * power * 2.0;
        if self < -87.3 { 0.0 } else { value }
    }

    /// Computes a polynomial near 0, where the formula with `exp` loses digits. From Cephes.
    #[inline(always)]
    fn tanh<const FUSED: bool>(self) -> f32 {
        let z = self * self;
        let mut p = -5.704_988_7e-3;
        p = p.multiply_add::<FUSED>(z, 2.063_909e-2);
        p = p.multiply_add::<FUSED>(z, -5.373_972e-2);
        p = p.multiply_add::<FUSED>(z, 1.333_144_2e-1);
        p = p.multiply_add::<FUSED>(z, -3.333_328e-1);
        let near = (p * z).multiply_add::<FUSED>(self, self);
        let far = 1.0 - 2.0 / (Element::exp::<FUSED>(2.0 * self.abs()) + 1.0);
        let far = if self < 0.0 { -far } else { far };
        if self.abs() < 0.625 { near } else { far }
    }

    /// Adds the logarithm of the power of two and a polynomial of the mantissa between √½ and √2, exact to 2 units
    /// in the last place. From Cephes.
    #[inline(always)]
    fn ln<const FUSED: bool>(self) -> f32 {
        // A subnormal number has no exponent of its own.
        let subnormal = self < f32::MIN_POSITIVE;
        let x = if subnormal { self * 8_388_608.0 } else { self };
        let bits = x.to_bits() as i32;
        let exponent = bits.wrapping_sub(0x3f35_04f3) >> 23;
        let mantissa = f32::from_bits(bits.wrapping_sub(exponent << 23) as u32);
        let e = exponent as f32 - if subnormal { 23.0 } else { 0.0 };
        let f = mantissa - 1.0;
        let mut p = 7.037_683_6e-2;
        p = p.multiply_add::<FUSED>(f, -1.151_461e-1);
        p = p.multiply_add::<FUSED>(f, 1.167_699_9e-1);
        p = p.multiply_add::<FUSED>(f, -1.242_014_1e-1);
        p = p.multiply_add::<FUSED>(f, 1.424_932_3e-1);
        p = p.multiply_add::<FUSED>(f, -1.666_805_8e-1);
        p = p.multiply_add::<FUSED>(f, 2.000_071_5e-1);
        p = p.multiply_add::<FUSED>(f, -2.499_999_4e-1);
        p = p.multiply_add::<FUSED>(f, 3.333_333e-1);
        let square = f * f;
        let y = e.multiply_add::<FUSED>(-2.121_944_4e-4, p * f * square);
        let y = square.multiply_add::<FUSED>(-0.5, y);
        let value = e.multiply_add::<FUSED>(0.693_359_4, f + y);
        let value = if self < f32::INFINITY { value } else { self };
        let value = if self == 0.0 {
            f32::NEG_INFINITY
        } else {
            value
        };
        if self < 0.0 { f32::NAN } else { value }
    }

    /// Uses the error function, approximated to 3e-9 by polynomials interpolated at Chebyshev nodes: in
    /// the square of `x` near 0; further out in `t`, for the complement (1 minus the function).
    #[inline(always)]
    fn normal<const FUSED: bool>(self) -> (f32, f32) {
        let x = self * std::f32::consts::FRAC_1_SQRT_2;
        let square = x * x;
        let mut p = 7.875_875e-5;
        p = p.multiply_add::<FUSED>(square, -8.016_864e-4);
        p = p.multiply_add::<FUSED>(square, 5.189_087e-3);
        p = p.multiply_add::<FUSED>(square, -2.685_421_2e-2);
        p = p.multiply_add::<FUSED>(square, 1.128_359_5e-1);
        p = p.multiply_add::<FUSED>(square, -3.761_262_7e-1);
        p = p.multiply_add::<FUSED>(square, std::f32::consts::FRAC_2_SQRT_PI);
        let near = (0.5 * x).multiply_add::<FUSED>(p, 0.5);
        let t = 1.0 / x.abs().multiply_add::<FUSED>(0.4, 1.0);
        let mut q = -1.179_534e-1;
        q = q.multiply_add::<FUSED>(t, 2.484_255_7e-1);
        q = q.multiply_add::<FUSED>(t, 2.594_302_5e-3);
        q = q.multiply_add::<FUSED>(t, 2.166_078e-1);
        q = q.multiply_add::<FUSED>(t, 1.974_998_2e-1);
        q = q.multiply_add::<FUSED>(t, 2.269_573_2e-1);
        q = q.multiply_add::<FUSED>(t, 2.255_981_6e-1);
        q = q.multiply_add::<FUSED>(t, 1.274_694_3e-6);
        let bell = Element::exp::<FUSED>(-square);
        let tail = 0.5 * bell * q;
        let far = if self < 0.0 { tail } else { 1.0 - tail };
        let cdf = if square < 1.0 { near } else { far };
        (cdf, bell * DENSITY_AT_0 as f32)
    }
}

impl Element for f64 {
    common!(f64, F64);

    fn exp<const FUSED: bool>(self) -> f64 {
        f64::exp(self)
    }

    fn tanh<const FUSED: bool>(self) -> f64 {
        f64::tanh(self)
    }

    fn ln<const FUSED: bool>(self) -> f64 {
        f64::ln(self)
    }

    fn normal<const FUSED: bool>(self) -> (f64, f64) {
        let cdf = 0.5 * (1.0 + erf_f64(self * std::f64::consts::FRAC_1_SQRT_2));
        (cdf, DENSITY_AT_0 * (self * self * -0.5).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_exact_to_a_few_units_in_the_last_place() {
        check_functions::<false>();
        check_functions::<true>();
    }

    fn check_functions<const FUSED: bool>() {
        // Miri interprets a thousand times slower.
        let step = if cfg!(miri) { 1009 } else { 1 };
        for i in (-200_000..200_000).step_by(step) {
            let x = i as f32 * 0.000_5;
            let (got, want) = (Element::exp::<FUSED>(x), f64::from(x).exp());
            let off = (f64::from(got) - want).abs();
            assert!(
                off <= want * 3e-7 + 2e-38 || got.is_infinite() && want > f64::from(f32::MAX),
                "exp({x}) is {want}, not {got}"
            );
            let (got, want) = (Element::tanh::<FUSED>(x), f64::from(x).tanh());
            let off = (f64::from(got) - want).abs();
            assert!(off <= want.abs() * 3e-7, "tanh({x}) is {want}, not {got}");
        }
        for i in (-150_000..150_000).step_by(step) {
            let x = i as f32 * 0.000_1;
            let (got, want) = (x.normal::<FUSED>(), f64::from(x).normal::<FUSED>());
            let off = [f64::from(got.0) - want.0, f64::from(got.1) - want.1];
            assert!(off[0].abs() <= 1.2e-7, "{x}: {}, not {}", want.0, got.0);
            assert!(off[1].abs() <= 1.2e-7, "{x}: {}, not {}", want.1, got.1);
        }
        for bits in (1..0x7f80_0000).step_by(997 * step) {
            let x = f32::from_bits(bits);
            let (got, want) = (Element::ln::<FUSED>(x), f64::from(x).ln());
            let off = (f64::from(got) - want).abs();
            assert!(off <= want.abs() * 2.4e-7, "ln({x}) is {want}, not {got}");
        }
        assert_eq!(Element::ln::<FUSED>(0.0f32), f32::NEG_INFINITY);
        assert_eq!(Element::ln::<FUSED>(f32::INFINITY), f32::INFINITY);
        assert!(Element::ln::<FUSED>(-1.0f32).is_nan() && Element::ln::<FUSED>(f32::NAN).is_nan());
        assert_eq!(f32::INFINITY.normal::<FUSED>(), (1.0, 0.0));
        assert_eq!(f32::NEG_INFINITY.normal::<FUSED>(), (0.0, 0.0));
        let (cdf, density) = f32::NAN.normal::<FUSED>();
        assert!(cdf.is_nan() && density.is_nan());
        assert_eq!(Element::exp::<FUSED>(f32::NEG_INFINITY), 0.0);
        assert_eq!(Element::exp::<FUSED>(f32::INFINITY), f32::INFINITY);
        assert!(
            Element::exp::<FUSED>(f32::NAN).is_nan() && Element::tanh::<FUSED>(f32::NAN).is_nan()
        );
        assert_eq!(Element::tanh::<FUSED>(f32::INFINITY), 1.0);
    }
}
