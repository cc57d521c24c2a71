//! The check of a model's shapes before it computes.

use crate::erased::{Erased, outlined};
use crate::error::{self, Error, Result, raise, refuse};
use crate::nn::summary::{Recording, trial};
use crate::nn::{Layer, Parameter, placement, state_of};
use crate::notebook::{MimeBundle, Show, debug_as_shown, display};
use crate::plot::{Chain, Outcome, Step};
use crate::tensor::{generator_state, restore_generator};
use candle_core::Shape;

/// The layers that an input would pass, with the shape of each output; [`check_shapes`] returns it.
///
/// It is displayed as a figure.
#[derive(PartialEq)]
pub struct Shapes {
    chain: Erased<Chain>,
}

outlined!(Clone for Shapes { chain });

/// Checks that a model can take an input of this shape, without computing: it runs the model on a batch of no
/// examples. The model does not change, and lazy layers stay lazy.
///
/// The first size of `input_shape` is the batch; a size of the result that depends on it is shown as the batch. Only a
/// model that cannot run on a batch of no examples computes, on zeros.
///
/// # Panics
/// If a layer refuses its input. The error draws the layers with the shapes so far, and where they do not fit.
///
/// ```
/// use taper::prelude::*;
///
/// let net = seq![Conv2d::new(3, 8, 3), ReLU, Flatten, Linear::new(7200, 10)];
/// let shapes = check_shapes(&net, (32, 3, 32, 32));
/// assert_eq!(shapes.output_shape(), [32, 10]);
///
/// let error = attempt(|| check_shapes(&net, (32, 3, 28, 28))).unwrap_err().to_string();
/// // It ends with the layers, from `input (32, 3, 28, 28)` to `Flatten (32, 5408)`, and this line:
/// assert!(error.contains("✗ Linear(in_features=7200, out_features=10, bias=true)"), "{error}");
/// ```
#[inline]
#[track_caller]
pub fn check_shapes(model: &dyn Layer, input_shape: impl Into<Shape>) -> Shapes {
    match checked(model, &input_shape.into()) {
        Ok(shapes) => shapes,
        Err(error) => raise(error),
    }
}

impl Shapes {
    /// Returns the shape of the model's output.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(check_shapes(&LazyLinear::new(2), (4, 3)).output_shape(), [4, 2]);
    /// ```
    pub fn output_shape(&self) -> &[usize] {
        match self.chain.steps.last().map(|step| &step.outcome) {
            Some(Outcome::Shape(dims)) => dims,
            _ => &[],
        }
    }
}

impl Show for Shapes {
    fn show_text(&self) -> String {
        self.chain.text()
    }

    fn show_bundle(&self) -> MimeBundle {
        self.chain.bundle()
    }
}

debug_as_shown!(Shapes);

fn checked(model: &dyn Layer, input: &Shape) -> Result<Shapes> {
    let generator = generator_state();
    let found = find(model, input);
    restore_generator(generator);
    match found {
        Ok(chain) => Ok(Shapes {
            chain: chain.into(),
        }),
        Err((error, chain)) => {
            if !error::is_attempted() {
                display(&chain.figure());
            }
            let text = error.to_string();
            let (problem, advice) = text.split_once('\n').unwrap_or((&text, ""));
            refuse!(problem; ("{advice}\n\n{}", chain.text()))
        }
    }
}

/// Runs the model; returns its chain, or the error and the chain up to the layer that refuses its input.
fn find(model: &dyn Layer, input: &Shape) -> std::result::Result<Chain, (Error, Chain)> {
    let dims = input.dims();
    let batch = dims.first().copied().unwrap_or(1);
    let with_batch = |size: usize| {
        let mut dims = dims.to_vec();
        dims.iter_mut().take(1).for_each(|first| *first = size);
        Shape::from(dims)
    };
    let run = |input: &Shape| trial(&*waiting_copy(model), input);
    let empty = run(&with_batch(0));
    let (recording, batch) = match empty.output.is_ok() || empty.ends_as(&run(&with_batch(1))) {
        true => (empty, Some(batch)),
        // The model cannot run without an example.
        false => (run(input), None),
    };
    let chain = chain(&recording, dims, batch);
    match recording.output {
        Ok(_) => Ok(chain),
        Err(error) => Err((of_batch(&error, batch), chain)),
    }
}

impl Recording {
    /// Returns whether both fail at one place.
    fn ends_as(&self, other: &Self) -> bool {
        let subject = |recording: &Recording| {
            let error = recording.output.as_ref().err()?;
            Some(subject(&error.to_string()).to_owned())
        };
        self.rows.len() == other.rows.len() && subject(self) == subject(other)
    }
}

/// Returns the chain of a recording. Sizes of 0 stand for the size of the batch.
fn chain(recording: &Recording, input: &[usize], batch: Option<usize>) -> Chain {
    let shape = |dims: &[usize]| {
        let sizes = dims.iter().map(|&size| match batch {
            Some(batch) if size == 0 => batch,
            _ => size,
        });
        Outcome::Shape(sizes.collect())
    };
    let mut steps = vec![Step::new("", "input", Outcome::Shape(input.to_vec()))];
    let rows = recording.rows.iter();
    steps.extend(rows.map(|row| Step::new("", &row.layer, shape(&row.output))));
    match (&recording.output, &recording.failed) {
        (Ok(output), _) => {
            let dims = shape(output.dims());
            if steps.last().map(|step| &step.outcome) != Some(&dims) || steps.len() == 1 {
                steps.push(Step::new("", "output", dims));
            }
        }
        (Err(_), Some(failed)) => {
            let refused = { failed.steps.iter() }.position(|step| step.outcome == Outcome::Refused);
            let rest = failed.steps.iter().skip(refused.unwrap_or(0));
            steps.extend(rest.map(|step| Step::new("", &step.layer, step.outcome.clone())));
        }
        (Err(error), None) => {
            let text = error.to_string();
            steps.push(Step::new("", subject(&text), Outcome::Refused));
        }
    }
    Chain { steps }
}

/// Returns the beginning of a message: the description of the layer, or the name of the operation.
fn subject(message: &str) -> &str {
    let ends = [" cannot ", " computes ", ": ", "\n"];
    let end = ends.iter().filter_map(|end| message.find(end)).min();
    &message[..end.unwrap_or(message.len())]
}

/// Writes the batch in place of the sizes of 0 that are first in a shape.
fn of_batch(error: &Error, batch: Option<usize>) -> Error {
    let text = error.to_string();
    let text = match batch {
        Some(batch) => {
            { text.replace("[0, ", &format!("[{batch}, ")) }.replace("[0]", &format!("[{batch}]"))
        }
        None => text,
    };
    Error::msg(text)
}

/// Returns a copy of the model with its own lazy parameters and buffers, so that a run does not change the model.
fn waiting_copy(model: &dyn Layer) -> Box<dyn Layer> {
    let state = state_of(model);
    let buffers = state.iter().filter(|entry| !entry.trained);
    let buffers: Vec<usize> = buffers.map(|entry| entry.parameter.address()).collect();
    let own = |parameter: &Parameter| match parameter.waiting_copy() {
        Some(copy) => Ok(copy),
        None if buffers.contains(&parameter.address()) => parameter.copy_to(&parameter.device()),
        None => Ok(parameter.clone()),
    };
    let mut copy = model.copy_layer();
    // At most buffers are copied, which are small.
    let _ = placement::replace(&mut |visitor| copy.visit_mut(visitor), &own, &|x| {
        Ok(x.clone())
    });
    copy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;
    use crate::nn::tests::message_of;
    use crate::nn::{
        BatchNorm2d, Conv2d, Embedding, Flatten, LazyBatchNorm2d, LazyConv2d, LazyLinear, Linear,
        ParametersExt, ReLU, Sequential,
    };
    use crate::tensor::{Tensor, manual_seed, rand, zeros};

    #[test]
    fn nothing_of_the_model_changes() {
        let net = crate::seq![
            LazyConv2d::new(4, 3),
            LazyBatchNorm2d::new(),
            BatchNorm2d::new(4),
            Flatten,
            LazyLinear::new(2)
        ];
        let before = net[2].state_dict();
        manual_seed(3);
        let expected = rand(2).to_vec1::<f32>();
        manual_seed(3);
        let shapes = check_shapes(&net, (7, 3, 8, 8));
        assert_eq!(shapes.output_shape(), [7, 2]);
        assert_eq!(
            rand(2).to_vec1::<f32>(),
            expected,
            "the generator is as before"
        );
        assert!(!net[0].parameter("weight").is_initialized());
        for ((name, a), (_, b)) in before.iter().zip(&net[2].state_dict()) {
            assert_eq!(a.show_text(), b.show_text(), "{name}");
        }
        assert!(attempt(|| check_shapes(&net, (7, 3, 2, 2))).is_err());
        assert_eq!(
            net.forward(&zeros((1, 5, 8, 8))).dims(),
            [1, 2],
            "still lazy"
        );
    }

    #[test]
    fn a_network_that_would_not_fit_into_the_memory_is_checked() {
        let net = crate::seq![Conv2d::new(3, 64, 3).padding(1), ReLU, Flatten];
        let batch = 1 << 40;
        let shapes = check_shapes(&net, (batch, 3, 512, 512));
        assert_eq!(shapes.output_shape(), [batch, 64 * 512 * 512]);
        let message = message_of(|| check_shapes(&net, (batch, 4, 512, 512)));
        assert!(
            message.contains("shape [1099511627776, 4, 512, 512]"),
            "{message}"
        );
    }

    #[test]
    fn the_layers_behind_the_one_that_refuses_are_listed() {
        let net = crate::seq![Flatten, Linear::new(5, 2), crate::seq![ReLU]];
        let message = message_of(|| check_shapes(&net, (3, 2, 2)));
        let (lines, chain) = message.split_once("\n\n").expect("a chain");
        assert!(
            lines.contains("cannot take an input of shape [3, 4]\n"),
            "{lines}"
        );
        let first = |line: &str| line.trim_start_matches(' ').chars().take(3).collect();
        let starts: Vec<String> = chain.lines().map(first).collect();
        assert_eq!(starts, ["inp", "Fla", "✗ L", "Seq"], "{chain}");
    }

    #[test]
    fn tokens_and_models_of_their_own_forward_are_checked() {
        #[derive(taper_macros::Parameters)]
        struct Model {
            embedding: Embedding,
            head: Linear,
        }
        impl Layer for Model {
            fn forward(&self, tokens: &Tensor) -> Tensor {
                let x = self.embedding.forward(tokens); // (batch, length, 4)
                self.head.forward(&x).mean(1)
            }
        }
        let model = |width| Model {
            embedding: Embedding::new(10, 4),
            head: Linear::new(width, 2),
        };
        let shapes = check_shapes(&model(4), (6, 5));
        assert_eq!(
            shapes.show_text(),
            "  input      (6, 5)
  Embedding  (6, 5, 4)
  Linear     (6, 5, 2)
  output     (6, 2)"
        );
        let message = message_of(|| check_shapes(&model(3), (6, 5)));
        assert!(
            message.contains("cannot take an input of shape [6, 5, 4]"),
            "{message}"
        );
        let refused = "✗ Linear(in_features=3, out_features=2, bias=true)  does not fit";
        assert!(message.ends_with(refused), "{message}");
    }

    #[test]
    fn a_model_that_needs_an_example_is_run_on_zeros() {
        #[derive(taper_macros::Parameters)]
        struct First {
            net: Sequential,
        }
        impl Layer for First {
            fn forward(&self, x: &Tensor) -> Tensor {
                self.net.forward(&x.i(0))
            }
        }
        let model = First {
            net: crate::seq![Linear::new(3, 2)],
        };
        assert_eq!(check_shapes(&model, (4, 5, 3)).output_shape(), [5, 2]);
        let message = message_of(|| check_shapes(&model, (4, 5, 2)));
        assert!(
            message.contains("cannot take an input of shape [5, 2]"),
            "{message}"
        );
    }

    #[test]
    fn two_lines_and_a_chain_reach_the_notebook() {
        let net = crate::seq![Linear::new(3, 2)];
        let bundle = check_shapes(&net, (1, 3)).show_bundle();
        assert!(
            bundle
                .get("image/svg+xml")
                .is_some_and(|svg| svg.contains("Linear"))
        );
    }
}
