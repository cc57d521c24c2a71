//! Charts, heat maps, grids of images, and the board on which a training loop draws.
//!
//! A figure is SVG for white and for dark pages: its background is transparent, and its greys and
//! colours have a medium contrast on both. The colours are those of Okabe and Ito, which people with a
//! colour vision deficiency can distinguish. Series also differ in dashes and markers.
//!
//! Charts and the other kinds of figures compute the layout and put lines, text and images into a
//! `Scene`, which `render::svg` writes: with tenths of a pixel, clipping, dashes and a title for screen
//! readers. What a chart takes care of:
//!
//! - **Ticks** (`axis`): labels of equal length, enough ticks on a logarithmic axis of less than a decade, and
//!   names of categories that are shortened or skipped where they would overlap.
//! - **Series** (`chart::series`): gaps at values that are not finite, one path per series, and far fewer
//!   points than the data where more cannot be seen.
//! - **Legend** (`chart::legend`): above the plot area in rows.
//!
//! There is no PNG output of charts. It would need a rasteriser and a font; browsers and `rsvg-convert`
//! have both. Grids of images without titles are saved as PNG, since they are pixels already.

mod axis;
mod board;
mod chain;
mod chart;
mod colormap;
mod drawing;
mod figure;
mod heatmap;
mod images;
mod number;
mod render;
#[cfg(test)]
mod testing;
mod values;

pub use axis::Scale;
pub use board::ProgressBoard;
pub(crate) use chain::{Chain, Outcome, Step};
pub use drawing::{Drawing, drawing};
pub use figure::{Figure, bar, histogram, plot, scatter};
pub use heatmap::{Heatmap, confusion_matrix, heatmap};
pub(crate) use images::pixels as image_pixels;
pub use images::{ImageGrid, Images, show_images};
pub use number::Number;
pub(crate) use number::short;
pub use values::Values;
