//! Lines as outlines that can be filled.

use super::{Outlines, Point, SCALE};
use std::f32::consts::TAU;

/// A line of this width, with round corners and, unless it is solid, dashes.
pub(in crate::plot) fn line(points: &[Point], width: f32, dashes: &[f64]) -> Outlines {
    let pieces = match dashes {
        [] => vec![points.to_vec()],
        _ => dashed(points, dashes),
    };
    let mut outlines = Vec::new();
    for piece in pieces {
        outlines.extend(
            piece
                .windows(2)
                .filter_map(|ends| bar(ends[0], ends[1], width)),
        );
        let inner = piece.get(1..piece.len().saturating_sub(1));
        outlines.extend(
            inner
                .into_iter()
                .flatten()
                .map(|&corner| disc(corner, width / 2.0)),
        );
    }
    outlines
}

/// A straight piece. All outlines here go the same way round, so that where two lie over each other
/// is no hole.
fn bar(from: Point, to: Point, width: f32) -> Option<Vec<Point>> {
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    if length == 0.0 {
        return None;
    }
    let (x, y) = (dy / length * width / 2.0, -dx / length * width / 2.0);
    Some(vec![
        (from.0 + x, from.1 + y),
        (to.0 + x, to.1 + y),
        (to.0 - x, to.1 - y),
        (from.0 - x, from.1 - y),
    ])
}

/// A disc, as a polygon with sides that nobody sees.
pub(in crate::plot) fn disc((x, y): Point, radius: f32) -> Vec<Point> {
    let sides = 8 + 2 * radius as usize;
    let angles = (0..sides).map(|i| TAU * i as f32 / sides as f32);
    angles
        .map(|angle| (x + radius * angle.cos(), y + radius * angle.sin()))
        .collect()
}

/// The pieces of a line that are drawn.
fn dashed(points: &[Point], dashes: &[f64]) -> Outlines {
    let mut lengths = dashes.iter().cycle().map(|&dash| dash as f32 * SCALE);
    let mut next = || lengths.next().unwrap_or(f32::INFINITY);
    let (mut left, mut drawn) = (next(), true);
    let mut pieces = vec![points.first().copied().into_iter().collect::<Vec<Point>>()];
    for ends in points.windows(2) {
        let (mut from, to) = (ends[0], ends[1]);
        let mut length = (to.0 - from.0).hypot(to.1 - from.1);
        while length > left {
            let part = left / length;
            from = (
                from.0 + part * (to.0 - from.0),
                from.1 + part * (to.1 - from.1),
            );
            length -= left;
            match (drawn, pieces.last_mut()) {
                (true, Some(piece)) => piece.push(from),
                _ => pieces.push(vec![from]),
            }
            (left, drawn) = (next(), !drawn);
        }
        left -= length;
        if let (true, Some(piece)) = (drawn, pieces.last_mut()) {
            piece.push(to);
        }
    }
    pieces
}
