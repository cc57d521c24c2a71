//! Candle's own layers as parts of a model.
//!
//! Their weights are found if they are variables, as those from a `VarMap` are. Weights that Candle
//! loaded as constants are left alone. Candle's `LayerNorm` cuts gradients off (its fast operation has
//! none), so that what lies before it does not learn; [`LayerNorm`](crate::nn::LayerNorm) is Taper's.

use crate::nn::{Copier, Parameter, Parameters, Replicate, StateEntry};
use crate::tensor::TensorExt;
use candle_core::{Device, Result, Tensor, Var};

/// Lists the tensor if it is a variable.
fn add(
    tensor: Option<&Tensor>,
    path: &str,
    name: &str,
    trained: bool,
    found: &mut Vec<StateEntry>,
) {
    let Some(tensor) = tensor.filter(|t| t.is_variable()) else {
        return;
    };
    if let Ok(var) = Var::from_tensor(tensor) {
        let path = match path {
            "" => name.to_owned(),
            _ => format!("{path}.{name}"),
        };
        Parameter::of_var(var).add_to(&path, trained, found);
    }
}

/// The tensor there, in its own memory, a variable if it was one.
fn copied(tensor: &Tensor, device: &Device) -> Result<Tensor> {
    let copy = tensor.detach().copy_to(device)?;
    match tensor.is_variable() {
        true => Ok(Var::from_tensor(&copy)?.as_tensor().clone()),
        false => Ok(copy),
    }
}

/// Names each tensor of a layer, those that are trained first; and says how the layer is made again
/// of copies of them.
macro_rules! candle_layer {
    (
        $layer:ident,
        |$this:ident| [$($name:literal: $tensor:expr),*],
        buffers [$($buffer:literal: $values:expr),*],
        |$copy:ident| $rebuild:expr
    ) => {
        impl Parameters for candle_nn::$layer {
            fn describe(&self) -> String {
                concat!("candle_nn::", stringify!($layer), "()").to_owned()
            }

            fn collect_state(&self, path: &str, found: &mut Vec<StateEntry>) {
                let $this = self;
                $(add($tensor, path, $name, true, found);)*
                $(add(Some($values), path, $buffer, false, found);)*
            }

            fn place(&mut self, device: &Device) -> Result<()> {
                let $this = &*self;
                let tensors = [$($tensor,)* $(Some($values)),*];
                let is_there = |t: &Tensor| t.device().same_device(device);
                if !tensors.into_iter().flatten().all(is_there) {
                    *self = self.replicate_with(&mut Copier::new(device))?;
                }
                Ok(())
            }
        }

        impl Replicate for candle_nn::$layer {
            fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
                let $this = self;
                let $copy = |tensor: &Tensor| copied(tensor, copier.device());
                Ok($rebuild)
            }
        }
    };
}

candle_layer!(
    Linear,
    |this| ["weight": Some(this.weight()), "bias": this.bias()],
    buffers [],
    |copy| Self::new(copy(this.weight())?, this.bias().map(copy).transpose()?)
);

candle_layer!(
    Conv1d,
    |this| ["weight": Some(this.weight()), "bias": this.bias()],
    buffers [],
    |copy| Self::new(copy(this.weight())?, this.bias().map(copy).transpose()?, *this.config())
);

candle_layer!(
    Conv2d,
    |this| ["weight": Some(this.weight()), "bias": this.bias()],
    buffers [],
    |copy| Self::new(copy(this.weight())?, this.bias().map(copy).transpose()?, *this.config())
);

candle_layer!(
    Embedding,
    |this| ["weight": Some(this.embeddings())],
    buffers [],
    |copy| Self::new(copy(this.embeddings())?, this.hidden_size())
);

candle_layer!(
    LayerNorm,
    |this| ["weight": Some(this.weight()), "bias": this.bias()],
    buffers [],
    |copy| match (this.bias(), this.remove_mean()) {
        (Some(bias), _) => Self::new(copy(this.weight())?, copy(bias)?, this.eps()),
        (None, true) => Self::new_no_bias(copy(this.weight())?, this.eps()),
        (None, false) => Self::rms_norm(copy(this.weight())?, this.eps()),
    }
);

candle_layer!(
    BatchNorm,
    |this| [
        "weight": this.weight_and_bias().map(|both| both.0),
        "bias": this.weight_and_bias().map(|both| both.1)
    ],
    buffers ["running_mean": this.running_mean(), "running_var": this.running_var()],
    |copy| {
        let (mean, var) = (copy(this.running_mean())?, copy(this.running_var())?);
        let (features, eps, momentum) = (mean.elem_count(), this.eps(), this.momentum());
        match this.weight_and_bias() {
            Some((weight, bias)) => {
                let (weight, bias) = (copy(weight)?, copy(bias)?);
                Self::new_with_momentum(features, mean, var, weight, bias, eps, momentum)?
            }
            None => Self::new_no_bias_with_momentum(features, mean, var, eps, momentum)?,
        }
    }
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::ParametersExt;
    use crate::tensor::ones;
    use candle_core::{DType, Module};
    use candle_nn::{VarBuilder, VarMap};

    #[derive(taper_macros::Parameters)]
    struct Mixed {
        norm: candle_nn::BatchNorm,
        first: candle_nn::Linear,
        last: crate::nn::Linear,
    }

    #[test]
    fn a_layer_of_candle_trains_moves_and_is_copied_inside_a_model() {
        let cpu = Device::Cpu;
        let vars = VarMap::new();
        let builder = VarBuilder::from_varmap(&vars, DType::F32, &cpu);
        let mut model = Mixed {
            norm: candle_nn::batch_norm(3, 1e-5, builder.pp("norm")).unwrap(),
            first: candle_nn::linear(3, 2, builder).unwrap(),
            last: crate::nn::Linear::new(2, 1).unwrap(),
        };
        model.to_device(&cpu).unwrap();
        let names: Vec<String> = model.named_parameters().into_iter().map(|p| p.0).collect();
        assert_eq!(
            names,
            [
                "norm.weight",
                "norm.bias",
                "first.weight",
                "first.bias",
                "last.weight",
                "last.bias"
            ]
        );

        assert_eq!(
            model.state_dict().unwrap().len(),
            8,
            "with the running values"
        );

        let copy = model.replicate(&cpu).unwrap();
        let x = ones((1, 3), &cpu).unwrap();
        let y = |m: &Mixed| m.first.forward(&x).unwrap().to_vec2::<f32>().unwrap();
        let before = y(&copy);
        assert_eq!(before, y(&model));
        let bias = model.parameter("first.bias").unwrap();
        bias.set(&ones(2, &cpu).unwrap()).unwrap();
        assert_ne!(y(&model), before, "the layer reads what was set");
        assert_eq!(y(&copy), before, "the copy has memory of its own");
    }
}
