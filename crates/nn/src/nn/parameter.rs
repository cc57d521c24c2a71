//! A tensor that training changes.

mod frozen;
mod low_rank;
mod properties;
mod quantized;
mod transfer;

use crate::error::{Error, OrRaise, Result, problem, refuse};
use crate::nn::spec::Spec;
use crate::ops::Quantized;
use crate::ops::tape::Version;
use crate::tensor::{Raw, Tensor, is_grad_enabled, moved, substitute, with_device};
use candle_core::{Device, Var};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// A tensor that training changes, such as the weight or the bias of a layer.
///
/// A clone is the same parameter, not a copy of it. An optimiser can therefore hold the parameters of
/// a model and still has the right ones after the model has moved to another device.
///
/// A parameter may be [`lazy`](Parameter::lazy): its shape is known after the first input. Until then,
/// the methods that return its tensor, shape, device or type panic.
///
/// ```
/// use taper::prelude::*;
///
/// let w = Parameter::new(&tensor(&[2.0, 3.0])); // (2,)
/// let loss = w.tensor().sqr().sum_all();
/// let gradient = loss.backward().remove(&w.tensor()).unwrap(); // 2 w
/// assert_eq!(gradient.to_vec1::<f32>(), [4.0, 6.0]);
/// ```
#[derive(Clone)]
pub struct Parameter {
    shared: Arc<Shared>,
}

/// The state that all clones of a parameter share.
struct Shared {
    state: RwLock<State>,
    frozen: AtomicBool,
    low_rank: RwLock<Option<LowRank>>,
    /// The path in a model, for messages.
    path: OnceLock<Arc<str>>,
    version: Arc<Version>,
}

/// The change `scale · b · a` of a matrix.
#[derive(Clone)]
pub(crate) struct LowRank {
    /// `(rank, in_features)`.
    pub(crate) a: Parameter,
    /// `(out_features, rank)`.
    pub(crate) b: Parameter,
    pub(crate) scale: f64,
}

enum State {
    /// A lazy parameter without values yet. They will be created on `device`, or on the device of the
    /// first input if that is `None`. `spec` is what the layer already knows of their shape and type.
    Lazy {
        device: Option<Device>,
        spec: Option<Spec>,
    },
    /// A parameter with values.
    Ready(Var),
    /// A matrix of a few bits for each element.
    Quantized(Arc<Quantized>),
}

impl Parameter {
    /// Creates a parameter with a copy of these values, on their device.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let bias = Parameter::new(&zeros(3)); // (3,)
    /// assert_eq!(bias.shape().dims(), [3]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn new(values: &Tensor) -> Self {
        Self::of_var(variable(values.raw()).or_raise())
    }

    /// Creates a parameter without values. A layer sets them at its first input, which determines the
    /// shape, with [`init`](Parameter::init).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let weight = Parameter::lazy();
    /// assert!(!weight.is_initialized());
    /// assert!(attempt(|| weight.shape()).is_err());
    /// ```
    pub fn lazy() -> Self {
        Self::waiting(None, None)
    }

    /// Creates a lazy parameter whose values will have this spec.
    pub(super) fn lazy_as(spec: Spec) -> Self {
        Self::waiting(None, Some(spec))
    }

    /// Returns whether the parameter has values.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert!(Parameter::new(&zeros(3)).is_initialized());
    /// ```
    pub fn is_initialized(&self) -> bool {
        !matches!(*self.read(), State::Lazy { .. })
    }

    /// Sets the values of a lazy parameter; does nothing if it has values.
    ///
    /// They are created on the device that `to_device` has set before, or else on `default`, the device of the
    /// input: during the call of `values` it is the default device.
    ///
    /// # Panics
    /// Those of `values`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let weight = Parameter::lazy();
    /// weight.init(&cpu(), || ones((1, 4))); // (1, 4)
    /// assert_eq!(weight.shape().dims(), [1, 4]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn init(&self, default: &Device, values: impl FnOnce() -> Tensor) {
        let mut values = Some(values);
        self.initialise(default, &mut || values.take().map(|values| values()));
    }

    #[track_caller]
    fn initialise(&self, default: &Device, values: &mut dyn FnMut() -> Option<Tensor>) {
        let values = |device: &Device| {
            let values = with_device(device, &mut *values);
            Ok(values.expect("called once").into())
        };
        self.fill(default, values).or_raise();
    }

    fn fill(&self, default: &Device, values: impl FnOnce(&Device) -> Result<Raw>) -> Result<()> {
        let mut state = self.write();
        if let State::Lazy { device, spec } = &*state {
            let mut values = values(device.as_ref().unwrap_or(default))?;
            if let Some(spec) = spec {
                values = values.to_dtype(spec.dtype())?;
            }
            *state = State::Ready(variable(&values)?);
        }
        Ok(())
    }

    /// Returns the values as a tensor to compute with; gradients flow back to it outside of `no_grad`,
    /// unless the parameter is [frozen](crate::nn::ParametersExt::freeze).
    ///
    /// # Panics
    /// If the parameter is lazy and has no values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(4, 2);
    /// let weight = net.parameter("weight").tensor(); // (2, 4)
    /// assert_eq!(weight.dims(), [2, 4]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn tensor(&self) -> Tensor {
        self.changed()
    }

    #[track_caller]
    fn changed(&self) -> Tensor {
        match self.low_rank() {
            None => self.base(),
            Some(low_rank) => self.base() + low_rank.matrix(),
        }
    }

    /// Returns the values without the [change](LowRank) that is trained in their place.
    #[track_caller]
    fn base(&self) -> Tensor {
        if let Some(values) = substitute(self.address()) {
            return values;
        }
        if self.quantized().is_some() {
            return self.base_values().or_raise().into();
        }
        let var = self.var();
        match self.is_frozen() || !is_grad_enabled() {
            true => var.as_detached_tensor().into(),
            false => Raw::leaf(&var, self.shared.version.clone()).into(),
        }
    }

    /// Returns the Candle variable that holds the values, for Candle's own optimisers. After the model
    /// has moved to another device, it is another variable.
    ///
    /// # Panics
    /// If the parameter is lazy and has no values yet.
    ///
    /// ```
    /// use taper::candle_nn::{Optimizer, SGD};
    /// use taper::prelude::*;
    ///
    /// let net = Linear::new(4, 1);
    /// let vars = net.parameters().iter().map(Parameter::var).collect();
    /// let mut optimizer = SGD::new(vars, 0.1)?;
    /// let loss = net.forward(&ones((8, 4))).sqr().mean_all();
    /// optimizer.step(&loss.backward().into())?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn var(&self) -> Var {
        self.try_var().or_raise()
    }

    /// Returns the variable as [`var`](Self::var) does, or an error if there are no values yet.
    #[doc(hidden)]
    pub fn try_var(&self) -> Result<Var> {
        match &*self.read() {
            State::Ready(var) => Ok(var.clone()),
            State::Lazy { .. } => Err(not_initialized()),
            State::Quantized(_) => Err(is_quantized()),
        }
    }

    /// Replaces the values in place, on the parameter's own device, or sets those of a lazy parameter.
    ///
    /// # Panics
    /// If `values` has another shape or type than the parameter has, or than the layer expects of a lazy
    /// one.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let bias = Parameter::new(&zeros(2));
    /// bias.set(&tensor(&[1.0, 2.0]));
    /// assert_eq!(bias.tensor().to_vec1::<f32>(), [1.0, 2.0]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn set(&self, values: &Tensor) {
        self.try_set(values).or_raise();
    }

    /// Replaces the values as [`set`](Self::set) does.
    #[doc(hidden)]
    pub fn try_set(&self, values: &Tensor) -> Result<()> {
        if let Some(spec) = self.spec()
            && spec.refusal(values).is_some()
        {
            refuse!(
                ("a parameter of {spec} cannot hold {}", Spec::of(values));
                "Pass values of the parameter's shape and type: reshape(…), to_dtype(…)");
        }
        let values = values.raw();
        self.fill(values.device(), |device| Ok(moved(values, device)?))?;
        let var = self.try_var()?;
        // Candle refuses values that share memory with the variable, so they are copied first.
        var.set(moved(values, var.device())?.force_contiguous()?.values())?;
        self.mark_changed();
        Ok(())
    }

    /// Notes that the values have been changed in place.
    pub(crate) fn mark_changed(&self) {
        self.shared.version.change(self.shared.path.get());
    }

    /// Notes the path in a model; the first one counts.
    pub(super) fn set_path(&self, path: &str) {
        self.shared.path.get_or_init(|| path.into());
    }

    /// Creates a parameter from the variable that one of Candle's layers holds.
    pub(crate) fn of_var(var: Var) -> Self {
        Self::from_state(State::Ready(var))
    }

    fn waiting(device: Option<Device>, spec: Option<Spec>) -> Self {
        Self::from_state(State::Lazy { device, spec })
    }

    fn from_state(state: State) -> Self {
        let shared = Shared {
            state: RwLock::new(state),
            frozen: AtomicBool::new(false),
            low_rank: RwLock::new(None),
            path: OnceLock::new(),
            version: Arc::default(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.shared
            .state
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.shared
            .state
            .write()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns a variable with memory of its own, even if the values are a variable themselves.
fn variable(values: &Raw) -> Result<Var> {
    Ok(Var::from_tensor(values.values())?)
}

fn is_quantized() -> Error {
    problem!(
        "this parameter has been quantized, so it is constant";
        "Load and train the model before quantize(…), or train adapters: lora(…)")
}

fn not_initialized() -> Error {
    problem!(
        "this parameter has no values yet: its shape depends on the first input";
        "Run the model once on a batch, model.forward(&x), then try again")
}

#[cfg(test)]
mod tests;
