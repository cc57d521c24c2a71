//! The element types of the kernels, with functions in a form that the compiler can vectorise.

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// The density of the standard normal distribution at 0: 1/√2π.
pub const DENSITY_AT_0: f64 = 0.398_942_280_401_432_7;

mod sealed {
    /// Implemented by `f32` and `f64` alone: the kernels tell them apart by their size.
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// A type that the kernels compute with: `f32` or `f64`.
pub trait Float:
    sealed::Sealed
    + Copy
    + Default
    + PartialOrd
    + Send
    + Sync
    + Into<f64>
    + Sum
    + Neg<Output = Self>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + 'static
{
    /// 0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// Returns the nearest value of this type.
    fn of(value: f64) -> Self;
    /// Returns `self * factor + addend`: if `FUSED`, rounded once, by one instruction of the processor.
    fn multiply_add<const FUSED: bool>(self, factor: Self, addend: Self) -> Self;
    /// Returns `eˣ`; for `f32` in a form that the compiler can vectorise.
    fn exp<const FUSED: bool>(self) -> Self;
    /// Returns `eˣ - 1`, exact near 0; for `f32` in a form that the compiler can vectorise.
    fn exp_m1<const FUSED: bool>(self) -> Self;
    /// Returns `ln(1 + x)`, exact near 0; for `f32` in a form that the compiler can vectorise.
    fn ln_1p<const FUSED: bool>(self) -> Self;
    /// Returns the absolute value.
    fn abs(self) -> Self;
    /// Returns the hyperbolic tangent; for `f32` in a form that the compiler can vectorise.
    fn tanh<const FUSED: bool>(self) -> Self;
    /// Returns the natural logarithm; for `f32` in a form that the compiler can vectorise.
    fn ln<const FUSED: bool>(self) -> Self;
    /// Returns the cumulative distribution function of the standard normal distribution, `(1 + erf(x/√2)) / 2`, and
    /// its density.
    fn normal<const FUSED: bool>(self) -> (Self, Self);
    /// Returns the error function.
    fn erf<const FUSED: bool>(self) -> Self;
    /// Returns the sine; for `f32` in a form that the compiler can vectorise, up to [`FARTHEST`].
    fn sin<const FUSED: bool>(self) -> Self;
    /// Returns the cosine, as [`sin`](Float::sin).
    fn cos<const FUSED: bool>(self) -> Self;
    /// Returns the power; for `f32` in a form that the compiler can vectorise.
    fn pow<const FUSED: bool>(self, exponent: Self) -> Self;
    /// Returns the sine, also of large values.
    #[inline(always)]
    fn sin_of_large(self) -> Self {
        Self::of(f64::sin(self.into()))
    }
    /// Returns the cosine, also of large values.
    #[inline(always)]
    fn cos_of_large(self) -> Self {
        Self::of(f64::cos(self.into()))
    }
    /// Returns `1 / (1 + exp(-x))`.
    #[inline(always)]
    fn sigmoid<const FUSED: bool>(self) -> Self {
        Self::ONE / (Self::ONE + (-self).exp::<FUSED>())
    }
    /// Returns −1, 0 or 1; for NaN 0.
    #[inline(always)]
    fn sign(self) -> Self {
        let sign = if self < Self::ZERO {
            -Self::ONE
        } else {
            Self::ZERO
        };
        if self > Self::ZERO { Self::ONE } else { sign }
    }
    /// Returns the square root.
    fn sqrt(self) -> Self;
    /// Rounds down to an integer.
    fn floor(self) -> Self;
    /// Rounds up to an integer.
    fn ceil(self) -> Self;
    /// Rounds halves to the even integer.
    fn round(self) -> Self;
    /// Returns whether the value is not a number.
    fn is_nan(self) -> bool;
}

/// Implements what is the same for both types.
macro_rules! common {
    (@ $float:ident $($name:ident $function:ident $result:ty;)*) => {$(
        #[inline(always)]
        fn $name(self) -> $result {
            $float::$function(self)
        }
    )*};
    ($float:ident) => {
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

        common! {
            @ $float
            abs abs Self;
            sqrt sqrt Self;
            floor floor Self;
            ceil ceil Self;
            round round_ties_even Self;
            is_nan is_nan bool;
        }
    };
}

/// Returns `r` and half of 2ⁿ such that `eˣ` is `(1 + r) · 2ⁿ`: a polynomial, exact to 2 units in the last place. From
/// Cephes. It is half, because 2¹²⁸ is out of f32's range where `eˣ` may be in it.
#[inline(always)]
fn exp_parts<const FUSED: bool>(x: f32) -> (f32, f32) {
    // Above this range the result is infinite; below, it is subnormal and set to 0.
    let x = if x > 88.8 { 88.8 } else { x };
    let x = if x < -87.3 { -87.3 } else { x };
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
    let half_power = f32::from_bits((((shifted.to_bits() as i32) << 23) + (126 << 23)) as u32);
    ((p * r).multiply_add::<FUSED>(r, r), half_power)
}

impl Float for f32 {
    common!(f32);

    #[inline(always)]
    fn exp<const FUSED: bool>(self) -> f32 {
        let (rest, half_power) = exp_parts::<FUSED>(self);
        let value = (rest + 1.0) * half_power * 2.0;
        if self < -87.3 { 0.0 } else { value }
    }

    #[inline(always)]
    fn exp_m1<const FUSED: bool>(self) -> f32 {
        let (rest, half_power) = exp_parts::<FUSED>(self);
        rest.multiply_add::<FUSED>(half_power, half_power - 0.5) * 2.0
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
        let far = 1.0 - 2.0 / (Float::exp::<FUSED>(2.0 * self.abs()) + 1.0);
        let far = if self < 0.0 { -far } else { far };
        if self.abs() < 0.625 { near } else { far }
    }

    /// Adds what the sum `1 + x` lost when it was rounded.
    #[inline(always)]
    fn ln_1p<const FUSED: bool>(self) -> f32 {
        let sum = 1.0 + self;
        let lost = (self - (sum - 1.0)) / sum;
        // It is not a number where the sum is 0, infinite or not a number.
        Float::ln::<FUSED>(sum) + if f32::is_nan(lost) { 0.0 } else { lost }
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

    #[inline(always)]
    fn normal<const FUSED: bool>(self) -> (f32, f32) {
        let x = self * std::f32::consts::FRAC_1_SQRT_2;
        let (near, complement, bell) = erf_parts::<FUSED>(x);
        let near = (0.5 * x).multiply_add::<FUSED>(near, 0.5);
        let tail = 0.5 * complement;
        let far = if self < 0.0 { tail } else { 1.0 - tail };
        let cdf = if x * x < 1.0 { near } else { far };
        (cdf, bell * DENSITY_AT_0 as f32)
    }

    #[inline(always)]
    fn erf<const FUSED: bool>(self) -> f32 {
        let (near, complement, _) = erf_parts::<FUSED>(self);
        let far = if self < 0.0 {
            complement - 1.0
        } else {
            1.0 - complement
        };
        if self * self < 1.0 { self * near } else { far }
    }

    #[inline(always)]
    fn sin<const FUSED: bool>(self) -> f32 {
        turned::<FUSED>(self, 0)
    }

    #[inline(always)]
    fn cos<const FUSED: bool>(self) -> f32 {
        turned::<FUSED>(self, 1)
    }

    /// Computes in `f64` the power of two whose exponent is the product of `exponent` and the logarithm.
    #[inline(always)]
    fn pow<const FUSED: bool>(self, exponent: f32) -> f32 {
        let (x, y) = (f64::from(self.abs()), f64::from(exponent));
        let size = exp2::<FUSED>(y * log2::<FUSED>(x)) as f32;
        let grows = (x > 1.0) == (y > 0.0);
        let extreme = if grows { f32::INFINITY } else { 0.0 };
        let is_extreme = (x == 0.0) | (x == f64::INFINITY) | (y.abs() == f64::INFINITY);
        let size = if is_extreme { extreme } else { size };
        let half = y * 0.5;
        let odd = (y.floor() == y) & (half.floor() != half);
        let of_negative = if (y.floor() == y) | (x == f64::INFINITY) {
            size
        } else {
            f32::NAN
        };
        let of_negative = if odd { -size } else { of_negative };
        let negative = if (self == 0.0) & odd {
            self.is_sign_negative()
        } else {
            self < 0.0
        };
        let value = if negative { of_negative } else { size };
        let value = if self.is_nan() | exponent.is_nan() {
            f32::NAN
        } else {
            value
        };
        let one = (y == 0.0) | (self == 1.0) | ((self == -1.0) & (y.abs() == f64::INFINITY));
        if one { 1.0 } else { value }
    }
}

/// The largest magnitude of `f32` for which [`Float::sin`] and [`Float::cos`] are exact.
pub const FARTHEST: f32 = 4e8;

/// Returns the error function near 0, divided by `x`; its complement (1 minus the function) of `|x|` further out; and
/// `exp(-x²)`. Both are approximated to 3e-9 by polynomials interpolated at Chebyshev nodes: in the square of `x` near
/// 0; further out in `t`.
#[inline(always)]
fn erf_parts<const FUSED: bool>(x: f32) -> (f32, f32, f32) {
    let square = x * x;
    let mut p = 7.875_875e-5;
    p = p.multiply_add::<FUSED>(square, -8.016_864e-4);
    p = p.multiply_add::<FUSED>(square, 5.189_087e-3);
    p = p.multiply_add::<FUSED>(square, -2.685_421_2e-2);
    p = p.multiply_add::<FUSED>(square, 1.128_359_5e-1);
    p = p.multiply_add::<FUSED>(square, -3.761_262_7e-1);
    p = p.multiply_add::<FUSED>(square, std::f32::consts::FRAC_2_SQRT_PI);
    let t = 1.0 / x.abs().multiply_add::<FUSED>(0.4, 1.0);
    let mut q = -1.179_534e-1;
    q = q.multiply_add::<FUSED>(t, 2.484_255_7e-1);
    q = q.multiply_add::<FUSED>(t, 2.594_302_5e-3);
    q = q.multiply_add::<FUSED>(t, 2.166_078e-1);
    q = q.multiply_add::<FUSED>(t, 1.974_998_2e-1);
    q = q.multiply_add::<FUSED>(t, 2.269_573_2e-1);
    q = q.multiply_add::<FUSED>(t, 2.255_981_6e-1);
    q = q.multiply_add::<FUSED>(t, 1.274_694_3e-6);
    let bell = Float::exp::<FUSED>(-square);
    (p, bell * q, bell)
}

/// Adding and subtracting this constant rounds to an integer.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// Returns the sine of `x` plus some quarter turns, computed in `f64` by polynomials between -π/4 and π/4. From musl.
#[inline(always)]
fn turned<const FUSED: bool>(x: f32, quarters: i64) -> f32 {
    let x = f64::from(x);
    let shifted = x.multiply_add::<FUSED>(std::f64::consts::FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    let r = n.multiply_add::<FUSED>(-1.570_796_310_901_641_8, x);
    let r = n.multiply_add::<FUSED>(-1.589_325_477_352_819_7e-8, r);
    let z = r * r;
    let mut s = 2.718_311_493_989_822e-6;
    s = s.multiply_add::<FUSED>(z, -1.983_933_483_609_663_2e-4);
    s = s.multiply_add::<FUSED>(z, 8.333_329_385_889_463e-3);
    s = s.multiply_add::<FUSED>(z, -1.666_666_664_162_655e-1);
    let sine = (s * z).multiply_add::<FUSED>(r, r);
    let mut c = 2.439_044_879_627_741_4e-5;
    c = c.multiply_add::<FUSED>(z, -1.388_676_377_460_993e-3);
    c = c.multiply_add::<FUSED>(z, 4.166_662_332_373_906e-2);
    c = c.multiply_add::<FUSED>(z, -4.999_999_972_510_031e-1);
    let cosine = c.multiply_add::<FUSED>(z, 1.0);
    let quadrant = (shifted.to_bits() as i64).wrapping_add(quarters);
    let value = if quadrant & 1 == 0 { sine } else { cosine };
    (if quadrant & 2 == 0 { value } else { -value }) as f32
}

/// Returns the base-2 logarithm of a positive number: the exponent and a series for the mantissa between √½ and √2,
/// exact to 1e-11.
#[inline(always)]
fn log2<const FUSED: bool>(x: f64) -> f64 {
    const SQRT_HALF: i64 = 0x3fe6_a09e_667f_3bcd;
    let bits = x.to_bits() as i64;
    let exponent = bits.wrapping_sub(SQRT_HALF) >> 52;
    let mantissa = f64::from_bits(bits.wrapping_sub(exponent << 52) as u64);
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let z = s * s;
    // The coefficients are 2 / ln 2, divided by 1, 3, 5, …
    let mut p = 2.219_576_4e-1;
    p = p.multiply_add::<FUSED>(z, 2.623_081_893_3e-1);
    p = p.multiply_add::<FUSED>(z, 3.205_988_979_75e-1);
    p = p.multiply_add::<FUSED>(z, 4.121_985_831_11e-1);
    p = p.multiply_add::<FUSED>(z, 5.770_780_163_555_85e-1);
    p = p.multiply_add::<FUSED>(z, 9.617_966_939_259_756e-1);
    p = p.multiply_add::<FUSED>(z, 2.885_390_081_777_926_8);
    // The exponent is a small integer: its bits beside those of the rounding constant are a number.
    let exponent = f64::from_bits((ROUND.to_bits() as i64).wrapping_add(exponent) as u64) - ROUND;
    p.multiply_add::<FUSED>(s, exponent)
}

/// Returns 2ˣ, exact to 1e-11, limited to what `f32` cannot hold anyway.
#[inline(always)]
fn exp2<const FUSED: bool>(x: f64) -> f64 {
    let x = if x > 1000.0 { 1000.0 } else { x };
    let x = if x < -1000.0 { -1000.0 } else { x };
    let shifted = x + ROUND;
    let r = x - (shifted - ROUND);
    // The coefficients are (ln 2)ⁿ / n!.
    let mut p = 1.017_808_600_923_97e-7;
    p = p.multiply_add::<FUSED>(r, 1.321_548_679_014_431e-6);
    p = p.multiply_add::<FUSED>(r, 1.525_273_380_405_984e-5);
    p = p.multiply_add::<FUSED>(r, 1.540_353_039_338_161e-4);
    p = p.multiply_add::<FUSED>(r, 1.333_355_814_642_844e-3);
    p = p.multiply_add::<FUSED>(r, 9.618_129_107_628_477e-3);
    p = p.multiply_add::<FUSED>(r, 5.550_410_866_482_158e-2);
    p = p.multiply_add::<FUSED>(r, 2.402_265_069_591_007e-1);
    p = p.multiply_add::<FUSED>(r, std::f64::consts::LN_2);
    p = p.multiply_add::<FUSED>(r, 1.0);
    let power = (shifted.to_bits() as i64).wrapping_add(1023) << 52;
    p * f64::from_bits(power as u64)
}

impl Float for f64 {
    common!(f64);

    fn exp<const FUSED: bool>(self) -> f64 {
        f64::exp(self)
    }

    fn exp_m1<const FUSED: bool>(self) -> f64 {
        f64::exp_m1(self)
    }

    fn tanh<const FUSED: bool>(self) -> f64 {
        f64::tanh(self)
    }

    fn ln_1p<const FUSED: bool>(self) -> f64 {
        f64::ln_1p(self)
    }

    fn ln<const FUSED: bool>(self) -> f64 {
        f64::ln(self)
    }

    fn normal<const FUSED: bool>(self) -> (f64, f64) {
        let cdf = 0.5 * (1.0 + libm::erf(self * std::f64::consts::FRAC_1_SQRT_2));
        (cdf, DENSITY_AT_0 * (self * self * -0.5).exp())
    }

    fn erf<const FUSED: bool>(self) -> f64 {
        libm::erf(self)
    }

    fn sin<const FUSED: bool>(self) -> f64 {
        self.sin()
    }

    fn cos<const FUSED: bool>(self) -> f64 {
        self.cos()
    }

    fn pow<const FUSED: bool>(self, exponent: f64) -> f64 {
        self.powf(exponent)
    }
}

#[cfg(test)]
mod tests;
