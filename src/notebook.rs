//! How a figure, a table or a value gets from a cell to the page.
//!
//! A *display record* is a MIME bundle with an optional display id. Where it goes depends on who
//! runs the program:
//!
//! - under the Taper kernel the record is written to standard output as one framed line, which the
//!   kernel turns into `display_data`, `update_display_data`, `execute_result` or `clear_output`;
//! - under stock `evcxr_jupyter` the same call prints that kernel's `EVCXR_BEGIN_CONTENT` blocks,
//!   and what would update in place shows its final state only;
//! - in a plain program nothing is printed: save a figure with its own `save` method.
//!
//! The frame begins with a control character and a secret that the kernel draws anew for every
//! process, so no text that a cell prints can be mistaken for it.

mod bundle;
mod cell;
mod display;
mod escape;
pub mod export;
mod handle;
mod hooks;
mod interrupt;
pub(crate) mod live;
mod progress;
mod record;
mod show;
mod terminal;
#[cfg(test)]
pub(crate) mod testing;
mod throttle;

pub use bundle::MimeBundle;
pub use display::{clear_output, display};
pub(crate) use escape::Escaped;
pub use handle::{LiveDisplay, display_live};
pub use interrupt::{check_interrupt, interrupted};
pub use progress::{Progress, progress};
pub use show::Show;
pub(crate) use show::Table;
