//! `%%profile`: shows what the lines of a cell took, as a text, as a table, and as data for front ends that show it
//! beside the lines.

use serde_json::{Value, json};
use std::fmt::Write;
use taper_engine::{LineProfile, Profile};
use taper_evaluator::MimeBundle;
use taper_rust_cell::commands::table::escaped;

/// The MIME type of the data.
const DATA: &str = "application/vnd.taper.profile+json";

/// The share of the total time from which the output mentions the time of the measurements.
const NOTABLE: f64 = 0.05;

const HEADER: [&str; 6] = ["ms", "%", "calls", "allocations", "bytes", "peak"];

/// Returns what is shown below the cell with this source.
pub(super) fn shown(profile: &Profile, source: &str) -> MimeBundle {
    let rows = rows(profile, source);
    let [text, page] = [text(profile, &rows), page(profile, &rows)];
    let bundle = [
        ("text/plain", Value::from(text)),
        ("text/html", Value::from(page)),
        (DATA, data(profile, &rows)),
    ];
    let bundle = bundle.into_iter();
    bundle.map(|(kind, it)| (kind.to_owned(), it)).collect()
}

/// A line of the cell, with what it took if it was reached.
struct Row<'a> {
    number: usize,
    text: &'a str,
    measured: Option<&'a LineProfile>,
}

/// Returns the lines of the cell, without empty lines at its beginning and its end.
fn rows<'a>(profile: &'a Profile, source: &'a str) -> Vec<Row<'a>> {
    let lines = source.lines().enumerate().map(|(index, text)| Row {
        number: index + 1,
        text,
        measured: profile.lines.iter().find(|it| it.line == index + 1),
    });
    let is_empty = |row: &Row| row.text.trim().is_empty();
    let mut rows: Vec<Row> = lines.skip_while(is_empty).collect();
    while rows.last().is_some_and(is_empty) {
        rows.pop();
    }
    rows
}

impl Row<'_> {
    /// Returns the values of the row, in the order of the header.
    fn values(&self, total: u64) -> [String; 6] {
        let Some(line) = self.measured else {
            return Default::default();
        };
        let memory = line.memory.map(|memory| {
            [
                memory.allocations.to_string(),
                bytes(memory.bytes),
                bytes(memory.peak),
            ]
        });
        let [allocations, allocated, peak] = memory.unwrap_or_default();
        let part = 100.0 * line.nanoseconds as f64 / total.max(1) as f64;
        let calls = line.calls.to_string();
        let [time, part] = [milliseconds(line.nanoseconds), format!("{part:.1}")];
        [time, part, calls, allocations, allocated, peak]
    }
}

fn text(profile: &Profile, rows: &[Row]) -> String {
    let values = rows.iter().map(|row| row.values(profile.nanoseconds));
    let table: Vec<[String; 6]> = [HEADER.map(str::to_owned)]
        .into_iter()
        .chain(values)
        .collect();
    let width = |column: usize| table.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..HEADER.len()).filter_map(width).collect();
    let digits = rows.last().map_or(1, |row| row.number.to_string().len());
    let lines = std::iter::once(String::new()).chain(
        rows.iter()
            .map(|row| format!("{:>digits$}  {}", row.number, row.text)),
    );
    let mut text = String::new();
    for (values, line) in table.iter().zip(lines) {
        for (value, width) in values.iter().zip(&widths) {
            let _ = write!(text, "{value:>width$}  ");
        }
        text += &line;
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text + &summary(profile)
}

fn page(profile: &Profile, rows: &[Row]) -> String {
    let head = HEADER.map(|name| format!("<th scope=\"col\">{name}</th>"));
    let row = |row: &Row| {
        let values = row.values(profile.nanoseconds);
        // A unit stays beside its value.
        let values = values.map(|value| format!("<td>{}</td>", value.replace(' ', "&nbsp;")));
        let values = values.concat();
        let Row { number, text, .. } = row;
        let text = escaped(text);
        format!(
            "<tr>{values}<td>{number}</td><td style=\"text-align: left\"><code style=\"white-space: pre\">{text}</code></td></tr>"
        )
    };
    let body: String = rows.iter().map(row).collect();
    format!(
        "<table><thead><tr>{}<th scope=\"col\">line</th><th></th></tr></thead><tbody>{body}</tbody></table><p>{}</p>",
        head.concat(),
        summary(profile)
    )
}

fn data(profile: &Profile, rows: &[Row]) -> Value {
    let lines = rows.iter().filter_map(|row| {
        let line = row.measured?;
        Some(json!({
            "line": row.number,
            "text": row.text,
            "milliseconds": line.nanoseconds as f64 / 1e6,
            "calls": line.calls,
            "allocations": line.memory.map(|memory| memory.allocations),
            "bytes": line.memory.map(|memory| memory.bytes),
            "peak": line.memory.map(|memory| memory.peak),
        }))
    });
    json!({
        "milliseconds": profile.nanoseconds as f64 / 1e6,
        "lines": lines.collect::<Vec<_>>(),
    })
}

/// Returns a sentence about the whole cell.
fn summary(profile: &Profile) -> String {
    let total = milliseconds(profile.nanoseconds);
    let measured = milliseconds(profile.overhead);
    match profile.overhead as f64 > NOTABLE * profile.nanoseconds as f64 {
        true => format!("{total} ms in all, about {measured} ms of them for measuring"),
        false => format!("{total} ms in all"),
    }
}

fn milliseconds(nanoseconds: u64) -> String {
    let value = nanoseconds as f64 / 1e6;
    match value {
        value if value < 9.995 => format!("{value:.2}"),
        value if value < 99.95 => format!("{value:.1}"),
        value => format!("{value:.0}"),
    }
}

fn bytes(bytes: u64) -> String {
    let value = bytes as f64;
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(size, _)| value >= size * 0.9995) {
        Some((size, unit)) => format!("{:.1} {unit}", value / size),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taper_engine::Memory;

    fn profile() -> Profile {
        let line = |line, nanoseconds, memory| LineProfile {
            line,
            calls: 3,
            nanoseconds,
            memory,
        };
        let memory = Memory {
            allocations: 2,
            bytes: 4_194_304,
            peak: 999,
        };
        Profile {
            lines: vec![line(2, 1_234_567, Some(memory)), line(4, 750_000, None)],
            nanoseconds: 2_000_000,
            overhead: 0,
        }
    }

    #[test]
    fn the_lines_are_a_table() {
        let source = "         \nlet x = f(\n    1);\nx < 2\n\n";
        let shown = shown(&profile(), source);
        let expected = "  ms     %  calls  allocations   bytes   peak\n\
                        1.23  61.7      3            2  4.2 MB  999 B  2  let x = f(\n\
                        \x20                                              3      1);\n\
                        0.75  37.5      3                              4  x < 2\n\
                        2.00 ms in all";
        assert_eq!(shown["text/plain"].as_str(), Some(expected));
        let page = shown["text/html"].as_str().unwrap_or_default();
        assert!(
            page.contains(
                "<td>1.23</td><td>61.7</td><td>3</td><td>2</td><td>4.2&nbsp;MB</td><td>999&nbsp;B</td>"
            ),
            "{page}"
        );
        assert!(page.contains("x &lt; 2</code>"), "{page}");
        let lines = shown[DATA]["lines"].as_array().expect("lines");
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0]["text"], "let x = f(");
        assert_eq!(lines[1]["peak"], Value::Null);
    }

    #[test]
    fn measuring_that_takes_a_notable_part_is_mentioned() {
        let overhead = 500_000;
        let profile = Profile {
            overhead,
            ..profile()
        };
        let expected = "2.00 ms in all, about 0.50 ms of them for measuring";
        assert_eq!(summary(&profile), expected);
    }
}
