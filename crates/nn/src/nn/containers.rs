//! [`Parameters`] for the types of a model's fields: parameters, buffers, modes and plain data, where the
//! walk through a model ends, and the containers that it passes through: lists, options, tuples and boxes.

use crate::erased::Erased;
use crate::nn::{Buffer, Layer, Mode, Parameter, Parameters, Visitor, visit_field};
use crate::ops::{OutputSize, Pair};
use candle_core::{DType, Device, Shape};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

/// Implements [`Parameters`]: each row has a type, what it passes to a visitor, what to a visitor that replaces tensors,
/// and a shallow copy.
macro_rules! parameters {
    ($($(#[$meta:meta])* [$($generics:tt)*] $type:ty: |$self:ident, $visitor:ident| $visit:expr, $replace:expr, $copy:expr;)*) => {$(
        $(#[$meta])*
        impl<$($generics)*> $crate::nn::Parameters for $type {
            #[allow(unused_variables)]
            fn visit(&$self, $visitor: &mut dyn $crate::nn::Visitor) {
                $visit
            }

            #[allow(unused_variables)]
            fn visit_mut(&mut $self, $visitor: &mut dyn $crate::nn::VisitorMut) -> $crate::error::Result<()> {
                $replace
            }

            fn shallow_copy(&$self) -> Self {
                $copy
            }
        }
    )*};
}
pub(crate) use parameters;

parameters! {
    [] Parameter: |self, visitor| visitor.parameter(self), visitor.parameter(self), self.clone();
    [] Buffer: |self, visitor| visitor.buffer(self), visitor.parameter(self.parameter_mut()), self.clone();
    [] Mode: |self, visitor| visitor.mode(self), Ok(()), self.clone();
    [T] PhantomData<T>: |self, visitor| (), Ok(()), PhantomData;
    [P: Parameters] Vec<P>: |self, visitor|
        visit_items(visitor, self.iter().map(|item| item as &dyn Parameters)),
        self.iter_mut().try_for_each(|item| item.visit_mut(visitor)),
        self.iter().map(P::shallow_copy).collect();
    [P: Parameters, const N: usize] [P; N]: |self, visitor|
        visit_items(visitor, self.iter().map(|item| item as &dyn Parameters)),
        self.iter_mut().try_for_each(|item| item.visit_mut(visitor)),
        self.each_ref().map(P::shallow_copy);
    /// Visits the value in the option, if there is one; the option adds no name of its own.
    [P: Parameters] Option<P>: |self, visitor|
        self.iter().for_each(|part| part.visit(visitor)),
        self.iter_mut().try_for_each(|part| part.visit_mut(visitor)),
        self.as_ref().map(P::shallow_copy);
    /// Visits the value in the box; the box adds no name of its own.
    [P: Parameters] Box<P>: |self, visitor|
        (**self).visit(visitor), (**self).visit_mut(visitor), Box::new((**self).shallow_copy());
    [] Box<dyn Layer>: |self, visitor|
        (**self).visit(visitor), (**self).visit_mut(visitor), (**self).copy_layer();
    [P: Parameters] Erased<P>: |self, visitor|
        (**self).visit(visitor), (**self).visit_mut(visitor), Erased::new((**self).shallow_copy());
    /// Visits the borrowed model; the reference adds no name of its own. There cannot be a second `&mut` to the same
    /// model: the compiler evaluates the panic only for code that copies one.
    [P: Parameters + ?Sized] &mut P: |self, visitor|
        (**self).visit(visitor), (**self).visit_mut(visitor),
        const { panic!("a borrowed model cannot be copied: write (*model).replicate(…)") };
}

fn visit_items<'a>(visitor: &mut dyn Visitor, items: impl Iterator<Item = &'a dyn Parameters>) {
    visitor.collection("Vec");
    for (i, item) in items.enumerate() {
        visit_field(visitor, &i.to_string(), item);
    }
}

macro_rules! plain_data {
    ($($plain:ty),* $(,)?) => {
        parameters! { $([] $plain: |self, visitor| visitor.value(self), Ok(()), self.clone();)* }
    };
}

plain_data!(
    (),
    bool,
    char,
    &'static str,
    String,
    PathBuf,
    Duration,
    Device,
    DType,
    Shape,
    OutputSize,
    Pair,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    u8,
    u16,
    u32,
    u64,
    u128,
    usize,
);

macro_rules! tuple_parameters {
    ($($part:ident $index:tt),*) => {
        parameters! {
            [$($part: Parameters),*] ($($part,)*): |self, visitor|
                {
                    visitor.collection("Tuple");
                    $(visit_field(visitor, stringify!($index), &self.$index);)*
                },
                {
                    $(self.$index.visit_mut(visitor)?;)*
                    Ok(())
                },
                ($(self.$index.shallow_copy(),)*);
        }
    };
}

tuple_parameters!(A 0);
tuple_parameters!(A 0, B 1);
tuple_parameters!(A 0, B 1, C 2);
tuple_parameters!(A 0, B 1, C 2, D 3);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5, G 6);
tuple_parameters!(A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
