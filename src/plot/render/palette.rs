//! The colours, dashes and markers that distinguish the series of a chart.

use super::decimate::Point;
use plotters::style::RGBColor;

/// The colour of axes and text: contrast 4.5 on white, 4.2 on a dark page.
pub(in crate::plot) const INK: RGBColor = RGBColor(0x77, 0x77, 0x77);

/// The look of a line.
#[derive(Clone, Copy)]
pub(in crate::plot) struct Stroke {
    pub(in crate::plot) color: RGBColor,
    /// Lengths of dashes and gaps in turn, in pixels; empty for a solid line.
    pub(in crate::plot) dashes: &'static [f64],
}

/// Okabe and Ito's colours, without black and yellow: a dark or a white page would hide them.
const COLORS: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
];

/// One fewer than colours, so that pairs of both repeat only after thirty series.
const DASHES: [&[f64]; 5] = [
    &[],
    &[6.0, 2.5],
    &[6.0, 2.0, 1.5, 2.0],
    &[1.5, 2.0],
    &[9.0, 2.0, 1.5, 2.0, 1.5, 2.0],
];

/// Returns the look of the series with this index.
pub(in crate::plot) fn stroke(index: usize) -> Stroke {
    Stroke {
        color: COLORS[index % COLORS.len()],
        dashes: DASHES[index % DASHES.len()],
    }
}

/// The shape of a marker around its centre: a disc with a radius, or a polygon.
pub(in crate::plot) enum Marker {
    Disc(i32),
    Polygon(&'static [Point]),
}

/// Returns the marker of a series. There are as many as colours, so each colour has its own.
pub(in crate::plot) fn marker(index: usize) -> Marker {
    match index % 6 {
        0 => Marker::Disc(28),
        1 => Marker::Polygon(&[(-25, -25), (25, -25), (25, 25), (-25, 25)]),
        2 => Marker::Polygon(&[(0, -34), (32, 22), (-32, 22)]),
        3 => Marker::Polygon(&[(0, -36), (33, 0), (0, 36), (-33, 0)]),
        4 => Marker::Polygon(&[(0, 34), (32, -22), (-32, -22)]),
        _ => Marker::Polygon(&[
            (-11, -33),
            (11, -33),
            (11, -11),
            (33, -11),
            (33, 11),
            (11, 11),
            (11, 33),
            (-11, 33),
            (-11, 11),
            (-33, 11),
            (-33, -11),
            (-11, -11),
        ]),
    }
}
