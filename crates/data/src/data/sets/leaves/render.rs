//! Drawing one leaf.

use crate::data::sets::drawing::{Color, ImageRng, mix, ramp};
use crate::image::RgbImage;
use std::f32::consts::PI;

const WIDTH: usize = 256;
const HEIGHT: usize = 224;
/// The distance from the centre of a leaf that a centre crop of 128 pixels always contains.
const SEEN: f32 = 46.0;

/// A leaf on the ground; its middle is near the image's.
struct Leaf {
    middle: (f32, f32),
    /// Sine and cosine of the direction from stalk to tip.
    angle: (f32, f32),
    /// Half its length and half its width, in pixels.
    half: (f32, f32),
    color: Color,
    ground: Color,
    veins: f32,
    light: f32,
    spots: Vec<Spot>,
}

/// A spot or a highlight.
struct Spot {
    center: (f32, f32),
    radius: f32,
    /// The ratio of length to width, and the phase of its wavy outline.
    outline: (f32, f32),
    color: Color,
    /// The colour of the rim, and its width as a part of the radius.
    rim: Option<(Color, f32)>,
}

pub(super) fn draw(rng: &mut ImageRng, diseased: bool) -> RgbImage {
    let mut leaf = Leaf {
        middle: (
            WIDTH as f32 / 2.0 + rng.between(-12.0, 12.0),
            HEIGHT as f32 / 2.0 + rng.between(-12.0, 12.0),
        ),
        angle: rng.between(0.0, 2.0 * PI).sin_cos(),
        half: (rng.between(88.0, 108.0), rng.between(44.0, 62.0)),
        color: rng.color([0.16, 0.42, 0.08], [0.36, 0.68, 0.22]),
        ground: mix(
            [0.34, 0.26, 0.20],
            [0.84, 0.79, 0.70],
            rng.between(0.0, 1.0),
        ),
        veins: rng.between(9.0, 13.0),
        light: rng.between(-0.18, 0.18),
        spots: Vec::new(),
    };
    leaf.spots = if diseased {
        spots(rng)
    } else {
        highlights(rng)
    };

    let mut pixels = RgbImage::filled(WIDTH, HEIGHT, [0; 3]);
    for (i, pixel) in pixels.rgb.chunks_mut(3).enumerate() {
        let (x, y) = ((i % WIDTH) as f32, (i / WIDTH) as f32);
        // The same noise for all three channels: it changes the brightness and not the hue.
        let grain = rng.noise(0.006);
        let color = leaf.color_at(x, y);
        for (byte, value) in pixel.iter_mut().zip(color) {
            *byte = ((value + grain).clamp(0.0, 1.0) * 255.0).round() as u8;
        }
    }
    pixels
}

/// Draws brown spots of different sizes, at least three of them within the centre crop.
fn spots(rng: &mut ImageRng) -> Vec<Spot> {
    let count = 5 + rng.below(9);
    let spot = |i| {
        let reach = if i < 3 { SEEN } else { 90.0 };
        let brown = rng.color([0.25, 0.13, 0.04], [0.46, 0.27, 0.12]);
        let yellow = rng.color([0.66, 0.60, 0.14], [0.82, 0.74, 0.26]);
        Spot {
            center: (rng.between(-reach, reach), rng.between(-reach, reach) * 0.6),
            radius: rng.between(4.0, 11.0),
            outline: (rng.between(0.8, 1.3), rng.between(0.0, 2.0 * PI)),
            color: brown,
            rim: Some((yellow, rng.between(0.3, 0.9))),
        }
    };
    (0..count).map(spot).collect()
}

/// Draws up to five highlights: light spots without a rim.
fn highlights(rng: &mut ImageRng) -> Vec<Spot> {
    let count = rng.below(6);
    let drop = |_| Spot {
        center: (rng.between(-80.0, 80.0), rng.between(-45.0, 45.0)),
        radius: rng.between(3.0, 9.0),
        outline: (rng.between(0.8, 1.3), rng.between(0.0, 2.0 * PI)),
        color: rng.color([0.66, 0.80, 0.60], [0.80, 0.92, 0.74]),
        rim: None,
    };
    (0..count).map(drop).collect()
}

impl Leaf {
    fn color_at(&self, x: f32, y: f32) -> Color {
        let (dx, dy) = (x - self.middle.0, y - self.middle.1);
        let (sin, cos) = self.angle;
        // Coordinates along the leaf and across it.
        let (along, across) = (dx * cos + dy * sin, dy * cos - dx * sin);
        let light = 1.0 + self.light * (dx + dy) / 240.0;
        let depth = self.depth(along, across);
        let part = ramp(-0.7, 0.7, depth);
        // Most pixels are entirely leaf or entirely ground: only one of them is computed.
        let color = match part {
            0.0 => self.ground_at(x, y),
            1.0 => self.surface(along, across, depth),
            _ => mix(
                self.ground_at(x, y),
                self.surface(along, across, depth),
                part,
            ),
        };
        color.map(|value| value * light)
    }

    fn ground_at(&self, x: f32, y: f32) -> Color {
        // The leaf's shadow is offset down and to the right.
        let (dx, dy) = (x - self.middle.0 - 5.0, y - self.middle.1 - 6.0);
        let (sin, cos) = self.angle;
        let depth = self.depth(dx * cos + dy * sin, dy * cos - dx * sin);
        let unevenness = 1.0 + 0.05 * (x * 0.11).sin() * (y * 0.07 + x * 0.02).sin();
        let color = mix(self.ground, [0.1; 3], 0.35 * ramp(-4.0, 6.0, depth));
        color.map(|value| value * unevenness)
    }

    /// Returns the approximate distance of a point from the edge in pixels, negative outside.
    fn depth(&self, along: f32, across: f32) -> f32 {
        let position = along / self.half.0;
        let blade = match position.abs() < 1.0 {
            // Widest a little before the middle, pointed at the tip.
            true => self.half.1 * (1.0 - position * position).powf(0.8) * (1.0 - 0.25 * position),
            false => -9.0,
        };
        let stalk = if (-1.35..0.0).contains(&position) {
            2.2
        } else {
            -9.0
        };
        (blade - across.abs()).max(stalk - across.abs())
    }

    fn surface(&self, along: f32, across: f32, depth: f32) -> Color {
        let pale = mix(self.color, [0.75, 0.85, 0.5], 0.55);
        let midrib = ramp(2.2, 0.8, across.abs());
        // Side veins run outwards and towards the tip.
        let phase = (along - across.abs() * 0.8).rem_euclid(self.veins * 2.0) - self.veins;
        let side = 0.5 * ramp(1.3, 0.3, phase.abs()) * ramp(0.0, 6.0, depth);
        let bulge = 0.10 * (phase / self.veins * PI).cos();
        let edge = 0.25 * ramp(7.0, 0.0, depth);
        let mut color = self.color.map(|value| value * (1.0 - bulge - edge));
        color = mix(color, pale, midrib.max(side));
        for spot in &self.spots {
            color = spot.over(color, along, across);
        }
        color
    }
}

impl Spot {
    fn over(&self, under: Color, along: f32, across: f32) -> Color {
        let (dx, dy) = (
            along - self.center.0,
            (across - self.center.1) * self.outline.0,
        );
        let wave = 1.0 + 0.08 * (4.0 * dy.atan2(dx) + self.outline.1).sin();
        let distance = dx.hypot(dy) / (self.radius * wave);
        let mut color = under;
        if let Some((rim, width)) = self.rim {
            color = mix(color, rim, 0.8 * ramp(1.0 + width, 1.0, distance));
        }
        mix(color, self.color, ramp(1.08, 0.85, distance))
    }
}
