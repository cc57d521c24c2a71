//! The methods and operators of [`Tensor`](crate::tensor::Tensor): each calls the function of this room with its name.
//!
//! Public functions with `#[track_caller]` are `#[inline]` too. A cell may use such a function as a value, as in
//! `.map(Tensor::exp)`; rustc then generates a wrapper in the cell that cannot be linked with a dynamic library,
//! unless the function itself is compiled in the cell. For the same reason implementations of `forward` and `step`,
//! which are called through trait objects, have no `#[track_caller]`.

mod arrange;
mod compare;
mod convert;
mod elementwise;
mod index;
mod logical;
mod operators;
mod reduce;
mod select;
mod shape;
mod sort;
