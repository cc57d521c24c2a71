//! Answers: values, and functions of up to three arguments.

use super::value::Value;
use crate::error::attempt;
use crate::tensor::Tensor;
use candle_core::{DType, Device};
use std::borrow::Borrow;
use std::fmt::Display;
use std::marker::PhantomData;

/// The result of calling an answer: a value, or why there is none.
pub(super) type Outcome = Result<Value, Fault>;
/// An answer of any type, as a function of the inputs.
pub(super) type Call<'a> = dyn Fn(&[Value]) -> Outcome + 'a;

/// Why an answer returned no value.
#[derive(Debug, PartialEq)]
pub enum Fault {
    /// The answer returned this error.
    Error(String),
    /// The answer has another type than the exercise needs.
    Type(String),
}

/// An answer that [`check`](super::check()) accepts: a value that is an [`Output`], or a function whose
/// arguments are [`Input`]s or references to them, and which returns an `Output`. `Kind` distinguishes the
/// two; the compiler infers it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be checked",
    note = "pass the name of a function without calling it, or a number, a text, a list or a tensor"
)]
pub trait Answer<Kind> {
    /// Returns the value, or calls the function with these inputs.
    #[doc(hidden)]
    fn call(&self, inputs: &[Value]) -> Result<Value, Fault>;
}

/// A type that an exercise passes to a function.
pub trait Input: Sized {
    /// Converts a value to this type; `None` if the value has another type.
    #[doc(hidden)]
    fn read(value: &Value) -> Option<Self>;
}

/// A type that an exercise compares with the expected value. A `Result` counts as its value or its error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be compared by an exercise",
    note = "return a number, a text, a list or a tensor, or a `Result` of these"
)]
pub trait Output {
    /// Converts it to the value that is compared.
    #[doc(hidden)]
    fn value(&self) -> Result<Value, Fault>;
}

/// The kind of an answer that is a value.
#[derive(Debug)]
pub struct Plain;
/// The kind of an argument that a function takes by value.
#[derive(Debug)]
pub struct Own<T>(PhantomData<T>);
/// The kind of an argument that a function borrows.
#[derive(Debug)]
pub struct Lend<T: ?Sized>(PhantomData<T>);

impl<T: Output> Answer<Plain> for T {
    fn call(&self, inputs: &[Value]) -> Result<Value, Fault> {
        match inputs {
            [] => self.value(),
            _ => Err(Fault::Type(
                "expected a function: pass its name without calling it".into(),
            )),
        }
    }
}

/// Implements `Answer` for functions, for each combination of owned and borrowed arguments.
macro_rules! functions {
    ([$($done:tt)*]) => { function!($($done)*); };
    ([$($done:tt)*] $name:ident $($rest:ident)*) => {
        functions!([$($done)* ($name, Own<$name>, $name, [$name: Input], $name, own)] $($rest)*);
        functions!([$($done)* (
            $name, Lend<$name>, &$name,
            [$name: ToOwned + ?Sized, <$name as ToOwned>::Owned: Input], <$name as ToOwned>::Owned, lend
        )] $($rest)*);
    };
}

macro_rules! pass {
    (own $argument:ident) => {
        $argument
    };
    (lend $argument:ident) => {
        $argument.borrow()
    };
}

macro_rules! function {
    ($(($name:ident, $kind:ty, $argument:ty, [$($bounds:tt)*], $kept:ty, $how:ident))*) => {
        #[allow(non_snake_case)]
        impl<Function, Returned, $($name),*> Answer<fn($($kind),*) -> Returned> for Function
        where
            Function: Fn($($argument),*) -> Returned,
            Returned: Output,
            $($($bounds)*,)*
        {
            fn call(&self, inputs: &[Value]) -> Result<Value, Fault> {
                let [$($name),*] = inputs else {
                    return Err(other_arguments(inputs));
                };
                $(let $name: $kept = read($name)?;)*
                self($(pass!($how $name)),*).value()
            }
        }
    };
}

functions!([]);
functions!([] A);
functions!([] A B);
functions!([] A B C);

#[cold]
fn other_arguments(inputs: &[Value]) -> Fault {
    let plural = if inputs.len() == 1 { "" } else { "s" };
    Fault::Type(format!(
        "expected a function of {} argument{plural}",
        inputs.len()
    ))
}

fn read<T: Input>(value: &Value) -> Result<T, Fault> {
    let other = || {
        Fault::Type(format!(
            "expected a function to which {value} can be passed"
        ))
    };
    T::read(value).ok_or_else(other)
}

macro_rules! integers {
    ($($integer:ty)*) => { $(
        impl Input for $integer {
            fn read(value: &Value) -> Option<Self> {
                let Value::Integer(integer) = value else { return None };
                (*integer).try_into().ok()
            }
        }
        impl Output for $integer {
            fn value(&self) -> Result<Value, Fault> {
                let integer = i64::try_from(*self);
                Ok(integer.map_or(Value::Float(*self as f64), Value::Integer))
            }
        }
    )* };
}
integers!(u8 u32 u64 usize i32 i64);

macro_rules! floats {
    ($($float:ty)*) => { $(
        impl Input for $float {
            fn read(value: &Value) -> Option<Self> {
                value.float().map(|float| float as $float)
            }
        }
        impl Output for $float {
            fn value(&self) -> Result<Value, Fault> {
                Ok(Value::Float((*self).into()))
            }
        }
    )* };
}
floats!(f32 f64);

impl Input for bool {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(*value),
            _ => None,
        }
    }
}

impl Output for bool {
    fn value(&self) -> Result<Value, Fault> {
        Ok(Value::Bool(*self))
    }
}

impl Input for String {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }
    }
}

impl Output for str {
    fn value(&self) -> Result<Value, Fault> {
        Ok(Value::Text(self.to_owned()))
    }
}

impl Output for String {
    fn value(&self) -> Result<Value, Fault> {
        self.as_str().value()
    }
}

impl Output for char {
    fn value(&self) -> Result<Value, Fault> {
        Ok(Value::Text(self.to_string()))
    }
}

impl<T: Input> Input for Vec<T> {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::List(items) => items.iter().map(T::read).collect(),
            _ => None,
        }
    }
}

impl<A: Input, B: Input> Input for (A, B) {
    fn read(value: &Value) -> Option<Self> {
        match value {
            Value::List(items) if items.len() == 2 => {
                Some((A::read(&items[0])?, B::read(&items[1])?))
            }
            _ => None,
        }
    }
}

impl<T: Output> Output for [T] {
    fn value(&self) -> Result<Value, Fault> {
        let values: Result<_, _> = self.iter().map(Output::value).collect();
        values.map(Value::List)
    }
}

impl<T: Output> Output for Vec<T> {
    fn value(&self) -> Result<Value, Fault> {
        self.as_slice().value()
    }
}

impl<T: Output, const N: usize> Output for [T; N] {
    fn value(&self) -> Result<Value, Fault> {
        self.as_slice().value()
    }
}

impl<A: Output, B: Output> Output for (A, B) {
    fn value(&self) -> Result<Value, Fault> {
        Ok(Value::List(vec![self.0.value()?, self.1.value()?]))
    }
}

impl<A: Output, B: Output, C: Output> Output for (A, B, C) {
    fn value(&self) -> Result<Value, Fault> {
        let (a, b, c) = self;
        Ok(Value::List(vec![a.value()?, b.value()?, c.value()?]))
    }
}

impl<T: Output + ?Sized> Output for &T {
    fn value(&self) -> Result<Value, Fault> {
        (**self).value()
    }
}

impl<T: Output, E: Display> Output for Result<T, E> {
    fn value(&self) -> Result<Value, Fault> {
        match self {
            Ok(value) => value.value(),
            Err(error) => Err(Fault::Error(error.to_string())),
        }
    }
}

/// A list of integers becomes a tensor of type `i64`, any other of type `f32`.
impl Input for Tensor {
    fn read(value: &Value) -> Option<Self> {
        fn flatten(value: &Value, into: &mut Vec<Value>) {
            match value {
                Value::List(items) => items.iter().for_each(|item| flatten(item, into)),
                other => into.push(other.clone()),
            }
        }
        let (shape, mut elements) = (value.shape()?, Vec::new());
        flatten(value, &mut elements);
        if let Some(integers) = Vec::<i64>::read(&Value::List(elements.clone())) {
            return attempt(|| Tensor::from_vec_on(integers, shape, &Device::Cpu)).ok();
        }
        let floats = Vec::<f32>::read(&Value::List(elements))?;
        attempt(|| Tensor::from_vec_on(floats, shape, &Device::Cpu)).ok()
    }
}

impl Output for Tensor {
    fn value(&self) -> Result<Value, Fault> {
        let elements = attempt(|| elements(&self.to_device(&Device::Cpu)));
        let elements = elements.map_err(|error| Fault::Error(error.to_string()))?;
        Ok(nest(&mut elements.into_iter(), self.dims()))
    }
}

fn elements(x: &Tensor) -> Vec<Value> {
    match x.dtype().is_int() {
        true => x
            .to_dtype(DType::I64)
            .to_vec()
            .into_iter()
            .map(Value::Integer)
            .collect(),
        false => x
            .to_dtype(DType::F64)
            .to_vec()
            .into_iter()
            .map(Value::Float)
            .collect(),
    }
}

fn nest(elements: &mut impl Iterator<Item = Value>, shape: &[usize]) -> Value {
    match shape {
        [] => elements.next().expect("as many elements as the shape says"),
        [size, rest @ ..] => Value::List((0..*size).map(|_| nest(elements, rest)).collect()),
    }
}
