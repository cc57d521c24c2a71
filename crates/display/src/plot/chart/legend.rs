//! The legend of a chart. It stands above the plot area, where it never hides a line.

use super::spec::Chart;
use crate::plot::render::UNIT;
use crate::plot::render::decimate::Point;
use crate::plot::render::palette::INK;
use crate::plot::render::scene::Scene;
use crate::plot::render::text::{FONT, ROW, row_height, shortened, text_width};
use plotters_backend::text_anchor::HPos;

/// The width of a legend key (the sample of line, marker or bar) with the space after it.
const KEY: i32 = 22 * UNIT;

/// An entry of the legend: the name of a series, or a note that more series exist.
pub(super) struct Entry {
    /// The upper left corner.
    pub(super) corner: Point,
    text: String,
    /// The index of the series; `None` for the note.
    series: Option<usize>,
}

impl Chart {
    /// Lays out the names in rows that begin at `left` and take at most a third of the figure. Where
    /// that is not enough, the last entry says how many names are left out.
    pub(super) fn legend(&self, left: i32) -> Vec<Entry> {
        let room = self.size.0 as i32 * UNIT - left;
        let all = self.series.iter().enumerate();
        let named = all.filter(|(_, series)| !series.label.is_empty());
        let names: Vec<(usize, String)> = named
            .map(|(i, series)| (i, shortened(&series.label, room - KEY)))
            .collect();
        let first = |count: usize| {
            let entries = names[..count]
                .iter()
                .map(|(i, name)| (Some(*i), name.clone()));
            let note = match names.len() - count {
                0 => None,
                rest => Some((None, shortened(&format!("… and {rest} more"), room))),
            };
            self.in_rows(left, entries.chain(note))
        };
        (0..=names.len()).rev().find_map(first).unwrap_or_default()
    }

    /// Places entries in rows. Returns `None` if there is no room for all entries.
    fn in_rows(
        &self,
        left: i32,
        entries: impl Iterator<Item = (Option<usize>, String)>,
    ) -> Option<Vec<Entry>> {
        let (right, lowest) = (self.size.0 as i32 * UNIT, self.size.1 as i32 * UNIT / 3);
        let (mut x, mut y) = (left, 4 * UNIT + row_height(&self.title));
        let placed = entries.map(|(series, text)| {
            let width = series.map_or(0, |_| KEY) + text_width(&text, FONT);
            if x > left && x + width > right {
                (x, y) = (left, y + ROW);
            }
            let corner = (x, y);
            x += width + ROW;
            (y + ROW <= lowest).then_some(Entry {
                corner,
                text,
                series,
            })
        });
        placed.collect()
    }

    pub(super) fn draw_legend(&self, scene: &mut Scene, entries: &[Entry]) {
        for entry in entries {
            let (mut x, y) = (entry.corner.0, entry.corner.1 + ROW / 2);
            if let Some(i) = entry.series {
                let key = self.series[i].legend_key(i, (x, y), KEY - 5 * UNIT);
                key.draw(scene);
                x += KEY;
            }
            scene.write(&entry.text, (x, y), HPos::Left, INK);
        }
    }
}
