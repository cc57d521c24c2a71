//! Tables that a value draws with lines of text, such as a data frame of polars: as HTML.

use std::fmt::Write;
use taper_rust_cell::commands::table::escaped;

/// Returns a value as an HTML table, if all that it prints is one table with a shape, such as
///
/// ```text
/// shape: (1, 2)
/// ┌─────┬───────┐
/// │ x   ┆ word  │
/// │ --- ┆ ---   │
/// │ i64 ┆ str   │
/// ╞═════╪═══════╡
/// │ 1   ┆ tea   │
/// └─────┴───────┘
/// ```
pub(super) fn html(text: &str) -> Option<String> {
    let mut lines = text.trim_end().lines();
    let shape = lines.next()?.strip_prefix("shape: ")?;
    lines.next()?.strip_prefix('┌')?;
    let lines: Vec<&str> = lines.collect();
    let (end, lines) = lines.split_last()?;
    end.strip_prefix('└')?;
    let line = lines.iter().position(|line| line.starts_with('╞'))?;
    let names: Vec<Vec<&str>> = lines[..line]
        .iter()
        .map(|it| cells(it))
        .collect::<Option<_>>()?;
    let rows: Vec<Vec<&str>> = lines[line + 1..]
        .iter()
        .map(|it| cells(it))
        .collect::<Option<_>>()?;
    let columns = names.first()?.len();
    if names.iter().chain(&rows).any(|row| row.len() != columns) {
        return None;
    }
    let styles: Vec<&str> = (0..columns)
        .map(
            |column| match names.iter().any(|row| is_number(row[column])) {
                true => " style=\"text-align: right\"",
                false => " style=\"text-align: left\"",
            },
        )
        .collect();
    let mut html = "<table><thead><tr>".to_owned();
    for (column, style) in styles.iter().enumerate() {
        let parts = names.iter().map(|row| row[column]);
        let parts: Vec<String> = parts
            .filter(|part| !part.is_empty() && *part != "---")
            .map(escaped)
            .collect();
        let _ = write!(html, "<th{style}>{}</th>", parts.join("<br>"));
    }
    html += "</tr></thead><tbody>";
    for row in rows {
        html += "<tr>";
        for (cell, style) in row.iter().zip(&styles) {
            let _ = write!(html, "<td{style}>{}</td>", escaped(cell));
        }
        html += "</tr>";
    }
    let _ = write!(html, "</tbody></table><p>shape: {}</p>", escaped(shape));
    Some(html)
}

/// Returns the cells of a line of the table.
fn cells(line: &str) -> Option<Vec<&str>> {
    let inner = line.strip_prefix('│')?.strip_suffix('│')?;
    Some(inner.split(['┆', '│']).map(str::trim).collect())
}

/// Returns whether a column with this type is numeric.
fn is_number(kind: &str) -> bool {
    let digits = kind.strip_prefix(['i', 'u', 'f']);
    digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: &str = "shape: (2, 2)\n┌─────┬──────┐\n│ x   ┆ word │\n│ --- ┆ ---  │\n│ i64 ┆ str  │\n╞═════╪══════╡\n│ 1   ┆ <b>  │\n│ -2  ┆      │\n└─────┴──────┘";

    #[test]
    fn a_data_frame_is_a_table() {
        let html = html(FRAME).expect("a table");
        for part in [
            "<th style=\"text-align: right\">x<br>i64</th>",
            "<td style=\"text-align: left\">&lt;b&gt;</td></tr>",
            "<td style=\"text-align: right\">-2</td><td style=\"text-align: left\"></td>",
            "<p>shape: (2, 2)</p>",
        ] {
            assert!(html.contains(part), "{part} in {html}");
        }
    }

    #[test]
    fn what_is_not_one_table_stays_text() {
        let split = FRAME.replace("│ -2  ┆      │", "│ a ┆ b ┆ c │");
        let twice = format!("{FRAME}\n{FRAME}");
        for text in ["", "shape: (1, 1)", "[1, 2]", &FRAME[14..], &split, &twice] {
            assert_eq!(html(text), None, "{text}");
        }
    }
}
