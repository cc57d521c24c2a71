//! The trait of all models: a walk through their fields.

use crate::error::{OrRaise, Result};
use crate::nn::parameter::LowRank;
use crate::nn::visitor::{Visitor, VisitorMut};
use crate::nn::{Mode, Parameter, describe, placement};
use candle_core::{DType, Device};

/// A model, a layer, or a part of one: anything whose parameters can be found.
///
/// Derive it for a struct, and its fields are visited in order. A field may be a
/// [`Parameter`], a [`Mode`], another model, a `Vec`, `Option`, `Box`, array or
/// tuple of these, or plain data such as `f64` or `String`, which has no parameters. Mark a field of
/// any other type with `#[parameters(skip)]`, a plain tensor for instance: it is then neither moved
/// nor trained nor shown.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Regression { net: Linear, scale: Parameter, lr: f64 }
///
/// let mut model = Regression {
///     net: Linear::new(3, 1),
///     scale: Parameter::new(&ones(1)),
///     lr: 0.1,
/// };
/// let names: Vec<String> = model.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["net.weight", "net.bias", "scale"]);
/// assert_eq!(model.num_parameters(), 5);
/// model.to_device(&try_gpu(0));
/// ```
///
/// Below a cell and in `{:?}`, a derived model is displayed as the text of
/// [`describe`](Parameters::describe).
#[diagnostic::on_unimplemented(
    message = "Taper does not know how to find parameters in `{Self}`",
    label = "has no `Parameters`",
    note = "write `#[derive(Parameters)]` above it if it is a part of the model",
    note = "write `#[parameters(skip)]` above a field that training should leave alone"
)]
pub trait Parameters {
    /// Passes every field to the visitor, in order. The derive implements this.
    ///
    /// [`Visitor`] has an example.
    fn visit(&self, visitor: &mut dyn Visitor);

    /// Lets the visitor replace every tensor, in order. The derive implements this.
    ///
    /// # Errors
    /// The visitor's first one, which ends the walk.
    fn visit_mut(&mut self, visitor: &mut dyn VisitorMut) -> Result<()>;

    /// Returns a model with the same parameters, not copies of them. The derive implements this;
    /// [`replicate`](crate::nn::ParametersExt::replicate) then replaces the parameters.
    #[doc(hidden)]
    fn shallow_copy(&self) -> Self
    where
        Self: Sized;

    /// Returns the model as PyTorch prints it: its settings, which are the fields of plain types, and
    /// its parts, indented. Plain data on its own has an empty description.
    ///
    /// `#[describe(…)]` above a struct lists other settings: `name = expression`, or an expression
    /// alone. A setting that is `None` is left out.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// #[derive(Parameters)]
    /// struct Classifier { net: Sequential, lr: f64 }
    ///
    /// let model = Classifier { net: seq![Flatten, LazyLinear::new(10)], lr: 0.1 };
    /// assert_eq!(model.describe(), "\
    /// Classifier(
    ///   lr=0.1
    ///   (net): Sequential(
    ///     (0): Flatten(start_dim=1, end_dim=-1)
    ///     (1): LazyLinear(out_features=10, bias=true)
    ///   )
    /// )");
    ///
    /// #[derive(Parameters)]
    /// #[describe(classes = self.weight.size(0))]
    /// struct Scores { weight: Parameter, temperature: f64 }
    ///
    /// let weight = Parameter::new(&zeros((10, 4))); // (10, 4)
    /// let scores = Scores { weight, temperature: 1.0 };
    /// assert_eq!(format!("{scores:?}"), "Scores(classes=10)");
    /// ```
    fn describe(&self) -> String {
        describe::text(&|visitor| self.visit(visitor))
    }

    /// Moves every parameter and buffer to a device, in place. Lazy ones will be created there.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let device = try_gpu(0);
    /// let mut net = seq![LazyLinear::new(1)];
    /// net.to_device(&device);
    /// let y = net.forward(&ones((2, 3)).to_device(&device)); // (2, 1), on that device
    /// ```
    // This method is not in `ParametersExt`, which every type implements: there it would hide the method
    // of the tensor in an `Arc`.
    #[track_caller]
    fn to_device(&mut self, device: &Device) {
        placement::move_to(device, &mut |visitor| self.visit_mut(visitor)).or_raise();
    }

    /// Converts every parameter and buffer of a floating-point type to another one, in place: `f64` for more
    /// precision, `bf16` or `f16` for half the memory. Lazy ones will be created in that type.
    ///
    /// Call it before you create the optimiser: the optimiser's state has the type of the parameters.
    ///
    /// # Panics
    /// If `dtype` is not `f32`, `f64`, `bf16` or `f16`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let mut net = seq![Linear::new(3, 2), LazyBatchNorm1d::new()];
    /// net.to_dtype(DType::F64);
    /// let y = net.forward(&ones((4, 3)).to_dtype(DType::F64)); // (4, 2)
    /// assert_eq!(y.dtype(), DType::F64);
    /// assert!(attempt(|| net.to_dtype(DType::I64)).is_err());
    /// ```
    #[track_caller]
    fn to_dtype(&mut self, dtype: DType) {
        placement::convert(dtype, &mut |visitor| self.visit_mut(visitor)).or_raise();
    }

    /// Switches every [`Mode`] in the model.
    #[doc(hidden)]
    fn set_training(&self, training: bool) {
        set_training(&|visitor| self.visit(visitor), training);
    }

    /// Freezes every [`Parameter`] and every [`Mode`] in the model, or lets them change again.
    #[doc(hidden)]
    fn set_frozen(&self, frozen: bool) {
        set_frozen(&|visitor| self.visit(visitor), frozen);
    }
}

/// Visits one field of a model.
#[doc(hidden)]
pub fn visit_field(visitor: &mut dyn Visitor, name: &str, field: &dyn Parameters) {
    visitor.enter(name);
    field.visit(visitor);
    visitor.leave();
}

/// Implements `Debug` and `Show`, which print the description, for a layer that does not derive them.
macro_rules! print_as_described {
    ($($layer:ty),* $(,)?) => {$(
        impl std::fmt::Debug for $layer {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::nn::Parameters::describe(self))
            }
        }

        impl $crate::notebook::Show for $layer {
            fn show_text(&self) -> String {
                $crate::nn::Parameters::describe(self)
            }
        }
    )*};
}
pub(super) use print_as_described;

// A cell compiles the methods of the trait for each model, so these functions do the work.

fn set_training(visit: &dyn Fn(&mut dyn Visitor), training: bool) {
    visit(&mut EachMode(&mut |mode| mode.set_training(training)));
}

fn set_frozen(visit: &dyn Fn(&mut dyn Visitor), frozen: bool) {
    visit(&mut SetFrozen(frozen));
}

/// Passes each mode of a model to the function.
pub(super) struct EachMode<'a>(pub(super) &'a mut dyn FnMut(&Mode));

impl Visitor for EachMode<'_> {
    fn mode(&mut self, mode: &Mode) {
        (self.0)(mode);
    }
}

struct SetFrozen(bool);

impl Visitor for SetFrozen {
    fn parameter(&mut self, parameter: &Parameter) {
        parameter.set_frozen(self.0);
        for part in parameter.low_rank().iter().flat_map(LowRank::parts) {
            part.set_frozen(self.0);
        }
    }

    fn mode(&mut self, mode: &Mode) {
        mode.set_frozen(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Problem, attempt};
    use crate::nn::tests::message_of;
    use crate::nn::{BatchNorm1d, Layer, Linear, Mode, ParametersExt, ReLU, Sequential};
    use crate::notebook::Show;
    use crate::tensor::{Tensor, zeros};
    use taper_macros::Parameters;

    #[derive(Parameters)]
    struct Block {
        linear: Linear,
        mode: Mode,
    }

    #[derive(Parameters)]
    struct Tuple(Parameter, f64);

    #[derive(Parameters)]
    struct Model<P> {
        blocks: Vec<Block>,
        pair: (Option<Linear>, [Parameter; 2]),
        none: Option<Linear>,
        tuple: Box<Tuple>,
        part: P,
        r#type: String,
        #[parameters(skip)]
        steps: std::cell::Cell<usize>,
    }

    fn parameter() -> Parameter {
        Parameter::new(&zeros(1))
    }

    fn block() -> Block {
        Block {
            linear: Linear::new(2, 1),
            mode: Mode::new(),
        }
    }

    fn model() -> Model<Parameter> {
        let part = parameter();
        Model {
            blocks: vec![block(), block()],
            pair: (Some(Linear::new(1, 1)), [parameter(), part.clone()]),
            none: None,
            tuple: Box::new(Tuple(parameter(), 1.5)),
            part,
            r#type: "toy".to_owned(),
            steps: std::cell::Cell::new(0),
        }
    }

    #[test]
    fn every_parameter_is_found_once_under_its_dotted_name() {
        let model = model();
        let named = model.named_parameters();
        let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "blocks.0.linear.weight",
                "blocks.0.linear.bias",
                "blocks.1.linear.weight",
                "blocks.1.linear.bias",
                "pair.0.weight",
                "pair.0.bias",
                "pair.1.0",
                "pair.1.1",
                "tuple.0",
            ]
        );
        assert_eq!(model.num_parameters(), 2 * 3 + 2 + 3);
        assert!(model.steps.get() == 0 && model.r#type == "toy" && model.tuple.1 == 1.5);
    }

    #[test]
    fn the_mode_reaches_every_part() {
        let mut model = model();
        model.eval();
        assert!(model.blocks.iter().all(|b| !b.mode.is_training()));
        model.train();
        assert!(model.blocks.iter().all(|b| b.mode.is_training()));
    }

    #[test]
    fn a_frozen_part_keeps_values_and_statistics_until_it_is_unfrozen() {
        let cpu = Device::Cpu;
        let mut net = crate::seq![BatchNorm1d::new(2), Linear::new(2, 1)];
        let x = crate::tensor::tensor(&[[1.0, 2.0], [3.0, 5.0]]);
        let mean = |net: &Sequential| net.state_dict()[2].1.to_vec1::<f32>();
        let trained = |net: &Sequential| -> Vec<bool> {
            let gradients = net.forward(&x).sum_all().backward();
            let parameters = net.parameters().into_iter();
            parameters
                .map(|p| gradients.get(&Tensor::from(&p.var())).is_some())
                .collect()
        };
        net[0].freeze();
        net.train();
        assert_eq!(trained(&net), [false, false, true, true]);
        assert_eq!(mean(&net), [0.0, 0.0]);
        let copy = net.replicate(&cpu);
        assert_eq!(trained(&copy), [false, false, true, true]);
        net.unfreeze();
        net.train();
        assert_eq!(trained(&net), [true; 4]);
        assert_ne!(mean(&net), [0.0, 0.0]);
        assert_eq!(mean(&copy), [0.0, 0.0]);
    }

    #[test]
    fn a_model_shows_its_parts() {
        assert_eq!(
            model().show_text(),
            r#"Model(
  type="toy"
  (blocks): Vec(
    (0): Block(
      (linear): Linear(in_features=2, out_features=1, bias=true)
    )
    (1): Block(
      (linear): Linear(in_features=2, out_features=1, bias=true)
    )
  )
  (pair): Tuple(
    (0): Linear(in_features=1, out_features=1, bias=true)
  )
  (tuple): Tuple(1.5)
)"#
        );
        assert_eq!(vec![1.0, 2.0].describe(), "");
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
        let error = attempt(|| block().parameter("weight")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "there is no parameter named \"weight\"\nChoose one of: linear.weight, linear.bias"
        );
        let problem = &crate::error::of(&error).unwrap().problem;
        assert!(matches!(problem, Problem::Name { kind, .. } if kind == "parameter"));
        let message = message_of(|| ReLU.parameter("x"));
        assert!(message.ends_with("There is no parameter at all"));
    }
}
