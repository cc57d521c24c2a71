//! The table of a model's layers.

use crate::nn::{Layer, Parameters, ParametersExt};
use crate::show::Show;
use crate::tensor::zeros;
use candle_core::{Device, Result, Shape, Tensor};
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
    pub(super) fn of(model: &impl Layer, input: Shape) -> Result<Self> {
        let parameters = model.parameters();
        let device = parameters
            .iter()
            .find_map(|p| p.device().ok())
            .unwrap_or(Device::Cpu);
        ROWS.set(Some(Vec::new()));
        let input = zeros(input, &device);
        let output = input.and_then(|x| model.forward(&x));
        let rows = ROWS.take().unwrap_or_default();
        let mut summary = Self {
            rows,
            total: model.num_parameters(),
        };
        if summary.rows.is_empty() {
            summary.rows.push(Row::of(model, &output?));
            return Ok(summary);
        }
        output.map(|_| summary)
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
        let mut table = crate::show::Table::new(["layer", "output shape", "parameters"]);
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
    use crate::nn::{Linear, Parameter, ReLU, Sequential};
    use candle_core::Device;

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
}
