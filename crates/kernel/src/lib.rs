//! The Jupyter front: five ZeroMQ sockets on one side, one [`Evaluator`](taper_evaluator::Evaluator) on the other.
//!
//! The path of a cell:
//!
//! ```text
//!  shell ──> shell.rs ── queue ──> evaluation.rs ──> Evaluator
//!               │ answers at once      │ events, replies
//!               └────────┬─────────────┘
//!                    outbox.rs ──> iopub, shell replies, stdin questions
//!  control ─> control.rs ──> its own replies;  interrupt and shutdown go through shared.rs
//!  stdin ──> prompts.rs ──> the cell that asked
//! ```
//!
//! Everything runs on one thread with an async runtime, except the evaluator, which has a thread of
//! its own and is allowed to block. Order needs no waiting anywhere: one task, the outbox, sends
//! what a cell causes, one thing after the other, so its outputs are out before its reply and its
//! `idle`. And every request is held by a [`request::Request`], whose end sends what is missing.
//!
//! [`spare`] is a kernel that was started before it is needed.

mod answers;
mod control;
mod cursor;
mod defaults;
mod evaluation_thread;
mod execute;
mod expressions;
mod history;
mod introspect;
mod lifecycle;
mod outbox;
mod prompts;
mod request;
mod serve;
mod shared;
mod shell;
mod signatures;
mod sockets;
pub mod spare;
mod throttle;

#[cfg(test)]
mod tests;

pub use serve::{Outside, serve};
