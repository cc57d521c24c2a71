//! The backward pass of an operation: constants, or recorded operations.

use super::held::Held;
use crate::error::problem;
use crate::tensor::{Key, Raw, Tensor};
use candle_core::{Error, Result, bail};

/// The backward pass of an operation.
pub(crate) trait Backward: Send + Sync + 'static {
    /// Returns whether the rule needs the output, which is kept only then.
    fn needs_output(&self) -> bool {
        false
    }

    /// Returns whether [`backward`](Backward::backward) takes a gradient that is not contiguous, such as the
    /// gradient of a sum: one value again and again.
    fn takes_views(&self) -> bool {
        false
    }

    /// Adds the memory that the operation holds for the backward pass, besides the inputs that it
    /// [keeps](Backward::keeps) and its output.
    fn hold(&self, _held: &mut Held) {}

    /// Returns whether the rule is composed of other operations.
    #[cfg(test)]
    fn is_composed(&self) -> bool {
        false
    }

    /// Returns whether the operation is the sigmoid function.
    fn is_sigmoid(&self) -> bool {
        false
    }

    /// Returns the gradients of the inputs that are [wanted](Upstream::wanted), as constants. An operation whose rule
    /// has no kernel computes them as [`recorded`](Backward::recorded) does.
    fn backward(&self, upstream: &Upstream<'_>) -> Result<Downstream> {
        self.recorded(upstream)
    }

    /// Returns which inputs the rule needs besides what the operation has saved itself. They are kept. If it names only
    /// inputs that the operation saves as well, this needs no memory.
    fn keeps(&self) -> [bool; 3] {
        [false; 3]
    }

    /// Returns on the values of which inputs the gradients that are wanted depend: those that it
    /// [keeps](Backward::keeps), unless it has another way to save them. If one of them has changed since, the
    /// gradients would be wrong.
    fn reads(&self, _wanted: [bool; 3]) -> [bool; 3] {
        self.keeps()
    }

    /// Returns the gradients that are wanted, computed with operations that are recorded themselves, so that the
    /// gradients have gradients.
    fn recorded(&self, _upstream: &Upstream<'_>) -> Result<Downstream> {
        Err(no_second_derivative(std::any::type_name::<Self>()))
    }
}

/// Returns an error that names the operation, from the name of its type.
pub(crate) fn no_second_derivative(of: &str) -> Error {
    let path = of.split('<').next().unwrap_or(of);
    let path = path.strip_prefix("taper_tensor::ops::").unwrap_or(path);
    let operation = path.rsplit_once("::").map_or(path, |(module, _)| module);
    problem!(
        "{operation}: this operation has no second derivatives";
        "Compute it with operations that have them: + - * /, functions of each element, sums, matmul, linear, softmax, conv2d").into()
}

/// The gradients of the inputs: those that are wanted. An operation has up to three.
pub(crate) type Downstream = [Option<Raw>; 3];

/// A backward pass, as a rule sees it.
pub(super) trait Pass {
    /// Adds a gradient to the others of a leaf.
    fn add_to_leaf(&self, key: Key, gradient: Raw) -> Result<()>;

    /// Returns the gradients that are wanted, of an operation that `compute` computes from its inputs.
    fn of_composed(&self, upstream: &Upstream<'_>, compute: &Compute<'_>) -> Result<Downstream>;
}

/// Computes the output of an operation from its inputs, with operations.
pub(super) type Compute<'a> = dyn Fn(&[Raw]) -> Result<Raw> + 'a;

/// What a rule computes the gradients from.
pub(crate) struct Upstream<'a> {
    /// The gradient of the output, contiguous unless [`takes_views`](Backward::takes_views).
    pub(crate) gradient: &'a Raw,
    /// Whether the gradient of each input is needed.
    pub(crate) wanted: [bool; 3],
    /// The inputs that the operation [keeps](Backward::keeps).
    pub(crate) inputs: &'a [Option<Raw>; 3],
    /// The output, if the operation [needs](Backward::needs_output) it.
    pub(super) output: Option<&'a Raw>,
    pub(super) pass: &'a dyn Pass,
}

impl<'a> Upstream<'a> {
    /// Returns the gradient of the output, to compute with.
    pub(crate) fn g(&self) -> &'a Tensor {
        Tensor::from_raw_ref(self.gradient)
    }

    /// Returns the gradients that are wanted.
    pub(crate) fn each(&self, of: impl Fn(usize) -> Result<Raw>) -> Result<Downstream> {
        let mut gradients = [None, None, None];
        for (i, gradient) in gradients.iter_mut().enumerate() {
            if self.wanted[i] {
                *gradient = Some(of(i)?);
            }
        }
        Ok(gradients)
    }

    /// Returns an input that the operation keeps.
    pub(crate) fn input(&self, i: usize) -> Result<&'a Raw> {
        match &self.inputs[i] {
            Some(input) => Ok(input),
            None => bail!("kernel: the input {i} was not kept"),
        }
    }

    /// Returns an input as [`input`](Self::input) does, to compute with.
    pub(crate) fn x(&self, i: usize) -> Result<&'a Tensor> {
        self.input(i).map(Tensor::from_raw_ref)
    }

    /// Returns the output.
    pub(crate) fn output(&self) -> Result<&'a Tensor> {
        match self.output {
            Some(output) => Ok(Tensor::from_raw_ref(output)),
            None => bail!("kernel: the output was not saved"),
        }
    }

    /// Adds the gradient of a variable that is not an input.
    pub(crate) fn add_to_leaf(&self, key: Key, gradient: Raw) -> Result<()> {
        self.pass.add_to_leaf(key, gradient)
    }

    /// Returns the gradients of an operation that `compute` computes from its inputs, by operations that have second
    /// derivatives. It must not use other tensors that have gradients. The operation must
    /// [keep](Backward::keeps) its inputs.
    pub(crate) fn of_composed(&self, compute: &Compute<'_>) -> Result<Downstream> {
        self.pass.of_composed(self, compute)
    }
}
