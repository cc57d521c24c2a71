//! The types that are batches.

use super::{AnyBatch, Batch, BatchData, Search, Searched, compiled_here, nothing_to_join};
use crate::error::{Error, Result, attempt, problem, refuse};
use crate::ops::cat;
use crate::tensor::Tensor;
use candle_core::Device;
use std::any::Any;

impl<B: BatchData> Searched for B {
    fn search(&self, search: &mut Search<'_>) {
        self.search_tensors(search);
    }
}

impl<B: BatchData> AnyBatch for B {
    fn examples(&self) -> Result<usize> {
        self.num_examples()
    }

    fn part_on(&self, start: usize, len: usize, device: &Device) -> Result<Box<dyn AnyBatch>> {
        Ok(self.part(start, len, device)?.into_any())
    }

    fn moved_to(&self, device: &Device) -> Result<Box<dyn AnyBatch>> {
        Ok(self.to_device(device)?.into_any())
    }
}

/// Returns a boxed batch as its own type.
///
/// # Panics
/// If it has another type: a loop mixed up the batches of two data sets.
#[doc(hidden)]
pub fn typed<B: BatchData>(batch: Box<dyn AnyBatch>) -> B {
    let batch: Box<dyn Any> = batch;
    *batch.downcast().unwrap_or_else(|_| wrong_type())
}

#[cold]
fn wrong_type() -> ! {
    panic!("expected a batch of the data set's type")
}

/// Returns the number of examples that all fields of a batch have.
#[doc(hidden)]
pub fn agreed(fields: &[(&str, usize)]) -> Result<usize> {
    let Some(&(first, examples)) = fields.first() else {
        refuse!(state("batch");
            "no field has examples", "Leave at least one field without #[batch(shared)]");
    };
    match fields.iter().find(|field| field.1 != examples) {
        None => Ok(examples),
        Some((name, found)) => refuse!(argument("batch", found);
            "{examples} examples in `{name}`, as in `{first}`",
            "Give all parts the same first dimension; put #[batch(shared)] above a field that all examples share"),
    }
}

/// Returns one field of each batch; there must be at least one batch.
#[doc(hidden)]
pub fn parts_of<'a, B, F>(batches: &[&'a B], field: fn(&'a B) -> &'a F) -> Result<Vec<&'a F>> {
    match batches {
        [] => Err(nothing_to_join()),
        batches => Ok(batches.iter().map(|batch| field(batch)).collect()),
    }
}

/// Returns the error for a part that is out of the range of a batch.
fn outside(examples: usize, start: usize, len: usize) -> Error {
    problem!(argument("part", format_args!("{len} from {start} on"));
        "at most {examples} examples", "Ask for examples that the batch has")
}

/// Implements the input and the target of a batch: both are the whole batch.
macro_rules! whole {
    () => {
        type Input = Self;
        type Target = Self;

        fn input(&self) -> &Self {
            self
        }

        fn target(&self) -> &Self {
            self
        }
    };
}

impl BatchData for Tensor {
    whole!();
    compiled_here!();

    fn search_tensors(&self, search: &mut Search<'_>) {
        search.tensor(self);
    }

    fn num_examples(&self) -> Result<usize> {
        self.dims().first().copied().ok_or_else(|| {
            problem!(shape("batch", self.dims());
                "a tensor whose first dimension is the batch", "Add a dimension: x.unsqueeze(0)")
        })
    }

    fn part(&self, start: usize, len: usize, device: &Device) -> Result<Self> {
        let examples = self.num_examples()?;
        if start.checked_add(len).is_none_or(|end| end > examples) {
            return Err(outside(examples, start, len));
        }
        attempt(|| {
            let part = self.narrow(0, start, len);
            match device.same_device(self.device()) {
                true => part.contiguous(),
                // Candle would transfer the whole storage of the view.
                false => part.copy_to(device),
            }
        })
    }

    fn to_device(&self, device: &Device) -> Result<Self> {
        attempt(|| self.to_device(device))
    }

    fn collate(batches: &[&Self]) -> Result<Self> {
        let (first, shape) = match batches {
            [] => return Err(nothing_to_join()),
            [one] => return Ok((*one).clone()),
            [first, ..] => (first, first.dims().get(1..)),
        };
        for batch in batches {
            let expected = || match shape {
                Some(rest) => format!("a first dimension, then the shape of the others, {rest:?}"),
                None => "tensors whose first dimension is the batch".to_owned(),
            };
            refuse!(if batch.dims().get(1..) != shape || shape.is_none(); shape("collate", batch.dims());
                ("{}", expected()),
                "Give all examples the same shape; pad_sequences(&list, 0.0)? pads those of unequal lengths");
            refuse!(if batch.dtype() != first.dtype(); dtype("collate", batch.dtype());
                ("{}, as the first tensor", first.dtype().as_str()), "Convert it: x.to_dtype(…)");
        }
        attempt(|| cat(batches, 0))
    }
}

/// Implements the other methods of [`BatchData`] field by field. Takes the fields of a struct or a tuple,
/// and the expression that builds it from them.
macro_rules! fieldwise {
    ($($field:tt: $name:ident),* => $built:expr) => {
        fn num_examples(&self) -> Result<usize> {
            agreed(&[$((stringify!($field), self.$field.num_examples()?)),*])
        }

        fn part(&self, start: usize, len: usize, device: &Device) -> Result<Self> {
            self.num_examples()?;
            $(let $name = self.$field.part(start, len, device)?;)*
            Ok($built)
        }

        fn to_device(&self, device: &Device) -> Result<Self> {
            $(let $name = BatchData::to_device(&self.$field, device)?;)*
            Ok($built)
        }

        fn search_tensors(&self, search: &mut Search<'_>) {
            $(search.field(stringify!($field), &self.$field);)*
        }

        fn collate(batches: &[&Self]) -> Result<Self> {
            $(let $name = BatchData::collate(&parts_of(batches, |batch| &batch.$field)?)?;)*
            Ok($built)
        }
    };
}

impl BatchData for Batch {
    type Input = Tensor;
    type Target = Tensor;

    compiled_here!();

    fn input(&self) -> &Tensor {
        &self.x
    }

    fn target(&self) -> &Tensor {
        &self.y
    }

    fieldwise!(x: x, y: y => Batch { x, y });
}

impl<X: BatchData, Y: BatchData> BatchData for (X, Y) {
    type Input = X;
    type Target = Y;

    fn input(&self) -> &X {
        &self.0
    }

    fn target(&self) -> &Y {
        &self.1
    }

    fieldwise!(0: a, 1: b => (a, b));
}

impl<A: BatchData, B: BatchData, C: BatchData> BatchData for (A, B, C) {
    whole!();
    fieldwise!(0: a, 1: b, 2: c => (a, b, c));
}

impl<A: BatchData, B: BatchData, C: BatchData, D: BatchData> BatchData for (A, B, C, D) {
    whole!();
    fieldwise!(0: a, 1: b, 2: c, 3: d => (a, b, c, d));
}

/// Implements [`BatchData`] for lists with an item for each example, from what moves items to a device.
macro_rules! lists {
    ($($item:ty),*: |$items:ident, $device:ident| $moved:expr) => {$(
        impl BatchData for Vec<$item> {
            whole!();

            fn num_examples(&self) -> Result<usize> {
                Ok(self.len())
            }

            fn part(&self, start: usize, len: usize, $device: &Device) -> Result<Self> {
                let part = start.checked_add(len).and_then(|end| self.get(start..end));
                let $items = part.ok_or_else(|| outside(self.len(), start, len))?;
                $moved
            }

            fn to_device(&self, $device: &Device) -> Result<Self> {
                let $items = self;
                $moved
            }

            fn collate(batches: &[&Self]) -> Result<Self> {
                let mut all = Vec::with_capacity(batches.iter().map(|batch| batch.len()).sum());
                for batch in batches {
                    all.extend_from_slice(batch);
                }
                Ok(all)
            }
        }
    )*};
}

lists!(Tensor: |items, device| items.iter().map(|x| BatchData::to_device(x, device)).collect());
lists!(usize, i64, i32, u32, u8, f32, f64, bool, String: |items, _device| Ok(items.to_vec()));
