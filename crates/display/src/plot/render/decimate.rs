//! Reduces the points of a line to those that can be seen.

use std::collections::BTreeSet;

/// A point in the coordinates of the scene, in plotters' units.
pub(in crate::plot) type Point = (i32, i32);

/// Splits a line at missing points and reduces it to about `max` points. Where a line goes back and
/// forth, the extreme points remain.
pub(in crate::plot) fn decimate(
    points: impl Iterator<Item = Option<Point>>,
    column_width: i32,
    max: usize,
) -> Vec<Vec<Point>> {
    let segments = by_columns(points, column_width);
    match count(&segments) > max {
        true => thin(segments, column_width, max),
        false => segments,
    }
}

fn count(segments: &[Vec<Point>]) -> usize {
    segments.iter().map(Vec::len).sum()
}

fn thin(segments: Vec<Vec<Point>>, column_width: i32, max: usize) -> Vec<Vec<Point>> {
    // A gap within a column of pixels is invisible.
    let column = |point: Option<&Point>| point.map(|point| point.0.div_euclid(column_width));
    let joined = segments
        .chunk_by(|a, b| column(a.last()) == column(b.first()))
        .map(|run| by_columns(run.iter().flatten().copied().map(Some), column_width).concat());
    let joined: Vec<Vec<Point>> = joined.collect();
    let stride = joined.len().div_ceil(max / 4).max(1);
    let segments: Vec<Vec<Point>> = joined.into_iter().step_by(stride).collect();
    let group = match count(&segments) {
        count if count > max => (4 * count).div_ceil(max),
        _ => 1,
    };
    let groups = |segment: Vec<Point>| segment.chunks(group).flat_map(extremes).collect();
    segments.into_iter().map(groups).collect()
}

/// Returns the first, the last and the outermost points, in order.
fn extremes(points: &[Point]) -> Vec<Point> {
    let indices = || 0..points.len();
    let ends = [
        indices().next(),
        indices().next_back(),
        indices().min_by_key(|&i| points[i].0),
        indices().max_by_key(|&i| points[i].0),
        indices().min_by_key(|&i| points[i].1),
        indices().max_by_key(|&i| points[i].1),
    ];
    let indices: BTreeSet<usize> = ends.into_iter().flatten().collect();
    indices.into_iter().map(|i| points[i]).collect()
}

/// Splits a line at missing points, and keeps the first, lowest, highest and last point of each column
/// of pixels. The figure looks the same, and its size no longer depends on the length of the training.
fn by_columns(points: impl Iterator<Item = Option<Point>>, column_width: i32) -> Vec<Vec<Point>> {
    let points: Vec<Option<Point>> = points.collect();
    let column = |point: &Point| point.0.div_euclid(column_width);
    let segments = points.split(Option::is_none).map(|segment| {
        let points: Vec<Point> = segment.iter().copied().flatten().collect();
        let columns = points.chunk_by(|a, b| column(a) == column(b));
        columns.flat_map(outline).collect()
    });
    segments
        .filter(|segment: &Vec<Point>| !segment.is_empty())
        .collect()
}

/// Returns the first, the lowest, the highest and the last of the points in a column, each once, in order.
fn outline(points: &[Point]) -> Vec<Point> {
    let height = |i: &usize| points[*i].1;
    let last = points.len() - 1;
    // Of equal points, the first.
    let lowest = (0..=last).min_by_key(height).unwrap_or(0);
    let highest = (0..=last).rev().max_by_key(height).unwrap_or(0);
    let mut kept = [0, lowest.min(highest), lowest.max(highest), last]
        .map(|i| points[i])
        .to_vec();
    kept.dedup();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimate(points: impl Iterator<Item = Option<Point>>, width: i32) -> Vec<Vec<Point>> {
        super::decimate(points, width, 10_000)
    }

    #[test]
    fn few_points_are_all_kept() {
        let points = [(0, 5), (10, 3), (25, 9), (20, 1)];
        assert_eq!(
            decimate(points.into_iter().map(Some), 10),
            [points.to_vec()]
        );
        assert_eq!(decimate(std::iter::empty(), 10), Vec::<Vec<Point>>::new());
    }

    #[test]
    fn a_column_keeps_ends_and_extremes_in_order() {
        let points = [(0, 5), (1, 9), (2, 6), (3, 1), (4, 4), (5, 5), (12, 0)];
        assert_eq!(
            decimate(points.into_iter().map(Some), 10),
            [[(0, 5), (1, 9), (3, 1), (5, 5), (12, 0)]]
        );
    }

    #[test]
    fn a_missing_point_is_a_gap() {
        let points = [None, Some((0, 0)), Some((1, 1)), None, None, Some((2, 2))];
        assert_eq!(
            decimate(points.into_iter(), 1),
            [vec![(0, 0), (1, 1)], vec![(2, 2)]]
        );
    }

    #[test]
    fn a_long_line_has_no_more_points_than_columns_need() {
        let wave = (0..1_000_000).map(|i| Some((i / 300, ((i as f64) * 0.7).sin() as i32 * 100)));
        let segments = decimate(wave, 10);
        assert!(segments[0].len() <= 4 * 334, "{}", segments[0].len());
    }

    #[test]
    fn a_line_that_goes_back_and_forth_keeps_its_extremes() {
        let mixed = |i: i32| (i * 7919 % 3001, i * 104_729 % 2003);
        let points = (0..20_000).map(|i| (i % 3 > 0).then(|| mixed(i)));
        let whole = (0..20_000).map(|i| Some(mixed(i)));
        let reach = |segments: &[Vec<Point>]| segments.concat().into_iter().max();
        let segments = super::decimate(whole.clone(), 10, 1000);
        assert!(segments[0].len() <= 1500, "{}", segments[0].len());
        assert_eq!(reach(&segments), whole.flatten().max());
        let segments = super::decimate(points, 10, 1000);
        assert!(count(&segments) <= 1500, "{}", count(&segments));
    }

    #[test]
    fn gaps_within_a_pixel_are_closed() {
        let points = (0..100_000).map(|i| (i % 2 == 0).then_some((i / 100, i % 7)));
        let segments = super::decimate(points, 10, 1000);
        assert!(count(&segments) <= 400, "{}", count(&segments));
    }
}
