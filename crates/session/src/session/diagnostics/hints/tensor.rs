//! Methods, fields and operators of PyTorch's tensors, and what Taper's have instead.

use super::hint::{Hint, instead, quotes};
use crate::session::diagnostics::context::Context;
use crate::session::diagnostics::diagnostic::Diagnostic;

/// Methods and fields that a tensor does not have.
#[rustfmt::skip]
const MISSING: &[(&str, &str)] = &[
    ("zeros", "it is a function: `zeros((2, 3))`."),
    ("ones", "it is a function: `ones((2, 3))`."),
    ("rand", "it is a function: `rand((2, 3))`."),
    ("randn", "it is a function: `randn((2, 3))`."),
    ("view", "the shape is changed with `x.reshape((2, 3))`."),
    ("view_as", "the shape is changed with `x.reshape(y.shape())`."),
    ("size", "the shape is `x.dims()`; one size of it, `x.dim(0)`."),
    ("T", "the transpose is `x.t()`."),
    ("mT", "the transpose is `x.t()`."),
    ("H", "the transpose is `x.t()`."),
    ("numpy", "the elements become a list with `x.to_vec1::<f32>()`, of a matrix with `x.to_vec2::<f32>()`."),
    ("tolist", "the elements become a list with `x.to_vec1::<f32>()`, of a matrix with `x.to_vec2::<f32>()`."),
    ("to_list", "the elements become a list with `x.to_vec1::<f32>()`, of a matrix with `x.to_vec2::<f32>()`."),
    ("cuda", "a tensor is copied to a GPU with `x.to_device(&try_gpu(0))`."),
    ("cpu", "a tensor is copied to the CPU with `x.to_device(&cpu())`."),
    ("to", "a tensor is copied to a device with `x.to_device(&try_gpu(0))`, and converted to another type with `x.to_dtype(DType::F64)`."),
    ("is_cuda", "the device is tested with `x.device().is_cuda()`."),
    ("float", "the type is changed with `x.to_dtype(DType::F32)`."),
    ("double", "the type is changed with `x.to_dtype(DType::F64)`."),
    ("half", "the type is changed with `x.to_dtype(DType::F16)`."),
    ("bfloat16", "the type is changed with `x.to_dtype(DType::BF16)`."),
    ("long", "the type is changed with `x.to_dtype(DType::I64)`."),
    ("int", "the type is changed with `x.to_dtype(DType::I64)`."),
    ("bool", "a boolean tensor holds 0 and 1: `x.ne(0)`."),
    ("type", "the type is changed with `x.to_dtype(DType::F64)`."),
    ("astype", "the type is changed with `x.to_dtype(DType::F64)`."),
    ("numel", "the number of elements is `x.elem_count()`."),
    ("len", "the size of the first dimension is `x.dim(0)`; the number of elements, `x.elem_count()`."),
    ("ndim", "the number of dimensions is `x.rank()`."),
    ("ndimension", "the number of dimensions is `x.rank()`."),
    ("mm", "the product of matrices is `a.matmul(&b)`."),
    ("bmm", "the product of matrices is `a.matmul(&b)`."),
    ("mv", "the product of a matrix and a vector is `a.matmul(&v.unsqueeze(1)).squeeze(1)`."),
    ("dot", "the dot product of two vectors is `(&a * &b).sum_all()`; the product of matrices, `a.matmul(&b)`."),
    ("multiply", "the product of the elements is `&a * &b`."),
    ("add", "write the operator: `&a + &b`."),
    ("sub", "write the operator: `&a - &b`."),
    ("mul", "write the operator: `&a * &b`."),
    ("div", "write the operator: `&a / &b`."),
    ("broadcast_add", "the operators broadcast: `&a + &b`."),
    ("broadcast_sub", "the operators broadcast: `&a - &b`."),
    ("broadcast_mul", "the operators broadcast: `&a * &b`."),
    ("broadcast_div", "the operators broadcast: `&a / &b`."),
    ("broadcast_matmul", "the product of matrices is `a.matmul(&b)`, which broadcasts."),
    ("affine", "write it with operators: `&x * 2.0 + 1.0`."),
    ("add_", "a tensor does not change: `let x = &x + &y;` makes a new one."),
    ("sub_", "a tensor does not change: `let x = &x - &y;` makes a new one."),
    ("mul_", "a tensor does not change: `let x = &x * &y;` makes a new one."),
    ("zero_", "a tensor does not change: `let x = x.zeros_like();` makes a new one."),
    ("fill_", "a tensor does not change: `let x = x.ones_like();` makes a new one."),
    ("copy_", "a tensor does not change: assign another one, `let x = y.clone();`."),
    ("copy", "a clone has the same elements: `x.clone()`; they never change, so both share them."),
    ("requires_grad_", "a tensor to be trained is a `Parameter`: `let w = Parameter::new(&x);`; calculate with `w.tensor()`."),
    ("requires_grad", "a tensor to be trained is a `Parameter`: `let w = Parameter::new(&x);`; `x.track_op()` is true for what is computed from it."),
    ("grad", "`loss.backward()` returns the gradients: `let grads = loss.backward(); grads.of(&x)`."),
    ("data", "the elements without gradients are `x.detach()`."),
    ("masked_select", "choose rows with `x.index_select(&indices, 0)`."),
    ("where", "choose by a condition with `mask.where_cond(&a, &b)`."),
    ("sort_last_dim", "the elements are sorted with `x.sort(-1, false)`, which returns values and indices."),
    ("arg_sort_last_dim", "the order is `x.argsort(-1, false)`."),
    ("swapaxes", "dimensions are swapped with `x.transpose(0, 1)`."),
    ("ravel", "all dimensions are flattened into one with `x.flatten_all()`."),
    ("expand_dims", "a dimension of size 1 is inserted with `x.unsqueeze(0)`."),
    ("expand", "a tensor is broadcast with `x.broadcast_as((4, 2, 3))`; the shape is one argument, a tuple."),
    ("expand_as", "a tensor is broadcast with `x.broadcast_as(y.shape())`."),
    ("clip", "the values are limited with `x.clamp(0.0, 1.0)`."),
    ("clamp_min", "the values are limited with `x.clamp(0.0, 1.0)`, on one side with `x.maximum(0.0)`."),
    ("clamp_max", "the values are limited with `x.clamp(0.0, 1.0)`, on one side with `x.minimum(1.0)`."),
    ("power", "a power is `x.pow(3.0)`; the square, `x.sqr()`."),
    ("square", "the square is `x.sqr()`."),
    ("rsqrt", "it is `x.sqrt().recip()`."),
    ("concat", "tensors are joined with `cat(&[&a, &b], 0)`."),
    ("plot", "a curve is drawn with `plot(&x, &[&y])`."),
    ("shape_as_list", "the shape is `x.dims()`."),
    ("is_empty", "a tensor is empty if `x.elem_count() == 0`."),
    ("iter", "iterate over the rows: `for i in 0..x.dim(0) { let row = x.i(i); … }`; or over `x.to_vec1::<f32>()`."),
    ("map", "operators work on all elements: `&x * 2.0`, `x.exp()`."),
    ("apply_", "operators work on all elements: `&x * 2.0`, `x.exp()`."),
    ("unwrap", "a function on tensors returns the tensor itself: remove `.unwrap()`."),
    ("expect", "a function on tensors returns the tensor itself: remove `.expect(…)`."),
    ("is_err", "a function on tensors returns the tensor itself, or panics; `attempt(|| …)` returns a `Result`."),
    ("is_ok", "a function on tensors returns the tensor itself, or panics; `attempt(|| …)` returns a `Result`."),
    ("push", "a tensor does not grow; join two with `cat(&[&a, &b], 0)`."),
    ("append", "a tensor does not grow; join two with `cat(&[&a, &b], 0)`."),
];

/// Methods that exist and are called as PyTorch's.
#[rustfmt::skip]
const ARGUMENTS: &[(&str, &str)] = &[
    ("sum", "`x.sum_all()` adds up all elements, `x.sum(0)` those along a dimension."),
    ("mean", "`x.mean_all()` is the mean of all elements, `x.mean(0)` that along a dimension."),
    ("max", "`x.max_all()` is the maximum of all elements, `x.max(0)` that along a dimension."),
    ("min", "`x.min_all()` is the minimum of all elements, `x.min(0)` that along a dimension."),
    ("var", "the variance along a dimension is `x.var(0)`; of all elements, `x.var(..)`."),
    ("std", "the standard deviation along a dimension is `x.std(0)`; of all elements, `x.std(..)`."),
    ("norm", "the norm along a dimension is `x.norm(0)`; of all elements, `x.norm(..)`."),
    ("softmax", "pass the dimension: `x.softmax(-1)`."),
    ("log_softmax", "pass the dimension: `x.log_softmax(-1)`; `cross_entropy(&logits, &labels)` contains it."),
    ("argmax", "pass the dimension: `x.argmax(-1)`; of all elements, `x.flatten_all().argmax(0)`."),
    ("argmin", "pass the dimension: `x.argmin(-1)`; of all elements, `x.flatten_all().argmin(0)`."),
    ("sort", "pass the dimension, and whether the largest comes first: `x.sort(-1, false)` returns values and indices."),
    ("argsort", "pass the dimension, and whether the largest comes first: `x.argsort(-1, false)`."),
    ("i", "the indices are one argument, a tuple: `x.i((0, 1))`."),
    ("reshape", "a shape is one argument, a tuple: `x.reshape((2, 3))`."),
    ("repeat", "a shape is one argument, a tuple: `x.repeat((2, 1))`."),
    ("permute", "the order of the dimensions is one argument, a tuple: `x.permute((1, 0))`."),
    ("flip", "the dimensions are one argument: `x.flip(0)`, `x.flip((0, 1))`."),
    ("squeeze", "pass the dimension: `x.squeeze(0)`."),
    ("unsqueeze", "pass the dimension: `x.unsqueeze(0)`."),
    ("flatten", "all dimensions are flattened into one with `x.flatten_all()`; those from the second on, with `x.flatten_from(1)`."),
    ("transpose", "two dimensions are swapped with `x.transpose(0, 1)`; the last two, with `x.t()`."),
    ("split", "pass the size of the parts, and the dimension: `x.split(2, 0)`; for a number of parts, `x.chunk(2, 0)`."),
    ("topk", "pass how many, and the dimension: `x.topk(3, -1)` returns values and indices."),
    ("prod", "`x.prod(..)` is the product of all elements, `x.prod(0)` that along a dimension."),
    ("any", "`x.any(..)` is about all elements, `x.any(0)` about those along a dimension."),
    ("all", "`x.all(..)` is about all elements, `x.all(0)` about those along a dimension."),
    ("tile", "the repetitions are one argument, a tuple: `x.tile((2, 1))`."),
    ("chunk", "pass the dimension: `x.chunk(2, 0)`."),
    ("cumsum", "pass the dimension: `x.cumsum(0)`."),
    ("dim", "the number of dimensions is `x.rank()`; the size of one, `x.dim(0)`."),
    ("cat", "tensors are joined with `cat(&[&a, &b], 0)`."),
    ("zeros", "a shape is one argument, a tuple: `zeros((2, 3))`; on a device, `with_device(&try_gpu(0), || zeros((2, 3)))`."),
    ("ones", "a shape is one argument, a tuple: `ones((2, 3))`; on a device, `with_device(&try_gpu(0), || ones((2, 3)))`."),
    ("rand", "a shape is one argument, a tuple: `rand((2, 3))`; on a device, `with_device(&try_gpu(0), || rand((2, 3)))`."),
    ("randn", "a shape is one argument, a tuple: `randn((2, 3))`; on a device, `with_device(&try_gpu(0), || randn((2, 3)))`."),
    ("eye", "pass the number of rows: `eye(3)`."),
    ("arange", "pass start and end: `arange(0f32, 10.0)`."),
    ("linspace", "pass start, end and the number of steps: `linspace(0.0, 1.0, 5)`."),
    ("full", "pass shape and value: `full((2, 3), 7.0)`."),
    ("randint", "pass limits and shape: `randint(0, 10, (2, 3))`."),
    ("tensor", "pass the values: `tensor(&[1.0, 2.0])`; on a device, `with_device(&try_gpu(0), || tensor(&[1.0, 2.0]))`."),
];

/// For `-1` in a shape, where it would follow from the other sizes.
const NEGATIVE: &str = "the sizes of a shape are never negative. A size that follows from the others is `()`: `x.reshape((3, ()))`.";

/// Explains a method, a field or an argument of PyTorch.
pub(super) fn hint(diagnostic: &Diagnostic, context: &Context) -> Option<Hint> {
    let name = context.primary(diagnostic);
    if diagnostic.message.contains("`usize: Neg`") {
        return Some(instead(NEGATIVE));
    }
    let receiver = quotes(&diagnostic.message).last().unwrap_or_default();
    let is_tensor = receiver.trim_start_matches('&') == "Tensor" && !context.defines_item("Tensor");
    let table = match diagnostic.code.as_deref()? {
        "E0599" | "E0609" | "E0615" | "E0616" if is_tensor => MISSING,
        "E0061" if diagnostic.calls_taper => ARGUMENTS,
        _ => return None,
    };
    let (_, text) = table.iter().find(|(word, _)| *word == name)?;
    Some(instead(*text))
}

/// Returns whether this is a function of taper's that is known by its name.
pub(super) fn is_function(name: &str) -> bool {
    let call = format!("`{name}(");
    let mut functions = ARGUMENTS.iter().filter(|(_, text)| text.contains(&call));
    functions.any(|(word, _)| *word == name)
}
