//! The text of values with three significant digits.

/// The units of a time.
pub const TIMES: [&str; 4] = ["ns", "µs", "ms", "s"];

/// Returns a value of at least 0 with three significant digits, and the unit in which it has one to three digits
/// before the point: `1.23` and `ms`. Each unit is 1000 times the one before; the value is in the first. In the
/// first unit, there are no zeros at the end: `7` and `ns`.
pub fn three_digits<'a>(value: f64, units: &[&'a str]) -> (String, &'a str) {
    // The rounded value decides: 999.6 µs are 1.00 ms.
    let rounded = format!("{value:.2e}"); // "1.23e4"
    let (mantissa, exponent) = rounded.split_once('e').unwrap_or((&rounded, "0"));
    let exponent = exponent.parse().unwrap_or(0);
    let step = (exponent / 3).clamp(0, units.len() as i32 - 1);
    let places = exponent - 3 * step;
    let value = match places {
        // There is no larger unit: the integer part is not rounded.
        3.. => value / 1000f64.powi(step),
        _ => mantissa.parse().unwrap_or(value) * 10f64.powi(places),
    };
    let text = format!("{value:.*}", (2 - places).max(0) as usize);
    match step {
        0 => (without_zeros(&text).to_owned(), units[0]),
        _ => (text, units[step as usize]),
    }
}

/// Returns a decimal fraction without the zeros at its end.
pub fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rounded_value_decides_digits_and_unit() {
        for (nanoseconds, want) in [
            (0.0, "0 ns"),
            (0.1234, "0.123 ns"),
            (9.994, "9.99 ns"),
            (9.996, "10 ns"),
            (12.34, "12.3 ns"),
            (999.4, "999 ns"),
            (999.6, "1.00 µs"),
            (1e3, "1.00 µs"),
            (9_994.0, "9.99 µs"),
            (9_995.0, "10.0 µs"),
            (9_996.0, "10.0 µs"),
            (99_940.0, "99.9 µs"),
            (99_950.0, "100 µs"),
            (99_960.0, "100 µs"),
            (999_400.0, "999 µs"),
            (999_500.0, "1.00 ms"),
            (1e6, "1.00 ms"),
            (99.97e6, "100 ms"),
            (1e9, "1.00 s"),
            (999.6e9, "1000 s"),
            (123_456e9, "123456 s"),
        ] {
            let (text, unit) = three_digits(nanoseconds, &TIMES);
            assert_eq!(format!("{text} {unit}"), want);
        }
    }
}
