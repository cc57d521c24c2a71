//! What is known of a parameter's values.

use super::{Parameter, State};
use crate::nn::spec::Spec;
use crate::notebook::{Show, debug_as_shown};
use crate::tensor::Raw;
use candle_core::{DType, Device, Shape};
use std::sync::Arc;

impl Parameter {
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
    #[doc(hidden)]
    pub fn planned_device(&self) -> Option<Device> {
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

    /// Returns an identifier that the clones of this parameter share with it.
    #[doc(hidden)]
    pub fn address(&self) -> usize {
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
    #[doc(hidden)]
    pub fn spec(&self) -> Option<Spec> {
        match &*self.read() {
            State::Ready(var) => Some(Spec::of(&Raw::constant(var).into())),
            State::Quantized(values) => Some(Spec::f32(&values.dims().map(Some))),
            State::Lazy { spec, .. } => spec.clone(),
        }
    }

    /// Returns whether both are the same parameter, and not two with equal values.
    #[doc(hidden)]
    pub fn is_same(&self, other: &Parameter) -> bool {
        let ids = || Some(self.try_var().ok()?.id() == other.try_var().ok()?.id());
        Arc::ptr_eq(&self.shared, &other.shared) || ids() == Some(true)
    }
}

debug_as_shown!(Parameter);

impl Show for Parameter {
    fn show_text(&self) -> String {
        match self.is_initialized() {
            true => format!("Parameter containing:\n{}", self.tensor().show_text()),
            false => "Parameter without values yet".to_owned(),
        }
    }
}
