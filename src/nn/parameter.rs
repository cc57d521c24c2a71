//! A tensor that training changes.

mod frozen;
mod low_rank;
mod quantized;
mod substitute;

use crate::error::{Error, OrRaise, Result, explain};
use crate::nn::spec::Spec;
use crate::notebook::Show;
use crate::ops::Quantized;
use crate::tensor::{Raw, Tensor, copied, mark_changed, moved, recorded, with_device};
use candle_core::{DType, Device, Shape, Var};
use std::fmt;
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
}

/// The change `scale · b · a` of a matrix.
#[derive(Clone)]
pub(in crate::nn) struct LowRank {
    /// `(rank, in_features)`.
    pub(in crate::nn) a: Parameter,
    /// `(out_features, rank)`.
    pub(in crate::nn) b: Parameter,
    pub(in crate::nn) scale: f64,
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
        if let Some(values) = self.substitute() {
            return values;
        }
        if self.quantized().is_some() {
            return self.base_values().or_raise().into();
        }
        let var = self.var();
        match self.is_frozen() {
            true => var.as_detached_tensor().into(),
            false => recorded(var),
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
    /// optimizer.backward_step(loss.as_candle())?;
    /// # Ok::<(), Error>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn var(&self) -> Var {
        self.try_var().or_raise()
    }

    /// Returns the variable as [`var`](Self::var) does, or an error if there are no values yet.
    pub(crate) fn try_var(&self) -> Result<Var> {
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
    pub(crate) fn try_set(&self, values: &Tensor) -> Result<()> {
        if let Some(spec) = self.spec()
            && spec.refusal(values).is_some()
        {
            return Err(explain(
                format!("a parameter of {spec} cannot hold {}", Spec::of(values)),
                "Pass values of the parameter's shape and type: reshape(…), to_dtype(…)",
            ));
        }
        let values = values.raw();
        self.fill(values.device(), |device| Ok(moved(values, device)?))?;
        let var = self.try_var()?;
        // Candle refuses values that share memory with the variable, so they are copied first.
        var.set(&moved(values, var.device())?.force_contiguous()?)?;
        self.mark_changed(&var);
        Ok(())
    }

    /// Notes that the values have been changed in place.
    pub(crate) fn mark_changed(&self, var: &Var) {
        mark_changed(var, self.shared.path.get().cloned());
    }

    /// Notes the path in a model; the first one counts.
    pub(super) fn set_path(&self, path: &str) {
        self.shared.path.get_or_init(|| path.into());
    }

    /// Returns the shape of the values.
    ///
    /// # Panics
    /// If the parameter is lazy and has no values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Linear::new(4, 2).parameter("weight").shape().dims(), [2, 4]);
    /// ```
    #[inline]
    #[track_caller]
    pub fn shape(&self) -> Shape {
        match self.quantized() {
            Some(values) => values.dims().as_slice().into(),
            None => self.var().shape().clone(),
        }
    }

    /// Returns the device of the values.
    ///
    /// # Panics
    /// If the parameter is lazy and has no values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Linear::new(4, 2).parameter("weight").device().label(), "cpu");
    /// ```
    #[inline]
    #[track_caller]
    pub fn device(&self) -> Device {
        match self.quantized() {
            Some(_) => Device::Cpu,
            None => self.var().device().clone(),
        }
    }

    /// Returns the device of the values, or the one on which they will be created.
    pub(crate) fn planned_device(&self) -> Option<Device> {
        match &*self.read() {
            State::Lazy { device, .. } => device.clone(),
            State::Ready(var) => Some(var.device().clone()),
            State::Quantized(_) => Some(Device::Cpu),
        }
    }

    /// Returns the type of the values.
    ///
    /// # Panics
    /// If the parameter is lazy and has no values yet.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Linear::new(4, 2).parameter("weight").dtype(), DType::F32);
    /// ```
    #[inline]
    #[track_caller]
    pub fn dtype(&self) -> DType {
        match self.quantized() {
            Some(_) => DType::F32,
            None => self.var().dtype(),
        }
    }

    /// Moves the values, or sets the device on which they will be created.
    pub(crate) fn move_to(&self, device: &Device) -> Result<()> {
        for part in self.low_rank().iter().flat_map(LowRank::parts) {
            part.move_to(device)?;
        }
        let mut state = self.write();
        match &mut *state {
            State::Lazy { device: wanted, .. } => *wanted = Some(device.clone()),
            State::Ready(var) if var.device().same_device(device) => {}
            State::Quantized(_) if device.is_cpu() => {}
            State::Quantized(_) => return Err(is_quantized()),
            State::Ready(var) => *var = variable(&moved(var, device)?)?,
        }
        Ok(())
    }

    /// Returns a parameter on the device that shares nothing with this one.
    pub(crate) fn copy_to(&self, device: &Device) -> Result<Self> {
        let copy = match &*self.read() {
            State::Ready(var) => Self::of_var(variable(&copied(var, device)?)?),
            State::Lazy { spec, .. } => Self::waiting(Some(device.clone()), spec.clone()),
            State::Quantized(_) if !device.is_cpu() => return Err(is_quantized()),
            State::Quantized(values) => Self::from_state(State::Quantized(values.clone())),
        };
        copy.set_frozen(self.is_frozen());
        if let Some(LowRank { a, b, scale }) = self.low_rank() {
            let (a, b) = (a.copy_to(device)?, b.copy_to(device)?);
            copy.set_low_rank(Some(LowRank { a, b, scale }));
        }
        Ok(copy)
    }

    /// Returns a parameter of its own that waits for the first input as this one does; `None` if this one has values.
    pub(super) fn waiting_copy(&self) -> Option<Self> {
        match &*self.read() {
            State::Ready(_) | State::Quantized(_) => None,
            State::Lazy { device, spec } => Some(Self::waiting(device.clone(), spec.clone())),
        }
    }

    /// Returns an identifier that the clones of this parameter share with it.
    pub(crate) fn address(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// Returns the size of a dimension; `None` if there is no such dimension, or its size depends on
    /// the first input.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let weight = LazyLinear::new(2).parameter("weight"); // (2, in_features)
    /// assert_eq!((weight.size(0), weight.size(1)), (Some(2), None));
    /// ```
    pub fn size(&self, dim: usize) -> Option<usize> {
        self.spec()?.size(dim)
    }

    /// Returns the shape and type of the values, as far as they are known; `None` if nothing is known.
    pub(crate) fn spec(&self) -> Option<Spec> {
        match &*self.read() {
            State::Ready(var) => Some(Spec::of(Tensor::from_raw_ref(var))),
            State::Quantized(values) => Some(Spec::f32(&values.dims().map(Some))),
            State::Lazy { spec, .. } => spec.clone(),
        }
    }

    /// Creates a parameter from the variable that one of Candle's layers holds.
    pub(crate) fn of_var(var: Var) -> Self {
        Self::from_state(State::Ready(var))
    }

    /// Returns whether both are the same parameter, and not two with equal values.
    pub(crate) fn is_same(&self, other: &Parameter) -> bool {
        let ids = || Some(self.try_var().ok()?.id() == other.try_var().ok()?.id());
        Arc::ptr_eq(&self.shared, &other.shared) || ids() == Some(true)
    }

    /// Converts floating-point values to another type, or sets the type that they will have.
    pub(crate) fn convert(&self, dtype: DType) -> Result<()> {
        for part in self.low_rank().iter().flat_map(LowRank::parts) {
            part.convert(dtype)?;
        }
        let mut state = self.write();
        match &mut *state {
            State::Ready(var) if var.dtype().is_float() => {
                *var = variable(&var.to_dtype(dtype)?)?;
            }
            State::Lazy {
                spec: Some(spec), ..
            } if spec.dtype().is_float() => *spec = spec.with_dtype(dtype),
            _ => {}
        }
        Ok(())
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
    Ok(Var::from_tensor(&values.detach())?)
}

fn is_quantized() -> Error {
    explain(
        "this parameter has been quantized, so it is constant",
        "Load and train the model before quantize(…), or train adapters: lora(…)",
    )
}

fn not_initialized() -> Error {
    explain(
        "this parameter has no values yet: its shape depends on the first input",
        "Run the model once on a batch, model.forward(&x), then try again",
    )
}

impl fmt::Debug for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show_text())
    }
}

impl Show for Parameter {
    fn show_text(&self) -> String {
        match self.is_initialized() {
            true => format!("Parameter containing:\n{}", self.tensor().show_text()),
            false => "Parameter without values yet".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
