//! The preparation of a training, before the first step.

use crate::data::AnyLoader;
use crate::error::{Result, refuse};
use crate::nn::ParametersExt;
use crate::tensor::{no_grad, with_seed};
use crate::train::Trainer;
use crate::train::model::{AnyModel, Steps};

pub(super) fn refuse_empty(name: &str, loader: &AnyLoader) -> Result<()> {
    refuse!(if loader.num_examples() == 0; state("Trainer");
        "the {name} set is empty",
        "Add examples, or return None from val_dataloader if there is no validation set");
    Ok(())
}

/// Initialises lazy parameters by a forward pass of one example, so that the model can be copied. The
/// random values of the batches stay the same.
pub(super) fn initialize_lazy(
    trainer: &Trainer,
    steps: &dyn Steps,
    model: &dyn AnyModel,
    train: &AnyLoader,
) -> Result<()> {
    if model
        .parameters()
        .iter()
        .all(|parameter| parameter.is_initialized())
    {
        return Ok(());
    }
    let batch = with_seed(0, || train.example())?;
    let first = batch.part_on(0, 1, &trainer.in_use[0])?;
    model.set_training(false);
    no_grad(|| steps.forward(model, &*first));
    Ok(())
}
