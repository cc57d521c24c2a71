//! The drawing layer: a scene of lines, markers, images and text, written as SVG.

pub(super) mod decimate;
pub(super) mod output;
pub(super) mod palette;
pub(super) mod scene;
mod svg;
pub(super) mod text;

/// Plotters' units per pixel.
pub(super) const UNIT: i32 = 10;
