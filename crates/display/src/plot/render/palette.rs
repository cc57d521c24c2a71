//! The colours, dashes and markers that distinguish the series of a chart.

use super::decimate::Point;
use plotters::style::RGBColor;

/// The colour of axes and text: contrast 4.5 on white, 4.2 on a dark page.
pub(in crate::plot) const INK: RGBColor = RGBColor(0x77, 0x77, 0x77);

/// The colour and the dashes of a line.
#[derive(Clone, Copy)]
pub(in crate::plot) struct Stroke {
    pub(in crate::plot) color: RGBColor,
    /// Lengths of dashes and gaps in turn, in pixels; empty for a solid line.
    pub(in crate::plot) dashes: &'static [f64],
}

/// Okabe and Ito's colours without black and yellow; orange and sky blue are darker. Each has a contrast of
/// at least 3 with a white page and with a dark one.
const COLORS: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xb2),
    RGBColor(0xd5, 0x5e, 0x00),
    RGBColor(0x00, 0x9e, 0x73),
    RGBColor(0xcc, 0x79, 0xa7),
    RGBColor(0xc6, 0x82, 0x00),
    RGBColor(0x2f, 0x9b, 0xd6),
];

/// The dashes of lines. There is one pattern fewer than colours, so that a pair of colour and pattern
/// repeats only after thirty series.
const DASHES: [&[f64]; 5] = [
    &[],
    &[7.0, 2.5],
    &[6.0, 2.0, 1.5, 2.0],
    &[1.5, 2.0],
    &[9.0, 2.0, 1.5, 2.0, 1.5, 2.0],
];

/// Returns the colour and the dashes of the series with this index.
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

/// Returns the marker of the series with this index. There are as many markers as colours, so each colour
/// has its own marker.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the relative luminance as WCAG defines it.
    fn luminance(RGBColor(r, g, b): RGBColor) -> f64 {
        let linear = |part: u8| match f64::from(part) / 255.0 {
            part if part <= 0.04045 => part / 12.92,
            part => ((part + 0.055) / 1.055).powf(2.4),
        };
        0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b)
    }

    fn contrast(a: RGBColor, b: RGBColor) -> f64 {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        a.max(b) / a.min(b)
    }

    /// The backgrounds of JupyterLab's themes.
    const PAGES: [RGBColor; 2] = [RGBColor(0xff, 0xff, 0xff), RGBColor(0x11, 0x11, 0x11)];

    #[test]
    fn colours_are_visible_on_light_and_dark_pages() {
        for page in PAGES {
            for color in COLORS {
                let contrast = contrast(color, page);
                assert!(contrast >= 3.0, "{color:?} on {page:?}: {contrast}");
            }
            let contrast = contrast(INK, page);
            assert!(contrast >= 4.1, "text on {page:?}: {contrast}");
        }
    }
}
