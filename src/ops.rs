//! Functions on tensors: activations, convolution, pooling, normalisation, losses.
//!
//! They have the names of PyTorch's `torch.nn.functional`. The layers of `nn` and the methods of
//! [`Tensor`](crate::Tensor) compute with them. Gradients flow through all of them, on the CPU and on a GPU.
//!
//! - An input that does not fit is a panic with an error of two lines, which
//!   [`attempt`](crate::error::attempt) turns into a value.
//! - For inputs of 16 bits (`bf16`, `f16`), they compute in `f32` and round the result at the end.
//!   Integers are refused where a floating-point number is needed.
//! - The result for an empty batch is empty; the mean of its losses is refused.
//! - A size that does not fit into the memory is refused.

#[doc(inline)]
pub use taper_extra::{
    CTCLoss, CosineEmbeddingLoss, GaussianNLLLoss, HingeEmbeddingLoss, MultiMarginLoss,
    PoissonNLLLoss, TripletMarginLoss, einsum,
};
#[doc(inline)]
pub use taper_tensor::ops::*;
