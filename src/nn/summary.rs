//! The table of a model's layers.

mod recorder;

pub(super) use recorder::{
    Recording, is_recording, keep_rest, output_of, seen, trial, wants_rest, watched,
};

use crate::erased::outlined;
use crate::error::Result;
use crate::nn::{Layer, state, state_of};
use crate::notebook::Show;
use candle_core::Shape;
use recorder::Row;
use std::fmt;

/// The layers that an input passes through, with the shape of each output and the number of parameters.
///
/// [`summary`](crate::nn::ParametersExt::summary) returns it. It is displayed as a table.
#[derive(PartialEq)]
pub struct Summary {
    rows: Vec<Row>,
    total: usize,
}

outlined!(Clone for Summary { rows, total });

impl Summary {
    pub(super) fn of(model: &dyn Layer, input: Shape) -> Result<Self> {
        let Recording {
            output, mut rows, ..
        } = trial(model, &input);
        let output = output?;
        if rows.is_empty() {
            rows.push(Row::of(model, &output));
        }
        let total = state::count(&state_of(model));
        Ok(Self { rows, total })
    }

    /// Returns the number of parameters of the whole model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Linear::new(3, 2).summary((1, 3)).num_parameters(), 8);
    /// ```
    pub fn num_parameters(&self) -> usize {
        self.total
    }

    /// Returns the number of layers in the table.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(seq![Linear::new(3, 2), ReLU].summary((1, 3)).num_layers(), 2);
    /// ```
    pub fn num_layers(&self) -> usize {
        self.rows.len()
    }
}

impl Show for Summary {
    fn show_text(&self) -> String {
        // Readers look for one layer of a deep network, so no rows are left out.
        let mut table =
            crate::notebook::Table::new(["layer", "output shape", "parameters"]).whole();
        for row in &self.rows {
            let dims: Vec<String> = row.output.iter().map(usize::to_string).collect();
            let shape = format!("({})", dims.join(", "));
            table.push([row.layer.clone(), shape, row.parameters.to_string()]);
        }
        table.push(["total".to_owned(), String::new(), self.total.to_string()]);
        table.text(&[2])
    }
}

impl fmt::Debug for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show_text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::tests::message_of;
    use crate::nn::{
        BatchNorm1d, Embedding, Flatten, Linear, Parameter, ParametersExt, ReLU, Sequential,
    };
    use crate::tensor::{Tensor, zeros};
    use candle_core::DType;
    use std::panic::AssertUnwindSafe;

    #[derive(taper_macros::Parameters)]
    struct Scale {
        factor: Parameter,
    }

    impl Layer for Scale {
        fn forward(&self, x: &Tensor) -> Tensor {
            x * self.factor.tensor()
        }
    }

    #[derive(taper_macros::Parameters)]
    struct Model {
        net: Sequential,
        scale: Scale,
        head: Linear,
    }

    impl Layer for Model {
        fn forward(&self, x: &Tensor) -> Tensor {
            let x = self.scale.forward(&self.net.forward(x));
            self.head.forward(&x)
        }
    }

    fn scale() -> Scale {
        let factor = Parameter::new(&zeros(1));
        Scale { factor }
    }

    #[test]
    fn layers_are_listed_wherever_they_are_called() {
        let model = Model {
            net: crate::seq![Linear::new(3, 2), ReLU, crate::seq![scale()]],
            scale: scale(),
            head: Linear::new(2, 1),
        };
        let summary = model.summary((5, 3));
        assert_eq!(
            summary.show_text(),
            "layer   output shape  parameters
Linear  (5, 2)                 8
ReLU    (5, 2)                 0
Scale   (5, 2)                 1
Linear  (5, 1)                 3
total                         13"
        );
        assert_eq!(scale().summary(4).num_layers(), 1);
        assert!(attempt(|| model.summary((5, 4))).is_err());
        assert_eq!(
            model.summary((5, 3)),
            summary,
            "an error leaves nothing behind"
        );
    }

    #[test]
    fn a_model_that_takes_tokens_gets_tokens() {
        let net = crate::seq![Embedding::new(10, 3), Flatten, Linear::new(6, 1)];
        let text = net.summary((4, 2)).show_text();
        assert!(text.contains("Embedding  (4, 2, 3)"), "{text}");
        let message = message_of(|| net.summary((4, 3)));
        assert!(
            message.contains("shape [4, 9]"),
            "the error of the run that passed more layers: {message}"
        );
    }

    #[test]
    fn a_summary_leaves_running_statistics_unchanged() {
        let net = crate::seq![BatchNorm1d::new(2)];
        let before = net.state_dict();
        net.summary((1, 2));
        let after = net.state_dict();
        for ((name, a), (_, b)) in before.iter().zip(&after) {
            let elements = |t: &Tensor| t.to_dtype(DType::F64).flatten_all().to_vec1::<f64>();
            assert_eq!(elements(a), elements(b), "{name}");
        }
    }

    #[test]
    fn a_panic_leaves_nothing_behind() {
        #[derive(taper_macros::Parameters)]
        struct Panics;
        impl Layer for Panics {
            fn forward(&self, _: &Tensor) -> Tensor {
                panic!("on purpose")
            }
        }
        let net = crate::seq![Linear::new(2, 2), Panics];
        let caught = std::panic::catch_unwind(AssertUnwindSafe(|| net.summary((1, 2))));
        assert!(caught.is_err());
        assert!(!is_recording());
    }
}
