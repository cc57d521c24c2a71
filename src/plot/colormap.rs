//! Numbers as colours.

use plotters::style::RGBColor;

/// Nine steps of viridis: as light grows with the value, it can be read without colours too.
const STEPS: [(u8, u8, u8); 9] = [
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
];

/// What is no number: the grey of the axes.
const NONE: RGBColor = super::render::palette::INK;

/// The colour of a part of the range, from 0 to 1.
pub(super) fn color(part: f64) -> RGBColor {
    if !part.is_finite() {
        return NONE;
    }
    let place = part.clamp(0.0, 1.0) * (STEPS.len() - 1) as f64;
    let below = (place as usize).min(STEPS.len() - 2);
    let rest = place - below as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * rest).round() as u8;
    let (from, to) = (STEPS[below], STEPS[below + 1]);
    RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// Black or white, whichever can be read on the colour.
pub(super) fn ink_on(RGBColor(r, g, b): RGBColor) -> RGBColor {
    let light = 0.299 * f64::from(r) + 0.587 * f64::from(g) + 0.114 * f64::from(b);
    match light > 140.0 {
        true => RGBColor(0, 0, 0),
        false => RGBColor(255, 255, 255),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn light_grows_with_the_value() {
        let light = |part| {
            let RGBColor(r, g, b) = color(part);
            2 * u32::from(r) + 5 * u32::from(g) + u32::from(b)
        };
        let lights: Vec<u32> = (0..=50).map(|i| light(f64::from(i) / 50.0)).collect();
        assert!(lights.is_sorted(), "{lights:?}");
        assert_eq!(color(f64::NAN), NONE);
        assert_eq!(ink_on(color(0.0)), RGBColor(255, 255, 255));
        assert_eq!(ink_on(color(1.0)), RGBColor(0, 0, 0));
    }
}
