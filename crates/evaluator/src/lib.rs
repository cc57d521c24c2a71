//! The interface between programs that have cells and programs that evaluate them.
//!
//! The Jupyter kernel and the runner of notebook files have cells. They use the trait [`Evaluator`] and
//! its [`Event`]s, and do not depend on how Rust is compiled. A session with a compiler implements the trait;
//! so do the log of an exported program and the fake evaluators of the tests. Both sides share this crate,
//! which depends on neither of them.
//!
//! # Input and output
//!
//! The input is the source of a cell. The output is events, in the order in which they happened; a [`Front`]
//! receives them one by one. If the cell fails, a [`CellError`] is the last event and the result of the call.
//! It is the only error of this crate.
//!
//! # The path of the data
//!
//! ```text
//! cell's source ── commands ──> lines for the session (`!ls`, `:restart`, `:dep`) and Rust
//!                                              │ runs in the cells process
//!     ┌────────────────────────────────────────┤
//!     │ its socket: figures, values, input     │ its standard output and standard error
//!     │                                        ├─> text
//!     │                                        └─> values and prompts that other crates print for evcxr (decoder)
//!     └─> events <─────────────────────────────┘
//!           └─> Front
//! ```
//!
//! The crate `taper` writes an [`Event`] as JSON, which the engine passes on as it is. Exported programs write the same
//! JSON into their log.
//!
//! # The files, from the bottom up
//!
//! - [`event`]: the events and the error of a cell;
//! - [`evaluator`]: the traits of both sides, completions;
//! - [`outputs`]: the outputs that a cell has after its events;
//! - [`run`]: how long a cell ran, and how its process ended;
//! - [`text`]: from bytes to text; [`decoder`]: from text to the marks of evcxr in it.

pub mod decoder;
pub mod evaluator;
pub mod event;
pub mod outputs;
pub mod run;
pub mod text;

pub use evaluator::{
    CellName, Completeness, Completion, Completions, Editor, Evaluator, IsComplete,
};
pub use evaluator::{Front, Interrupt, Late, StaleCell, Variable};
pub use event::{CellError, Event, Location, MimeBundle, Stream};
pub use outputs::{CellOutputs, joined};
