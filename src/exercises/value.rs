//! The values that cases contain and answers return.

use serde_json::Value as Json;
use std::fmt::{self, Display, Formatter};

/// A value that an exercise compares. A tensor is a list of lists.
///
/// ```
/// use taper::exercises::Value;
///
/// let value = Value::List(vec![Value::Integer(2), Value::Float(0.5)]);
/// assert_eq!(value.to_string(), "[2, 0.5]");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Bool(bool),
    /// An integer.
    Integer(i64),
    /// A floating-point number.
    Float(f64),
    /// A text.
    Text(String),
    /// A list, a tuple or a dimension of a tensor.
    List(Vec<Value>),
}

impl Value {
    pub(super) fn from_json(json: &Json) -> Option<Value> {
        Some(match json {
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => match number.as_i64() {
                Some(integer) => Value::Integer(integer),
                None => Value::Float(number.as_f64()?),
            },
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(items) => {
                Value::List(items.iter().map(Value::from_json).collect::<Option<_>>()?)
            }
            Json::Null | Json::Object(_) => return None,
        })
    }

    pub(super) fn float(&self) -> Option<f64> {
        match *self {
            Value::Integer(integer) => Some(integer as f64),
            Value::Float(float) => Some(float),
            _ => None,
        }
    }

    /// Returns the shape of a number, or of a list whose items all have the same shape, as in a tensor;
    /// `None` for other values.
    pub(super) fn shape(&self) -> Option<Vec<usize>> {
        let Value::List(items) = self else {
            return self.float().map(|_| Vec::new());
        };
        let mut shape = vec![items.len()];
        if let Some((first, rest)) = items.split_first() {
            let inner = first.shape()?;
            if rest
                .iter()
                .any(|item| item.shape().as_ref() != Some(&inner))
            {
                return None;
            }
            shape.extend(inner);
        }
        Some(shape)
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Value::Bool(value) => write!(f, "{value}"),
            Value::Integer(integer) => write!(f, "{integer}"),
            Value::Float(float) => f.write_str(&digits(*float)),
            Value::Text(text) => write!(f, "{text:?}"),
            Value::List(items) => {
                for (i, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if i == 0 { "[" } else { ", " })?;
                }
                f.write_str(if items.is_empty() { "[]" } else { "]" })
            }
        }
    }
}

/// Formats a floating-point number with about six significant digits (five decimals below 1), and always a
/// point, so that it does not look like an integer. Very large and very small values have an exponent.
fn digits(float: f64) -> String {
    let size = float.abs();
    if !float.is_finite() || size >= 1e9 || (size < 1e-4 && size > 0.0) {
        return format!("{float:e}");
    }
    let whole = size.max(1.0).log10() as usize + 1;
    let text = format!("{float:.*}", 6usize.saturating_sub(whole).max(1));
    let trimmed = text.trim_end_matches('0');
    match trimmed.ends_with('.') {
        true => format!("{trimmed}0"),
        false => trimmed.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floating_point_numbers_are_short_and_keep_their_point() {
        let shown = [1.0, 0.1f32 as f64, 1234.5678, 1e-7, -0.5, 1e12, f64::NAN].map(digits);
        assert_eq!(
            shown,
            ["1.0", "0.1", "1234.57", "1e-7", "-0.5", "1e12", "NaN"]
        );
    }

    #[test]
    fn a_list_has_a_shape_if_its_parts_have_the_same() {
        let of = |text: &str| {
            Value::from_json(&serde_json::from_str(text).expect("JSON"))
                .expect("a value")
                .shape()
        };
        assert_eq!(of("[[1, 2.5, 3], [4, 5, 6]]"), Some(vec![2, 3]));
        assert_eq!(of("7"), Some(vec![]));
        assert_eq!(of("[[1, 2], [3]]"), None);
        assert_eq!(of("[\"a\"]"), None);
    }
}
