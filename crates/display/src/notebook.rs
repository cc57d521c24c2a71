//! The outputs of cells: how values, figures and tables get from a cell to the notebook page.
//!
//! A *display* is a MIME bundle with an optional display id. Where it goes depends on the host of the program:
//!
//! - Under the Taper kernel it is sent through a socket as an event, which the kernel turns into `display_data`,
//!   `update_display_data`, `execute_result` or `clear_output`. Standard output contains only text.
//! - A program that `taper export` has made writes the same events into its log, one line each.
//! - Under stock `evcxr_jupyter` the same call prints that kernel's `EVCXR_BEGIN_CONTENT` blocks. A
//!   display that would be updated in place shows its final state only.
//! - A plain program prints nothing: save a figure with its own `save` method.
//!
//! The modules:
//!
//! | module | task |
//! |---|---|
//! | `show` | [`Show`]: the text and the bundle of a value, a list, a table, a device |
//! | `bundle` | [`MimeBundle`]: one value in several representations |
//! | `escape` | text inside XML and HTML |
//! | `columns` | the width of text |
//! | `digits` | values with three digits and a unit |
//! | `display` | [`display`], [`clear_output`] and the value of a cell |
//! | `live`, `throttle` | displays that change in place, and how often they are redrawn |
//! | `handle` | [`display_live`]: a live display of any bundle |
//! | `progress` | [`progress`]: live progress bars |
//! | `password` | [`read_password`]: a line that is not shown |
//! | `record` | the host of the program, and how events reach it |
//! | `terminal` | lines that change in place on a terminal, for programs outside a notebook |
//! | `cell` | the running cell: its thread and its output area |
//! | `interrupt` | [`check_interrupt`]: requests to stop |
//! | `failure` | the report of a `?` that ends a cell |
//! | `hooks` | the functions that the kernel calls in the cells process |
//! | `unit_tests` | the tests of a cell, which `%test` runs |
//! | `widget` | [`slider`] and [`interact`]: controls that the user moves |
//! | [`export`] | the runtime of programs exported from a notebook |

mod bundle;
mod cell;
mod columns;
#[doc(hidden)]
pub mod digits;
mod display;
mod escape;
pub mod export;
#[doc(hidden)]
pub mod failure;
mod handle;
mod hooks;
mod interrupt;
pub(crate) mod live;
mod password;
mod progress;
mod record;
mod show;
mod terminal;
#[cfg(any(feature = "testing", test))]
#[doc(hidden)]
pub mod testing;
mod throttle;
#[doc(hidden)]
pub mod unit_tests;
mod widget;

pub use bundle::MimeBundle;
#[doc(hidden)]
pub use cell::{at_end as at_end_of_cell, is_profiled};
pub(crate) use columns::columns;
pub use display::{clear_output, display};
pub(crate) use escape::Escaped;
pub use handle::{LiveDisplay, display_live};
pub use interrupt::{check_interrupt, interrupted};
pub use password::read_password;
pub use progress::{Progress, progress};
pub use show::Show;
#[doc(hidden)]
pub use show::{Table, debug_as_shown, show_as_table};
#[doc(hidden)]
pub use widget::update_widget;
pub use widget::{Controls, Slider, interact, slider};
pub(crate) use widget::{new_control, show_control};
