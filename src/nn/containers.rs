//! Where the walk over a model's fields passes through: lists, options, tuples, plain data.

use crate::nn::{Parameter, Parameters, describe_model};
use candle_core::{DType, Device, Shape};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

macro_rules! without_parameters {
    ($($plain:ty),* $(,)?) => {$(
        impl Parameters for $plain {}
    )*};
}

without_parameters!(
    (),
    bool,
    char,
    &str,
    String,
    PathBuf,
    Duration,
    Device,
    DType,
    Shape,
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

impl<T> Parameters for PhantomData<T> {}

impl<P: Parameters> Parameters for [P] {
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        let numbered = self.iter().enumerate();
        numbered
            .map(|(i, part)| (i.to_string(), part as &dyn Parameters))
            .collect()
    }

    fn describe(&self) -> String {
        describe_list("Vec", &self.fields())
    }
}

impl<P: Parameters> Parameters for Vec<P> {
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        self.as_slice().fields()
    }

    fn describe(&self) -> String {
        self.as_slice().describe()
    }
}

impl<P: Parameters, const N: usize> Parameters for [P; N] {
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        self.as_slice().fields()
    }

    fn describe(&self) -> String {
        self.as_slice().describe()
    }
}

macro_rules! tuple_parameters {
    ($($part:ident $index:tt),*) => {
        impl<$($part: Parameters),*> Parameters for ($($part,)*) {
            fn fields(&self) -> Vec<(String, &dyn Parameters)> {
                vec![$((stringify!($index).to_owned(), &self.$index as &dyn Parameters)),*]
            }

            fn describe(&self) -> String {
                describe_list("Tuple", &self.fields())
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

/// A box is what it holds: it adds no name of its own.
impl<P: Parameters + ?Sized> Parameters for Box<P> {
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        (**self).fields()
    }

    fn describe(&self) -> String {
        (**self).describe()
    }

    fn collect_parameters(&self, path: &str, found: &mut Vec<(String, Parameter)>) {
        (**self).collect_parameters(path, found);
    }

    fn set_training(&self, training: bool) {
        (**self).set_training(training);
    }
}

/// An option is what it holds, if anything: it adds no name of its own.
impl<P: Parameters> Parameters for Option<P> {
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        self.as_ref().map(Parameters::fields).unwrap_or_default()
    }

    fn describe(&self) -> String {
        self.as_ref().map(Parameters::describe).unwrap_or_default()
    }

    fn collect_parameters(&self, path: &str, found: &mut Vec<(String, Parameter)>) {
        if let Some(part) = self {
            part.collect_parameters(path, found);
        }
    }

    fn set_training(&self, training: bool) {
        if let Some(part) = self {
            part.set_training(training);
        }
    }
}

/// A list of plain data has nothing to say, one of models lists them.
fn describe_list(name: &str, fields: &[(String, &dyn Parameters)]) -> String {
    match fields.iter().all(|(_, field)| field.describe().is_empty()) {
        true => String::new(),
        false => describe_model(name, fields),
    }
}
