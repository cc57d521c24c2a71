//! The table of a model's layers.

mod clock;
mod frame;
mod recorder;
mod row;

pub(super) use recorder::{
    Recording, Running, is_recording, is_watching, needs_each_layer, output_of, record_part, trial,
    watched,
};
pub use recorder::{first_not_finite, record_output};

use crate::erased::outlined;
use crate::error::{Result, attempt};
use crate::nn::{Layer, state, state_of};
use crate::notebook::{Table, debug_as_shown, show_as_table};
use crate::tensor::{Tensor, generator_state, restore_generator};
use candle_core::Shape;
use recorder::{begin_pass, measured, record};
use row::{Cost, Row, layer_table};
use std::time::{Duration, Instant};

/// The least and the largest number of measured runs of a model. Between them, it runs until this time has passed.
const PASSES: (usize, usize) = (3, 20);
const TIME: Duration = Duration::from_millis(200);

/// The layers that an input passes through, with the shape of each output and the number of parameters.
///
/// [`summary`](crate::nn::ParametersExt::summary) returns it, and
/// [`measured_summary`](crate::nn::ParametersExt::measured_summary) with what the layers take. It is displayed as a table.
#[derive(PartialEq)]
pub struct Summary {
    rows: Vec<Row>,
    /// What each row takes; empty if it was not measured.
    costs: Vec<Cost>,
    total: usize,
}

outlined!(Clone for Summary { rows, costs, total });

impl Summary {
    pub(super) fn of(model: &dyn Layer, input: Shape) -> Result<Self> {
        let Recording {
            output, mut rows, ..
        } = trial(model, &input);
        let output = output?;
        if rows.is_empty() {
            rows.push(Row::of(model, output.dims()));
        }
        let total = state::count(&state_of(model));
        let costs = Vec::new();
        Ok(Self { rows, costs, total })
    }

    /// Runs the model several times, forward and backward. The first time it is not measured.
    pub(super) fn measured(model: &dyn Layer, input: Shape) -> Result<Self> {
        let recording = trial(model, &input);
        recording.output?;
        let generator = generator_state();
        let input = recording
            .input
            .unwrap_or_else(|| crate::tensor::zeros(input));
        let (mut layers, began) = (measure(model, &input)?, Instant::now());
        for pass in 1..PASSES.1 {
            if pass >= PASSES.0 && began.elapsed() > TIME {
                break;
            }
            for ((_, cost), (_, again)) in layers.iter_mut().zip(measure(model, &input)?) {
                cost.forward = cost.forward.min(again.forward);
                cost.back = cost.back.min(again.back);
            }
        }
        restore_generator(generator);
        let (rows, costs) = layers.into_iter().unzip();
        let total = state::count(&state_of(model));
        Ok(Self { rows, costs, total })
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

impl Summary {
    fn table(&self) -> Table {
        layer_table(&self.rows, &self.costs, Some(self.total))
    }
}

show_as_table!(Summary);

/// Runs a model once, forward and backward, and returns what its layers took.
fn measure(model: &dyn Layer, input: &Tensor) -> Result<Vec<(Row, Cost)>> {
    let (result, layers) = measured(|| {
        begin_pass();
        let output = record(|| watched(model, input)).output?;
        if output.track_op() {
            attempt(|| output.sum_all().backward())?;
        }
        Ok(())
    });
    result.map(|()| layers)
}

debug_as_shown!(Summary);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::tests::message_of;
    use crate::nn::{
        BatchNorm1d, Embedding, Flatten, Linear, Parameter, ParametersExt, ReLU, Sequential,
    };
    use crate::notebook::Show;
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

    /// Returns what the layers of a model take, for 5 examples of 3 features.
    fn costs(model: &dyn Layer) -> Vec<Cost> {
        Summary::measured(model, (5, 3).into())
            .expect("it runs")
            .costs
    }

    #[test]
    fn a_measured_summary_has_more_columns() {
        let net = crate::seq![Linear::new(3, 4), ReLU, Linear::new(4, 2)];
        let measured = net.measured_summary((5, 3));
        let html = measured.show_bundle().get("text/html").map(str::len);
        assert!(html.is_some() && net.summary((5, 3)).show_bundle().get("text/html").is_none());
        assert!(measured.rows == net.summary((5, 3)).rows);
        let adds: Vec<u64> = measured
            .costs
            .iter()
            .map(|cost| cost.multiply_adds)
            .collect();
        assert_eq!(adds, [60, 0, 40]);
        let text = measured.show_text();
        let header: Vec<&str> = text
            .lines()
            .next()
            .unwrap_or_default()
            .split("  ")
            .filter(|it| !it.is_empty())
            .map(str::trim)
            .collect();
        assert_eq!(header[3..], row::COSTS);
        assert!(
            text.lines()
                .last()
                .is_some_and(|total| total.contains("100")),
            "{text}"
        );
        assert!(!is_recording());
    }

    #[test]
    fn the_time_goes_to_the_layer_that_takes_it() {
        #[derive(taper_macros::Parameters)]
        struct Slow;
        impl Layer for Slow {
            fn forward(&self, x: &Tensor) -> Tensor {
                std::thread::sleep(Duration::from_millis(20));
                let back = |_: &Tensor, gradient: &Tensor| {
                    std::thread::sleep(Duration::from_millis(30));
                    gradient.clone()
                };
                crate::ops::custom_grad(x, Tensor::clone, back)
            }
        }
        let costs = costs(&crate::seq![Linear::new(3, 3), Slow, Linear::new(3, 3)]);
        let long = Duration::from_millis(20);
        let is_long = |time: Duration| time >= long;
        let forward: Vec<bool> = costs.iter().map(|cost| is_long(cost.forward)).collect();
        assert_eq!(forward, [false, true, false]);
        let back = costs.iter().map(|cost| cost.back.is_some_and(is_long));
        assert_eq!(back.collect::<Vec<_>>(), [false, true, false]);
    }

    #[test]
    fn attention_is_not_a_part_of_its_projection() {
        let layer = crate::nn::MultiheadAttention::new(8, 2).batch_first(true);
        let summary = layer.measured_summary((2, 4, 8));
        let adds: Vec<u64> = summary
            .costs
            .iter()
            .map(|cost| cost.multiply_adds)
            .collect();
        let (tokens, pairs) = (2 * 4, 2 * 4 * 4);
        assert_eq!(
            adds,
            [tokens * 3 * 8 * 8 + 2 * pairs * 8, tokens * 8 * 8],
            "{summary:?}"
        );
        assert_eq!(summary.num_layers(), 2);
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
