//! Conversion of primitive values to `f64`, and their text in figures.

use crate::notebook::digits::without_zeros;

/// A primitive number of any type, so that `draw(epoch, loss, …)` needs no `as f64`.
///
/// ```
/// use taper::plot::Number;
///
/// assert_eq!(7_usize.to_f64(), 0.5_f32.to_f64() + 6.5);
/// ```
pub trait Number: Copy {
    /// Returns the nearest `f64`.
    ///
    /// ```
    /// use taper::plot::Number;
    ///
    /// assert_eq!((-3_i32).to_f64(), -3.0);
    /// ```
    fn to_f64(self) -> f64;
}

/// Formats `1 value`, `2 values`.
pub(super) fn count_values(count: usize) -> String {
    match count {
        1 => "1 value".to_owned(),
        _ => format!("{count} values"),
    }
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Number for $number {
            fn to_f64(self) -> f64 {
                self as f64
            }
        }
    )*};
}

numbers!(f32, f64, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

/// Formats a value with four significant digits, but never rounds the integer part of a value below 10⁷:
/// `0.3125`, `123457`, `1.5·10⁻⁷`.
#[doc(hidden)]
pub fn short(value: f64) -> String {
    if !value.is_finite() {
        return value.to_string().replace("inf", "∞");
    }
    let exponent = decade(value);
    if (-4..7).contains(&exponent) {
        without_zeros(&format!("{value:.*}", (3 - exponent).max(0) as usize)).to_owned()
    } else {
        scientific(value, 3)
    }
}

/// Returns the lowest and the highest of the finite values.
pub(super) fn finite_range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.filter(|value| value.is_finite());
    let ranges = finite.map(|value| (value, value));
    ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

/// Formats a value with this number of decimals.
pub(super) fn fixed(value: f64, decimals: usize) -> String {
    match value.is_finite() {
        true => format!("{value:.decimals$}"),
        false => short(value),
    }
}

/// Formats a value with a power of ten: `2·10⁶`, `10⁻⁵`.
pub(super) fn scientific(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let power = format!(
        "10{}",
        exponent.chars().map(superscript).collect::<String>()
    );
    match without_zeros(mantissa) {
        "1" => power,
        "-1" => format!("-{power}"),
        mantissa => format!("{mantissa}·{power}"),
    }
}

/// Returns the exponent of the largest power of ten that is not above the absolute value; 0 for 0.
pub(super) fn decade(value: f64) -> i32 {
    if value == 0.0 {
        return 0;
    }
    // Formatting is exact, the logarithm is not: `1000_f64.log10()` may be 2.99…
    let text = format!("{value:e}");
    text.rsplit_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok())
        .unwrap_or(0)
}

fn superscript(digit: char) -> char {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    digit
        .to_digit(10)
        .map_or('⁻', |digit| DIGITS[digit as usize])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_four_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.312_549, "0.3125"),
            (-1.5, "-1.5"),
            (1000.0, "1000"),
            (123_456.7, "123457"),
            (1e-7, "10⁻⁷"),
            (-2.5e12, "-2.5·10¹²"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-∞"),
        ] {
            assert_eq!(short(value), text);
        }
    }
}
