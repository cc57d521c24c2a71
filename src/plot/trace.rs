//! A line's points as few as the picture needs.

/// A point on the page, in the units of [`super::page`].
pub(super) type Place = (i32, i32);

/// Splits a line at the points that have no place, and keeps of each pixel column only what can be
/// seen of it: its first, lowest, highest and last point. The picture is the same, and the work
/// that a front end has with it no longer depends on how long the training was.
pub(super) fn trace(
    places: impl Iterator<Item = Option<Place>>,
    column_width: i32,
) -> Vec<Vec<Place>> {
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

    #[test]
    fn few_points_are_kept_as_they_are() {
        let places = [(0, 5), (10, 3), (25, 9), (20, 1)];
        assert_eq!(trace(places.into_iter().map(Some), 10), [places.to_vec()]);
        assert_eq!(trace(std::iter::empty(), 10), Vec::<Vec<Place>>::new());
    }

    #[test]
    fn a_column_keeps_its_ends_and_extremes_in_order() {
        let places = [(0, 5), (1, 9), (2, 6), (3, 1), (4, 4), (5, 5), (12, 0)];
        assert_eq!(
            trace(places.into_iter().map(Some), 10),
            [[(0, 5), (1, 9), (3, 1), (5, 5), (12, 0)]]
        );
    }

    #[test]
    fn a_point_without_a_place_is_a_gap() {
        let places = [None, Some((0, 0)), Some((1, 1)), None, None, Some((2, 2))];
        assert_eq!(
            trace(places.into_iter(), 1),
            [vec![(0, 0), (1, 1)], vec![(2, 2)]]
        );
    }

    #[test]
    fn a_long_line_is_no_more_work_than_a_short_one() {
        let wave = (0..1_000_000).map(|i| Some((i / 300, ((i as f64) * 0.7).sin() as i32 * 100)));
        let pieces = trace(wave, 10);
        assert!(pieces[0].len() <= 4 * 334, "{}", pieces[0].len());
    }
}
