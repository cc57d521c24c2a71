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

/// Types of inputs: how each is read from a value.
macro_rules! inputs {
    ($([$($generics:tt)*] $type:ty: $value:ident => $read:expr;)*) => {$(
        impl<$($generics)*> Input for $type {
            fn read($value: &Value) -> Option<Self> {
                $read
            }
        }
    )*};
}

/// Types of results: how each becomes a value.
macro_rules! outputs {
    ($([$($generics:tt)*] $type:ty: $x:ident => $value:expr;)*) => {$(
        impl<$($generics)*> Output for $type {
            fn value(&self) -> Result<Value, Fault> {
                let $x = self;
                $value
            }
        }
    )*};
}

macro_rules! numbers {
    (integers $($integer:ty)*; floats $($float:ty)*;) => {$(
        inputs! {
            [] $integer: value => match value {
                Value::Integer(integer) => (*integer).try_into().ok(),
                _ => None,
            };
        }
        outputs! {
            [] $integer: x => Ok(i64::try_from(*x).map_or(Value::Float(*x as f64), Value::Integer));
        }
    )* $(
        inputs! { [] $float: value => value.float().map(|float| float as $float); }
        outputs! { [] $float: x => Ok(Value::Float((*x).into())); }
    )*};
}
numbers! {
    integers u8 u32 u64 usize i32 i64;
    floats f32 f64;
}

inputs! {
    [] bool: value => match value {
        Value::Bool(value) => Some(*value),
        _ => None,
    };
    [] String: value => match value {
        Value::Text(text) => Some(text.clone()),
        _ => None,
    };
    [T: Input] Vec<T>: value => match value {
        Value::List(items) => items.iter().map(T::read).collect(),
        _ => None,
    };
    [A: Input, B: Input] (A, B): value => match value {
        Value::List(items) if items.len() == 2 => Some((A::read(&items[0])?, B::read(&items[1])?)),
        _ => None,
    };
    [] Tensor: value => tensor(value);
}

outputs! {
    [] bool: x => Ok(Value::Bool(*x));
    [] str: x => Ok(Value::Text(x.to_owned()));
    [] String: x => x.as_str().value();
    [] char: x => Ok(Value::Text(x.to_string()));
    [T: Output] [T]: x => x.iter().map(Output::value).collect::<Result<_, _>>().map(Value::List);
    [T: Output] Vec<T>: x => x.as_slice().value();
    [T: Output, const N: usize] [T; N]: x => x.as_slice().value();
    [A: Output, B: Output] (A, B): x => Ok(Value::List(vec![x.0.value()?, x.1.value()?]));
    [A: Output, B: Output, C: Output] (A, B, C): x => Ok(Value::List(vec![x.0.value()?, x.1.value()?, x.2.value()?]));
    [T: Output + ?Sized] &T: x => (**x).value();
    [T: Output, E: Display] Result<T, E>: x => match x {
        Ok(value) => value.value(),
        Err(error) => Err(Fault::Error(error.to_string())),
    };
    [] Tensor: x => {
        let elements = attempt(|| elements(&x.to_device(&Device::Cpu)));
        let elements = elements.map_err(|error| Fault::Error(error.to_string()))?;
        Ok(nest(&mut elements.into_iter(), x.dims()))
    };
}

/// Returns nested lists as a tensor: of `i64` if all elements are integers, otherwise of `f32`.
fn tensor(value: &Value) -> Option<Tensor> {
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
