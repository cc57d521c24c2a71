//! Descriptions of variables, for `:vars` in a cell and for the panel of variables.

use crate::device::DeviceExt;
use crate::error::attempt;
use crate::nn::{Parameters, ParametersExt};
use crate::notebook::{MimeBundle, Show, Table};
use crate::tensor::{Raw, Tensor};
use candle_core::{DType, Var};
use std::collections::{BTreeMap, HashMap};
use std::fmt::{self, Debug, Write};

/// The largest number of characters in the description of a value.
const VALUE: usize = 60;
/// The largest number of elements of a tensor in its description.
const ELEMENTS: usize = 6;

/// Describes a variable, whatever its type.
#[doc(hidden)]
#[macro_export]
macro_rules! describe {
    ($variable:expr) => {{
        #[allow(unused_imports)]
        use $crate::inspect::{
            ViaBoth as _, ViaContent as _, ViaDebug as _, ViaNothing as _, ViaParameters as _,
            ViaShow as _,
        };
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
    /// The value, in one short line.
    pub value: String,
}

/// A variable, for [`describe!`](crate::describe). The traits below are tried in their order.
pub struct Variable<'a, T: ?Sized>(pub &'a T);

pub trait ViaContent {
    fn description(&self) -> Description;
}

impl<T: Content + ?Sized> ViaContent for &&&&&Variable<'_, T> {
    fn description(&self) -> Description {
        self.0.content()
    }
}

/// For models with `Debug`. Plain data is included: it implements [`Parameters`], but has none.
pub trait ViaBoth {
    fn description(&self) -> Description;
}

impl<T: Parameters + Debug> ViaBoth for &&&&Variable<'_, T> {
    fn description(&self) -> Description {
        match self.0.parameters().is_empty() {
            true => plain(self.0, short(self.0)),
            false => model(self.0),
        }
    }
}

pub trait ViaParameters {
    fn description(&self) -> Description;
}

impl<T: Parameters> ViaParameters for &&&Variable<'_, T> {
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
        ..Description::default()
    }
}

pub trait ViaDebug {
    fn description(&self) -> Description;
}

impl<T: Debug + ?Sized> ViaDebug for &&Variable<'_, T> {
    fn description(&self) -> Description {
        plain(self.0, short(self.0))
    }
}

pub trait ViaShow {
    fn description(&self) -> Description;
}

impl<T: Show + ?Sized> ViaShow for &Variable<'_, T> {
    fn description(&self) -> Description {
        plain(self.0, one_line(&self.0.show_text()))
    }
}

pub trait ViaNothing {
    fn description(&self) -> Description;
}

impl<T: ?Sized> ViaNothing for Variable<'_, T> {
    fn description(&self) -> Description {
        Description::default()
    }
}

fn plain<T: ?Sized>(value: &T, text: String) -> Description {
    Description {
        size: size_of_val(value),
        value: text,
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
            value: format!("{} {}", self.dtype().as_str(), first_elements(self)),
        }
    }
}

impl Content for Raw {
    fn content(&self) -> Description {
        Tensor::from_raw_ref(self).content()
    }
}

impl Content for Var {
    fn content(&self) -> Description {
        Tensor::from_raw_ref(self).content()
    }
}

impl Content for str {
    fn content(&self) -> Description {
        list(self.chars().count(), self.len(), short(self))
    }
}

impl Content for String {
    fn content(&self) -> Description {
        self.as_str().content()
    }
}

impl<T: Debug> Content for [T] {
    fn content(&self) -> Description {
        list(self.len(), size_of_val(self), short(self))
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
        list(self.len(), self.len() * size_of::<(K, V)>(), short(self))
    }
}

impl<K: Debug, V: Debug> Content for BTreeMap<K, V> {
    fn content(&self) -> Description {
        list(self.len(), self.len() * size_of::<(K, V)>(), short(self))
    }
}

fn list(length: usize, size: usize, value: String) -> Description {
    Description {
        shape: shape_of(&[length]),
        device: String::new(),
        size,
        value,
    }
}

fn bytes_of(tensor: &Tensor) -> usize {
    tensor.elem_count() * tensor.dtype().size_in_bytes()
}

/// Formats a size in bytes, as `24 B` or `1.5 MiB`.
fn bytes(size: usize) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    match units.into_iter().find(|(shift, _)| size >> shift > 0) {
        Some((shift, unit)) => format!("{:.1} {unit}", size as f64 / (1_u64 << shift) as f64),
        None => format!("{size} B"),
    }
}

/// Formats a shape, as `(2, 3)`, `(3,)` or `()`.
fn shape_of(dims: &[usize]) -> String {
    match dims {
        [one] => format!("({one},)"),
        dims => {
            let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
            format!("({})", dims.join(", "))
        }
    }
}

/// Returns the first elements of a tensor; no others are copied from its device.
fn first_elements(tensor: &Tensor) -> String {
    let count = tensor.elem_count().min(ELEMENTS);
    let values = attempt(|| {
        let mut first = tensor.clone();
        while first.rank() > 1 {
            // Only the first rows are joined, because joining may copy them.
            let rows = first.dims()[0].min(ELEMENTS);
            first = first.narrow(0, 0, rows).flatten(0, 1);
        }
        let first = first.flatten_all().narrow(0, 0, count);
        first.to_dtype(DType::F64).to_vec::<f64>()
    });
    let values: Vec<String> = values.unwrap_or_default().iter().map(element).collect();
    let more = if tensor.elem_count() > count {
        ", …"
    } else {
        ""
    };
    match tensor.rank() {
        0 => values.concat(),
        _ => format!("[{}{more}]", values.join(", ")),
    }
}

/// Formats an element with at most four decimals.
fn element(value: &f64) -> String {
    let text = format!("{value:.4}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Returns the beginning of a value's `{:?}`, and formats no more than that.
fn short(value: &(impl Debug + ?Sized)) -> String {
    struct Room(String);

    impl Write for Room {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0.push_str(text);
            match self.0.len() > 4 * VALUE {
                true => Err(fmt::Error),
                false => Ok(()),
            }
        }
    }

    let mut room = Room(String::new());
    let _ = write!(room, "{value:?}");
    one_line(&room.0)
}

/// Joins the lines of a text and shortens it.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    match text.char_indices().nth(VALUE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
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

    /// Returns the shape and the value of each variable, as a JSON object.
    pub fn values(&self) -> String {
        let values = self.0.iter().map(|(name, _, description)| {
            let Description { shape, value, .. } = description;
            let text = [shape.as_str(), value].join(" ");
            (name.clone(), text.trim().into())
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
                value,
            } = description.clone();
            let size = bytes(size);
            let row = [name.clone(), kind.clone(), shape, device, size, value];
            table.push(row);
        }
        table.whole()
    }
}

impl Show for Variables {
    fn show_text(&self) -> String {
        self.table().text(&[4])
    }

    fn show_bundle(&self) -> MimeBundle {
        MimeBundle::text(self.show_text()).with("text/html", self.table().html())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prelude::{Linear, arange, full};

    #[test]
    fn each_kind_of_value_is_described() {
        let shown = |described: Description| (described.shape, described.value);
        let pair = |shape: &str, value: &str| (shape.to_owned(), value.to_owned());
        let x = arange(0.0, 12.0).reshape((2, 2, 3));
        assert_eq!(
            shown(crate::describe!(x)),
            pair("(2, 2, 3)", "f32 [0, 1, 2, 3, 4, 5, …]")
        );
        let x = full((), 2.5);
        assert_eq!(shown(crate::describe!(x)), pair("()", "f32 2.5"));
        assert_eq!(shown(crate::describe!(vec![1, 2])), pair("(2,)", "[1, 2]"));
        assert_eq!(shown(crate::describe!("é")), pair("(1,)", "\"é\""));
        assert_eq!(shown(crate::describe!(Some(1.5))), pair("", "Some(1.5)"));
        let layer = Linear::new(4, 8);
        assert_eq!(shown(crate::describe!(layer)), pair("", "40 parameters"));
        assert_eq!(shown(crate::describe!(|x: i32| x + 1)), pair("", ""));
        struct Hidden;
        assert_eq!(crate::describe!(Hidden), Description::default());
    }

    #[test]
    fn a_long_value_is_cut_before_it_is_formatted() {
        struct Endless;
        impl Debug for Endless {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                loop {
                    f.write_str("more\n ")?;
                }
            }
        }
        let value = crate::describe!(Endless).value;
        assert!(
            value.starts_with("more more") && value.ends_with('…'),
            "{value}"
        );
        assert_eq!(value.chars().count(), VALUE + 1);
    }

    #[test]
    fn the_table_has_a_row_for_each_variable() {
        let x = full((2, 3), 0.5);
        let table = Variables::default()
            .with("x", "Tensor", crate::describe!(x))
            .with("n", "i32", crate::describe!(7));
        assert_eq!(
            table.values(),
            r#"{"n":"7","x":"(2, 3) f32 [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]"}"#
        );
        let text = table.show_text();
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("variable  type    shape   device"),
            "{text}"
        );
        assert!(
            lines[1].ends_with("f32 [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]"),
            "{text}"
        );
        assert!(
            lines[2].contains("4 B") && lines[2].ends_with('7'),
            "{text}"
        );
    }
}
