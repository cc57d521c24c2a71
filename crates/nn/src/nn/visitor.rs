//! The traits of the visitors that a model passes its fields to.

use crate::error::Result;
use crate::nn::{Buffer, Mode, Parameter};
use crate::tensor::Candle;
use std::fmt;

/// Receives the fields of a model, in order, from [`Parameters::visit`](crate::nn::Parameters::visit).
///
/// Each method does nothing by default, so a visitor implements only those that it needs.
///
/// ```
/// use taper::nn::Visitor;
/// use taper::prelude::*;
///
/// #[derive(Default)]
/// struct Largest(usize);
///
/// impl Visitor for Largest {
///     fn parameter(&mut self, parameter: &Parameter) {
///         if parameter.is_initialized() {
///             self.0 = self.0.max(parameter.shape().elem_count());
///         }
///     }
/// }
///
/// let mut largest = Largest::default();
/// seq![Linear::new(4, 8), ReLU, Linear::new(8, 1)].visit(&mut largest);
/// assert_eq!(largest.0, 32);
/// ```
pub trait Visitor {
    /// Receives the name of the model's type, before its fields. A wrapper's name comes before that of
    /// the model inside.
    fn model(&mut self, _name: &str) {}

    /// Receives the name of a collection, before its items.
    fn collection(&mut self, _name: &str) {}

    /// Receives the settings that describe the model in place of its plain fields: `settings` visits
    /// them as fields.
    fn settings(&mut self, _settings: &dyn Fn(&mut dyn Visitor)) {}

    /// Starts a field.
    fn enter(&mut self, _name: &str) {}

    /// Ends the field that was started last.
    fn leave(&mut self) {}

    /// Receives a parameter.
    fn parameter(&mut self, _parameter: &Parameter) {}

    /// Receives a buffer.
    fn buffer(&mut self, _buffer: &Buffer) {}

    /// Receives the switch between training and evaluation.
    fn mode(&mut self, _mode: &Mode) {}

    /// Receives plain data, such as a learning rate.
    fn value(&mut self, _value: &dyn fmt::Debug) {}
}

/// Receives the tensors of a model, in order, from
/// [`Parameters::visit_mut`](crate::nn::Parameters::visit_mut), and may replace them.
pub trait VisitorMut {
    /// Receives a parameter, or the one inside a buffer.
    ///
    /// # Errors
    /// Any error ends the walk.
    fn parameter(&mut self, parameter: &mut Parameter) -> Result<()>;

    /// Receives a tensor of one of Candle's layers, and returns the tensor to put in its place.
    ///
    /// # Errors
    /// Any error ends the walk.
    fn tensor(&mut self, tensor: &Candle) -> Result<Candle>;
}
