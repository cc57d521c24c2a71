//! Two texts side by side: where they differ, shortly.

use super::numbers::{Tolerance, same_line};

/// How many lines of each side are shown.
const SHOWN: usize = 8;
/// How much of a long line is shown.
const WIDTH: usize = 160;

/// Lines of a text as they are compared: without colours, without spaces at their ends, without
/// empty lines at the text's end.
pub fn lines(text: &str) -> Vec<String> {
    let text = without_ansi(text);
    let mut lines: Vec<String> = text
        .split('\n')
        .map(|line| line.trim_end().into())
        .collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// Whether two texts are the same within the tolerance.
pub fn same_text(stored: &str, now: &str, tolerance: Tolerance) -> bool {
    let (stored, now) = (lines(stored), lines(now));
    stored.len() == now.len()
        && stored
            .iter()
            .zip(&now)
            .all(|(stored, now)| same_line(stored, now, tolerance))
}

/// The text without escape sequences that colour it or move a cursor.
pub fn without_ansi(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\x1b') {
        plain.push_str(&rest[..at]);
        rest = behind_escape(&rest[at + 1..]);
    }
    plain + rest
}

fn behind_escape(rest: &str) -> &str {
    if let Some(sequence) = rest.strip_prefix('[') {
        let end = sequence.find(|c: char| ('@'..='~').contains(&c));
        return end.map_or("", |end| &sequence[end + 1..]);
    }
    if let Some(command) = rest.strip_prefix(']') {
        // A title or a link; it ends with BEL or with another escape sequence.
        let end = command.find(['\x07', '\x1b']);
        return end.map_or("", |end| {
            command[end..]
                .strip_prefix('\x07')
                .unwrap_or(&command[end..])
        });
    }
    let mut characters = rest.chars();
    characters.next();
    characters.as_str()
}

/// A short unified diff: what begins and ends alike is left out, and of a long rest the tail.
/// Lines that differ only within the tolerance are alike.
pub fn unified(stored: &str, now: &str, tolerance: Tolerance) -> Vec<String> {
    let (stored, now) = (lines(stored), lines(now));
    let alike = |(a, b): &(&String, &String)| same_line(a, b, tolerance);
    let head = stored.iter().zip(&now).take_while(alike).count();
    let tail = stored[head..]
        .iter()
        .rev()
        .zip(now[head..].iter().rev())
        .take_while(alike)
        .count();
    let old = &stored[head..stored.len() - tail];
    let new = &now[head..now.len() - tail];

    let mut diff = vec!["--- stored".to_string(), "+++ now".to_string()];
    diff.push(format!(
        "@@ -{},{} +{},{} @@",
        head + 1,
        old.len(),
        head + 1,
        new.len()
    ));
    if let Some(before) = head.checked_sub(1) {
        diff.push(format!(" {}", window(&stored[before], 0)));
    }
    let apart = |index: usize| match (old.get(index), new.get(index)) {
        (Some(old), Some(new)) => old
            .chars()
            .zip(new.chars())
            .take_while(|(a, b)| a == b)
            .count(),
        _ => 0,
    };
    for (sign, side) in [('-', old), ('+', new)] {
        for (index, line) in side.iter().take(SHOWN).enumerate() {
            diff.push(format!("{sign}{}", window(line, apart(index))));
        }
        if side.len() > SHOWN {
            diff.push(format!("{sign}… {} more lines", side.len() - SHOWN));
        }
    }
    diff
}

/// The part of a long line around a place in it, counted in characters.
fn window(line: &str, place: usize) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_string();
    }
    let from = place.saturating_sub(WIDTH / 3);
    let middle: String = line.chars().skip(from).take(WIDTH).collect();
    let before = if from > 0 { "…" } else { "" };
    let after = if from + WIDTH < line.chars().count() {
        "…"
    } else {
        ""
    };
    format!("{before}{middle}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn same(stored: &str, now: &str) -> bool {
        same_text(stored, now, Tolerance::default())
    }

    #[test]
    fn ends_of_lines_do_not_matter() {
        assert!(same("a  \nb\t\n", "a\nb"));
        assert!(same("a\r\nb", "a\nb\n\n"));
        assert!(!same("a\n\nb", "a\nb"));
        assert!(!same(" a", "a"));
        assert!(same("", "\n"));
    }

    #[test]
    fn colours_do_not_matter() {
        assert!(same(
            "\x1b[31mred\x1b[0m 1.0\x1b[1;38;5;9m!",
            "red 1.0000001!"
        ));
        assert_eq!(
            without_ansi("a\x1b]8;;http://x\x07link\x1b]8;;\x1b\\b"),
            "alinkb"
        );
        assert_eq!(without_ansi("cut \x1b[3"), "cut ");
        assert_eq!(without_ansi("cut \x1b"), "cut ");
    }

    #[test]
    fn only_what_differs_is_shown() {
        let diff = unified(
            "a\nloss 1.0\nb\nc",
            "a\nloss 1.0000001\nB\nc",
            Tolerance::default(),
        );
        let expected = [
            "--- stored",
            "+++ now",
            "@@ -3,1 +3,1 @@",
            " loss 1.0",
            "-b",
            "+B",
        ];
        assert_eq!(diff, expected);
    }

    #[test]
    fn a_long_difference_is_cut() {
        let stored: Vec<String> = (0..50).map(|n| format!("line {n}")).collect();
        let diff = unified(&stored.join("\n"), "", Tolerance::default());
        assert_eq!(diff[2], "@@ -1,50 +1,0 @@");
        assert_eq!(diff[3], "-line 0");
        assert_eq!(diff.last().unwrap(), "-… 42 more lines");
    }

    #[test]
    fn a_long_line_is_shown_where_it_differs() {
        let long = "x".repeat(1000);
        let diff = unified(
            &format!("{long}A"),
            &format!("{long}B"),
            Tolerance::default(),
        );
        assert!(
            diff[3].starts_with("-…x") && diff[3].ends_with("xA"),
            "{}",
            diff[3]
        );
        assert!(diff[4].ends_with("xB") && diff[4].chars().count() < 200);
    }
}
