//! The colour map of heat maps.

use plotters::style::RGBColor;

/// Nine colours of viridis. Lightness grows with the value, so a heat map is also readable in greyscale.
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

/// The colour of NaN: the grey of the axes.
const NAN_COLOR: RGBColor = super::render::palette::INK;

/// Returns the colour of a fraction of the range, from 0 to 1.
pub(super) fn color(fraction: f64) -> RGBColor {
    if !fraction.is_finite() {
        return NAN_COLOR;
    }
    let position = fraction.clamp(0.0, 1.0) * (STEPS.len() - 1) as f64;
    let below = (position as usize).min(STEPS.len() - 2);
    let rest = position - below as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * rest).round() as u8;
    let (from, to) = (STEPS[below], STEPS[below + 1]);
    RGBColor(mix(from.0, to.0), mix(from.1, to.1), mix(from.2, to.2))
}

/// Returns black or white, whichever is readable on the colour.
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
    fn lightness_grows_with_the_value() {
        let light = |part| {
            let RGBColor(r, g, b) = color(part);
            2 * u32::from(r) + 5 * u32::from(g) + u32::from(b)
        };
        let lights: Vec<u32> = (0..=50).map(|i| light(f64::from(i) / 50.0)).collect();
        assert!(lights.is_sorted(), "{lights:?}");
        assert_eq!(color(f64::NAN), NAN_COLOR);
        assert_eq!(ink_on(color(0.0)), RGBColor(255, 255, 255));
        assert_eq!(ink_on(color(1.0)), RGBColor(0, 0, 0));
    }
}
