//! A short unified diff of two texts.
//!
//! A general diff algorithm compares lines for equality, by their hashes. Here lines are equal within
//! a tolerance, so only the common head and tail are left out.

use super::numbers::same_line;
use super::text::{differing, lines};
use crate::document::tolerance::Tolerance;

/// The maximum number of lines that are printed of each side.
const SHOWN: usize = 8;
/// The number of characters that are printed of a long line.
const WIDTH: usize = 160;

/// Returns a unified diff with one hunk, from the first to the last line that differs by more than
/// the tolerance. Of a long hunk only the first lines are kept.
pub(super) fn unified(stored: &str, now: &str, tolerance: Tolerance) -> Vec<String> {
    let (stored, now) = (lines(stored), lines(now));
    let (head, old, new) = differing(&stored, &now, |a, b| same_line(a, b, tolerance));

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
    let first_difference = |index: usize| match (old.get(index), new.get(index)) {
        (Some(old), Some(new)) => old
            .chars()
            .zip(new.chars())
            .take_while(|(a, b)| a == b)
            .count(),
        _ => 0,
    };
    for (sign, side) in [('-', old), ('+', new)] {
        for (index, line) in side.iter().take(SHOWN).enumerate() {
            diff.push(format!("{sign}{}", window(line, first_difference(index))));
        }
        if side.len() > SHOWN {
            diff.push(format!("{sign}… {} more lines", side.len() - SHOWN));
        }
    }
    diff
}

/// Returns the part of a long line around a column, counted in characters.
fn window(line: &str, column: usize) -> String {
    if line.chars().count() <= WIDTH {
        return line.to_string();
    }
    let from = column.saturating_sub(WIDTH / 3);
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

    #[test]
    fn only_differing_lines_are_printed() {
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
    fn a_long_line_is_cut_around_its_first_difference() {
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
