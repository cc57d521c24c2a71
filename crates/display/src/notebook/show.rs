//! [`Show`]: how a value is shown below its cell.
//!
//! A notebook shows the value of a cell's last expression by calling `evcxr_display` on it. [`Show`]
//! provides that method for tensors, devices, models, primitive values, and for references, tuples,
//! lists, options and maps of them. A type without it is shown with `{:?}`.

mod containers;
mod devices;
mod json;
mod table;
mod tensor;

pub use table::{Table, show_as_table};

use crate::notebook::{MimeBundle, display};
use candle_core::{DType, Shape};
use std::time::Duration;

/// Prints values of these types with `{:?}` as a cell shows them.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as_shown {
    ($($type:ty),*) => {$(
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&$crate::notebook::Show::show_text(self))
            }
        }
    )*};
}
pub use crate::debug_as_shown;

/// A value that a cell can show.
///
/// Implement [`show_text`](Show::show_text) for your own type, and it is shown that way on its own, in
/// tuples and in lists.
///
/// ```
/// use taper::prelude::*;
///
/// struct Celsius(f64);
///
/// impl Show for Celsius {
///     fn show_text(&self) -> String {
///         format!("{} °C", self.0)
///     }
/// }
///
/// assert_eq!((Celsius(21.5), true).show_text(), "(21.5 °C, true)");
/// ```
pub trait Show {
    /// Returns the value as text.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = tensor(&[1.0, 2.5]);
    /// assert_eq!(x.show_text(), "[1.0000, 2.5000]\nTensor[[2], f32, cpu]");
    /// assert_eq!((cpu(), [1, 2]).show_text(), "(cpu, [1, 2])");
    /// ```
    fn show_text(&self) -> String;

    /// Returns the value in all its representations. The default is text alone.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(cpu().show_bundle().get("text/plain"), Some("cpu"));
    /// ```
    fn show_bundle(&self) -> MimeBundle {
        MimeBundle::plain(self.show_text())
    }

    /// Shows the value as the result of its cell. Notebooks call this.
    #[doc(hidden)]
    fn evcxr_display(&self) {
        display::owned_result(self.show_bundle());
    }
}

impl Show for DType {
    fn show_text(&self) -> String {
        self.as_str().to_owned()
    }
}

impl Show for Shape {
    fn show_text(&self) -> String {
        format!("{:?}", self.dims())
    }
}

/// Shows the representations of the bundle.
impl Show for MimeBundle {
    fn show_text(&self) -> String {
        self.get("text/plain").unwrap_or_default().to_owned()
    }

    fn show_bundle(&self) -> MimeBundle {
        self.clone()
    }
}

/// Shows nothing: the cell has no value.
impl Show for () {
    fn show_text(&self) -> String {
        "()".to_owned()
    }

    fn evcxr_display(&self) {}
}

macro_rules! show_as_rust_prints {
    ($($plain:ty),* $(,)?) => {$(
        impl Show for $plain {
            fn show_text(&self) -> String {
                format!("{self:?}")
            }
        }
    )*};
}

show_as_rust_prints!(
    bool, char, str, String, Duration, f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64,
    u128, usize,
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::zeros;

    #[test]
    fn primitive_values_are_shown_as_rust_formats_them() {
        assert_eq!(1.0.show_text(), "1.0");
        assert_eq!((1 + 1).show_text(), "2");
        assert_eq!("a \"b\"".show_text(), r#""a \"b\"""#);
        assert_eq!('x'.show_text(), "'x'");
        assert_eq!(Duration::from_millis(1500).show_text(), "1.5s");
        assert_eq!(DType::F32.show_text(), "f32");
        assert_eq!(Shape::from((2, 3)).show_text(), "[2, 3]");
    }

    /// Calls the method as a notebook does. All of these must compile.
    #[test]
    #[allow(
        clippy::unit_arg,
        clippy::needless_borrow,
        clippy::unnecessary_mut_passed
    )]
    fn the_call_of_a_notebook_compiles_for_values_and_references() {
        let x = zeros(2);
        let mut name = String::from("n");
        (x).evcxr_display();
        (&x).evcxr_display();
        (&&x).evcxr_display();
        (x.dims()).evcxr_display();
        (x.device()).evcxr_display();
        (&mut name).evcxr_display();
        ("text").evcxr_display();
        (1).evcxr_display();
        (drop(name)).evcxr_display();
        (Some(&x)).evcxr_display();
        (vec![&x, &x]).evcxr_display();
        (x.to_vec1::<f32>()).evcxr_display();
    }
}
