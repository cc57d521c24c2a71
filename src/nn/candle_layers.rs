//! Candle's own layers as parts of a model.
//!
//! Their weights are found if they are variables, as those from a `VarMap` are. Weights that Candle
//! loaded as constants are left alone.

use crate::nn::{Copier, Parameter, Parameters, Replicate, StateEntry};
use crate::tensor::TensorExt;
use candle_core::{Device, Result, Tensor, Var};

/// Lists the tensor if it can be trained.
fn add(tensor: Option<&Tensor>, path: &str, name: &str, found: &mut Vec<StateEntry>) {
    let Some(tensor) = tensor.filter(|t| t.is_variable()) else {
        return;
    };
    if let Ok(var) = Var::from_tensor(tensor) {
        let path = match path {
            "" => name.to_owned(),
            _ => format!("{path}.{name}"),
        };
        Parameter::of_var(var).add_to(&path, true, found);
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

/// `weights` names each tensor of a layer; `rebuild` makes the layer of copies of them.
macro_rules! candle_layer {
    ($layer:ty, $text:literal, |$this:ident| [$($name:literal: $tensor:expr),*], |$copy:ident| $rebuild:expr) => {
        impl Parameters for $layer {
            fn describe(&self) -> String {
                $text.to_owned()
            }

            fn collect_state(&self, path: &str, found: &mut Vec<StateEntry>) {
                let $this = self;
                $(add($tensor, path, $name, found);)*
            }

            fn place(&mut self, device: &Device) -> Result<()> {
                let $this = &*self;
                let there = [$($tensor),*].into_iter().flatten().all(|t| t.device().same_device(device));
                if !there {
                    *self = self.replicate_with(&mut Copier::new(device))?;
                }
                Ok(())
            }
        }

        impl Replicate for $layer {
            fn replicate_with(&self, copier: &mut Copier) -> Result<Self> {
                let $this = self;
                let $copy = |tensor: &Tensor| copied(tensor, copier.device());
                Ok($rebuild)
            }
        }
    };
}

candle_layer!(
    candle_nn::Linear, "candle_nn::Linear()",
    |this| ["weight": Some(this.weight()), "bias": this.bias()],
    |copy| Self::new(copy(this.weight())?, this.bias().map(copy).transpose()?)
);

candle_layer!(
    candle_nn::Conv2d, "candle_nn::Conv2d()",
    |this| ["weight": Some(this.weight()), "bias": this.bias()],
    |copy| Self::new(copy(this.weight())?, this.bias().map(copy).transpose()?, *this.config())
);

candle_layer!(
    candle_nn::Conv1d, "candle_nn::Conv1d()",
    |this| ["weight": Some(this.weight()), "bias": this.bias()],
    |copy| Self::new(copy(this.weight())?, this.bias().map(copy).transpose()?, *this.config())
);

candle_layer!(
    candle_nn::Embedding, "candle_nn::Embedding()",
    |this| ["weight": Some(this.embeddings())],
    |copy| Self::new(copy(this.embeddings())?, this.hidden_size())
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
        first: candle_nn::Linear,
        last: crate::nn::Linear,
    }

    #[test]
    fn a_layer_of_candle_trains_moves_and_is_copied_inside_a_model() {
        let cpu = Device::Cpu;
        let vars = VarMap::new();
        let builder = VarBuilder::from_varmap(&vars, DType::F32, &cpu);
        let mut model = Mixed {
            first: candle_nn::linear(3, 2, builder).unwrap(),
            last: crate::nn::Linear::new(2, 1).unwrap(),
        };
        model.to_device(&cpu).unwrap();
        let names: Vec<String> = model.named_parameters().into_iter().map(|p| p.0).collect();
        assert_eq!(
            names,
            ["first.weight", "first.bias", "last.weight", "last.bias"]
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
