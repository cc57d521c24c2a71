//! The table of a model's layers.

use crate::nn::{Layer, Parameters, ParametersExt};
use crate::notebook::Show;
use candle_core::{DType, Device, Result, Shape, Tensor};
use std::cell::RefCell;
use std::fmt;

thread_local! {
    /// The rows of the summary that is being made on this thread, if one is.
    static ROWS: RefCell<Option<Vec<Row>>> = const { RefCell::new(None) };
}

/// The layers that an input passes, with the shape each gives and its number of parameters.
///
/// It is what [`summary`](ParametersExt::summary) gives, and shows itself as a table.
#[derive(Clone, PartialEq)]
pub struct Summary {
    rows: Vec<Row>,
    total: usize,
}

#[derive(Clone, PartialEq)]
struct Row {
    layer: String,
    output: Vec<usize>,
    parameters: usize,
}

impl Summary {
    pub(super) fn of(model: &dyn Layer, input: Shape) -> Result<Self> {
        let parameters = model.parameters();
        let first = parameters.iter().find_map(|p| p.tensor().ok());
        let (device, dtype) = match &first {
            Some(values) => (values.device(), values.dtype()),
            None => (&Device::Cpu, DType::F32),
        };
        let run = |dtype| forward(model, Tensor::zeros(&input, dtype, device));
        let (mut output, mut rows) = run(dtype);
        if output.is_err() && rows.is_empty() {
            // Where the first layer looks numbers up, as an embedding does, it takes whole ones.
            let (second, seen) = run(DType::U32);
            if second.is_ok() || !seen.is_empty() {
                (output, rows) = (second, seen);
            }
        }
        let output = output?;
        if rows.is_empty() {
            rows.push(Row::of(model, &output));
        }
        let total = model.num_parameters();
        Ok(Self { rows, total })
    }

    /// The number of parameters of the whole model.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(Linear::new(3, 2)?.summary((1, 3))?.num_parameters(), 8);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn num_parameters(&self) -> usize {
        self.total
    }

    /// How many layers it lists.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(seq![Linear::new(3, 2)?, ReLU].summary((1, 3))?.num_layers(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn num_layers(&self) -> usize {
        self.rows.len()
    }
}

/// The output, and the layers that were seen on the way.
fn forward(model: &dyn Layer, input: Result<Tensor>) -> (Result<Tensor>, Vec<Row>) {
    ROWS.set(Some(Vec::new()));
    let output = input.and_then(|input| model.forward(&input));
    (output, ROWS.take().unwrap_or_default())
}

/// Whether layers are only looked at: what they learn from an input is then not to be kept.
pub(super) fn is_running() -> bool {
    ROWS.with_borrow(Option::is_some)
}

impl Row {
    fn of(layer: &(impl Parameters + ?Sized), output: &Tensor) -> Self {
        let description = layer.describe();
        let name = description.split('(').next().unwrap_or_default();
        Self {
            layer: name.to_owned(),
            output: output.dims().to_vec(),
            parameters: layer.num_parameters(),
        }
    }
}

/// Every layer passes its output through here, so that a summary hears of it.
pub(crate) fn seen(layer: &(impl Parameters + ?Sized), output: Tensor) -> Result<Tensor> {
    ROWS.with_borrow_mut(|rows| {
        if let Some(rows) = rows {
            rows.push(Row::of(layer, &output));
        }
    });
    Ok(output)
}

/// Runs a layer that may not know of summaries: it gets a row unless it, or a part of it, made one.
pub(super) fn watched(layer: &dyn Layer, input: &Tensor) -> Result<Tensor> {
    let count = || ROWS.with_borrow(|rows| rows.as_ref().map(Vec::len));
    let before = count();
    let output = layer.forward(input)?;
    match before.is_some() && before == count() {
        true => seen(layer, output),
        false => Ok(output),
    }
}

impl Show for Summary {
    fn show_text(&self) -> String {
        // Whoever has built a deep network looks for one of its layers.
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
    use crate::nn::{BatchNorm1d, Embedding, Flatten, Linear, Parameter, ReLU, Sequential};
    use crate::tensor::zeros;

    #[derive(taper_macros::Parameters)]
    struct Scale {
        factor: Parameter,
    }

    impl Layer for Scale {
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            x.broadcast_mul(&self.factor.tensor()?)
        }
    }

    #[derive(taper_macros::Parameters)]
    struct Model {
        net: Sequential,
        scale: Scale,
        head: Linear,
    }

    impl Layer for Model {
        fn forward(&self, x: &Tensor) -> Result<Tensor> {
            self.head
                .forward(&self.scale.forward(&self.net.forward(x)?)?)
        }
    }

    fn scale() -> Scale {
        let factor = Parameter::new(&zeros(1, &Device::Cpu).unwrap()).unwrap();
        Scale { factor }
    }

    #[test]
    fn layers_are_listed_wherever_they_are_called() {
        let model = Model {
            net: crate::seq![Linear::new(3, 2).unwrap(), ReLU, crate::seq![scale()]],
            scale: scale(),
            head: Linear::new(2, 1).unwrap(),
        };
        let summary = model.summary((5, 3)).unwrap();
        assert_eq!(
            summary.show_text(),
            "layer   output shape  parameters
Linear  (5, 2)                 8
ReLU    (5, 2)                 0
Scale   (5, 2)                 1
Linear  (5, 1)                 3
total                         13"
        );
        assert_eq!(scale().summary(4).unwrap().num_layers(), 1);
        assert!(model.summary((5, 4)).is_err());
        assert_eq!(
            model.summary((5, 3)).unwrap(),
            summary,
            "an error leaves nothing behind"
        );
    }

    #[test]
    fn a_model_that_takes_tokens_is_given_tokens() {
        let net = crate::seq![
            Embedding::new(10, 3).unwrap(),
            Flatten,
            Linear::new(6, 1).unwrap()
        ];
        let text = net.summary((4, 2)).unwrap().show_text();
        assert!(text.contains("Embedding  (4, 2, 3)"), "{text}");
        let message = net.summary((4, 3)).unwrap_err().to_string();
        assert!(
            message.contains("shape [4, 9]"),
            "the error of the try that came further: {message}"
        );
    }

    #[test]
    fn the_zeros_of_a_summary_teach_a_batch_norm_nothing() {
        let net = crate::seq![BatchNorm1d::new(2).unwrap()];
        let before = net.state_dict().unwrap();
        net.summary((1, 2)).unwrap();
        let after = net.state_dict().unwrap();
        for ((name, a), (_, b)) in before.iter().zip(&after) {
            let numbers = |t: &Tensor| t.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>();
            assert_eq!(numbers(a).unwrap(), numbers(b).unwrap(), "{name}");
        }
    }
}
