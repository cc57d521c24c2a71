//! Where the walk over a model's fields passes through: lists, options, tuples, plain data.

use crate::nn::{Copier, Layer, Parameters, Replicate, StateEntry, describe_model};
use candle_core::{DType, Device, Result, Shape};
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

macro_rules! without_parameters {
    ($($plain:ty),* $(,)?) => {$(
        impl Parameters for $plain {}

        impl Replicate for $plain {
            fn replicate_with(&self, _: &mut Copier) -> Result<Self> {
                Ok(self.clone())
            }
        }
    )*};
}

without_parameters!(
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

impl<T> Replicate for PhantomData<T> {
    fn replicate_with(&self, _: &mut Copier) -> Result<Self> {
        Ok(PhantomData)
    }
}

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

    fn place(&mut self, copier: &mut Copier) -> Result<()> {
        self.iter_mut().try_for_each(|part| part.place(copier))
    }
}

impl<P: Parameters> Parameters for Vec<P> {
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        self.as_slice().fields()
    }

    fn describe(&self) -> String {
        self.as_slice().describe()
    }

    fn place(&mut self, copier: &mut Copier) -> Result<()> {
        self.as_mut_slice().place(copier)
    }
}

impl<P: Replicate> Replicate for Vec<P> {
    fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
        self.iter()
            .map(|part| part.replicate_with(copier))
            .collect()
    }
}

impl<P: Parameters, const N: usize> Parameters for [P; N] {
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        self.as_slice().fields()
    }

    fn describe(&self) -> String {
        self.as_slice().describe()
    }

    fn place(&mut self, copier: &mut Copier) -> Result<()> {
        self.as_mut_slice().place(copier)
    }
}

impl<P: Replicate, const N: usize> Replicate for [P; N] {
    fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
        let parts: Vec<P> = self
            .iter()
            .map(|part| part.replicate_with(copier))
            .collect::<Result<_>>()?;
        Ok(parts
            .try_into()
            .unwrap_or_else(|_| unreachable!("as many as there were")))
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

            fn place(&mut self, copier: &mut Copier) -> Result<()> {
                $(self.$index.place(copier)?;)*
                Ok(())
            }
        }

        impl<$($part: Replicate),*> Replicate for ($($part,)*) {
            fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
                Ok(($(self.$index.replicate_with(copier)?,)*))
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

macro_rules! pass_through {
    () => {
        fn fields(&self) -> Vec<(String, &dyn Parameters)> {
            (**self).fields()
        }

        fn describe(&self) -> String {
            (**self).describe()
        }

        fn collect_state(&self, path: &str, found: &mut Vec<StateEntry>) {
            (**self).collect_state(path, found);
        }

        fn set_training(&self, training: bool) {
            (**self).set_training(training);
        }

        fn place(&mut self, copier: &mut Copier) -> Result<()> {
            (**self).place(copier)
        }
    };
}

/// A box is what it holds: it adds no name of its own.
impl<P: Parameters + ?Sized> Parameters for Box<P> {
    pass_through!();
}

impl<P: Replicate> Replicate for Box<P> {
    fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
        (**self).replicate_with(copier).map(Box::new)
    }
}

impl Replicate for Box<dyn Layer> {
    fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
        (**self).replicate_layer(copier)
    }
}

/// So that what a function borrows answers as the model itself does.
impl<P: Parameters + ?Sized> Parameters for &mut P {
    pass_through!();
}

/// An option is what it holds, if anything: it adds no name of its own.
impl<P: Parameters> Parameters for Option<P> {
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        self.as_ref().map(Parameters::fields).unwrap_or_default()
    }

    fn describe(&self) -> String {
        self.as_ref().map(Parameters::describe).unwrap_or_default()
    }

    fn collect_state(&self, path: &str, found: &mut Vec<StateEntry>) {
        if let Some(part) = self {
            part.collect_state(path, found);
        }
    }

    fn set_training(&self, training: bool) {
        if let Some(part) = self {
            part.set_training(training);
        }
    }

    fn place(&mut self, copier: &mut Copier) -> Result<()> {
        self.iter_mut().try_for_each(|part| part.place(copier))
    }
}

impl<P: Replicate> Replicate for Option<P> {
    fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
        self.as_ref()
            .map(|part| part.replicate_with(copier))
            .transpose()
    }
}

/// A list of plain data has nothing to say, one of models lists them.
fn describe_list(name: &str, fields: &[(String, &dyn Parameters)]) -> String {
    match fields.iter().all(|(_, field)| field.describe().is_empty()) {
        true => String::new(),
        false => describe_model(name, fields),
    }
}
