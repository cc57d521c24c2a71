//! What all crates share that evaluate cells or show what cells did.
//!
//! [`evaluator`] is the border: on one side whoever has cells (the Jupyter kernel, the runner of
//! notebook files), on the other side what runs them (a session with a compiler, the log of an
//! exported program, a fake in tests). A cell goes in as text; what it does comes out as [`event`]s, in
//! the order in which it happens.
//!
//! The processes of a session, and programs that were exported, write what they show as [`record`]s
//! among their other output; [`decoder`] finds them there. [`commands`] takes a cell apart into Rust and
//! the lines that are none.

pub mod commands;
pub mod decoder;
pub mod evaluator;
pub mod event;
pub mod record;

pub use evaluator::{Completeness, Completion, Completions, Evaluator, Front, Interrupt};
pub use event::{CellError, Event, Location, MimeBundle, Stream};
