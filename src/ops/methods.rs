//! The methods and operators of [`Tensor`](crate::tensor::Tensor): each calls the function of this room with its name.

mod compare;
mod convert;
mod elementwise;
mod index;
mod operators;
mod reduce;
mod select;
mod shape;
