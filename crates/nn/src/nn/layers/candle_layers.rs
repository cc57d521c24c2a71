//! Candle's own layers as parts of a model.
//!
//! Their weights are found if they are variables, as those from a `VarMap` are. Weights that Candle
//! loaded as constants are left alone. Candle's `LayerNorm` and `RmsNorm` have no gradient, so layers
//! before them do not learn; [`LayerNorm`](crate::nn::LayerNorm) is Taper's.
//!
//! They do not implement [`Layer`](crate::nn::Layer), because some of them need to be told whether the model
//! trains. [`seq!`](crate::seq) accepts them nevertheless: see [`IntoLayer`](crate::nn::IntoLayer).

use crate::nn::containers::parameters;
use crate::nn::{Buffer, Parameter, Visitor, visit_field};
use crate::tensor::Candle;
use candle_core::Var;

/// Visits a tensor if it is a variable: as a buffer, or else as a parameter.
fn visit_tensor(visitor: &mut dyn Visitor, name: &str, tensor: Option<&Candle>, is_buffer: bool) {
    let Some(tensor) = tensor.filter(|tensor| tensor.is_variable()) else {
        return;
    };
    let Ok(var) = Var::from_tensor(tensor) else {
        return;
    };
    match is_buffer {
        true => visit_field(visitor, name, &Buffer::of_var(var)),
        false => visit_field(visitor, name, &Parameter::of_var(var)),
    }
}

/// Implements [`Parameters`] for layers, from the names of their parameters and buffers, and an expression that builds such
/// a layer from other tensors.
macro_rules! candle_layers {
    ($([$($layer:ident)*] $tensors:tt)*) => {
        $($(candle_layers!(@one $layer $tensors);)*)*
    };
    (@one $layer:ident {
        |$this:ident| [$($name:literal: $tensor:expr),*],
        buffers [$($buffer:literal: $values:expr),*],
        |$replaced:ident| $rebuild:expr
    }) => {
        parameters! {
            [] candle_nn::$layer: |self, visitor|
                {
                    let $this = self;
                    visitor.model(concat!("candle_nn::", stringify!($layer)));
                    $(visit_tensor(visitor, $name, $tensor, false);)*
                    $(visit_tensor(visitor, $buffer, Some($values), true);)*
                },
                {
                    let $this = &*self;
                    let mut $replaced = |tensor: &Candle| visitor.tensor(tensor);
                    *self = $rebuild;
                    Ok(())
                },
                self.clone();
        }
    };
}

candle_layers! {
    [Linear] {
        |this| ["weight": Some(this.weight()), "bias": this.bias()],
        buffers [],
        |replaced| Self::new(replaced(this.weight())?, this.bias().map(replaced).transpose()?)
    }
    [Conv1d Conv2d ConvTranspose1d ConvTranspose2d] {
        |this| ["weight": Some(this.weight()), "bias": this.bias()],
        buffers [],
        |replaced| Self::new(
            replaced(this.weight())?,
            this.bias().map(replaced).transpose()?,
            *this.config(),
        )
    }
    [PReLU] {
        |this| ["weight": Some(this.weight())],
        buffers [],
        |replaced| Self::new(replaced(this.weight())?, this.is_scalar())
    }
    [RmsNorm] {
        |this| ["weight": Some(this.weight())],
        buffers [],
        |replaced| Self::new(replaced(this.weight())?, this.eps())
    }
    [Embedding] {
        |this| ["weight": Some(this.embeddings())],
        buffers [],
        |replaced| Self::new(replaced(this.embeddings())?, this.hidden_size())
    }
    [LayerNorm] {
        |this| ["weight": Some(this.weight()), "bias": this.bias()],
        buffers [],
        |replaced| match (this.bias(), this.remove_mean()) {
            (Some(bias), _) => Self::new(replaced(this.weight())?, replaced(bias)?, this.eps()),
            (None, true) => Self::new_no_bias(replaced(this.weight())?, this.eps()),
            (None, false) => Self::rms_norm(replaced(this.weight())?, this.eps()),
        }
    }
    [BatchNorm] {
        |this| [
            "weight": this.weight_and_bias().map(|both| both.0),
            "bias": this.weight_and_bias().map(|both| both.1)
        ],
        buffers ["running_mean": this.running_mean(), "running_var": this.running_var()],
        |replaced| {
            let (mean, var) = (replaced(this.running_mean())?, replaced(this.running_var())?);
            let (features, eps, momentum) = (mean.elem_count(), this.eps(), this.momentum());
            match this.weight_and_bias() {
                Some((weight, bias)) => {
                    let (weight, bias) = (replaced(weight)?, replaced(bias)?);
                    Self::new_with_momentum(features, mean, var, weight, bias, eps, momentum)?
                }
                None => Self::new_no_bias_with_momentum(features, mean, var, eps, momentum)?,
            }
        }
    }
}

parameters! {
    [] candle_nn::Activation: |self, visitor| visitor.model("candle_nn::Activation"), Ok(()), *self;
    [] candle_nn::Dropout: |self, visitor| visitor.model("candle_nn::Dropout"), Ok(()), self.clone();
}

#[cfg(test)]
mod tests {
    use crate::error::Result;
    use crate::nn::Parameters;
    use crate::nn::ParametersExt;
    use crate::tensor::ones;
    use candle_core::{DType, Device};
    use candle_nn::{VarBuilder, VarMap};

    #[derive(taper_macros::Parameters)]
    struct Mixed {
        norm: candle_nn::BatchNorm,
        first: candle_nn::Linear,
        last: crate::nn::Linear,
    }

    #[derive(taper_macros::Parameters)]
    struct Tied {
        first: candle_nn::Linear,
        again: candle_nn::Linear,
        last: candle_nn::Embedding,
    }

    fn tied() -> Tied {
        let vars = VarMap::new();
        let builder = VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu);
        let first = candle_nn::linear(3, 2, builder).unwrap();
        Tied {
            again: first.clone(),
            last: candle_nn::Embedding::new(first.weight().clone(), 3),
            first,
        }
    }

    #[test]
    fn tied_weights_are_tied_in_a_copy() {
        let (cpu, model) = (Device::Cpu, tied());
        let names =
            |m: &Tied| -> Vec<String> { m.named_parameters().into_iter().map(|p| p.0).collect() };
        assert_eq!(names(&model), ["first.weight", "first.bias"]);
        let copy = model.replicate(&cpu);
        assert_eq!(names(&copy), names(&model));
        let weight = copy.parameter("first.weight");
        weight.set(&ones((2, 3)));
        for tied in [copy.again.weight(), copy.last.embeddings()] {
            assert_eq!(tied.to_vec2::<f32>().unwrap(), [[1.0; 3]; 2]);
        }
        assert_ne!(
            model.first.weight().to_vec2::<f32>().unwrap(),
            [[1.0; 3]; 2]
        );
    }

    #[test]
    fn tied_weights_are_tied_on_another_device() {
        let Ok(gpu) = crate::device::gpu(0) else {
            println!("skipped: there is no GPU");
            return;
        };
        let mut model = tied();
        model.to_device(&gpu);
        assert_eq!(model.named_parameters().len(), 2);
    }

    #[derive(taper_macros::Parameters)]
    struct Others {
        up: candle_nn::ConvTranspose2d,
        up_1d: candle_nn::ConvTranspose1d,
        slope: candle_nn::PReLU,
        rms: candle_nn::RmsNorm,
        activation: candle_nn::Activation,
        dropout: candle_nn::Dropout,
    }

    #[test]
    fn less_common_candle_layers_have_parameters() -> Result<()> {
        let vars = VarMap::new();
        let builder = VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu);
        let model = Others {
            up: candle_nn::conv_transpose2d(3, 2, 4, Default::default(), builder.pp("a"))?,
            up_1d: candle_nn::conv_transpose1d(3, 2, 4, Default::default(), builder.pp("b"))?,
            slope: candle_nn::prelu(None, builder.pp("c"))?,
            rms: candle_nn::rms_norm(3, 1e-5, builder.pp("d"))?,
            activation: candle_nn::Activation::Relu,
            dropout: candle_nn::Dropout::new(0.5),
        };
        let sizes = [3 * 2 * 16 + 2, 3 * 2 * 4 + 2, 1, 3];
        assert_eq!(model.num_parameters(), sizes.iter().sum::<usize>());
        let copy = model.replicate(&Device::Cpu);
        assert_eq!(copy.num_parameters(), model.num_parameters());
        assert!(copy.slope.is_scalar() && copy.rms.eps() == 1e-5);
        let x = ones((1, 3, 2, 2));
        let y = |m: &Others| x.apply(&m.up).to_vec::<f32>();
        assert_eq!(y(&copy), y(&model));
        Ok(())
    }

    #[test]
    fn a_batch_norm_without_a_count_of_batches_loads_a_file_with_one() -> Result<()> {
        let name = format!("taper_candle_norm_{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let vars = VarMap::new();
        let builder = VarBuilder::from_varmap(&vars, DType::F32, &Device::Cpu);
        let mut norm = (candle_nn::batch_norm(3, 1e-5, builder)?, 0);
        let counted = (crate::nn::BatchNorm1d::new(3), 0);
        counted.parameter("0.bias").set(&ones(3));
        counted.save_parameters(&path)?;
        norm.load_parameters(&path, &Device::Cpu)?;
        let bias = norm.parameter("0.bias").tensor().to_vec1::<f32>();
        assert_eq!(bias, [1.0; 3]);
        std::fs::remove_file(path)?;
        Ok(())
    }

    #[test]
    fn a_candle_layer_in_a_model_trains_moves_and_is_copied() {
        let cpu = Device::Cpu;
        let vars = VarMap::new();
        let builder = VarBuilder::from_varmap(&vars, DType::F32, &cpu);
        let mut model = Mixed {
            norm: candle_nn::batch_norm(3, 1e-5, builder.pp("norm")).unwrap(),
            first: candle_nn::linear(3, 2, builder).unwrap(),
            last: crate::nn::Linear::new(2, 1),
        };
        model.to_device(&cpu);
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

        assert_eq!(model.state_dict().len(), 8, "with the running values");

        let copy = model.replicate(&cpu);
        let x = ones((1, 3));
        let y = |m: &Mixed| x.apply(&m.first).to_vec2::<f32>();
        let before = y(&copy);
        assert_eq!(before, y(&model));
        let bias = model.parameter("first.bias");
        bias.set(&ones(2));
        assert_ne!(y(&model), before, "the layer reads what was set");
        assert_eq!(y(&copy), before, "the copy has memory of its own");
    }
}
