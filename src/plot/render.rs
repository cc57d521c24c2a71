//! From a drawing to a file: a scene of lines, marks and text, written as SVG or as pixels.

pub(super) mod decimate;
pub(super) mod output;
pub(super) mod palette;
mod raster;
pub(super) mod scene;
mod svg;
pub(super) mod text;

/// So many of plotters' units make a pixel.
pub(super) const UNIT: i32 = 10;
