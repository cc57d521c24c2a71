//! Descriptions of variables, for `:vars` in a cell and for the panel of variables.

mod text;

use crate::device::DeviceExt;
use crate::nn::{Parameters, ParametersExt, state_of};
use crate::notebook::{Show, Table, show_as_table};
use crate::ops::tape::{Graph, graph_of};
use crate::tensor::{Candle, Raw, Tensor};
use candle_core::Var;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use text::{Written, bytes_of, first_elements, one_line, rows, shape_of, sizes, written};

/// Describes a variable, whatever its type.
#[doc(hidden)]
#[macro_export]
macro_rules! describe {
    ($variable:expr) => {{
        #[allow(unused_imports)]
        use $crate::inspect::Describe as _;
        (&&&&&&$crate::inspect::Variable(&$variable)).description()
    }};
}

/// The description of a variable. A text is empty where it does not apply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Description {
    /// The shape of a tensor, as in `(2, 3)`, or the length of a list.
    pub shape: String,
    pub device: String,
    /// The size in bytes, of the content where that is known.
    pub size: usize,
    /// What the graphs of its tensors hold in addition, until they are dropped.
    pub(crate) graph: Graph,
    /// The value, in one short line.
    pub value: String,
    /// The beginning of the value as `{:?}` writes it, from which the panel shows the parts of the value. It may be cut,
    /// and then ends with `…`.
    pub content: String,
}

/// A variable, for [`describe!`](crate::describe).
pub struct Variable<'a, T: ?Sized>(pub &'a T);

/// The compiler tries the implementations from the one with the most references to the one without, and takes the first
/// whose bounds the type meets.
pub trait Describe {
    fn description(&self) -> Description;
}

impl<T: Content + ?Sized> Describe for &&&&&Variable<'_, T> {
    fn description(&self) -> Description {
        self.0.content()
    }
}

/// For models with `Debug`. Plain data is included: it implements [`Parameters`], but has none.
impl<T: Parameters + Debug> Describe for &&&&Variable<'_, T> {
    fn description(&self) -> Description {
        match self.0.parameters().is_empty() {
            true => plain(self.0, written(self.0)),
            false => model(self.0),
        }
    }
}

impl<T: Parameters> Describe for &&&Variable<'_, T> {
    fn description(&self) -> Description {
        model(self.0)
    }
}

fn model<T: Parameters>(model: &T) -> Description {
    let parameters = model.parameters();
    let parameters = parameters.iter().filter(|p| p.is_initialized());
    let device = parameters.clone().next().map(|p| p.device());
    let tensors = parameters.map(|p| p.tensor());
    Description {
        device: device.map_or(String::new(), |device| device.label()),
        size: tensors.map(|tensor| bytes_of(&tensor)).sum(),
        value: format!("{} parameters", model.num_parameters()),
        content: tensors_of(model),
        ..Description::default()
    }
}

/// Returns the parameters and buffers of a model with their shapes, as `{:?}` writes a map.
fn tensors_of<T: Parameters>(model: &T) -> String {
    let state = state_of(model);
    let tensors = state.iter().map(|entry| {
        let tensor = entry
            .parameter
            .is_initialized()
            .then(|| entry.parameter.tensor());
        let kind = tensor.map_or("no shape yet".to_owned(), |tensor| {
            format!("{} {}", shape_of(tensor.dims()), tensor.dtype().as_str())
        });
        format!("{}: {kind}", entry.name)
    });
    format!("{{{}}}", tensors.collect::<Vec<_>>().join(", "))
}

impl<T: Debug + ?Sized> Describe for &&Variable<'_, T> {
    fn description(&self) -> Description {
        plain(self.0, written(self.0))
    }
}

impl<T: Show + ?Sized> Describe for &Variable<'_, T> {
    fn description(&self) -> Description {
        let value = one_line(&self.0.show_text());
        let (content, graph) = (String::new(), Graph::default());
        plain(
            self.0,
            Written {
                value,
                content,
                graph,
            },
        )
    }
}

impl<T: ?Sized> Describe for Variable<'_, T> {
    fn description(&self) -> Description {
        Description::default()
    }
}

fn plain<T: ?Sized>(value: &T, text: Written) -> Description {
    Description {
        size: size_of_val(value),
        graph: text.graph,
        value: text.value,
        content: text.content,
        ..Description::default()
    }
}

/// A tensor, text or collection, whose shape and content are described.
pub trait Content {
    fn content(&self) -> Description;
}

impl<T: Content + ?Sized> Content for &T {
    fn content(&self) -> Description {
        (**self).content()
    }
}

impl Content for Tensor {
    fn content(&self) -> Description {
        Description {
            shape: shape_of(self.dims()),
            device: self.device().label(),
            size: bytes_of(self),
            graph: graph_of(std::slice::from_ref(self.raw())),
            value: format!("{} {}", self.dtype().as_str(), first_elements(self)),
            content: rows(self),
        }
    }
}

impl Content for Candle {
    fn content(&self) -> Description {
        Tensor::from(Raw::constant(self)).content()
    }
}

impl Content for Var {
    fn content(&self) -> Description {
        self.as_tensor().content()
    }
}

impl Content for str {
    fn content(&self) -> Description {
        list(self.chars().count(), self.len(), written(self))
    }
}

impl Content for String {
    fn content(&self) -> Description {
        self.as_str().content()
    }
}

impl<T: Debug> Content for [T] {
    fn content(&self) -> Description {
        list(self.len(), size_of_val(self), written(self))
    }
}

impl<T: Debug> Content for Vec<T> {
    fn content(&self) -> Description {
        self.as_slice().content()
    }
}

impl<T: Debug, const N: usize> Content for [T; N] {
    fn content(&self) -> Description {
        self.as_slice().content()
    }
}

impl<K: Debug, V: Debug, S> Content for HashMap<K, V, S> {
    fn content(&self) -> Description {
        list(self.len(), self.len() * size_of::<(K, V)>(), written(self))
    }
}

impl<K: Debug, V: Debug> Content for BTreeMap<K, V> {
    fn content(&self) -> Description {
        list(self.len(), self.len() * size_of::<(K, V)>(), written(self))
    }
}

fn list(length: usize, size: usize, text: Written) -> Description {
    Description {
        shape: shape_of(&[length]),
        device: String::new(),
        size,
        graph: text.graph,
        value: text.value,
        content: text.content,
    }
}

/// The table that `:vars` shows.
#[derive(Default)]
pub struct Variables(Vec<(String, String, Description)>);

impl Variables {
    /// Adds a variable.
    pub fn with(mut self, name: &str, kind: &str, description: Description) -> Self {
        self.0.push((name.to_owned(), kind.to_owned(), description));
        self
    }

    /// Returns a JSON object with two texts for each variable: its shape, size, device and value in a line, and its
    /// content.
    pub fn values(&self) -> String {
        let values = self.0.iter().map(|(name, _, description)| {
            let Description {
                shape,
                value,
                device,
                size,
                graph,
                content,
            } = description;
            let size = match size {
                0 => String::new(),
                size => sizes(*size, graph),
            };
            // The panel cuts off the end.
            let parts = match shape.is_empty() && device.is_empty() {
                true => [value.as_str(), &size, "", ""],
                false => [shape.as_str(), &size, device, value],
            };
            let parts = parts.into_iter().filter(|part| !part.is_empty());
            let parts: Vec<&str> = parts.collect();
            (name.clone(), [parts.join(" · "), content.clone()].into())
        });
        serde_json::Value::Object(values.collect()).to_string()
    }

    fn table(&self) -> Table {
        let mut table = Table::new(["variable", "type", "shape", "device", "size", "value"]);
        for (name, kind, description) in &self.0 {
            let Description {
                shape,
                device,
                size,
                graph,
                value,
                ..
            } = description.clone();
            let size = sizes(size, &graph);
            let row = [name.clone(), kind.clone(), shape, device, size, value];
            table.push(row);
        }
        table.whole().right([4]).note(self.note())
    }
}

/// From this size on, graphs are worth a note: of a list of tensors, and of one tensor, in bytes.
const LARGE: [usize; 2] = [1 << 20, 1 << 26];

impl Variables {
    /// Returns a note about variables that keep large graphs.
    fn note(&self) -> Option<String> {
        let is_large = |graph: &Graph| graph.bytes >= LARGE[usize::from(graph.tensors < 2)];
        let names = { self.0.iter() }
            .filter(|(_, _, description)| is_large(&description.graph))
            .map(|(name, ..)| name.as_str());
        let names: Vec<&str> = names.collect();
        let keep = match names.len() {
            0 => return None,
            1 => "keeps",
            _ => "keep",
        };
        Some(format!(
            "{} {keep} graphs for backward(). Store values without them: loss.item() is a number, loss.detach() a tensor.",
            names.join(", ")
        ))
    }
}

show_as_table!(Variables);

#[cfg(test)]
mod graph_tests;
#[cfg(test)]
mod tests;
