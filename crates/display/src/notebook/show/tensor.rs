//! [`Show`] for tensors: values as PyTorch prints them, then shape, type and device.

use super::Show;
use crate::device::DeviceExt;
use crate::tensor::{Candle, Raw, Tensor};
use candle_core::Var;

impl Show for Tensor {
    fn show_text(&self) -> String {
        let dims = self.dims();
        let place = self.device().label();
        let kind = format!("Tensor[{dims:?}, {}, {place}]", self.dtype().as_str());
        // Candle's last line omits the device if it is the CPU; the line above replaces it.
        match self.to_string().rsplit_once('\n') {
            Some((values, _)) => format!("{}\n{kind}", values_text(values.trim_end(), dims)),
            None => kind,
        }
    }
}

/// A Candle tensor is shown as one of Taper's.
impl Show for Candle {
    fn show_text(&self) -> String {
        Tensor::from(Raw::constant(self)).show_text()
    }
}

impl Show for Var {
    fn show_text(&self) -> String {
        self.as_tensor().show_text()
    }
}

/// Corrects two differences between Candle's text and PyTorch's: Candle prints a scalar in brackets, and
/// exponents with as many digits as they need, so that columns are not aligned.
fn values_text(values: &str, dims: &[usize]) -> String {
    let values = match dims {
        [] => values.trim_matches(['[', ']', ' ']),
        _ => values,
    };
    let is_number =
        |text: &&str| text.starts_with(|c: char| c.is_ascii_digit() || "-iN".contains(c));
    let pieces = split(values);
    let numbers: Vec<&str> = pieces.iter().copied().filter(is_number).collect();
    if !numbers.iter().any(|number| number.contains('e')) {
        return values.to_owned();
    }
    let width = |number: &str| number.chars().count();
    let old = numbers.iter().map(|number| width(number)).max();
    let new = numbers
        .iter()
        .map(|number| width(&exponent_of_two_digits(number)));
    let (old, new) = (old.unwrap_or(0), new.max().unwrap_or(0));
    let mut text = String::new();
    for piece in pieces {
        if is_number(&piece) {
            // Candle has padded the number to `old`.
            text.truncate(text.len() - (old - width(piece)).min(text.len()));
            text += &format!("{:>new$}", exponent_of_two_digits(piece));
        } else {
            text += piece;
        }
    }
    match dims {
        [] => text.trim_start().to_owned(),
        _ => text,
    }
}

/// Splits a text into values and the text between them.
fn split(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_part(c) != is_part(first));
        let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Returns `1.5e-03` for `1.5e-3`; anything else is unchanged.
fn exponent_of_two_digits(number: &str) -> String {
    let parts = number.split_once('e');
    let exponent =
        parts.and_then(|(mantissa, exponent)| Some((mantissa, exponent.parse::<i32>().ok()?)));
    match exponent {
        Some((mantissa, exponent)) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.abs())
        }
        None => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{tensor, zeros};

    /// Returns the text of the values, without the line on shape, type and device.
    fn values(tensor: Tensor) -> String {
        let text = tensor.show_text();
        text.rsplit_once('\n').unwrap().0.to_owned()
    }

    #[test]
    fn values_shape_type_and_device_are_shown() {
        let x = tensor(&[[1.0, 2.0], [3.0, 4.0]]);
        let text = "[[1., 2.],\n [3., 4.]]\nTensor[[2, 2], f32, cpu]";
        assert_eq!(x.show_text(), text);
        assert_eq!(x.as_candle().show_text(), text);
        assert_eq!(Var::from_tensor(x.as_candle()).unwrap().show_text(), text);
        let empty = zeros((0, 3)).show_text();
        assert!(empty.ends_with("Tensor[[0, 3], f32, cpu]"), "{empty}");
    }

    #[test]
    fn a_scalar_is_shown_as_a_number() {
        let number = tensor(7);
        assert_eq!(number.show_text(), "7\nTensor[[], i64, cpu]");
        let scalars = [6.0, 0.25, -1.5e-7, f64::NAN].map(|value| values(tensor(value)));
        assert_eq!(scalars, ["6.", "0.2500", "-1.5000e-07", "NaN"]);
    }

    /// PyTorch 2 prints the same values and columns.
    #[test]
    fn columns_with_exponents_are_aligned() {
        let row = values(tensor(&[1.0, 2000.0, 0.001]));
        assert_eq!(row, "[1.0000e+00, 2.0000e+03, 1.0000e-03]");
        let matrix = values(tensor(&[[-1e-9, 2.0], [0.0, f64::INFINITY]]));
        assert_eq!(
            matrix,
            "[[-1.0000e-09,  2.0000e+00],\n [ 0.0000e+00,         inf]]"
        );
        let long = values(tensor(vec![1e-5; 2000]));
        assert!(
            long.starts_with("[1.0000e-05, 1.0000e-05, 1.0000e-05, ..., 1.0000e-05"),
            "{long}"
        );
    }

    #[test]
    fn a_large_tensor_is_shortened() {
        let text = zeros((1000, 1000)).show_text();
        assert!(text.lines().count() < 12, "{text}");
        assert!(text.contains("..."));
    }
}
