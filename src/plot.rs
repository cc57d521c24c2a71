//! Line charts, and the board on which a training loop draws.
//!
//! A chart is an SVG picture that reads on white and on dark pages: its background is transparent,
//! its greys and colours are of middle contrast. The colours are those of Okabe and Ito, which
//! people with a colour vision deficiency can tell apart; each also has dashes of its own.

mod axis;
mod board;
mod chart;
mod number;
mod palette;
mod svg;
mod trace;

pub use axis::Scale;
pub use board::ProgressBoard;
pub use number::Number;
pub(crate) use svg::Escaped;
