//! Evaluates Rust cell by cell: the items and the variables of a cell are there for the next one.
//!
//! The text of a cell goes in ([`Engine::evaluate`]); what it prints and shows comes out as [`Event`]s, in
//! order, and then an [`Outcome`]: which variables the cell has defined, moved away, lost or frozen, and why
//! it failed, if it did. The crate knows neither Jupyter nor `:dep`, and no package in particular: a program
//! that links it, and a folder of compiled packages, can evaluate cells (`examples/evaluate.rs`).
//!
//! # The path of a cell
//!
//! ```text
//! text ─ parse ─┬─ items ──────────────────┐        ┌─────── cache ──────┐
//!               └─ statements, last value ─┴─ write ┴── rustc ─ linker ──┴ load, call ─ events
//!                      ▲                                  │                    │
//!                      └── types of the variables ────────┘     values stay in the process
//! ```
//!
//! 1. **Parse** (`cell`). A cell is a list of statements, as in the body of a function. Items are taken out of it;
//!    what remains are statements and perhaps a last expression, whose value is shown. A cell that is not valid
//!    Rust goes on as it is: rustc explains it best.
//! 2. **Items** (`items`). All items of all cells are one crate, so that an implementation can be in another cell
//!    than its type. An item replaces an earlier one of the same name; an implementation replaces the methods that
//!    it defines again. Macros are written first. Items that no cell calls cost little, because rustc generates
//!    no code for them. A static must not be compiled twice: the cell that defines it exports a symbol, and in
//!    later cells an `extern` declaration of that symbol is in its place.
//! 3. **Write** (`source`, `file`). The parts of a cell become files in which the other parts are blanked out. So
//!    lines and columns in rustc's messages, in panics and in `dbg!` are those of the cell. Around them is a
//!    function that takes the variables which the cell mentions out of their slots, and puts them back.
//! 4. **Look** (`cache`). What was compiled before, with the same sources, compiler and packages, is not compiled again,
//!    in no session: nothing in a cell's source depends on when it is evaluated.
//! 5. **Compile** (`compile`). rustc was started when the last cell ended, has loaded the metadata of all packages,
//!    and waits within `include!` for the source. An interrupt kills it. The object file becomes a shared library
//!    without any library to link to: the process that loads it has them all. How well it is compiled depends on what
//!    the cell contains (`cell/work.rs`).
//! 6. **Learn** (`repair`, `opaque`, `compile/types.rs`, `question`). The compiler knows best what a cell moves, what borrows from what,
//!    and which types its variables have. So the source asks: a variable that cannot be put back has been moved away,
//!    and the next attempt leaves it out; a variable that others borrow from is *frozen* by the next attempt, which
//!    means that its value stays where it is until the process ends; and a lint says the type of each new variable, which
//!    the next cell needs in order to mention it. Two more lints say which earlier variables the cell changes and does
//!    not use: from these [`Effects`], a [`Graph`] finds the cells that are stale.
//! 7. **Run** (`process`). A second process, this program again ([`hook()`]), loads the library and calls the
//!    function. It reports over a socket, in typed messages of limited size; what the cell prints goes through
//!    pipes, and is only text, whatever it looks like. If the process ends, the next cell gets another one.
//!
//! # The crate that is written for a cell
//!
//! After a cell `fn twice(x: i32) -> i32 { 2 * x }  let a = 20;`, the cell `let b = twice(a); b + 1` becomes
//!
//! ```text
//! main.rs             rustc has read it before the cell is known, and waits:
//!   #[macro_use] extern crate cell_support;   // ../support.rs, with the slots of the variables
//!   use ::taper as _;                         // the packages
//!   include!("/dev/stdin");
//!
//! standard input      comes with the cell (`source`):
//!   imports and items of earlier cells        // each cell's in a file of its own: include!("cell-<digest>.<digest>")
//!   #[unsafe(no_mangle)] pub extern "C" fn taper_cell() { ::cell_support::guard(|| {
//!       let a: i32 = unsafe { ::cell_support::take("a") };       // what the cell mentions
//!       let taper_done = ::cell_support::run(|| include!("cell-<digest>"));
//!       ::cell_support::put("a", a);                             // what it has not moved away
//!   }); }
//!
//! cell-<digest>       the cell, each line where it was:
//!   {let b = twice(a); { use ::cell_support::ByDebug as _; (&(b + 1)).evcxr_display(); }
//!   ;
//!   { let _ = &b as &_; ::cell_support::keep("b", b); }          // a lint says its type: `as &_`
//!   }
//! ```
//!
//! # What makes it sound
//!
//! Each cell is a crate of the same name with the same items, so a type has the same identity and the same layout in all of them.
//! `items` follows which types change when an item does, through all types that mention it; variables of such a type are
//! dropped before the cell runs, by the code that made them; so are those that may contain a value of any type (`Box<dyn Any>`),
//! because the new type has the identity of the old one. The slots check identity, size and alignment once more. Libraries are never
//! unloaded. Values are used by one thread. If a cell cannot be stopped, another thread takes its place and has only the values
//! of types that are `Send`; the others stay with the thread of the cell (`late.rs`).
//!
//! # Files, from the bottom up
//!
//! | file | task |
//! |---|---|
//! | `diagnostic.rs`, `error.rs` | messages of rustc; why a cell fails |
//! | `words.rs` | the words of rustc that the engine reads, and what depends on them |
//! | `config.rs` | compiler, packages and folders |
//! | `cell/` | splits a cell, and finds names, keys and statics in it |
//! | `file.rs` | a part of a cell as a file |
//! | `items.rs`, `items/`, `variables.rs` | what all cells so far have defined |
//! | `cache.rs` | compiled cells on disk |
//! | `interrupt.rs` | stops a compiler or a cell |
//! | `compile/` | rustc and the linker |
//! | `source.rs` | writes a cell's crate, and finds the cell in messages about it |
//! | `glue.rs` | what that contains besides the cell |
//! | `macros.rs` | learns how calls of macros are read, and what they replace |
//! | `repair.rs`, `opaque.rs` | learns from an attempt to compile; how values without a nameable type are kept |
//! | `effects.rs`, `stale/` | which cells depend on which, and are stale |
//! | `needs.rs` | which cells must run before another |
//! | `process/` | the process that runs the cells, from both sides |
//! | `packages.rs` | other packages for later cells, and what they leave |
//! | `known.rs` | uses what was compiled before |
//! | `hook.rs` | what this program does as that process |
//! | `question.rs`, `interior.rs`, `reach.rs`, `observe.rs` | what a cell uses and changes |
//! | `engine.rs`, `plan.rs`, `attempts.rs`, `evaluation.rs` | the state between cells, and the path of one cell |
//! | `ahead.rs` | compiles a cell before it is evaluated |
//! | `profile.rs` | what the lines of a cell took |
//! | `scope.rs` | what a cell can use, for an editor |
//! | `panics.rs`, `faults.rs` | which panic ended a cell; in which cell it was |
//! | `late.rs` | threads that go on after their cell |
//! | `../support.rs`, `../panics.rs`, `../profile.rs`, `../futures.rs`, `../turn.rs` | what is compiled for the cells: slots, values; panics; lines that are measured; futures; the thread that runs them |

mod ahead;
mod attempts;
mod cache;
mod cell;
mod compile;
mod config;
mod diagnostic;
mod effects;
mod engine;
mod error;
mod evaluation;
mod faults;
mod file;
mod glue;
mod hook;
mod interior;
mod interrupt;
mod items;
mod known;
mod late;
mod macros;
mod needs;
mod observe;
mod opaque;
mod packages;
mod panics;
mod parts;
mod plan;
mod process;
mod profile;
mod question;
mod reach;
mod repair;
mod scope;
mod source;
mod stale;
mod variables;
mod words;

pub use ahead::Ahead;
pub use config::{Config, Package};
pub use diagnostic::{Code, Diagnostic, Expansion, Level, Line, Span};
pub use effects::{Access, Effects};
pub use engine::{Engine, Event, Outcome};
pub use error::{CompilerFailed, Failure, Fault, Place, Refusal};
pub use file::file_of_cell;
pub use hook::hook;
pub use interrupt::Interrupter;
pub use items::Removed;
pub use needs::{CellSource, needed};
pub use opaque::Gone;
pub use packages::Replaced;
pub use process::Question;
pub use process::host::Host;
pub use process::link::{ask, send_of_package, send_printed};
pub use process::wire::Answer;
pub use profile::{Allocations, LineProfile, Memory, Profile};
pub use scope::{Scope, Surroundings};
pub use stale::{Cell, Graph, How, Reason, Stale};
pub use variables::Variable;
pub use words::{HOLDS, Hold};
