//! Moves the tensors of a model to a device, copies them there, or converts them to another type.

use crate::error::{Result, refuse};
use crate::nn::Parameter;
use crate::nn::visitor::VisitorMut;
use crate::tensor::{self, Candle, Raw};
use candle_core::{DType, Device, TensorId, Var};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

/// A walk through the tensors of a model. It is a trait object, so that a notebook's cell, which compiles the calls for its
/// model, does not compile the visitor too.
type Walk<'a> = &'a mut dyn FnMut(&mut dyn VisitorMut) -> Result<()>;

/// Moves the tensors of a model to the device.
pub(super) fn move_to(device: &Device, walk: Walk<'_>) -> Result<()> {
    let parameter = |parameter: &Parameter| {
        parameter.move_to(device)?;
        Ok(parameter.clone())
    };
    replace(
        walk,
        &parameter,
        &|tensor| match tensor.device().same_device(device) {
            true => Ok(tensor.clone()),
            false => copied(tensor, device),
        },
    )
}

/// Replaces the tensors of a shallow copy by copies on the device, so that it shares nothing with its model.
pub(super) fn copy_to(device: &Device, walk: Walk<'_>) -> Result<()> {
    let parameter = |parameter: &Parameter| parameter.copy_to(device);
    replace(walk, &parameter, &|tensor| copied(tensor, device))
}

/// Converts the floating-point values of a model to another type.
pub(super) fn convert(dtype: DType, walk: Walk<'_>) -> Result<()> {
    refuse!(if !matches!(dtype, DType::F32 | DType::F64 | DType::BF16 | DType::F16);
        dtype("to_dtype of a model", dtype);
        "f32, f64, bf16 or f16",
        "Layers compute with floating-point numbers: choose one of these types");
    let parameter = |parameter: &Parameter| {
        parameter.convert(dtype)?;
        Ok(parameter.clone())
    };
    replace(
        walk,
        &parameter,
        &|tensor| match tensor.dtype().is_float() && tensor.dtype() != dtype {
            true => in_place_of(tensor, tensor.detach().to_dtype(dtype)?),
            false => Ok(tensor.clone()),
        },
    )
}

/// Replaces each parameter and each of Candle's tensors by what the functions return for it.
pub(super) fn replace(
    walk: Walk<'_>,
    parameter: &dyn Fn(&Parameter) -> Result<Parameter>,
    tensor: &dyn Fn(&Candle) -> Result<Candle>,
) -> Result<()> {
    walk(&mut Replacement {
        parameter,
        tensor,
        parameters: HashMap::new(),
        tensors: HashMap::new(),
    })
}

/// Replaces each tensor once, so that tied parameters stay tied.
struct Replacement<'a> {
    parameter: &'a dyn Fn(&Parameter) -> Result<Parameter>,
    tensor: &'a dyn Fn(&Candle) -> Result<Candle>,
    /// What replaces a parameter, by its address.
    parameters: HashMap<usize, Parameter>,
    tensors: HashMap<TensorId, Candle>,
}

impl VisitorMut for Replacement<'_> {
    fn parameter(&mut self, parameter: &mut Parameter) -> Result<()> {
        let new = || (self.parameter)(parameter);
        *parameter = once(&mut self.parameters, parameter.address(), new)?;
        Ok(())
    }

    fn tensor(&mut self, tensor: &Candle) -> Result<Candle> {
        once(&mut self.tensors, tensor.id(), || (self.tensor)(tensor))
    }
}

/// Returns a copy in memory of its own, which is a variable if the tensor is one.
fn copied(tensor: &Candle, device: &Device) -> Result<Candle> {
    in_place_of(
        tensor,
        tensor::copied(&Raw::constant(tensor), device)?
            .values()
            .clone(),
    )
}

/// Returns the values, as a variable if the tensor that they replace is one.
fn in_place_of(tensor: &Candle, values: Candle) -> Result<Candle> {
    match tensor.is_variable() {
        true => Ok(Var::from_tensor(&values)?.as_tensor().clone()),
        false => Ok(values),
    }
}

/// Returns the value of this key; the first call for a key creates it.
fn once<K: Eq + Hash, V: Clone>(
    made: &mut HashMap<K, V>,
    key: K,
    make: impl FnOnce() -> Result<V>,
) -> Result<V> {
    match made.entry(key) {
        Entry::Occupied(there) => Ok(there.get().clone()),
        Entry::Vacant(place) => Ok(place.insert(make()?).clone()),
    }
}

#[cfg(test)]
mod tests {
    use crate::nn::tests::message_of;
    use crate::nn::*;
    use crate::tensor::{ones, tensor, zeros};
    use candle_core::Device;

    const CPU: Device = Device::Cpu;

    #[derive(taper_macros::Parameters)]
    struct Tied {
        first: Parameter,
        net: Sequential,
        layers: Vec<Box<dyn Layer>>,
        pair: (Option<Linear>, [Parameter; 1]),
        norm: BatchNorm1d,
        mode: Mode,
        name: &'static str,
        #[parameters(skip)]
        notes: std::collections::VecDeque<i32>,
    }

    fn tied() -> Tied {
        let first = Parameter::new(&ones(2));
        let mut model = Tied {
            net: crate::seq![LazyLinear::new(2), Dropout::new(0.5)],
            layers: vec![Box::new(Linear::new(2, 2))],
            pair: (Some(Linear::new(1, 1)), [first.clone()]),
            norm: BatchNorm1d::new(2),
            first,
            mode: Mode::new(),
            name: "tied",
            notes: [1, 2].into(),
        };
        model.eval();
        model.norm.forward(&zeros((2, 2)));
        model
    }

    #[test]
    fn a_copy_shares_nothing_with_the_model_and_keeps_its_ties() {
        let model = tied();
        let copy = model.replicate(&CPU);
        let names = |m: &Tied| state_of(m).into_iter().map(|e| e.name).collect::<Vec<_>>();
        assert_eq!(names(&copy), names(&model));
        assert!(!copy.mode.is_training() && copy.name == "tied" && copy.notes == [1, 2]);

        copy.first.set(&zeros(2));
        let elements = |p: &Parameter| p.tensor().to_vec1::<f32>();
        assert_eq!(
            elements(&copy.pair.1[0]),
            [0.0, 0.0],
            "tied in the copy as well"
        );
        assert_eq!(elements(&model.first), [1.0, 1.0]);

        copy.net.forward(&ones((1, 3)));
        assert!(!model.parameter("net.0.weight").is_initialized());
    }

    #[test]
    fn to_device_moves_every_part_of_a_model() {
        let Ok(gpu) = crate::device::gpu(0) else {
            println!("skipped: there is no GPU");
            return;
        };
        let mut model = tied();
        let x = ones((1, 2));
        model.to_device(&gpu);
        for entry in state_of(&model)
            .iter()
            .filter(|e| e.parameter.is_initialized())
        {
            assert!(entry.parameter.device().same_device(&gpu), "{}", entry.name);
        }
        let message = message_of(|| model.norm.forward(&x));
        assert!(message.contains("but its input is on cpu\n"), "{message}");
        let (y_hat, y) = (zeros((1, 2)).to_device(&gpu), tensor(&[0]));
        let message = message_of(|| cross_entropy(&y_hat, &y));
        assert!(message.contains("but targets are on cpu\n"), "{message}");
    }
}
