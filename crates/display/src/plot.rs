//! Charts, heat maps, grids of images, and the board on which a training loop draws.
//!
//! A figure is SVG for white and for dark pages: its background is transparent, and its greys and
//! colours have a medium contrast on both. The colours are those of Okabe and Ito, which people with a
//! colour vision deficiency can distinguish. Series also differ in dashes and markers.
//!
//! # What plotters does
//!
//! For charts with two axes, [plotters](https://docs.rs/plotters) computes the layout (margins, the
//! areas of labels, the plot area), maps data to coordinates, and draws grid, axes, ticks, their labels
//! and the labels of the axes. It draws into our `Scene`, which implements its `DrawingBackend`.
//!
//! What this module does itself, and why:
//!
//! - **Ticks** (`axis`), behind plotters' trait `Ranged`: labels of equal length, enough ticks on a
//!   logarithmic axis of less than a decade, and names of categories that are shortened or skipped where
//!   they would overlap.
//! - **Series** (`chart::series`): gaps at values that are not finite, one path per series with dashes,
//!   clipping to the plot area, and far fewer points than the data where more cannot be seen. Plotters'
//!   series draw every point, and nothing ends a line at a gap.
//! - **Legend** (`chart::legend`): above the plot area in rows. Plotters' legend is a box on top of the
//!   data.
//! - **SVG** (`render::svg`): tenths of a pixel, clipping, dashes and a title for screen readers, which
//!   plotters' SVG backend lacks.
//! - **Heat maps and image grids**: an image with text around it, for which plotters has nothing.
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
#[doc(hidden)]
pub use chain::{Chain, Outcome, Step};
pub use drawing::{Drawing, drawing};
pub use figure::{Figure, bar, histogram, plot, scatter};
pub use heatmap::{Heatmap, confusion_matrix, heatmap};
#[doc(hidden)]
pub use images::pixels as image_pixels;
pub use images::{ImageGrid, Images, show_images};
pub use number::Number;
#[doc(hidden)]
pub use number::short;
pub use values::Values;
