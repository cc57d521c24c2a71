//! The methods of a model.

use crate::erased::Erased;
use crate::error::{self, OrRaise, Result, raise};
use crate::nn::{
    Init, Layer, LoadOptions, LoadReport, Parameter, Parameters, StateEntry, Summary, files,
    placement, state, state_of,
};
use crate::tensor::Tensor;
use candle_core::Device;
use std::collections::HashMap;
use std::path::Path;

/// A table of methods, each of which requires a model.
macro_rules! of_models {
    ($($(#[$meta:meta])* fn $name:ident($($argument:tt)*) $(-> $output:ty)? = $value:expr;)*) => {$(
        $(#[$meta])*
        fn $name($($argument)*) $(-> $output)?
        where
            Self: Parameters,
        {
            $value
        }
    )*};
}

/// The methods of every model: list, count, copy, save and load its parameters, and so on.
///
/// Every type implements this trait, and each method requires [`Parameters`]. So an editor that does not
/// expand the derive still finds the methods, and infers the type of
/// `let n = model.num_parameters();`.
pub trait ParametersExt {
    of_models! {
        /// Returns all parameters with PyTorch's dotted names, such as `"0.weight"`. A parameter that the
        /// model uses twice is listed once, under its first name.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let net = seq![Linear::new(4, 8), ReLU, Linear::new(8, 1)];
        /// for (name, parameter) in net.named_parameters() {
        ///     println!("{name}: {:?}", parameter.shape());
        /// }
        /// assert_eq!(net.named_parameters()[2].0, "2.weight");
        /// ```
        fn named_parameters(&self) -> Vec<(String, Parameter)> = trained(state_of(self));

        /// Returns all parameters, in the order of the fields.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Linear::new(4, 8).parameters().len(), 2);
        /// ```
        fn parameters(&self) -> Vec<Parameter> = parameters(state_of(self));

        /// Returns the parameter with this name.
        ///
        /// # Panics
        /// If there is none; the message lists the names.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let net = seq![Linear::new(4, 8), ReLU];
        /// assert_eq!(net.parameter("0.bias").shape().dims(), [8]);
        /// assert_eq!(net[0].parameter("bias").device().label(), "cpu");
        /// ```
        #[track_caller]
        fn parameter(&self, name: &str) -> Parameter = named(state_of(self), name);

        /// Returns the number of elements of all parameters. A lazy parameter without values counts as 0.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// assert_eq!(Linear::new(4, 8).num_parameters(), 4 * 8 + 8);
        /// ```
        fn num_parameters(&self) -> usize = state::count(&state_of(self));

        /// Switches the model to training mode, the mode of a new model.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut net = seq![Linear::new(4, 8)];
        /// net.eval(); // before measuring
        /// net.train(); // before training goes on
        /// ```
        fn train(&mut self) = self.set_training(true);

        /// Switches the model to evaluation mode: dropout keeps every element, batch normalisation uses its
        /// running statistics, and so on.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut net = seq![Linear::new(4, 8)];
        /// net.eval();
        /// ```
        fn eval(&mut self) = self.set_training(false);

        /// Freezes the model, or a part of it: its parameters get no gradients, so that no optimiser changes
        /// them, and it stays in evaluation mode also during training, so that batch normalisation keeps its
        /// running statistics and dropout does nothing.
        ///
        /// PyTorch's `requires_grad_(False)` leaves batch normalisation in training mode. Candle's own layers
        /// cannot be frozen; pass their optimiser the other parameters only.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut net = seq![Linear::new(4, 8), LazyBatchNorm1d::new(), Linear::new(8, 2)];
        /// net[0].freeze();
        /// net[1].freeze();
        /// let loss = net.forward(&ones((3, 4))).sqr().mean_all();
        /// let gradients = loss.backward();
        /// assert!(gradients.get(&net.parameter("0.weight").tensor()).is_none());
        /// SGD::new(net.parameters(), 0.1).step(&gradients); // changes the last layer only
        /// ```
        fn freeze(&mut self) = self.set_frozen(true);

        /// Undoes [`freeze`](Self::freeze): training changes the parameters again. The model returns to
        /// training mode at the next [`train`](Self::train), which a `Trainer` calls
        /// too.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut net = Linear::new(4, 8);
        /// net.freeze();
        /// net.unfreeze();
        /// assert!(!net.parameter("weight").is_frozen());
        /// ```
        fn unfreeze(&mut self) = self.set_frozen(false);

        /// Returns the values of all parameters and buffers by name, like PyTorch's `state_dict`. The
        /// tensors share the model's memory.
        ///
        /// # Panics
        /// If a lazy parameter has no values yet.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let norm = BatchNorm1d::new(3);
        /// let names: Vec<String> = norm.state_dict().into_iter().map(|(name, _)| name).collect();
        /// assert_eq!(names[..3], ["weight", "bias", "running_mean"]);
        /// ```
        #[track_caller]
        fn state_dict(&self) -> Vec<(String, Tensor)> = tensors(state_of(self)).or_raise();

        /// Sets the values of all parameters and buffers by name, like PyTorch's `load_state_dict`. Each stays on its
        /// device.
        ///
        /// # Errors
        /// If a name is missing or unknown, or a value has another shape or type. The model is then unchanged.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let (net, mut other) = (Linear::new(3, 2), Linear::new(3, 2));
        /// other.load_state_dict(&net.state_dict())?;
        /// let x = ones((1, 3));
        /// assert_eq!(other.forward(&x).to_vec2::<f32>(), net.forward(&x).to_vec2::<f32>());
        /// # Ok::<(), Error>(())
        /// ```
        fn load_state_dict(&mut self, state: &[(String, Tensor)]) -> Result<()> = set_all(state_of(self), state);

        /// Writes all parameters and buffers to a safetensors file, with PyTorch's names and layout.
        ///
        /// The file is written under another name and then renamed, so it is complete or not there.
        ///
        /// # Errors
        /// If a lazy parameter has no values yet, or the file cannot be written.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let path = std::env::temp_dir().join("taper_linear.safetensors");
        /// let net = Linear::new(3, 2);
        /// net.save_parameters(&path)?;
        /// let mut other = Linear::new(3, 2);
        /// other.load_parameters(&path, &try_gpu(0))?; // straight onto the device
        /// # std::fs::remove_file(path)?;
        /// # Ok::<(), Error>(())
        /// ```
        fn save_parameters(&self, path: impl AsRef<Path>) -> Result<()> = save(path.as_ref(), state_of(self));

        /// Loads all parameters and buffers from a safetensors file onto a device, and moves the model
        /// there. Lazy parameters get their shapes from the file.
        ///
        /// # Errors
        /// If the file is missing or damaged, or belongs to another model: the message names the tensors
        /// that are missing, unknown, or of another shape. The model is then unchanged.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut net = seq![LazyLinear::new(2)];
        /// assert!(net.load_parameters("missing.safetensors", &cpu()).is_err());
        /// ```
        fn load_parameters(&mut self, path: impl AsRef<Path>, device: &Device) -> Result<()> = {
            self.load_parameters_with(path, device, LoadOptions::new())?;
            Ok(())
        };

        /// Loads parameters and buffers as [`load_parameters`](Self::load_parameters) does, as far as the options
        /// allow, and returns what was loaded and what was not. [`LoadOptions`] has an example.
        ///
        /// # Errors
        /// If the file is missing or damaged, or does not match the model as far as the options require. The
        /// model is then unchanged.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let mut net = Linear::new(3, 2);
        /// let options = LoadOptions::new().partial();
        /// assert!(net.load_parameters_with("missing.safetensors", &cpu(), options).is_err());
        /// ```
        fn load_parameters_with(
            &mut self, path: impl AsRef<Path>, device: &Device, options: LoadOptions
        ) -> Result<LoadReport> = {
            let loaded = load(path.as_ref(), device, state_of(self), options)?;
            placement::move_to(device, &mut |visitor| self.visit_mut(visitor))?;
            assign(state_of(self), loaded)
        };

        /// Initialises every weight again: the parameters with two or more dimensions. Biases and the
        /// scales of normalisation layers stay.
        ///
        /// # Panics
        /// If a lazy parameter has no values yet.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let net = seq![Linear::new(4, 8), ReLU, Linear::new(8, 2)];
        /// net.init_weights(Init::XavierUniform);
        /// ```
        #[track_caller]
        fn init_weights(&self, init: Init) = initialise(state_of(self), init);

        /// Initialises every parameter whose name contains a text again, whatever its number of dimensions.
        ///
        /// # Panics
        /// If no name contains it; if a lazy parameter has no values yet; or if the rule needs two dimensions and a
        /// parameter has fewer.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let net = seq![Linear::new(4, 8), ReLU, Linear::new(8, 2)];
        /// net.init_named("0.weight", Init::Orthogonal(1.0));
        /// net.init_named("bias", Init::Constant(0.0));
        /// assert_eq!(net.parameter("2.bias").tensor().to_vec1::<f32>(), [0.0, 0.0]);
        /// ```
        #[track_caller]
        fn init_named(&self, part: &str, init: Init) = initialise_named(state_of(self), part, init);
    }

    /// Returns a copy of the model on a device, in memory of its own, even if the model is on that
    /// device already.
    ///
    /// Tied parameters are tied in the copy too; the copy and the model share nothing.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![Linear::new(4, 2), ReLU];
    /// let copy = net.replicate(&cpu());
    /// copy.parameter("0.bias").set(&zeros(2)); // the model keeps its own
    /// assert_eq!(copy.num_parameters(), net.num_parameters());
    /// ```
    #[track_caller]
    fn replicate(&self, device: &Device) -> Self
    where
        Self: Parameters + Sized,
    {
        let mut copy = self.shallow_copy();
        placement::copy_to(device, &mut |visitor| copy.visit_mut(visitor)).or_raise();
        copy
    }

    /// Returns a table of the layers that an input of this shape passes through, with the shape of each
    /// output and the number of parameters, like d2l's `layer_summary`. This initialises lazy layers.
    ///
    /// # Panics
    /// If a layer refuses the input.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![Flatten, LazyLinear::new(10)];
    /// assert_eq!(net.summary((1, 28, 28)).show_text(), "\
    /// layer    output shape  parameters
    /// Flatten  (1, 784)               0
    /// Linear   (1, 10)             7850
    /// total                        7850");
    /// ```
    #[track_caller]
    fn summary(&self, input_shape: impl Into<candle_core::Shape>) -> Summary
    where
        Self: Layer + Sized,
    {
        Summary::of(self, input_shape.into()).or_raise()
    }

    /// Returns the [`summary`](Self::summary) with what each layer takes: multiply-adds, milliseconds forward and
    /// backward (the shortest of several passes), and the memory that it leaves allocated until the backward pass. What a
    /// model's own `forward` computes counts for the layer that it calls next.
    ///
    /// The backward pass starts from the sum of the output; the model does not change. On a GPU there are no times of
    /// the backward pass, and memory is measured where the C library reports it.
    ///
    /// # Panics
    /// If a layer refuses the input.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = seq![Flatten, LazyLinear::new(10)];
    /// let summary = net.measured_summary((64, 28, 28));
    /// println!("{summary:?}");
    /// let header = summary.show_text().lines().next().unwrap().to_owned();
    /// assert!(header.contains("forward ms  back ms"), "{header}");
    /// ```
    #[track_caller]
    fn measured_summary(&self, input_shape: impl Into<candle_core::Shape>) -> Summary
    where
        Self: Layer + Sized,
    {
        Summary::measured(self, input_shape.into()).or_raise()
    }
}

impl<T: ?Sized> ParametersExt for T {}

// Each cell that calls a method compiles it for its model. So the methods only collect the state, and
// these functions, which are compiled once, do the work.

fn trained(state: Vec<StateEntry>) -> Vec<(String, Parameter)> {
    let trained = state.into_iter().filter(|entry| entry.trained);
    trained.map(|entry| (entry.name, entry.parameter)).collect()
}

fn parameters(state: Vec<StateEntry>) -> Vec<Parameter> {
    let trained = state.into_iter().filter(|entry| entry.trained);
    trained.map(|entry| entry.parameter).collect()
}

#[track_caller]
fn named(state: Vec<StateEntry>, name: &str) -> Parameter {
    let named = trained(state);
    match named.iter().find(|(n, _)| n == name) {
        Some((_, parameter)) => parameter.clone(),
        None => {
            let names = named.iter().map(|(name, _)| name);
            raise(error::name("parameter", name, names))
        }
    }
}

fn save(path: &Path, state: Vec<StateEntry>) -> Result<()> {
    files::save(path, &tensors(state)?)
}

/// The values of a file by the model's names, and what was loaded.
type Loaded = Erased<(HashMap<String, Tensor>, LoadReport)>;

fn load(
    path: &Path,
    device: &Device,
    state: Vec<StateEntry>,
    options: LoadOptions,
) -> Result<Loaded> {
    files::load_into(path, device, &state, options).map(Erased::new)
}

fn assign(state: Vec<StateEntry>, loaded: Loaded) -> Result<LoadReport> {
    let (values, report) = loaded.into_inner();
    files::assign(&state, &values)?;
    Ok(report)
}

fn set_all(model: Vec<StateEntry>, state: &[(String, Tensor)]) -> Result<()> {
    let values = state.iter().cloned().collect();
    files::check(Path::new("the state"), &model, &values)?;
    files::assign(&model, &values)
}

fn tensors(state: Vec<StateEntry>) -> Result<Vec<(String, Tensor)>> {
    let entries = state.into_iter();
    entries
        .map(|entry| {
            let values = entry.parameter.base_values()?;
            Ok((entry.name, values.into()))
        })
        .collect()
}

#[track_caller]
fn initialise(state: Vec<StateEntry>, init: Init) {
    for parameter in parameters(state) {
        let values = parameter.tensor();
        if values.rank() >= 2 {
            parameter.set(&init.tensor_like(&values));
        }
    }
}

#[track_caller]
fn initialise_named(state: Vec<StateEntry>, part: &str, init: Init) {
    let all = trained(state);
    let found: Vec<&Parameter> = { all.iter() }
        .filter(|(name, _)| name.contains(part))
        .map(|(_, parameter)| parameter)
        .collect();
    if found.is_empty() {
        let names = all.iter().map(|(name, _)| name);
        raise(error::name("parameter", part, names))
    }
    for parameter in found {
        parameter.set(&init.tensor_like(&parameter.tensor()));
    }
}
