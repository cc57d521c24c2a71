//! Functions on tensors: activations, convolution, pooling, normalisation, losses.
//!
//! # How an operation works
//!
//! Each operation has a file or folder of its own. It contains the function with the checks of its inputs,
//! the kernel for the CPU, the fallback with Candle's operations, and the test that compares the two.
//!
//! The path of the data through an operation, such as [`conv2d`]:
//!
//! 1. The public function takes the tensors of Candle out of its arguments, passes them on with its name, and
//!    turns an error into a panic at the user's line. It is not generic, or calls a function that is not, so
//!    that a cell of a notebook does not compile the operation.
//! 2. The operation itself, such as `conv2d_as`, checks the inputs and returns a `Result`. Errors begin with
//!    the name of the caller: the public function, or the layer that calls it (`check`).
//! 3. If the inputs suit the kernel (on the CPU, `f32` or `f64`), it borrows their elements (`engine`) and computes the
//!    output on all cores, with the crate `taper_compute`. Otherwise Candle's operations do (`operations`).
//! 4. The output is recorded on the tape (`crates/tensor/src/ops/tape.rs`), with the rule for its gradient: a kernel as well, or
//!    operations.
//!
//! A function of each element is stated once with its gradient, as formulas (`quantity`): the kernels evaluate them on
//! elements; other devices and second derivatives, on tensors. A new activation is a row of the table in `activation.rs`.
//!
//! `step_in_place` updates parameters in place, on a GPU many of them with one kernel; without a kernel, the optimiser
//! computes the step with Candle's operations.

mod across;
mod activation;
mod arithmetic;
mod attention;
mod autograd;
#[cfg(test)]
mod bad_inputs;
mod batch_norm;
mod broadcast;
mod cat;
#[doc(hidden)]
pub mod check;
mod contiguous;
mod conv1d;
mod conv2d;
mod dispatch;
mod draws;
mod dropout;
mod element_rule;
mod elementwise;
mod embedding;
mod engine;
mod finite;
mod gated;
mod group_norm;
mod layer_norm;
mod linear;
mod lookup;
mod loss;
mod matmul;
mod matrices;
mod methods;
mod normalization;
mod one_hot;
mod operations;
mod optimizer_step;
mod pad;
mod pair;
mod patches;
mod pool;
mod precision;
#[doc(hidden)]
pub mod profile;
mod quantity;
mod quantized;
mod ranking;
mod reduce;
mod resample;
mod rnn;
mod rotate;
mod select;
mod softmax;
#[doc(hidden)]
pub mod tape;
mod taps;
#[cfg(test)]
pub(crate) mod testing;
mod upsample;
mod views;
mod windows;

pub use activation::{
    elu, gelu, gelu_tanh, hardswish, leaky_relu, mish, relu, sigmoid, silu, softplus, tanh,
};
pub(crate) use arithmetic::{Arithmetic, arithmetic, arithmetic_number, compare, compare_number};
pub use attention::{AttentionMask, scaled_dot_product_attention};
#[doc(hidden)]
pub use attention::{Heads, attention, attention_of_heads, valid_steps};
#[doc(hidden)]
pub use autograd::customized;
pub(crate) use autograd::retain_grad;
pub use autograd::{
    backward, backward_graph, checkpoint, custom_grad, grad, grad_graph, per_example_grad,
};
#[doc(hidden)]
pub use batch_norm::{BatchNormOutput, RunningStats, batch_norm, batch_norm_relu};
pub use cat::cat;
pub(crate) use cat::cat_as;
pub use contiguous::contiguous;
pub(crate) use contiguous::contiguous_raw;
pub use conv1d::conv1d;
#[doc(hidden)]
pub use conv1d::{conv_transpose1d, conv1d_as};
pub use conv2d::{Conv2dSpec, conv2d};
#[doc(hidden)]
pub use conv2d::{conv_transpose2d, conv2d_as, conv2d_finished};
pub use dropout::dropout;
pub(crate) use dropout::dropout_as;
pub use elementwise::{
    abs, ceil, clamp, cos, erf, exp, floor, log, recip, round, sign, sin, sqr, sqrt,
};
pub use embedding::embedding;
#[doc(hidden)]
pub use embedding::embedding_as;
#[doc(hidden)]
pub use finite::all_finite;
pub use gated::glu;
#[doc(hidden)]
pub use gated::{glu_as, swiglu_as};
pub use group_norm::group_norm;
#[doc(hidden)]
pub use group_norm::group_norm_as;
pub use layer_norm::{layer_norm, rms_norm};
#[doc(hidden)]
pub use layer_norm::{layer_norm_as, rms_norm_as};
pub use linear::linear;
#[doc(hidden)]
pub use linear::linear_as;
pub use loss::{
    BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, KLDivLoss, L1Loss, MSELoss, NLLLoss,
    Reduction, SmoothL1Loss, bce_with_logits, cross_entropy, huber_loss, kl_div, l1_loss, mse_loss,
    nll_loss, smooth_l1_loss,
};
#[doc(hidden)]
pub use loss::{reduce, reduced, same_device, same_shape};
pub use matmul::matmul;
pub(crate) use matmul::matmul_as;
pub use one_hot::one_hot;
#[doc(hidden)]
pub use optimizer_step::{Formula, StepRule, StepTensors, step_in_place};
pub use pad::PaddingMode;
#[doc(hidden)]
pub use pad::padded;
pub use pair::Pair;
pub use patches::{fold, unfold};
pub use pool::{
    OutputSize, Pool2dSpec, adaptive_avg_pool2d, avg_pool2d, max_pool2d, max_pool2d_with_indices,
};
#[doc(hidden)]
pub use pool::{adaptive_avg_pool2d_as, avg_pool2d_as, max_pool2d_as};
#[doc(hidden)]
pub use quantity::Numeric;
#[doc(hidden)]
pub use quantized::{Quantized, linear_quantized};
pub(crate) use reduce::sum_as;
pub use reduce::{
    argmax, argmin, cumsum, max, max_all, max_keepdim, mean, mean_all, mean_keepdim, min, min_all,
    min_keepdim, norm, std, sum, sum_all, sum_keepdim, var,
};
pub use resample::{grid_sample, interpolate};
#[doc(hidden)]
pub use rnn::{Cell, Recurrence, rnn};
#[doc(hidden)]
pub use rotate::{Angles, rotate_as};
pub use select::{flip, gather, index_select, where_cond};
use select::{replaced, written};
#[doc(hidden)]
pub use softmax::softmax_as;
pub use softmax::{log_softmax, softmax};
pub use upsample::Interpolation;
#[doc(hidden)]
pub use upsample::upsample;
