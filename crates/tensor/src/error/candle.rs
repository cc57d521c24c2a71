//! The messages of Candle's errors, with advice.

use candle_core::Error;
use std::io::ErrorKind;

pub(super) const NOT_A_FLOAT: &str =
    "The text is not a number. Remove spaces with `.trim()`, and write a point, not a comma.";

pub(super) const NOT_AN_INTEGER: &str =
    "The text is not a number of this type. Remove spaces with `.trim()`; `\"1.5\"` needs `f64`.";

/// Adds the advice as a second line to a message of one line.
pub(super) fn join(message: &str, advice: Option<&str>) -> String {
    match advice {
        Some(advice) if message.lines().count() == 1 => format!("{message}\n{advice}"),
        _ => message.to_owned(),
    }
}

/// Returns Candle's message, and a line about what to do unless the message has one.
pub(super) fn of_error(error: &Error) -> String {
    join(&message(error), of_candle(error))
}

/// Returns Candle's message without a backtrace, and corrected where Candle's is wrong.
fn message(error: &Error) -> String {
    match error {
        Error::WithBacktrace { inner, .. } => message(inner),
        Error::Context { inner, context } => format!("{context}\n{}", message(inner)),
        Error::WithPath { inner, path } => format!("{}: {}", path.display(), message(inner)),
        Error::ShapeMismatch { buffer_size, shape } => format!(
            "shape mismatch: {shape:?} has {} elements, but there are {buffer_size}",
            shape.elem_count()
        ),
        _ => error.to_string(),
    }
}

/// Returns what to do about one of Candle's errors.
#[rustfmt::skip]
fn of_candle(error: &Error) -> Option<&'static str> {
    Some(match error {
        Error::WithBacktrace { inner, .. } | Error::WithPath { inner, .. } => return of_candle(inner),
        Error::ShapeMismatchBinaryOp { op: "matmul", .. } => "A product needs (…, n, k) times (…, k, m): the two k must be equal. Perhaps one side needs `.t()`.",
        Error::ShapeMismatchBinaryOp { op, .. } if op.starts_with("broadcast") => "Compare the shapes from the right: two sizes must be equal, or one of them 1. `.unsqueeze(dim)` adds a dimension of size 1.",
        Error::ShapeMismatchBinaryOp { .. } => "Both shapes must be equal: Candle's own operators do not broadcast. Convert both with `Tensor::from`, and they do.",
        Error::ShapeMismatchCat { .. } => "All dimensions except the one being joined must have equal sizes.",
        Error::ShapeMismatchSplit { .. } => "The size of the dimension must be a multiple of the number of parts.",
        Error::ShapeMismatch { .. } => "The sizes of a shape must multiply to the number of elements. Write `()` for one size, and it is computed: `(2, ())`.",
        Error::BroadcastIncompatibleShapes { .. } => "Compare the shapes from the right: two sizes must be equal, or the old one 1.",
        Error::NarrowInvalidArgs { .. } => "An index counts from 0 and stays below the size of its dimension; `.dims()` returns the sizes.",
        Error::DimOutOfRange { .. } => "Dimensions count from 0, so a tensor with two dimensions has 0 and 1; −1 is the last one.",
        Error::DuplicateDimIndex { .. } => "Name each dimension once.",
        Error::UnexpectedNumberOfDims { expected: 0, .. } => "Only a tensor without dimensions is a scalar: add up with `.sum_all()`, or choose one element with `.i((0, 0))`.",
        Error::UnexpectedNumberOfDims { expected: 1, .. } => "Flatten it first: `.flatten_all()`; or use `to_vec2` for two dimensions, `to_vec3` for three.",
        Error::UnexpectedNumberOfDims { .. } => "The number of dimensions is wrong. `.dims()` returns the shape; `.reshape`, `.unsqueeze` and `.squeeze` change it.",
        Error::UnexpectedDType { .. } => "Request the tensor's own type, or convert it first: `.to_dtype(DType::F32)`.",
        Error::DTypeMismatchBinaryOp { .. } => "Both need the same element type. Convert one: `.to_dtype(DType::F32)`.",
        Error::UnsupportedDTypeForOp(..) => "This operation needs another element type. Convert first: `.to_dtype(DType::U32)` for indices, `DType::F32` to calculate.",
        Error::DeviceMismatchBinaryOp { .. } => "Both must be on the same device. Move one of them: `x.to_device(y.device())`.",
        Error::InvalidIndex { .. } => "Indices count from 0 and stay below the size of the dimension.",
        Error::NotCompiledWithCudaSupport | Error::NotCompiledWithMetalSupport => "Write `try_gpu(0)`: it returns the GPU where one can be used, and the CPU elsewhere.",
        Error::RequiresContiguous { .. } | Error::MatMulUnexpectedStriding(_) => "Make the tensor contiguous first: `.contiguous()`.",
        Error::EmptyTensor { .. } => "The tensor has no elements; `.dims()` returns its shape.",
        Error::BackwardNotSupported { .. } => "Candle cannot compute the gradient of this operation. Use another one, or `.detach()` what needs no gradient.",
        Error::CannotFindTensor { .. } => "The file has no tensor of this name.",
        Error::ParseInt(_) => NOT_AN_INTEGER,
        Error::Io(error) => return of_io(error.kind()),
        Error::Cuda(error) => return of_the_driver(&error.to_string()),
        _ => return None,
    })
}

/// Returns what to do about an error of CUDA's driver, whose codes arrive in the text only.
#[rustfmt::skip]
fn of_the_driver(message: &str) -> Option<&'static str> {
    const CODES: [(&str, &str); 4] = [
        ("CUDA_ERROR_OUT_OF_MEMORY", "The GPU's memory is full. Use smaller batches, drop tensors of earlier cells with `drop(x)`, or restart the kernel; `nvidia_smi()?` shows what other programs hold."),
        ("CUDA_ERROR_ASSERT", "An index is out of range, and the GPU cannot be used until the kernel is restarted. Then run the cell on `cpu()`, which names the index."),
        ("CUDA_ERROR_ILLEGAL_ADDRESS", "The GPU cannot be used until the kernel is restarted."),
        ("CUDA_ERROR_NOT_FOUND", "The GPU has no kernel for this element type. Convert first, `x.to_dtype(DType::F32)`, or compute it on the CPU."),
    ];
    let found = CODES.iter().find(|(code, _)| message.contains(code));
    found.map(|&(_, advice)| advice)
}

/// Returns what to do about an error of a file or another stream.
pub(super) fn of_io(kind: ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::NotFound => "Check the name; a relative path starts in the notebook's folder.",
        ErrorKind::PermissionDenied => {
            "You may not read or write this file. Choose another one, or change its permissions."
        }
        ErrorKind::IsADirectory => "This is a folder. Name a file in it.",
        ErrorKind::AlreadyExists => "Choose another name, or remove what is there first.",
        ErrorKind::StorageFull => "The disk is full. Free some space, then run the cell again.",
        _ => return None,
    })
}
