//! The type of a parameter, as its annotation or its default states it.

use std::fmt::{Display, Formatter};
use syn::punctuated::Punctuated;
use syn::{BinOp, Expr, GenericArgument, Lit, PathArguments, Token, Type};

/// A type to which the value of a parameter can be converted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// `None`: the type follows from other lines of the cell.
    Integer(Option<String>),
    Float(Option<String>),
    Bool,
    Char,
    /// `&str`.
    Str,
    /// `String`.
    Text,
    Option(Box<Kind>),
    Vec(Box<Kind>),
    Array(Box<Kind>, Option<usize>),
    Slice(Box<Kind>),
    Tuple(Vec<Kind>),
    /// A map, by the path of its type.
    Map(String, Box<Kind>, Box<Kind>),
    /// Any other type, or a type that the line does not state.
    Unknown,
}

impl Kind {
    /// Returns the type of a value, from its annotation where that states it.
    pub(super) fn of(annotation: Option<&Type>, value: &Expr) -> Kind {
        let stated = annotation.map_or(Kind::Unknown, of_type);
        stated.or(of_value(value))
    }

    /// Fills what this type leaves open.
    fn or(self, other: Kind) -> Kind {
        let inner = |this: Box<Kind>, other: Box<Kind>| Box::new(this.or(*other));
        match (self, other) {
            (Kind::Unknown, other) => other,
            (Kind::Integer(None), other @ Kind::Integer(_)) => other,
            (Kind::Float(None), other @ Kind::Float(_)) => other,
            (Kind::Option(a), Kind::Option(b)) => Kind::Option(inner(a, b)),
            (Kind::Vec(a), Kind::Vec(b)) => Kind::Vec(inner(a, b)),
            (Kind::Slice(a), Kind::Slice(b) | Kind::Array(b, _)) => Kind::Slice(inner(a, b)),
            (Kind::Array(a, n), Kind::Array(b, m)) => Kind::Array(inner(a, b), n.or(m)),
            (Kind::Map(path, k, v), Kind::Map(_, other_k, other_v)) => {
                Kind::Map(path, inner(k, other_k), inner(v, other_v))
            }
            (Kind::Tuple(a), Kind::Tuple(b)) if a.len() == b.len() => {
                Kind::Tuple(a.into_iter().zip(b).map(|(a, b)| a.or(b)).collect())
            }
            (this, _) => this,
        }
    }

    /// Returns the type with that which Rust chooses for a literal without a suffix, where no other line of the cell decides.
    pub(super) fn settled(self) -> Kind {
        let inner = |kind: Box<Kind>| Box::new(kind.settled());
        match self {
            Kind::Integer(None) => Kind::Integer(Some("i32".into())),
            Kind::Float(None) => Kind::Float(Some("f64".into())),
            Kind::Option(kind) => Kind::Option(inner(kind)),
            Kind::Vec(kind) => Kind::Vec(inner(kind)),
            Kind::Slice(kind) => Kind::Slice(inner(kind)),
            Kind::Array(kind, count) => Kind::Array(inner(kind), count),
            Kind::Tuple(kinds) => Kind::Tuple(kinds.into_iter().map(Kind::settled).collect()),
            Kind::Map(path, key, value) => Kind::Map(path, inner(key), inner(value)),
            other => other,
        }
    }

    /// Returns whether the type can be written down.
    pub(super) fn is_stated(&self) -> bool {
        match self {
            Kind::Integer(name) | Kind::Float(name) => name.is_some(),
            Kind::Bool | Kind::Char | Kind::Str | Kind::Text => true,
            Kind::Option(kind) | Kind::Vec(kind) | Kind::Slice(kind) => kind.is_stated(),
            Kind::Array(kind, count) => kind.is_stated() && count.is_some(),
            Kind::Tuple(kinds) => kinds.iter().all(Kind::is_stated),
            Kind::Map(_, key, value) => key.is_stated() && value.is_stated(),
            Kind::Unknown => false,
        }
    }

    /// Returns what a value of this type is, in words.
    pub(super) fn described(&self) -> String {
        match self {
            Kind::Integer(None) => "an integer".into(),
            Kind::Integer(Some(name)) => {
                let (least, most) = range(name);
                let sign = if least > 0 { "-" } else { "" };
                let article = if name.starts_with('i') { "an" } else { "a" };
                format!("{article} {name}, from {sign}{least} to {most}")
            }
            Kind::Float(name) => {
                let name = name.as_deref().unwrap_or("f64");
                format!("a floating-point number ({name})")
            }
            Kind::Bool => "true or false".into(),
            Kind::Char => "one character".into(),
            Kind::Str | Kind::Text => "a text".into(),
            Kind::Option(kind) => format!("None, or {}", kind.described()),
            Kind::Vec(kind) | Kind::Slice(kind) | Kind::Array(kind, None) => {
                format!("a list in which each element is {}", kind.described())
            }
            Kind::Array(kind, Some(count)) => {
                format!(
                    "a list of {count} in which each element is {}",
                    kind.described()
                )
            }
            Kind::Tuple(kinds) => {
                let kinds: Vec<String> = kinds.iter().map(Kind::described).collect();
                format!("a list of {}: {}", kinds.len(), kinds.join("; "))
            }
            Kind::Map(_, key, value) => {
                format!(
                    "a map: each key is {}, each value {}",
                    key.described(),
                    value.described()
                )
            }
            Kind::Unknown => "an expression of Rust".into(),
        }
    }
}

/// The type as Rust writes it.
impl Display for Kind {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Kind::Integer(name) | Kind::Float(name) => f.write_str(name.as_deref().unwrap_or("_")),
            Kind::Bool => f.write_str("bool"),
            Kind::Char => f.write_str("char"),
            Kind::Str => f.write_str("&str"),
            Kind::Text => f.write_str("String"),
            Kind::Option(kind) => write!(f, "Option<{kind}>"),
            Kind::Vec(kind) => write!(f, "Vec<{kind}>"),
            Kind::Slice(kind) => write!(f, "&[{kind}]"),
            Kind::Array(kind, Some(count)) => write!(f, "[{kind}; {count}]"),
            Kind::Array(kind, None) => write!(f, "[{kind}; _]"),
            Kind::Tuple(kinds) => {
                let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
                write!(f, "({})", kinds.join(", "))
            }
            Kind::Map(path, key, value) => write!(f, "{path}<{key}, {value}>"),
            Kind::Unknown => f.write_str("_"),
        }
    }
}

/// Returns the largest magnitude of a negative and of a positive value of an integer type.
pub(super) fn range(name: &str) -> (u128, u128) {
    let bits = match &name[1..] {
        "size" => 64,
        bits => bits.parse().unwrap_or(128),
    };
    match name.starts_with('i') {
        true => (1 << (bits - 1), (1 << (bits - 1)) - 1),
        false => (0, u128::MAX >> (128 - bits)),
    }
}

/// Returns the primitive type with this name.
fn primitive(name: &str) -> Option<Kind> {
    Some(match name {
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128"
        | "usize" => Kind::Integer(Some(name.to_owned())),
        "f32" | "f64" => Kind::Float(Some(name.to_owned())),
        "bool" => Kind::Bool,
        "char" => Kind::Char,
        _ => return None,
    })
}

fn of_type(kind: &Type) -> Kind {
    match kind {
        Type::Paren(inner) => of_type(&inner.elem),
        Type::Group(inner) => of_type(&inner.elem),
        Type::Tuple(tuple) => Kind::Tuple(tuple.elems.iter().map(of_type).collect()),
        Type::Array(array) => Kind::Array(Box::new(of_type(&array.elem)), count(&array.len)),
        Type::Reference(reference) if reference.mutability.is_none() => match &*reference.elem {
            Type::Slice(slice) => Kind::Slice(Box::new(of_type(&slice.elem))),
            Type::Path(path) if path.path.is_ident("str") => Kind::Str,
            _ => Kind::Unknown,
        },
        Type::Path(path) => of_path(&path.path),
        _ => Kind::Unknown,
    }
}

fn of_path(path: &syn::Path) -> Kind {
    let Some(last) = path.segments.last() else {
        return Kind::Unknown;
    };
    let name = last.ident.to_string();
    let inner: Vec<Kind> = match &last.arguments {
        PathArguments::AngleBracketed(arguments) => { arguments.args.iter() }
            .filter_map(|argument| match argument {
                GenericArgument::Type(kind) => Some(of_type(kind)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    };
    let mut inner = inner.into_iter();
    let mut next = || Box::new(inner.next().unwrap_or(Kind::Unknown));
    match name.as_str() {
        "String" => Kind::Text,
        "Option" => Kind::Option(next()),
        "Vec" => Kind::Vec(next()),
        "HashMap" | "BTreeMap" => Kind::Map(path_text(path), next(), next()),
        name => primitive(name).unwrap_or(Kind::Unknown),
    }
}

/// Returns a path without its generic arguments.
fn path_text(path: &syn::Path) -> String {
    let names: Vec<String> = { path.segments.iter() }
        .map(|segment| segment.ident.to_string())
        .collect();
    names.join("::")
}

fn count(length: &Expr) -> Option<usize> {
    match length {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Int(count) => count.base10_parse().ok(),
            _ => None,
        },
        _ => None,
    }
}

fn of_value(value: &Expr) -> Kind {
    match value {
        Expr::Lit(literal) => of_literal(&literal.lit),
        Expr::Unary(unary) => of_value(&unary.expr),
        Expr::Paren(inner) => of_value(&inner.expr),
        Expr::Group(inner) => of_value(&inner.expr),
        Expr::Binary(binary) if compares(&binary.op) => Kind::Bool,
        Expr::Binary(binary) => of_value(&binary.left).or(of_value(&binary.right)),
        Expr::Cast(cast) => of_type(&cast.ty),
        Expr::Tuple(tuple) => Kind::Tuple(tuple.elems.iter().map(of_value).collect()),
        Expr::Array(array) => Kind::Array(of_elements(&array.elems), Some(array.elems.len())),
        Expr::Repeat(repeat) => Kind::Array(Box::new(of_value(&repeat.expr)), count(&repeat.len)),
        Expr::Reference(reference) => match of_value(&reference.expr) {
            Kind::Array(kind, _) | Kind::Vec(kind) => Kind::Slice(kind),
            Kind::Str => Kind::Str,
            _ => Kind::Unknown,
        },
        Expr::Macro(call) if call.mac.path.is_ident("vec") => of_vec(&call.mac.tokens),
        Expr::MethodCall(call) => {
            match (call.method.to_string().as_str(), of_value(&call.receiver)) {
                ("to_string" | "to_owned" | "into", Kind::Str) => Kind::Text,
                ("to_vec" | "into", Kind::Array(kind, _) | Kind::Slice(kind)) => Kind::Vec(kind),
                _ => Kind::Unknown,
            }
        }
        Expr::Call(call) => match &*call.func {
            Expr::Path(function) => of_call(&function.path, &call.args),
            _ => Kind::Unknown,
        },
        Expr::Path(path) => of_constant(&path.path),
        _ => Kind::Unknown,
    }
}

fn compares(operator: &BinOp) -> bool {
    use BinOp::{And, Eq, Ge, Gt, Le, Lt, Ne, Or};
    matches!(
        operator,
        And(_) | Eq(_) | Ge(_) | Gt(_) | Le(_) | Lt(_) | Ne(_) | Or(_)
    )
}

fn of_literal(literal: &Lit) -> Kind {
    match literal {
        Lit::Str(_) => Kind::Str,
        Lit::Char(_) => Kind::Char,
        Lit::Bool(_) => Kind::Bool,
        Lit::Byte(_) => Kind::Integer(Some("u8".into())),
        Lit::Int(literal) => primitive(literal.suffix()).unwrap_or(Kind::Integer(None)),
        Lit::Float(literal) => primitive(literal.suffix()).unwrap_or(Kind::Float(None)),
        _ => Kind::Unknown,
    }
}

fn of_elements(elements: &Punctuated<Expr, Token![,]>) -> Box<Kind> {
    let kinds = elements.iter().map(of_value);
    Box::new(kinds.reduce(Kind::or).unwrap_or(Kind::Unknown))
}

fn of_vec(tokens: &proc_macro2::TokenStream) -> Kind {
    match syn::parse2(quote::quote!([#tokens])).as_ref().map(of_value) {
        Ok(Kind::Array(kind, _)) => Kind::Vec(kind),
        _ => Kind::Vec(Box::new(Kind::Unknown)),
    }
}

/// Returns the type of `Some(…)`, `String::from(…)` and the like.
fn of_call(function: &syn::Path, arguments: &Punctuated<Expr, Token![,]>) -> Kind {
    let argument = || arguments.first().map_or(Kind::Unknown, of_value);
    let mut segments = function.segments.clone();
    let Some(last) = segments.pop() else {
        return Kind::Unknown;
    };
    segments.pop_punct();
    let owner = syn::Path {
        leading_colon: None,
        segments,
    };
    match last.value().ident.to_string().as_str() {
        "Some" => Kind::Option(Box::new(argument())),
        "new" | "with_capacity" | "default" => of_path(&owner),
        "from" => match (of_path(&owner), argument()) {
            (Kind::Vec(kind), Kind::Array(other, _)) => Kind::Vec(Box::new(kind.or(*other))),
            (Kind::Map(path, key, value), Kind::Array(pair, _)) => match *pair {
                Kind::Tuple(pair) if pair.len() == 2 => {
                    let [a, b] = [0, 1].map(|index| pair[index].clone());
                    Kind::Map(path, Box::new(key.or(a)), Box::new(value.or(b)))
                }
                _ => Kind::Map(path, key, value),
            },
            (owner, _) => owner,
        },
        _ => Kind::Unknown,
    }
}

/// Returns the type of `None`, `None::<u8>`, `f64::EPSILON` and the like.
fn of_constant(path: &syn::Path) -> Kind {
    let mut segments = path.segments.iter().rev();
    match segments.next() {
        Some(last) if last.ident == "None" => {
            let mut option = path.clone();
            if let Some(last) = option.segments.last_mut() {
                last.ident = syn::Ident::new("Option", last.ident.span());
            }
            of_path(&option)
        }
        _ => segments
            .find_map(|segment| primitive(&segment.ident.to_string()))
            .unwrap_or(Kind::Unknown),
    }
}
