//! Takes measured times out of a text, because they differ from run to run.

use super::numbers::numbers;

/// Units of a time, and of a step of a progress bar. Everything that ends with `/s` is a rate.
const UNITS: [&str; 10] = [
    "ns", "µs", "ms", "s", "s/it", "min", "h", "seconds", "minutes", "hours",
];
/// What follows the quotient of two times.
const QUOTIENTS: [&str; 2] = ["times as long", "times as fast"];

/// Replaces by `NaN` each number that a unit of time, a rate or *times as long* follows, with its unit, and each number
/// of a table that ends below such a unit.
pub(super) fn without_times(text: &str) -> String {
    let mut ends = Vec::new();
    let mut all = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let heads = heads(line);
        if !heads.is_empty() || line.trim().is_empty() {
            ends = heads;
        }
        all += &without_times_of_line(line, &ends);
    }
    all
}

/// Returns where the units end, in characters, if a line consists of the names of columns.
fn heads(line: &str) -> Vec<usize> {
    if numbers(line).next().is_some() {
        return Vec::new();
    }
    let mut ends = Vec::new();
    let mut at = 0;
    for word in line.split_inclusive(char::is_whitespace) {
        let name = word.trim_end();
        if is_unit(name) {
            ends.push(at + name.chars().count());
        }
        at += word.chars().count();
    }
    ends
}

fn is_unit(word: &str) -> bool {
    UNITS.contains(&word) || (word.len() > 2 && word.ends_with("/s"))
}

fn without_times_of_line(line: &str, ends: &[usize]) -> String {
    let mut kept = String::with_capacity(line.len());
    let mut from = 0;
    for number in numbers(line) {
        let unit = unit_at(&line[number.end..]);
        if unit.is_some() || ends.contains(&line[..number.end].chars().count()) {
            let between = &line[from..number.start];
            // `2 min 56 s` is one time.
            if !(kept.ends_with("NaN") && between == " ") {
                kept += between;
                kept += "NaN";
            }
            from = number.end + unit.unwrap_or(0);
        }
    }
    kept + &line[from..]
}

/// Returns the length of the unit, and of the space before it, at the beginning of a text.
fn unit_at(rest: &str) -> Option<usize> {
    let unit = rest.strip_prefix(' ').unwrap_or(rest);
    let space = rest.len() - unit.len();
    if let Some(quotient) = QUOTIENTS.iter().find(|it| unit.starts_with(**it)) {
        return Some(space + quotient.len());
    }
    let is_of_word = |c: char| c.is_alphanumeric() || c == '/';
    let end = unit.find(|c| !is_of_word(c)).unwrap_or(unit.len());
    is_unit(&unit[..end]).then_some(space + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_rates_and_quotients_are_taken_out() {
        for (text, kept) in [
            ("fit [##] 96/96 0.1 s, 1495 it/s", "fit [##] 96/96 NaN, NaN"),
            (
                "loss 0.25 in 3.5 ms, 12 µs each",
                "loss 0.25 in NaN, NaN each",
            ),
            ("2 steps of 1.5s", "2 steps of NaN"),
            (
                "fit [##] 9/9 1 h 2 min 56 s, 4.0 it/s",
                "fit [##] 9/9 NaN, NaN",
            ),
            ("0.5 samples/s (80.0 s/it)", "NaN (NaN)"),
            ("a step takes 1.1 times as long", "a step takes NaN"),
            (
                "5 seeds, 3 sizes, 0.5 spread",
                "5 seeds, 3 sizes, 0.5 spread",
            ),
            ("é 数 2 s", "é 数 NaN"),
        ] {
            assert_eq!(without_times(text), kept);
        }
    }

    #[test]
    fn columns_below_a_unit_are_taken_out() {
        let table = "epoch  loss  samples/s  seconds\n    1  0.25      12345     0.50\n\n    2  0.50      12345     0.50\n";
        let kept = "epoch  loss  samples/s  seconds\n    1  0.25      NaN     NaN\n\n    2  0.50      12345     0.50\n";
        assert_eq!(without_times(table), kept);
        let other = "epoch  samples  days\n    1      12     3\n";
        assert_eq!(without_times(other), other);
    }
}
