//! Tables, as text and as HTML.

use crate::notebook::MimeBundle;
use crate::notebook::columns::columns;
use crate::notebook::escape::Escaped;

/// The maximum number of rows of a table that is shown whole.
const MAX_ROWS: usize = 60;
/// The number of rows at each end of a shortened table.
const EDGE_ROWS: usize = 10;

/// Implements `Show` for a type with a method `table`.
#[doc(hidden)]
#[macro_export]
macro_rules! show_as_table {
    ($type:ty) => {
        impl $crate::notebook::Show for $type {
            fn show_text(&self) -> String {
                self.table().text()
            }

            fn show_bundle(&self) -> $crate::notebook::MimeBundle {
                self.table().bundle()
            }
        }
    };
}
pub use crate::show_as_table;

/// A table with a header, and perhaps a note below it.
#[doc(hidden)]
pub struct Table {
    /// The first row is the header.
    rows: Vec<Vec<String>>,
    /// The row that is shown in place of the rows that are left out.
    gap: Vec<String>,
    max_rows: usize,
    /// The columns that are aligned to the right.
    right: Vec<usize>,
    note: Option<String>,
    has_html: bool,
}

#[doc(hidden)]
impl Table {
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>) -> Self {
        let header: Vec<String> = header.into_iter().map(Into::into).collect();
        let gap = vec!["…".to_owned(); header.len()];
        Self {
            rows: vec![header],
            gap,
            max_rows: MAX_ROWS,
            right: vec![],
            note: None,
            has_html: true,
        }
    }

    setters! {
        /// Aligns these columns to the right in the text.
        pub fn right(self, columns: impl IntoIterator<Item = usize>): self.right = columns.into_iter().collect();

        /// Shows a note below the table.
        pub fn note(self, note: Option<String>): self.note = note;

        /// Shows all rows, even those of a long table.
        pub fn whole(self): self.max_rows = usize::MAX;

        /// Sets whether a page shows HTML, as by default, or the text.
        pub fn with_html(self, has_html: bool): self.has_html = has_html;
    }

    pub fn push(&mut self, row: impl Into<Vec<String>>) {
        self.rows.push(row.into());
    }

    /// Adds `count` rows to a table without rows; calls `row` only for those that are shown.
    pub fn push_all(&mut self, count: usize, row: impl Fn(usize) -> Vec<String>) {
        if count <= self.max_rows {
            return self.rows.extend((0..count).map(row));
        }
        self.rows.extend((0..EDGE_ROWS).map(&row));
        self.rows.push(self.gap.clone());
        self.rows.extend((count - EDGE_ROWS..count).map(row));
    }

    /// Returns the rows that are shown.
    fn shown(&self) -> Vec<&[String]> {
        let (first, last) = match self.rows.len() - 1 {
            count if count > self.max_rows => (
                &self.rows[..=EDGE_ROWS],
                &self.rows[count + 1 - EDGE_ROWS..],
            ),
            _ => (&self.rows[..], &[][..]),
        };
        let gap = (!last.is_empty()).then_some(&self.gap);
        let rows = first.iter().chain(gap).chain(last);
        rows.map(Vec::as_slice).collect()
    }

    /// Formats the table as text, with two spaces between columns.
    pub fn text(&self) -> String {
        let rows = self.shown();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| columns(&row[column]));
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let lines = rows.iter().map(|row| {
            let cells = row.iter().zip(&widths).enumerate();
            let cells = cells.map(|(i, (cell, width))| {
                let space = " ".repeat(width - columns(cell));
                match self.right.contains(&i) {
                    true => space + cell,
                    false => format!("{cell}{space}"),
                }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
        });
        lines
            .chain(self.note.clone())
            .collect::<Vec<_>>()
            .join("\n")
    }

    fn html(&self) -> String {
        let row = |cells: &[String], tag: &str| {
            let cells = cells
                .iter()
                .map(|cell| format!("<{tag}>{}</{tag}>", Escaped(cell)));
            format!("<tr>{}</tr>", cells.collect::<String>())
        };
        let body: String = self.shown()[1..]
            .iter()
            .map(|cells| row(cells, "td"))
            .collect();
        let head = row(&self.rows[0], "th");
        let note = { self.note.iter() }.map(|note| format!("<p>{}</p>", Escaped(note)));
        let note: String = note.collect();
        format!("<table><thead>{head}</thead><tbody>{body}</tbody></table>{note}")
    }

    /// Returns the table as text and as HTML.
    pub fn bundle(&self) -> MimeBundle {
        let text = MimeBundle::text(self.text());
        match self.has_html {
            true => text.with("text/html", self.html()),
            false => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize) -> Table {
        let mut table = Table::new(["epoch", "loss"]);
        (1..=rows).for_each(|i| table.push([i.to_string(), "0.5".to_owned()]));
        table
    }

    #[test]
    fn rows_that_are_not_shown_are_not_made() {
        for count in [0, 60, 1000] {
            let made = std::cell::Cell::new(0);
            let mut lazy = Table::new(["epoch", "loss"]);
            lazy.push_all(count, |i| {
                made.set(made.get() + 1);
                vec![(i + 1).to_string(), "0.5".to_owned()]
            });
            let lazy = lazy.right([0]);
            assert_eq!(lazy.text(), table(count).right([0]).text());
            assert_eq!(lazy.html(), table(count).html());
            assert_eq!(made.get(), if count > 60 { 20 } else { count });
        }
    }

    #[test]
    fn a_long_table_shows_the_rows_at_both_ends() {
        assert_eq!(table(60).text().lines().count(), 61);
        let text = table(1000).right([0, 1]).text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 10 + 1 + 10);
        assert_eq!(lines[10..13], ["   10   0.5", "    …     …", "  991   0.5"]);
        assert!(text.ends_with(" 1000   0.5"));
        let html = table(1000).html();
        assert_eq!(html.matches("<tr>").count(), 22);
        assert!(html.contains("<td>10</td><td>0.5</td></tr><tr><td>…</td><td>…</td></tr>"));
        assert_eq!(table(1000).whole().text().lines().count(), 1001);
        assert_eq!(table(0).html().matches("<tr>").count(), 1);
    }
}
