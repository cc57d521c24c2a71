//! [`Parameters`] for the types of a model's fields: parameters, buffers, modes and plain data, where the
//! walk through a model ends, and the containers that it passes through: lists, options, tuples and boxes.

use crate::erased::Erased;
use crate::error::Result;
use crate::nn::visitor::{Visitor, VisitorMut};
use crate::nn::{Buffer, Mode, Parameter, Parameters, Triple, visit_field};
use crate::ops::{OutputSize, Pair};
use candle_core::{DType, Device, Shape};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

impl Parameters for Parameter {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.parameter(self);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        visitor.parameter(self)
    }

    fn shallow_copy(&self) -> Self {
        self.clone()
    }
}

impl Parameters for Buffer {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.buffer(self);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        visitor.parameter(self.parameter_mut())
    }

    fn shallow_copy(&self) -> Self {
        self.clone()
    }
}

impl Parameters for Mode {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visitor.mode(self);
    }

    fn visit_mut(&mut self, _: &mut dyn VisitorMut) -> Result<()> {
        Ok(())
    }

    fn shallow_copy(&self) -> Self {
        self.clone()
    }
}

macro_rules! plain_data {
    ($($plain:ty),* $(,)?) => {$(
        impl Parameters for $plain {
            fn visit(&self, visitor: &mut dyn Visitor) {
                visitor.value(self);
            }

            fn visit_mut(&mut self, _: &mut dyn VisitorMut) -> Result<()> {
                Ok(())
            }

            fn shallow_copy(&self) -> Self {
                self.clone()
            }
        }
    )*};
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
    Triple,
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

impl<T> Parameters for PhantomData<T> {
    fn visit(&self, _: &mut dyn Visitor) {}

    fn visit_mut(&mut self, _: &mut dyn VisitorMut) -> Result<()> {
        Ok(())
    }

    fn shallow_copy(&self) -> Self {
        PhantomData
    }
}

impl<P: Parameters> Parameters for Vec<P> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visit_items(visitor, self.iter().map(|item| item as &dyn Parameters));
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        self.iter_mut().try_for_each(|item| item.visit_mut(visitor))
    }

    fn shallow_copy(&self) -> Self {
        self.iter().map(P::shallow_copy).collect()
    }
}

impl<P: Parameters, const N: usize> Parameters for [P; N] {
    fn visit(&self, visitor: &mut dyn Visitor) {
        visit_items(visitor, self.iter().map(|item| item as &dyn Parameters));
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        self.iter_mut().try_for_each(|item| item.visit_mut(visitor))
    }

    fn shallow_copy(&self) -> Self {
        self.each_ref().map(P::shallow_copy)
    }
}

fn visit_items<'a>(visitor: &mut dyn Visitor, items: impl Iterator<Item = &'a dyn Parameters>) {
    visitor.collection("Vec");
    for (i, item) in items.enumerate() {
        visit_field(visitor, &i.to_string(), item);
    }
}

macro_rules! tuple_parameters {
    ($($part:ident $index:tt),*) => {
        impl<$($part: Parameters),*> Parameters for ($($part,)*) {
            fn visit(&self, visitor: &mut dyn Visitor) {
                visitor.collection("Tuple");
                $(visit_field(visitor, stringify!($index), &self.$index);)*
            }

            fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
                $(self.$index.visit_mut(visitor)?;)*
                Ok(())
            }

            fn shallow_copy(&self) -> Self {
                ($(self.$index.shallow_copy(),)*)
            }
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

/// Visits the value in the option, if there is one; the option adds no name of its own.
impl<P: Parameters> Parameters for Option<P> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        if let Some(part) = self {
            part.visit(visitor);
        }
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        self.iter_mut().try_for_each(|part| part.visit_mut(visitor))
    }

    fn shallow_copy(&self) -> Self {
        self.as_ref().map(P::shallow_copy)
    }
}

/// Visits the value in the box; the box adds no name of its own.
impl<P: Parameters> Parameters for Box<P> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        (**self).visit(visitor);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        (**self).visit_mut(visitor)
    }

    fn shallow_copy(&self) -> Self {
        Box::new((**self).shallow_copy())
    }
}

/// Visits the borrowed model; the reference adds no name of its own.
impl<P: Parameters + ?Sized> Parameters for &mut P {
    fn visit(&self, visitor: &mut dyn Visitor) {
        (**self).visit(visitor);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        (**self).visit_mut(visitor)
    }

    fn shallow_copy(&self) -> Self {
        // There cannot be a second `&mut` to the same model. The compiler evaluates this only for code that
        // copies one.
        const { panic!("a borrowed model cannot be copied: write (*model).replicate(…)") }
    }
}
impl<T: Parameters> Parameters for Erased<T> {
    fn visit(&self, visitor: &mut dyn Visitor) {
        (**self).visit(visitor);
    }

    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()> {
        (**self).visit_mut(visitor)
    }

    fn shallow_copy(&self) -> Self {
        Erased::new((**self).shallow_copy())
    }
}
