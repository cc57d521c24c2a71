//! Finds the values in a text, with their precision and their unit.

use serde_json::Value;
use std::collections::BTreeSet;
use taper_evaluator::joined;

/// Takes the place of code, formulas and links in a text, so that no number reaches over them.
pub(super) const OTHER: char = '\u{fffc}';

/// The units that make a number look measured, and by what a printed value may be multiplied to have them.
const UNITS: &[(&str, &[f64])] = &[
    ("%", &[100.0, 1.0]),
    ("points", &[100.0, 1.0]),
    ("point", &[100.0, 1.0]),
    ("×", &[1.0]),
    ("times", &[1.0]),
    ("s", &[1.0, 1e-3, 60.0]),
    ("seconds", &[1.0, 1e-3, 60.0]),
    ("ms", &[1.0, 1e3, 1e-3]),
    ("µs", &[1.0, 1e3, 1e6]),
    ("ns", &[1.0, 1e3, 1e6, 1e9]),
    ("KB", &[1.0, 1e-3, 1.0 / 1024.0]),
    ("MB", &[1.0, 1e-6, 1e-3, 1.0 / 1_048_576.0]),
    ("GB", &[1.0, 1e-9, 1e-6, 1e-3]),
    ("KiB", &[1.0, 1.0 / 1024.0]),
    ("MiB", &[1.0, 1.0 / 1_048_576.0]),
    ("GiB", &[1.0, 1.0 / 1_073_741_824.0]),
    ("GFLOPS", &[1.0, 1e-9]),
    ("million", &[1e-6, 1.0]),
    ("billion", &[1e-9, 1.0]),
];

/// A number in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Number {
    /// As it is written, with its unit: `87.3 %`.
    pub(super) text: String,
    pub(super) unit: String,
    value: f64,
    /// Half of the last digit's place: a printed value within it rounds to this number.
    tolerance: f64,
    has_decimals: bool,
    /// Where it begins and ends, in bytes.
    at: usize,
    end: usize,
}

impl Number {
    pub(super) fn looks_measured(&self) -> bool {
        self.has_decimals || !self.unit.is_empty()
    }

    /// Returns whether the number is among the constants of the code; a percentage may be a fraction there.
    pub(super) fn is_constant(&self, constants: &BTreeSet<String>) -> bool {
        let digits: String = self
            .text
            .chars()
            .take_while(|c| *c != ' ' && *c != '%')
            .collect();
        let fraction = format!("{}", (self.value * 1e10).round() / 1e12);
        match self.unit.as_str() {
            "" => constants.contains(&digits),
            "%" => constants.contains(&fraction),
            _ => false,
        }
    }

    /// Returns whether a printed value rounds to this number, in this unit.
    pub(super) fn is_among(&self, printed: &[f64]) -> bool {
        self.distances(printed)
            .any(|(distance, _)| distance <= self.tolerance)
    }

    /// Returns the printed value that is nearest to this number.
    pub(super) fn nearest(&self, printed: &[f64]) -> Option<f64> {
        self.distances(printed)
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, value)| value)
    }

    fn distances<'a>(&'a self, printed: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
        let unit = UNITS.iter().find(|(unit, _)| *unit == self.unit);
        let scales = unit.map_or(&[1.0][..], |(_, scales)| scales);
        printed.iter().flat_map(move |value| {
            scales
                .iter()
                .map(move |scale| ((value.abs() * scale - self.value).abs(), *value))
        })
    }

    /// Returns the words around the number.
    pub(super) fn near(&self, prose: &str) -> String {
        let before: Vec<&str> = prose[..self.at].split_whitespace().rev().take(4).collect();
        let after = prose[self.at..].split_whitespace().take(6);
        let words: Vec<&str> = before.into_iter().rev().chain(after).collect();
        words.join(" ").replace(OTHER, "…")
    }
}

/// Finds the values in prose: `1 437`, `0.5`, `87.3 %`, and the `27` of `27–33 %` with its unit.
pub(super) fn scan(prose: &str) -> Vec<Number> {
    let mut numbers: Vec<Number> = Vec::new();
    let mut at = 0;
    while let Some(start) = prose[at..]
        .find(|c: char| c.is_ascii_digit())
        .map(|i| at + i)
    {
        let before = prose[..start].chars().next_back();
        let digits = digits_at(prose, start);
        let end = start + digits.len();
        at = end;
        let is_word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '/' | '-');
        if before.is_some_and(is_word) {
            continue;
        }
        let Some(unit) = unit_at(prose, end) else {
            continue;
        };
        at = end + unit.len();
        let number = number(prose, start, digits, unit);
        // "27–33 %" and "27 to 33 %": the first number of a range has the unit of the second.
        if let Some(last) = numbers.last_mut()
            && matches!(prose[last.end..start].trim(), "–" | "to" | "and" | "or")
            && last.unit.is_empty()
        {
            last.unit.clone_from(&number.unit);
        }
        numbers.push(number);
    }
    numbers
}

/// Returns the digits at `start`, with groups of three and decimals.
fn digits_at(text: &str, start: usize) -> &str {
    let bytes = text.as_bytes();
    let run = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut end = start + run(start);
    while end - start <= 3 || end > start + 3 {
        let space = text[end..]
            .chars()
            .next()
            .filter(|c| matches!(c, ' ' | '\u{a0}' | '\u{202f}' | ','));
        let Some(space) = space else { break };
        let group = end + space.len_utf8();
        let is_first = end - start <= 3;
        if run(group) != 3
            || !(is_first || text[start..end].contains([' ', '\u{a0}', '\u{202f}', ',']))
        {
            break;
        }
        end = group + 3;
    }
    if bytes.get(end) == Some(&b'.') && run(end + 1) > 0 {
        end += 1 + run(end + 1);
    }
    &text[start..end]
}

/// Returns the unit behind a number with the space before it, an empty text if it has none, and nothing if
/// a letter follows at once: `2D` is a word.
fn unit_at(text: &str, end: usize) -> Option<&str> {
    let rest = &text[end..];
    let space = rest
        .chars()
        .next()
        .filter(|c| matches!(c, ' ' | '\u{a0}' | '\u{202f}'));
    let space = space.map_or(0, char::len_utf8);
    let word = rest[space..]
        .split(|c: char| !c.is_alphabetic() && !matches!(c, '%' | '×'))
        .next()?;
    let word = if word.starts_with(['%', '×']) {
        word.char_indices().nth(1).map_or(word, |(i, _)| &word[..i])
    } else {
        word
    };
    // "3 × 4" is a shape or a product, "3 ×" and "3 times" a ratio.
    let is_product = word == "×"
        && rest[space + word.len()..]
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit() || c == OTHER);
    let is_decade = word == "s" && space == 0;
    match UNITS.iter().any(|(unit, _)| *unit == word) && !is_product && !is_decade {
        true => Some(&rest[..space + word.len()]),
        false if space == 0 && !word.is_empty() && !is_product && word != "×" => None,
        false => Some(""),
    }
}

fn number(prose: &str, at: usize, digits: &str, unit: &str) -> Number {
    let plain: String = digits
        .chars()
        .filter(|c| c.is_ascii_digit() || *c == '.')
        .collect();
    let value: f64 = plain.parse().unwrap_or_default();
    let decimals = plain
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    // "1 400" may be 1 386: above 1 000, zeros at the end are rounding.
    let zeros = match value >= 1000.0 && decimals == 0 {
        true => plain.len() - plain.trim_end_matches('0').len(),
        false => 0,
    };
    let place = 10f64.powi(zeros as i32 - decimals as i32);
    Number {
        text: prose[at..at + digits.len() + unit.len()].replace(['\u{a0}', '\u{202f}'], " "),
        unit: unit
            .trim_start_matches([' ', '\u{a0}', '\u{202f}'])
            .to_owned(),
        value,
        tolerance: place / 2.0 * 1.000_001,
        has_decimals: decimals > 0,
        at,
        end: at + digits.len() + unit.len(),
    }
}

/// Returns the constants of a cell's code as they are written: of `1_000` and `0.5f32`, 1000 and 0.5.
pub(super) fn constants(code: &str) -> Vec<String> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
    let starts = code.char_indices().filter(|(at, c)| {
        c.is_ascii_digit() && !code[..*at].chars().next_back().is_some_and(is_name)
    });
    let constant = |(at, _): (usize, char)| {
        let is_part = |c: char| c.is_ascii_digit() || matches!(c, '.' | '_');
        let digits = code[at..].split(|c| !is_part(c)).next().unwrap_or_default();
        let power = exponent(&code[at + digits.len()..]).unwrap_or_default();
        let digits = digits
            .split("..")
            .next()
            .unwrap_or_default()
            .replace('_', "");
        format!("{}{power}", digits.trim_end_matches('.'))
    };
    starts.map(constant).collect()
}

/// Returns the values that a cell's outputs show as text.
pub(super) fn values(outputs: &[Value]) -> Vec<f64> {
    let mut all = Vec::new();
    for output in outputs {
        let data = &output["data"];
        let html = joined(&data["text/html"]);
        let texts = [
            joined(&output["text"]),
            joined(&data["text/plain"]),
            without_tags(&html),
        ];
        all.extend(texts.iter().flat_map(|text| values_of(text)));
    }
    all
}

fn without_tags(html: &str) -> String {
    let parts = html
        .split('<')
        .map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    parts.collect::<Vec<_>>().join(" ")
}

/// Returns the values in a text: `1 437` is also 1 and 437, because columns look the same.
fn values_of(text: &str) -> Vec<f64> {
    let (mut values, mut at) = (Vec::new(), 0);
    while let Some(start) = text[at..]
        .find(|c: char| c.is_ascii_digit())
        .map(|i| at + i)
    {
        let grouped = digits_at(text, start);
        if grouped.contains([' ', '\u{a0}', '\u{202f}', ',']) {
            let plain = grouped.chars().filter(|c| c.is_ascii_digit() || *c == '.');
            values.extend(plain.collect::<String>().parse::<f64>());
        }
        let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == '_';
        let simple = text[start..]
            .split(|c| !is_part(c))
            .next()
            .unwrap_or_default();
        let rest = &text[start + simple.len()..];
        let simple = simple.replace('_', "");
        let simple = simple.trim_end_matches('.');
        let exponent = exponent(rest).and_then(|e| format!("{simple}{e}").parse::<f64>().ok());
        values.extend(exponent.or_else(|| simple.parse::<f64>().ok()));
        at = start + simple.len().max(1) + exponent.map_or(0, |_| 2);
        at = text.ceil_char_boundary(at);
    }
    values
}

/// Returns the exponent at the start of a text: `e-8`.
fn exponent(rest: &str) -> Option<&str> {
    let power = rest.strip_prefix('e')?;
    let digits = power.strip_prefix(['-', '+']).unwrap_or(power);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    (count > 0).then(|| &rest[..rest.len() - digits.len() + count])
}
