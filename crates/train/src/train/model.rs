//! A model and its steps as trait objects. The training loop uses them, so that the loop is compiled
//! once, in this crate, and not in each cell that trains a model.

use super::Module;
use crate::data::{AnyBatch, BatchData};
use crate::error::{Result, attempt};
use crate::nn::{Parameter, Parameters, ParametersExt};
use crate::optim::Optimizer;
use crate::tensor::Tensor;
use candle_core::Device;
use std::any::Any;
use std::marker::PhantomData;

/// A model whose type is erased.
#[doc(hidden)]
pub trait AnyModel: Parameters + Any + Send + Sync {
    fn copied_to(&self, device: &Device) -> Result<Box<dyn AnyModel>>;
}

impl<M: Parameters + Send + Sync + 'static> AnyModel for M {
    fn copied_to(&self, device: &Device) -> Result<Box<dyn AnyModel>> {
        copied(&|| Box::new(self.replicate(device)))
    }
}

fn copied(copy: &dyn Fn() -> Box<dyn AnyModel>) -> Result<Box<dyn AnyModel>> {
    attempt(copy)
}

/// The steps of a [`Module`], with the types of model, batch and output erased.
///
/// # Panics
/// If a model or a batch does not have the type for which [`steps`] returned these steps.
#[doc(hidden)]
pub trait Steps: Sync {
    fn training(&self, model: &dyn AnyModel, batch: &dyn AnyBatch) -> Tensor;

    fn validation(&self, model: &dyn AnyModel, batch: &dyn AnyBatch);

    fn forward(&self, model: &dyn AnyModel, batch: &dyn AnyBatch) -> Box<dyn AnyBatch>;

    fn optimizer(&self, model: &dyn AnyModel) -> Box<dyn Optimizer>;

    fn is_automatic(&self, model: &dyn AnyModel) -> bool;

    fn manual(
        &self,
        model: &dyn AnyModel,
        batch: &dyn AnyBatch,
        optimizers: &mut [Box<dyn Optimizer>],
    ) -> Tensor;
}

/// Returns the steps for these types of models, batches and outputs.
pub fn steps<M: Module<B, Y>, B: BatchData, Y: BatchData>() -> &'static dyn Steps {
    &TypedSteps::<M, B, Y>(PhantomData)
}

struct TypedSteps<M, B, Y>(PhantomData<fn(M, B, Y)>);

impl<M: Module<B, Y>, B: BatchData, Y: BatchData> Steps for TypedSteps<M, B, Y> {
    fn training(&self, model: &dyn AnyModel, batch: &dyn AnyBatch) -> Tensor {
        downcast::<M>(model).training_step(downcast(batch))
    }

    fn validation(&self, model: &dyn AnyModel, batch: &dyn AnyBatch) {
        downcast::<M>(model).validation_step(downcast(batch));
    }

    fn forward(&self, model: &dyn AnyModel, batch: &dyn AnyBatch) -> Box<dyn AnyBatch> {
        let output = downcast::<M>(model).forward(downcast::<B>(batch).input());
        output.into_any()
    }

    fn optimizer(&self, model: &dyn AnyModel) -> Box<dyn Optimizer> {
        downcast::<M>(model).configure_optimizers()
    }

    fn is_automatic(&self, model: &dyn AnyModel) -> bool {
        downcast::<M>(model).automatic_optimization()
    }

    fn manual(
        &self,
        model: &dyn AnyModel,
        batch: &dyn AnyBatch,
        optimizers: &mut [Box<dyn Optimizer>],
    ) -> Tensor {
        downcast::<M>(model).manual_step(downcast(batch), optimizers)
    }
}

fn downcast<T: 'static>(value: &dyn Any) -> &T {
    value.downcast_ref().unwrap_or_else(|| wrong_type())
}

#[cold]
fn wrong_type() -> ! {
    panic!("expected a value of the type of the steps")
}

/// Returns the device of a model's parameters; the CPU if it has no parameters.
pub(super) fn device_of(model: &dyn AnyModel) -> Device {
    let own = model
        .parameters()
        .iter()
        .find_map(Parameter::planned_device);
    own.unwrap_or(Device::Cpu)
}
