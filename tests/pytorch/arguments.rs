//! The arguments of a sample, by PyTorch's names.

use std::cell::RefCell;
use std::collections::BTreeSet;
use taper::Tensor;
use taper::candle_core::DType;
use taper::tensor::{Axes, Axis, Number, Operand};

/// The value of an argument.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    DType(String),
    Slice([Option<i64>; 3]),
    Ellipsis,
    Tensor(Tensor),
    List(Vec<Value>),
    Layer(Args),
}

/// Why Taper cannot express a sample.
#[derive(Debug)]
pub(crate) struct Missing {
    /// An argument or a value that it does not have.
    pub(crate) what: String,
    /// Whether the value has another type than the argument, so that rustc refuses the call.
    pub(crate) by_type: bool,
}

pub(crate) type Expressed<T> = Result<T, Missing>;

/// Taper does not have an argument or a value.
pub(crate) fn missing<T>(what: impl Into<String>) -> Expressed<T> {
    let (what, by_type) = (what.into(), false);
    Err(Missing { what, by_type })
}

/// A value has another type than the argument.
pub(crate) fn mistyped<T>(what: impl Into<String>) -> Expressed<T> {
    let (what, by_type) = (what.into(), true);
    Err(Missing { what, by_type })
}

/// Arguments by name, without those that have their default value. Each that is read counts as used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    values: Vec<(String, Value)>,
    used: RefCell<BTreeSet<String>>,
}

impl Args {
    pub(crate) fn new(values: Vec<(String, Value)>) -> Self {
        let used = RefCell::default();
        Self { values, used }
    }

    /// Returns the names that no call has read.
    pub(crate) fn unused(&self) -> Vec<&str> {
        let used = self.used.borrow();
        let names = self.values.iter().map(|(name, _)| name.as_str());
        names.filter(|name| !used.contains(*name)).collect()
    }

    /// Returns an argument; `None` if it has its default value.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.used.borrow_mut().insert(name.to_owned());
        let mut values = self.values.iter();
        let value = &values.find(|(known, _)| known == name)?.1;
        (!matches!(value, Value::None)).then_some(value)
    }

    /// Returns whether an argument is `None`, and not its default value.
    pub(crate) fn is_none(&self, name: &str) -> bool {
        self.get(name);
        let mut values = self.values.iter();
        values.any(|(known, value)| known == name && matches!(value, Value::None))
    }

    /// Returns an argument that Taper has only in this form: a name and the type of value.
    fn as_kind<T>(&self, name: &str, read: impl Fn(&Value) -> Option<T>) -> Expressed<Option<T>> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match read(value) {
                Some(read) => Ok(Some(read)),
                // A tensor may have the value; other types never have it.
                None if matches!(value, Value::Tensor(_)) => missing(format!("`{name}`: a tensor")),
                None => mistyped(format!("`{name}`: {}", value.kind())),
            },
        }
    }

    fn required<T>(&self, name: &str, value: Option<T>) -> Expressed<T> {
        match value {
            Some(value) => Ok(value),
            None => missing(format!("no `{name}`")),
        }
    }

    pub(crate) fn x(&self) -> Expressed<Tensor> {
        self.tensor("x")
    }

    pub(crate) fn tensor(&self, name: &str) -> Expressed<Tensor> {
        let value = self.maybe_tensor(name)?;
        self.required(name, value)
    }

    pub(crate) fn maybe_tensor(&self, name: &str) -> Expressed<Option<Tensor>> {
        self.as_kind(name, |value| match value {
            Value::Tensor(x) => Some(x.clone()),
            _ => None,
        })
    }

    pub(crate) fn tensors(&self, name: &str) -> Expressed<Vec<Tensor>> {
        let read = self.as_kind(name, |value| match value {
            Value::List(list) => list.iter().map(Value::tensor).collect(),
            value => value.tensor().map(|x| vec![x]),
        })?;
        self.required(name, read)
    }

    pub(crate) fn int(&self, name: &str) -> Expressed<Option<i64>> {
        self.as_kind(name, Value::int)
    }

    pub(crate) fn size(&self, name: &str) -> Expressed<Option<usize>> {
        self.as_kind(name, |value| usize::try_from(value.int()?).ok())
    }

    pub(crate) fn float(&self, name: &str) -> Expressed<Option<f64>> {
        self.as_kind(name, Value::float)
    }

    /// Returns a setting that is true or false, with its default.
    pub(crate) fn flag(&self, name: &str, default: bool) -> Expressed<bool> {
        let value = self.as_kind(name, |value| match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        })?;
        Ok(value.unwrap_or(default))
    }

    pub(crate) fn text(&self, name: &str) -> Expressed<Option<String>> {
        self.as_kind(name, |value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        })
    }

    pub(crate) fn ints(&self, name: &str) -> Expressed<Option<Vec<i64>>> {
        self.as_kind(name, Value::ints)
    }

    pub(crate) fn sizes(&self, name: &str) -> Expressed<Option<Vec<usize>>> {
        self.as_kind(name, |value| {
            let ints = value.ints()?;
            let sizes = ints.into_iter().map(|size| usize::try_from(size).ok());
            sizes.collect()
        })
    }

    pub(crate) fn dtype(&self, name: &str) -> Expressed<Option<DType>> {
        self.as_kind(name, |value| match value {
            Value::DType(dtype) => dtype_named(dtype),
            _ => None,
        })
    }

    pub(crate) fn axis(&self, name: &str) -> Expressed<Axis> {
        let axis = self.int(name)?;
        Ok(self.required(name, axis)?.into())
    }

    /// Returns some dimensions; all if the argument is left out or has none.
    pub(crate) fn axes(&self, name: &str) -> Expressed<Axes> {
        Ok(match self.ints(name)? {
            Some(axes) if !axes.is_empty() => axes.into(),
            _ => Axes::from(..),
        })
    }

    pub(crate) fn number(&self, name: &str) -> Expressed<Option<Number>> {
        self.as_kind(name, Value::number)
    }

    /// Returns a tensor or a number.
    pub(crate) fn operand(&self, name: &str) -> Expressed<Operand> {
        let operand = self.as_kind(name, |value| match value {
            Value::Tensor(x) => Some(Operand::Tensor(x.clone())),
            value => value.number().map(Operand::Number),
        })?;
        self.required(name, operand)
    }

    pub(crate) fn layer(&self, name: &str) -> Expressed<Option<Args>> {
        self.as_kind(name, |value| match value {
            Value::Layer(args) => Some(args.clone()),
            _ => None,
        })
    }
}

pub(crate) fn dtype_named(name: &str) -> Option<DType> {
    Some(match name {
        "f64" => DType::F64,
        "f32" => DType::F32,
        "bf16" => DType::BF16,
        "f16" => DType::F16,
        "i64" => DType::I64,
        "u8" => DType::U8,
        _ => return None,
    })
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Value::None => "None",
            Value::Bool(_) => "a bool",
            Value::Int(value) if *value < 0 => "a negative integer",
            Value::Int(_) => "an integer",
            Value::Float(_) => "a float",
            Value::Text(_) => "a text",
            Value::DType(_) => "another dtype",
            Value::Slice(_) => "a slice",
            Value::Ellipsis => "`...`",
            Value::Tensor(_) => "a tensor",
            Value::List(_) => "a list",
            Value::Layer(_) => "a layer",
        }
    }

    fn tensor(&self) -> Option<Tensor> {
        match self {
            Value::Tensor(x) => Some(x.clone()),
            _ => None,
        }
    }

    pub(crate) fn int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            _ => None,
        }
    }

    fn float(&self) -> Option<f64> {
        match self {
            Value::Float(value) => Some(*value),
            value => value.int().map(|value| value as f64),
        }
    }

    pub(crate) fn ints(&self) -> Option<Vec<i64>> {
        match self {
            Value::List(list) => list.iter().map(Value::int).collect(),
            value => value.int().map(|value| vec![value]),
        }
    }

    fn number(&self) -> Option<Number> {
        Some(match self {
            Value::Bool(value) => Number::Int(i64::from(*value)),
            Value::Int(value) => Number::Int(*value),
            Value::Float(value) => Number::Float(*value),
            _ => return None,
        })
    }
}
