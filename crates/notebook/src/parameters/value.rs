//! The value that a parameter is set to, and how it is written as Rust.

use super::kind::{Kind, range};
use serde_json::Value;
use std::fmt::{Display, Formatter};
use syn::{Expr, Lit};

/// What the user has written for a parameter.
pub(super) enum Given {
    /// As text, on a command line.
    Text(String),
    /// As papermill has read it.
    Json(Value),
}

impl Display for Given {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Given::Text(text) => write!(f, "`{text}`"),
            Given::Json(value) => write!(f, "`{value}`"),
        }
    }
}

impl Given {
    /// Returns the value as Rust of this type, or `None` if it is not of this type.
    pub(super) fn as_rust(&self, kind: &Kind) -> Option<String> {
        let datum = match self {
            Given::Text(text) => Datum::Text(text.clone()),
            Given::Json(value) => Datum::of_json(value),
        };
        match (kind, &datum) {
            (Kind::Unknown, Datum::Text(text)) => {
                syn::parse_str::<Expr>(text).ok().map(|_| text.clone())
            }
            _ => datum.as_rust(kind),
        }
    }
}

/// A value without a type.
#[derive(Clone, Debug)]
enum Datum {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Datum>),
    Map(Vec<(Datum, Datum)>),
    /// An expression that is none of these.
    Rust(String),
}

impl Datum {
    fn of_json(value: &Value) -> Datum {
        match value {
            Value::Null => Datum::Null,
            Value::Bool(value) => Datum::Bool(*value),
            Value::Number(number) => Datum::Number(number.to_string()),
            Value::String(text) => Datum::Text(text.clone()),
            Value::Array(items) => Datum::List(items.iter().map(Datum::of_json).collect()),
            Value::Object(entries) => Datum::Map(
                { entries.iter() }
                    .map(|(key, value)| (Datum::Text(key.clone()), Datum::of_json(value)))
                    .collect(),
            ),
        }
    }

    /// Parses what a user writes where no text is expected: as JSON, as Rust, or as a list of YAML's.
    fn parse(text: &str) -> Option<Datum> {
        match text {
            "true" | "True" => return Some(Datum::Bool(true)),
            "false" | "False" => return Some(Datum::Bool(false)),
            "null" | "None" => return Some(Datum::Null),
            _ => {}
        }
        if let Some(number) = number(text) {
            return Some(Datum::Number(number));
        }
        if let Ok(value) = serde_json::from_str(text) {
            return Some(Datum::of_json(&value));
        }
        if let Ok(expression) = syn::parse_str::<Expr>(text) {
            return Some(Datum::of_rust(&expression));
        }
        let items = text.strip_prefix('[')?.strip_suffix(']')?.split(',');
        Some(Datum::List(
            items
                .map(|item| Datum::Text(item.trim().to_owned()))
                .collect(),
        ))
    }

    fn of_rust(expression: &Expr) -> Datum {
        let all = |items: &syn::punctuated::Punctuated<Expr, syn::Token![,]>| {
            Datum::List(items.iter().map(Datum::of_rust).collect())
        };
        let datum = match expression {
            Expr::Lit(literal) => of_literal(&literal.lit),
            Expr::Paren(inner) => Some(Datum::of_rust(&inner.expr)),
            Expr::Group(inner) => Some(Datum::of_rust(&inner.expr)),
            Expr::Reference(inner) => Some(Datum::of_rust(&inner.expr)),
            Expr::Array(array) => Some(all(&array.elems)),
            Expr::Tuple(tuple) => Some(all(&tuple.elems)),
            Expr::Unary(unary) => match Datum::of_rust(&unary.expr) {
                Datum::Number(number) if !number.starts_with('-') => {
                    Some(Datum::Number(format!("-{number}")))
                }
                _ => None,
            },
            Expr::Macro(call) if call.mac.path.is_ident("vec") => {
                let tokens = &call.mac.tokens;
                let array = syn::parse2::<syn::ExprArray>(quote::quote!([#tokens]));
                array.ok().map(|array| all(&array.elems))
            }
            Expr::MethodCall(call) if call.args.is_empty() => {
                let method = call.method.to_string();
                let converts = ["to_string", "to_owned", "into", "to_vec"];
                { converts.contains(&method.as_str()) }.then(|| Datum::of_rust(&call.receiver))
            }
            Expr::Call(call) if call.args.len() == 1 => {
                let function = text_of(&call.func);
                { ["Some", "String :: from"].contains(&function.as_str()) }
                    .then(|| Datum::of_rust(&call.args[0]))
            }
            Expr::Path(path) if path.path.is_ident("None") => Some(Datum::Null),
            _ => None,
        };
        datum.unwrap_or_else(|| Datum::Rust(text_of(expression)))
    }

    /// Returns the value as Rust of this type.
    fn as_rust(&self, kind: &Kind) -> Option<String> {
        match (kind, self) {
            (Kind::Str, _) => Some(format!("{:?}", self.text()?)),
            (Kind::Text, _) => Some(format!("{:?}.to_string()", self.text()?)),
            (Kind::Char, _) => Some(format!("{:?}", character(&self.text()?)?)),
            (Kind::Option(_), Datum::Null) => Some("None".into()),
            (Kind::Option(inner), Datum::Text(text)) => match Datum::parse(text.trim()) {
                Some(Datum::Null) => Some("None".into()),
                // As in `Some("a")`: the text is what is in the quotes.
                Some(Datum::Text(text)) if !matches!(**inner, Kind::Unknown) => {
                    Some(format!("Some({})", Datum::Text(text).as_rust(inner)?))
                }
                _ => Some(format!("Some({})", self.as_rust(inner)?)),
            },
            (Kind::Option(inner), _) => Some(format!("Some({})", self.as_rust(inner)?)),
            (Kind::Float(name), Datum::Text(text)) if is_constant(text) => {
                Some(constant(name.as_deref(), text))
            }
            (Kind::Unknown, Datum::Text(text)) => Some(format!("{text:?}.into()")),
            (_, Datum::Text(text)) => Datum::parse(text.trim())?.as_rust(kind),
            (Kind::Integer(name), Datum::Number(number)) => integer(name.as_deref(), number),
            (Kind::Float(name), Datum::Number(number)) => float(name.as_deref(), number),
            (Kind::Bool, Datum::Bool(value)) => Some(value.to_string()),
            (Kind::Vec(kind), Datum::List(items)) => Some(format!("vec![{}]", list(kind, items)?)),
            (Kind::Slice(kind), Datum::List(items)) => Some(format!("&[{}]", list(kind, items)?)),
            (Kind::Array(kind, count), Datum::List(items)) => {
                count
                    .is_none_or(|count| count == items.len())
                    .then_some(())?;
                Some(format!("[{}]", list(kind, items)?))
            }
            (Kind::Tuple(kinds), Datum::List(items)) if kinds.len() == items.len() => {
                let items = kinds
                    .iter()
                    .zip(items)
                    .map(|(kind, item)| item.as_rust(kind));
                Some(format!(
                    "({})",
                    items.collect::<Option<Vec<_>>>()?.join(", ")
                ))
            }
            (Kind::Map(path, key, value), Datum::Map(entries)) => {
                let entries = entries
                    .iter()
                    .map(|(k, v)| Some(format!("({}, {})", k.as_rust(key)?, v.as_rust(value)?)));
                let entries = entries.collect::<Option<Vec<_>>>()?;
                Some(format!("{path}::from([{}])", entries.join(", ")))
            }
            (Kind::Unknown, _) => self.as_it_is(),
            _ => None,
        }
    }

    fn as_it_is(&self) -> Option<String> {
        match self {
            Datum::Null => Some("None".into()),
            Datum::Bool(value) => Some(value.to_string()),
            Datum::Number(text) | Datum::Rust(text) => Some(text.clone()),
            Datum::List(items) => Some(format!("[{}].into()", list(&Kind::Unknown, items)?)),
            Datum::Text(_) | Datum::Map(_) => None,
        }
    }

    /// Returns the value where a text is expected.
    fn text(&self) -> Option<String> {
        match self {
            Datum::Text(text) | Datum::Number(text) | Datum::Rust(text) => Some(text.clone()),
            Datum::Bool(value) => Some(value.to_string()),
            Datum::Null | Datum::List(_) | Datum::Map(_) => None,
        }
    }
}

fn list(kind: &Kind, items: &[Datum]) -> Option<String> {
    let items: Option<Vec<String>> = items.iter().map(|item| item.as_rust(kind)).collect();
    Some(items?.join(", "))
}

fn of_literal(literal: &Lit) -> Option<Datum> {
    Some(match literal {
        Lit::Str(text) => Datum::Text(text.value()),
        Lit::Char(character) => Datum::Text(character.value().to_string()),
        Lit::Bool(value) => Datum::Bool(value.value),
        Lit::Int(number) => Datum::Number(number.base10_digits().to_owned()),
        Lit::Float(number) => Datum::Number(number.base10_digits().to_owned()),
        _ => return None,
    })
}

/// Returns the character of `x` or `'x'`.
fn character(text: &str) -> Option<char> {
    let mut characters = text.chars();
    if let (Some(only), None) = (characters.next(), characters.next()) {
        return Some(only);
    }
    let literal: syn::LitChar = syn::parse_str(text).ok()?;
    Some(literal.value())
}

fn text_of(expression: &impl quote::ToTokens) -> String {
    expression.to_token_stream().to_string()
}

/// Returns whether a text is an infinity or `nan`, for which there is no literal.
fn is_constant(text: &str) -> bool {
    text.trim()
        .parse::<f64>()
        .is_ok_and(|value| !value.is_finite())
        && !text.contains(char::is_numeric)
}

fn constant(name: Option<&str>, text: &str) -> String {
    let text = text.trim();
    let sign = if text.starts_with('-') { "-" } else { "" };
    let is_nan = text.to_ascii_lowercase().contains("nan");
    let constant = if is_nan { "NAN" } else { "INFINITY" };
    format!("{sign}{}::{constant}", name.unwrap_or("f64"))
}

/// Returns a number as a literal of Rust: `0.5` for `.5`.
fn number(text: &str) -> Option<String> {
    let text = text.strip_prefix('+').unwrap_or(text);
    let is_number = text.parse::<f64>().is_ok()
        && !text.contains(|c: char| c.is_alphabetic() && !"eE".contains(c));
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let zero = if digits.starts_with('.') { "0" } else { "" };
    is_number.then(|| format!("{sign}{zero}{digits}"))
}

/// Returns an integer that fits the type.
fn integer(name: Option<&str>, number: &str) -> Option<String> {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let magnitude: u128 = digits.parse().ok()?;
    // Without a name, other lines of the cell decide on the type.
    let (least, most) = name.map_or((1 << 63, u64::MAX.into()), range);
    let limit = if digits == number { most } else { least };
    (magnitude <= limit).then(|| number.to_owned())
}

/// Returns a finite floating-point number.
fn float(name: Option<&str>, number: &str) -> Option<String> {
    let value: f64 = number.parse().ok()?;
    let is_finite = match name {
        Some("f32") => (value as f32).is_finite(),
        _ => value.is_finite(),
    };
    is_finite.then_some(())?;
    match number.contains(['.', 'e', 'E']) {
        true => Some(number.to_owned()),
        false => Some(format!("{number}.0")),
    }
}
