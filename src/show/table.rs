//! Tables as text.

use crate::plot::Escaped;

/// Rows of cells that are printed in columns.
pub(crate) struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(heads: impl IntoIterator<Item = S>) -> Self {
        let rows = vec![heads.into_iter().map(Into::into).collect()];
        Self { rows }
    }

    pub(crate) fn push(&mut self, row: impl Into<Vec<String>>) {
        self.rows.push(row.into());
    }

    /// Columns two spaces apart; those numbered in `right` are set to the right.
    pub(crate) fn text(&self, right: &[usize]) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let lines = self.rows.iter().map(|row| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(i, (cell, width))| match right.contains(&i) {
                true => format!("{cell:>width$}"),
                false => format!("{cell:<width$}"),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    pub(crate) fn html(&self) -> String {
        let row = |cells: &[String], tag: &str| {
            let cells = cells
                .iter()
                .map(|cell| format!("<{tag}>{}</{tag}>", Escaped(cell)));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let body: String = self.rows[1..]
            .iter()
            .map(|cells| row(cells, "td"))
            .collect();
        let head = row(&self.rows[0], "th");
        format!("<table><thead>{head}</thead><tbody>{body}</tbody></table>")
    }

    /// The table, and a sentence below it.
    pub(crate) fn html_with_note(&self, note: Option<&str>) -> String {
        let note = note.map(|note| format!("<p>{}</p>", Escaped(note)));
        self.html() + &note.unwrap_or_default()
    }
}
