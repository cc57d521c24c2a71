//! The backward pass of a kernel: constants, or recorded operations.

use super::held::Held;
use crate::error::explain;
use crate::ops::engine::simd::Element;
use crate::ops::engine::strided::in_order;
use crate::tensor::{Raw, Tensor};
use candle_core::shape::ShapeWithOneHole;
use candle_core::{Device, Result, bail};
use std::cell::OnceCell;

/// The backward pass of a kernel.
pub(in crate::ops) trait Backward: Send + Sync + 'static {
    /// Returns whether [`backward`](Backward::backward) needs the output's values, which are kept only then.
    fn needs_output(&self) -> bool {
        false
    }

    /// Returns whether [`backward`](Backward::backward) takes a gradient that is not contiguous, such as that of a
    /// sum: one value again and again.
    fn takes_views(&self) -> bool {
        false
    }

    /// Adds the memory that the kernel holds for the backward pass, besides the inputs that it
    /// [keeps](Backward::keeps) and its output.
    fn hold(&self, _held: &mut Held) {}

    /// Returns whether the kernel is the sigmoid function.
    fn is_sigmoid(&self) -> bool {
        false
    }

    /// Returns the gradients of the inputs that are [wanted](Upstream::wanted).
    fn backward(&self, upstream: Upstream<'_>) -> Result<Downstream>;

    /// Returns which inputs [`recorded`](Backward::recorded) needs, which are kept. If it names only inputs that
    /// [`backward`](Backward::backward) keeps as well, this needs no memory.
    fn keeps(&self) -> [bool; 3] {
        [false; 3]
    }

    /// Returns on the values of which inputs the gradients that are wanted depend: those that it
    /// [keeps](Backward::keeps), unless it has another way to save them. If one of them has changed since, the
    /// gradients would be wrong.
    fn reads(&self, _wanted: [bool; 3]) -> [bool; 3] {
        self.keeps()
    }

    /// Does what [`backward`](Backward::backward) does with operations that are recorded themselves, so that the
    /// gradients have gradients.
    fn recorded(&self, _: &Recorded<'_>) -> Result<Downstream> {
        Err(no_second_derivative(std::any::type_name::<Self>()))
    }
}

/// Returns the error for a kernel, from the name of its type: `taper::ops::softmax::Back<f32>`.
pub(in crate::ops) fn no_second_derivative(of: &str) -> candle_core::Error {
    let path = of.split('<').next().unwrap_or(of);
    let path = path.strip_prefix("taper::ops::").unwrap_or(path);
    let operation = path.rsplit_once("::").map_or(path, |(module, _)| module);
    explain(
        format_args!("{operation}: this operation has no second derivatives"),
        "Compute it with operations that have them: + - * /, functions of each element, sums, matmul, linear, softmax, conv2d",
    ).into()
}

/// The gradients that a kernel passes on: one for each input that is wanted.
pub(in crate::ops) type Downstream = [Option<Raw>; 3];

/// Returns the gradient of the first input alone.
pub(in crate::ops) fn of_first<T: Element>(
    values: Vec<T>,
    shape: impl ShapeWithOneHole,
) -> Result<Downstream> {
    let of_first = Raw::from_vec(values, shape, &Device::Cpu)?;
    Ok([Some(of_first), None, None])
}

/// The arguments of a kernel's backward pass.
pub(in crate::ops) struct Upstream<'a> {
    /// The gradient of the output, contiguous unless [`takes_views`](Backward::takes_views).
    pub(in crate::ops) gradient: &'a Raw,
    /// Whether the gradient of each input is needed.
    pub(in crate::ops) wanted: [bool; 3],
    pub(super) saved_output: Option<&'a Raw>,
}

impl<'a> Upstream<'a> {
    /// Returns the arguments for a kernel that does not need its output.
    pub(in crate::ops) fn of(gradient: &'a Raw, wanted: [bool; 3]) -> Self {
        Upstream {
            gradient,
            wanted,
            saved_output: None,
        }
    }

    /// Returns the output, which is saved if [`needs_output`](Backward::needs_output).
    pub(in crate::ops) fn output(&self) -> Result<&'a Raw> {
        match self.saved_output {
            Some(output) => Ok(output),
            None => bail!("kernel: the output was not saved"),
        }
    }
}

/// The arguments of [`Backward::recorded`].
pub(in crate::ops) struct Recorded<'a> {
    /// The gradient of the output, which may have a graph; contiguous unless
    /// [`takes_views`](Backward::takes_views).
    pub(in crate::ops) gradient: &'a Raw,
    /// Whether the gradient of each input is needed.
    pub(in crate::ops) wanted: [bool; 3],
    /// The inputs that the kernel [keeps](Backward::keeps), with their graphs.
    pub(in crate::ops) inputs: &'a [Option<Raw>; 3],
    pub(in crate::ops) saved_output: Option<&'a Raw>,
    /// Returns the output with its graph.
    pub(in crate::ops) tracked_output: &'a dyn Fn() -> Result<Raw>,
    pub(in crate::ops) output: OnceCell<Raw>,
}

impl<'a> Recorded<'a> {
    /// Returns the gradient of the output, to compute with.
    pub(in crate::ops) fn g(&self) -> &'a Tensor {
        Tensor::from_raw_ref(self.gradient)
    }

    /// Returns an input that the kernel keeps, with its graph.
    pub(in crate::ops) fn input(&self, i: usize) -> Result<&'a Raw> {
        match &self.inputs[i] {
            Some(input) => Ok(input),
            None => bail!("kernel: the input {i} was not kept"),
        }
    }

    /// Returns an input as [`input`](Self::input) does, to compute with.
    pub(in crate::ops) fn x(&self, i: usize) -> Result<&'a Tensor> {
        self.input(i).map(Tensor::from_raw_ref)
    }

    /// Returns the output, with its graph, to compute with.
    pub(in crate::ops) fn output(&self) -> Result<&Tensor> {
        let output = match self.output.get() {
            Some(output) => output,
            None => {
                let output = (self.tracked_output)()?;
                self.output.get_or_init(|| output)
            }
        };
        Ok(Tensor::from_raw_ref(output))
    }

    /// Returns the gradients that the kernel computes, as constants.
    pub(super) fn constants(&self, back: &dyn Backward) -> Result<Downstream> {
        let gradient = match back.takes_views() {
            true => self.gradient.detach(),
            false => in_order(self.gradient)?,
        };
        back.backward(Upstream {
            gradient: &gradient,
            wanted: self.wanted,
            saved_output: self.saved_output,
        })
    }
}
