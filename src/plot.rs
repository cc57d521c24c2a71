//! Charts, heat maps, rows of images, and the board on which a training loop draws.
//!
//! A picture is SVG that reads on white and on dark pages: its background is transparent, its greys
//! and colours are of middle contrast. The colours are those of Okabe and Ito, which
//! people with a colour vision deficiency can tell apart; each also has dashes of its own.

mod axis;
mod board;
mod chart;
mod colormap;
mod figure;
mod heatmap;
mod images;
mod number;
mod render;
mod values;

pub use axis::Scale;
pub use board::ProgressBoard;
pub use figure::{Figure, bar, histogram, plot, scatter};
pub use heatmap::{Heatmap, confusion_matrix, heatmap};
pub(crate) use images::pixels as image_pixels;
pub use images::{ImageGrid, Images, show_images};
pub use number::Number;
pub use values::Values;
