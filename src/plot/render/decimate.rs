//! A line's points as few as the picture needs.

use std::collections::BTreeSet;

/// A point on the page, in the units of [`super::scene`].
pub(in crate::plot) type Place = (i32, i32);

/// A line's points, split where they have no place. Where they would be more than about `most`, as
/// of a line that goes back and forth, only those remain that reach farthest.
pub(in crate::plot) fn decimate(
    places: impl Iterator<Item = Option<Place>>,
    column_width: i32,
    most: usize,
) -> Vec<Vec<Place>> {
    let pieces = by_columns(places, column_width);
    match count(&pieces) > most {
        true => thinned(pieces, column_width, most),
        false => pieces,
    }
}

fn count(pieces: &[Vec<Place>]) -> usize {
    pieces.iter().map(Vec::len).sum()
}

fn thinned(pieces: Vec<Vec<Place>>, column_width: i32, most: usize) -> Vec<Vec<Place>> {
    // A gap within a column of pixels cannot be seen.
    let column = |place: Option<&Place>| place.map(|place| place.0.div_euclid(column_width));
    let joined = pieces
        .chunk_by(|a, b| column(a.last()) == column(b.first()))
        .map(|run| by_columns(run.iter().flatten().copied().map(Some), column_width).concat());
    let joined: Vec<Vec<Place>> = joined.collect();
    let stride = joined.len().div_ceil(most / 4).max(1);
    let pieces: Vec<Vec<Place>> = joined.into_iter().step_by(stride).collect();
    let group = match count(&pieces) {
        count if count > most => (4 * count).div_ceil(most),
        _ => 1,
    };
    let groups = |piece: Vec<Place>| piece.chunks(group).flat_map(extremes).collect();
    pieces.into_iter().map(groups).collect()
}

/// The first and the last of some places, and those that are the farthest to each side.
fn extremes(places: &[Place]) -> Vec<Place> {
    let numbers = || 0..places.len();
    let ends = [
        numbers().next(),
        numbers().next_back(),
        numbers().min_by_key(|&i| places[i].0),
        numbers().max_by_key(|&i| places[i].0),
        numbers().min_by_key(|&i| places[i].1),
        numbers().max_by_key(|&i| places[i].1),
    ];
    let numbers: BTreeSet<usize> = ends.into_iter().flatten().collect();
    numbers.into_iter().map(|i| places[i]).collect()
}

/// Splits a line at the points that have no place, and keeps of each pixel column only what can be
/// seen of it: its first, lowest, highest and last point. The picture is the same, and the work
/// that a front end has with it no longer depends on how long the training was.
fn by_columns(places: impl Iterator<Item = Option<Place>>, column_width: i32) -> Vec<Vec<Place>> {
    let mut pieces = vec![Vec::new()];
    let mut column: Option<Column> = None;
    for place in places {
        let Some(place) = place else {
            finish(&mut column, &mut pieces);
            pieces.push(Vec::new());
            continue;
        };
        let number = place.0.div_euclid(column_width);
        match &mut column {
            Some(column) if column.number == number => column.add(place),
            _ => {
                finish(&mut column, &mut pieces);
                column = Some(Column::new(number, place));
            }
        }
    }
    finish(&mut column, &mut pieces);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

fn finish(column: &mut Option<Column>, pieces: &mut [Vec<Place>]) {
    if let (Some(column), Some(piece)) = (column.take(), pieces.last_mut()) {
        column.write(piece);
    }
}

/// Neighbouring points in the same column of pixels, each kept one with its position in the row.
struct Column {
    number: i32,
    count: usize,
    first: Place,
    low: (usize, Place),
    high: (usize, Place),
    last: Place,
}

impl Column {
    fn new(number: i32, place: Place) -> Self {
        Column {
            number,
            count: 1,
            first: place,
            low: (0, place),
            high: (0, place),
            last: place,
        }
    }

    fn add(&mut self, place: Place) {
        if place.1 < self.low.1.1 {
            self.low = (self.count, place);
        }
        if place.1 > self.high.1.1 {
            self.high = (self.count, place);
        }
        self.last = place;
        self.count += 1;
    }

    fn write(self, piece: &mut Vec<Place>) {
        let (early, late) = if self.low.0 < self.high.0 {
            (self.low.1, self.high.1)
        } else {
            (self.high.1, self.low.1)
        };
        let start = piece.len();
        piece.extend([self.first, early, late, self.last]);
        // Only within the column: `dedup` from its start on.
        let mut kept = start;
        for i in start + 1..piece.len() {
            if piece[i] != piece[kept] {
                kept += 1;
                piece[kept] = piece[i];
            }
        }
        piece.truncate(kept + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimate(places: impl Iterator<Item = Option<Place>>, width: i32) -> Vec<Vec<Place>> {
        super::decimate(places, width, 10_000)
    }

    #[test]
    fn few_points_are_kept_as_they_are() {
        let places = [(0, 5), (10, 3), (25, 9), (20, 1)];
        assert_eq!(
            decimate(places.into_iter().map(Some), 10),
            [places.to_vec()]
        );
        assert_eq!(decimate(std::iter::empty(), 10), Vec::<Vec<Place>>::new());
    }

    #[test]
    fn a_column_keeps_its_ends_and_extremes_in_order() {
        let places = [(0, 5), (1, 9), (2, 6), (3, 1), (4, 4), (5, 5), (12, 0)];
        assert_eq!(
            decimate(places.into_iter().map(Some), 10),
            [[(0, 5), (1, 9), (3, 1), (5, 5), (12, 0)]]
        );
    }

    #[test]
    fn a_point_without_a_place_is_a_gap() {
        let places = [None, Some((0, 0)), Some((1, 1)), None, None, Some((2, 2))];
        assert_eq!(
            decimate(places.into_iter(), 1),
            [vec![(0, 0), (1, 1)], vec![(2, 2)]]
        );
    }

    #[test]
    fn a_long_line_is_no_more_work_than_a_short_one() {
        let wave = (0..1_000_000).map(|i| Some((i / 300, ((i as f64) * 0.7).sin() as i32 * 100)));
        let pieces = decimate(wave, 10);
        assert!(pieces[0].len() <= 4 * 334, "{}", pieces[0].len());
    }

    #[test]
    fn a_line_that_goes_back_and_forth_is_thinned_to_where_it_reaches() {
        let mixed = |i: i32| (i * 7919 % 3001, i * 104_729 % 2003);
        let places = (0..20_000).map(|i| (i % 3 > 0).then(|| mixed(i)));
        let whole = (0..20_000).map(|i| Some(mixed(i)));
        let reach = |pieces: &[Vec<Place>]| pieces.concat().into_iter().max();
        let pieces = super::decimate(whole.clone(), 10, 1000);
        assert!(pieces[0].len() <= 1500, "{}", pieces[0].len());
        assert_eq!(reach(&pieces), whole.flatten().max());
        let pieces = super::decimate(places, 10, 1000);
        assert!(count(&pieces) <= 1500, "{}", count(&pieces));
    }

    #[test]
    fn of_many_gaps_those_within_a_pixel_are_closed() {
        let places = (0..100_000).map(|i| (i % 2 == 0).then_some((i / 100, i % 7)));
        let pieces = super::decimate(places, 10, 1000);
        assert!(count(&pieces) <= 400, "{}", count(&pieces));
    }
}
