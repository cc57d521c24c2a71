//! Tables as text.

use crate::notebook::escape::Escaped;

/// More rows than this are not printed, only so many at either end.
const MOST: usize = 60;
const ENDS: usize = 10;

/// Rows of cells that are printed in columns.
pub(crate) struct Table {
    /// The first one holds the heads.
    rows: Vec<Vec<String>>,
    /// In the place of the rows that are left out.
    gap: Vec<String>,
    most: usize,
}

impl Table {
    pub(crate) fn new<S: Into<String>>(heads: impl IntoIterator<Item = S>) -> Self {
        let heads: Vec<String> = heads.into_iter().map(Into::into).collect();
        let gap = vec!["…".to_owned(); heads.len()];
        Self {
            rows: vec![heads],
            gap,
            most: MOST,
        }
    }

    /// All rows are printed, however many they are.
    pub(crate) fn whole(mut self) -> Self {
        self.most = usize::MAX;
        self
    }

    pub(crate) fn push(&mut self, row: impl Into<Vec<String>>) {
        self.rows.push(row.into());
    }

    /// The rows that are printed.
    fn shown(&self) -> Vec<&[String]> {
        let (first, last) = match self.rows.len() - 1 {
            count if count > self.most => (&self.rows[..=ENDS], &self.rows[count + 1 - ENDS..]),
            _ => (&self.rows[..], &[][..]),
        };
        let gap = (!last.is_empty()).then_some(&self.gap);
        let rows = first.iter().chain(gap).chain(last);
        rows.map(Vec::as_slice).collect()
    }

    /// Columns two spaces apart; those numbered in `right` are set to the right.
    pub(crate) fn text(&self, right: &[usize]) -> String {
        let rows = self.shown();
        let width = |column: usize| {
            let cells = rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        let lines = rows.iter().map(|row| {
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
        let body: String = self.shown()[1..]
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

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: usize) -> Table {
        let mut table = Table::new(["epoch", "loss"]);
        (1..=rows).for_each(|i| table.push([i.to_string(), "0.5".to_owned()]));
        table
    }

    #[test]
    fn of_many_rows_those_at_the_ends_are_printed() {
        assert_eq!(table(60).text(&[]).lines().count(), 61);
        let text = table(1000).text(&[0, 1]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 1 + 10 + 1 + 10);
        assert_eq!(lines[10..13], ["   10   0.5", "    …     …", "  991   0.5"]);
        assert!(text.ends_with(" 1000   0.5"));
        let html = table(1000).html();
        assert_eq!(html.matches("<tr>").count(), 22);
        assert!(html.contains("<td>10</td><td>0.5</td></tr><tr><td>…</td><td>…</td></tr>"));
        assert_eq!(table(1000).whole().text(&[]).lines().count(), 1001);
        assert_eq!(table(0).html().matches("<tr>").count(), 1);
    }
}
