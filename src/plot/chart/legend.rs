//! The names of a chart's series, above the plot, where they never hide a line.

use super::series::Drawing;
use super::{Area, Chart, Drawn, ROW, font};
use crate::plot::render::UNIT;
use crate::plot::render::decimate::Place;
use crate::plot::render::text::{FONT, shortened, text_width};
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The line before a name.
const SAMPLE: i32 = 22 * UNIT;

/// A name, or the remark that there are more.
pub(super) struct Entry {
    /// The upper left corner.
    pub(super) place: Place,
    text: String,
    /// Whose name it is.
    series: Option<usize>,
}

impl Chart {
    /// The names in rows that begin at `left`. They take no more than a third of the picture; where
    /// that is too little, the last entry says how many are left out.
    pub(super) fn legend(&self, left: i32) -> Vec<Entry> {
        let room = self.size.0 as i32 * UNIT - left;
        let all = self.series.iter().enumerate();
        let named = all.filter(|(_, series)| !series.label.is_empty());
        let names: Vec<(usize, String)> = named
            .map(|(i, series)| (i, shortened(&series.label, room - SAMPLE)))
            .collect();
        let first = |count: usize| {
            let entries = names[..count]
                .iter()
                .map(|(i, name)| (Some(*i), name.clone()));
            let remark = match names.len() - count {
                0 => None,
                rest => Some((None, shortened(&format!("… and {rest} more"), room))),
            };
            self.in_rows(left, entries.chain(remark))
        };
        (0..=names.len()).rev().find_map(first).unwrap_or_default()
    }

    /// Nothing if there is no room for all.
    fn in_rows(
        &self,
        left: i32,
        entries: impl Iterator<Item = (Option<usize>, String)>,
    ) -> Option<Vec<Entry>> {
        let (right, lowest) = (self.size.0 as i32 * UNIT, self.size.1 as i32 * UNIT / 3);
        let (mut x, mut y) = (left, 4 * UNIT + self.title_room());
        let placed = entries.map(|(series, text)| {
            let width = series.map_or(0, |_| SAMPLE) + text_width(&text, FONT);
            if x > left && x + width > right {
                (x, y) = (left, y + ROW);
            }
            let place = (x, y);
            x += width + ROW;
            (y + ROW <= lowest).then_some(Entry {
                place,
                text,
                series,
            })
        });
        placed.collect()
    }

    pub(super) fn draw_legend(&self, area: &Area, entries: &[Entry]) -> Drawn {
        let style = font().pos(Pos::new(HPos::Left, VPos::Center));
        for entry in entries {
            let (mut x, y) = (entry.place.0, entry.place.1 + ROW / 2);
            if let Some(i) = entry.series {
                let shapes = &[self.series[i].sample(i, (x, y), SAMPLE - 5 * UNIT)];
                area.draw(&Drawing { shapes, clip: None })?;
                x += SAMPLE;
            }
            area.draw_text(&entry.text, &style, (x, y))?;
        }
        Ok(())
    }
}
