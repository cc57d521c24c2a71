//! What every model can do with its parameters.

use crate::nn::{Copier, Parameter};
use candle_core::{Device, Result};

/// A model, a layer, or a part of one: anything whose parameters can be found.
///
/// Derive it for a struct, and its fields are walked in order. A field may be a [`Parameter`], a
/// [`Mode`](crate::nn::Mode), another model, a `Vec`, `Option`, `Box`, array or tuple of these, or
/// plain data such as `f64` or `String`, which has no parameters. Mark a field of any other type
/// with `#[parameters(skip)]`, a plain tensor for instance: it is then neither moved nor trained.
///
/// ```
/// use taper::prelude::*;
///
/// #[derive(Parameters)]
/// struct Regression { net: Linear, scale: Parameter, lr: f64 }
///
/// let mut model = Regression {
///     net: Linear::new(3, 1)?,
///     scale: Parameter::new(&ones(1, &cpu())?)?,
///     lr: 0.1,
/// };
/// let names: Vec<String> = model.named_parameters().into_iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["net.weight", "net.bias", "scale"]);
/// assert_eq!(model.num_parameters(), 5);
/// model.to_device(&try_gpu(0))?;
/// # Ok::<(), Error>(())
/// ```
///
/// A derived model also shows itself below a cell, as [`describe`](Parameters::describe) says.
#[diagnostic::on_unimplemented(
    message = "Taper does not know how to find parameters in `{Self}`",
    label = "has no `Parameters`",
    note = "write `#[derive(Parameters)]` above it if it is a part of the model",
    note = "write `#[parameters(skip)]` above a field that training should leave alone"
)]
pub trait Parameters {
    /// Every field with its name, in order; plain data has none. The derive writes this.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let layer = Linear::new(3, 1)?;
    /// let names: Vec<String> = layer.fields().into_iter().map(|(name, _)| name).collect();
    /// assert_eq!(names, ["weight", "bias"]);
    /// # Ok::<(), Error>(())
    /// ```
    fn fields(&self) -> Vec<(String, &dyn Parameters)> {
        Vec::new()
    }

    /// The model as PyTorch would print it, its parts indented; empty for what is no model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// #[derive(Parameters)]
    /// struct Classifier { net: Sequential }
    ///
    /// let model = Classifier { net: seq![Flatten, LazyLinear::new(10)] };
    /// assert_eq!(model.describe(), "\
    /// Classifier(
    ///   (net): Sequential(
    ///     (0): Flatten(start_dim=1, end_dim=-1)
    ///     (1): LazyLinear(out_features=10, bias=true)
    ///   )
    /// )");
    /// ```
    fn describe(&self) -> String {
        String::new()
    }

    /// Moves every parameter to a device, in place. Lazy ones will be made there.
    ///
    /// It stands here, and not on every type, because a `Var` is moved as the tensor that it is.
    ///
    /// # Errors
    /// If the device has not enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let device = try_gpu(0);
    /// let mut net = seq![LazyLinear::new(1)];
    /// net.to_device(&device)?;
    /// let y = net.forward(&ones((2, 3), &device)?)?; // (2, 1), on that device
    /// # Ok::<(), Error>(())
    /// ```
    fn to_device(&mut self, device: &Device) -> Result<()> {
        self.place(&mut Copier::new(device))
    }

    /// Adds every parameter and buffer below `path` to `found`. [`Parameter`] adds itself, all else
    /// its fields.
    #[doc(hidden)]
    fn collect_state(&self, path: &str, found: &mut Vec<StateEntry>) {
        collect(self.fields(), path, found);
    }

    /// Switches every [`Mode`](crate::nn::Mode) below.
    #[doc(hidden)]
    fn set_training(&self, training: bool) {
        set_all(self.fields(), training);
    }

    /// Moves all that is below to the copier's device, in place.
    #[doc(hidden)]
    fn place(&mut self, copier: &mut Copier) -> Result<()> {
        let mut found = Vec::new();
        self.collect_state("", &mut found);
        move_all(&found, copier.device())
    }
}

// What the methods above do for every model alike: they are compiled anew for each.

fn collect(fields: Vec<(String, &dyn Parameters)>, path: &str, found: &mut Vec<StateEntry>) {
    for (name, field) in fields {
        field.collect_state(&joined(path, &name), found);
    }
}

fn set_all(fields: Vec<(String, &dyn Parameters)>, training: bool) {
    for (_, field) in fields {
        field.set_training(training);
    }
}

fn move_all(state: &[StateEntry], device: &Device) -> Result<()> {
    let mut parameters = state.iter().map(|entry| &entry.parameter);
    parameters.try_for_each(|parameter| parameter.move_to(device))
}

/// One tensor of a model's state, with its dotted name.
#[doc(hidden)]
#[derive(Clone)]
pub struct StateEntry {
    pub name: String,
    pub parameter: Parameter,
    /// Whether training changes it by a gradient; a [`Buffer`](crate::nn::Buffer) is changed otherwise.
    pub trained: bool,
}

/// A model's name and those of its fields that have something to say, as PyTorch prints them.
pub fn describe_model(name: &str, fields: &[(String, &dyn Parameters)]) -> String {
    let parts: Vec<String> = fields
        .iter()
        .map(|(name, field)| (name, field.describe().replace('\n', "\n  ")))
        .filter(|(_, text)| !text.is_empty())
        .map(|(name, text)| format!("  ({name}): {text}\n"))
        .collect();
    match parts.is_empty() {
        true => format!("{name}()"),
        false => format!("{name}(\n{})", parts.concat()),
    }
}

fn joined(path: &str, name: &str) -> String {
    match path {
        "" => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Linear, Mode, ParametersExt, ReLU};
    use crate::notebook::Show;
    use crate::tensor::zeros;
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
        Parameter::new(&zeros(1, &Device::Cpu).unwrap()).unwrap()
    }

    fn block() -> Block {
        Block {
            linear: Linear::new(2, 1).unwrap(),
            mode: Mode::new(),
        }
    }

    fn model() -> Model<Parameter> {
        let part = parameter();
        Model {
            blocks: vec![block(), block()],
            pair: (
                Some(Linear::new(1, 1).unwrap()),
                [parameter(), part.clone()],
            ),
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
    fn a_model_shows_its_parts() {
        assert_eq!(
            model().show_text(),
            "Model(
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
  (tuple): Tuple()
)"
        );
        assert_eq!(vec![1.0, 2.0].describe(), "");
    }

    #[test]
    fn a_wrong_name_is_answered_with_the_right_ones() {
        let message = block().parameter("weight").err().unwrap().to_string();
        assert_eq!(
            message,
            "there is no parameter named \"weight\"\nChoose one of: linear.weight, linear.bias"
        );
        let message = ReLU.parameter("x").err().unwrap().to_string();
        assert!(message.ends_with("This model has no parameters"));
    }
}
