//! What tells the lines of a chart apart: a colour and dashes.

use plotters::style::RGBColor;

/// Axes and text: contrast 4.5 on white, 4.2 on a dark page.
pub(in crate::plot) const INK: RGBColor = RGBColor(0x77, 0x77, 0x77);

/// How one line is drawn.
#[derive(Clone, Copy)]
pub(in crate::plot) struct Stroke {
    pub(in crate::plot) color: RGBColor,
    /// How long it is drawn, left out, drawn, …, in pixels; empty for a solid line.
    pub(in crate::plot) dashes: &'static [f64],
}

/// Okabe and Ito's colours without black and yellow, of which one page or the other shows nothing.
const COLORS: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xe6, 0x9f, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x56, 0xb4, 0xe9),
];

/// One fewer than colours, so that the pairs repeat only after thirty lines.
const DASHES: [&[f64]; 5] = [
    &[],
    &[6.0, 2.5],
    &[6.0, 2.0, 1.5, 2.0],
    &[1.5, 2.0],
    &[9.0, 2.0, 1.5, 2.0, 1.5, 2.0],
];

/// The style of the line that was added as number `index`.
pub(in crate::plot) fn stroke(index: usize) -> Stroke {
    Stroke {
        color: COLORS[index % COLORS.len()],
        dashes: DASHES[index % DASHES.len()],
    }
}
