//! A Jupyter kernel over any [`Evaluator`](taper_evaluator::Evaluator).
//!
//! What goes in: the connection file, in which Jupyter names five ports and a key, and a function that
//! starts the evaluator. What comes out: replies and outputs on five ZeroMQ sockets, until a front end
//! requests shutdown, SIGTERM arrives or Jupyter ends. This crate knows the protocol and nothing of
//! Rust, compilers or images.
//!
//! # The path of a cell
//!
//! ```text
//!            inbox.rs                     queue
//!  shell ───────────────> shell.rs ────────────────> evaluation_thread.rs ──> Evaluator
//!                            │ replies at once          │ execute.rs: events, reply
//!                            │ (answers.rs)             │ expressions.rs
//!                            └───────────┬──────────────┘
//!                                    request.rs: one reply, one idle
//!                                        │ outgoing.rs: queues
//!                                    outbox.rs ──> iopub, shell replies, stdin questions
//!  control ─> control.rs ──> its own replies;  interrupt and shutdown: shared.rs
//!  stdin ───> stdin.rs ────> prompts.rs ──> the cell that waits
//!  control ─> variables.rs: the panel of variables
//!  shell ───> widgets.rs: the controls that the user moves, and what they wait for
//! ```
//!
//! 1. A `router` reads the messages of all peers, within a `budget`, because they may come from anybody on this machine.
//!    `inbox` verifies the signature of a message, refuses a message that was received before
//!    (`signatures`), and parses it, with the fields that front ends may omit (`defaults`).
//! 2. `shell` takes a ticket for an execute request (`shared`) and queues the request. Requests that
//!    need no evaluator are answered at once (`answers`, `history`).
//!    Completion and documentation have a thread of their own (`editing`, `introspect`), so that they come while a cell runs.
//! 3. `evaluation_thread` takes the request from the queue. Only this thread blocks: everything else
//!    runs on one thread with an asynchronous runtime.
//! 4. `execute` runs the cell, unless an earlier cell failed or was interrupted, and publishes its
//!    events (`outputs`; `media` converts MIME bundles). If the cell asks for input, it waits in `prompts`. What threads of
//!    cells print after their cell goes through `late`.
//! 5. `outbox` is the only task that sends, one message after the other, so a cell's outputs arrive
//!    before its reply and its `idle` without any sleep. `publisher` has a queue for each front end, so
//!    that no front end waits for another (`zmtp` is its protocol). The outbox joins small pieces of text,
//!    limits how often displays are updated (`throttle`), and keeps what a page has missed that is opened later (`kept`).
//!
//! A `request` publishes `busy` when it begins; when it is dropped, it publishes `idle` and replies
//! with an error if there was no reply. So each request gets exactly one reply and one `idle`, also an
//! unknown or malformed request, and a request whose handler panicked (`evaluation`).
//!
//! # Start and end
//!
//! [`serve()`] reads the connection file (`connection_file`: only signed messages over the loopback
//! interface), binds the `sockets` and starts the evaluator on its thread. `lifecycle` watches signals
//! and Jupyter's process. All tasks end when `stop` is requested: the running cell is interrupted up to
//! twice, and the messages in the outbox are sent.

mod answers;
mod budget;
mod connection_file;
mod control;
mod cursor;
mod defaults;
mod editing;
mod evaluation;
mod evaluation_thread;
mod execute;
mod expressions;
mod history;
mod inbox;
mod introspect;
mod kept;
mod late;
mod lifecycle;
mod listener;
mod marks;
mod media;
mod outbox;
mod outgoing;
mod outputs;
mod prompts;
mod publisher;
mod request;
mod router;
mod serve;
mod shared;
mod shell;
mod signatures;
mod sockets;
mod stale;
mod stdin;
mod stop;
mod throttle;
mod usage;
mod variables;
mod widgets;
mod wire;
mod zmtp;

#[cfg(test)]
mod tests;

pub use serve::serve;
