//! The history of the session.

use jupyter_protocol::{HistoryEntry, HistoryReply, HistoryRequest};
use std::collections::HashSet;

/// The number of the only session.
const SESSION: usize = 1;

/// The cells that were run, in order.
#[derive(Default)]
pub(super) struct History(Vec<Cell>);

struct Cell {
    count: usize,
    input: String,
    output: Option<String>,
}

impl History {
    /// Adds a cell with its value as text.
    pub(super) fn push(&mut self, count: usize, input: &str, output: Option<String>) {
        self.0.push(Cell {
            count,
            input: input.to_owned(),
            output,
        });
    }

    /// Returns the cells that a request selects.
    pub(super) fn answer(&self, request: &HistoryRequest) -> HistoryReply {
        let (cells, output) = match request {
            HistoryRequest::Tail { n, output, .. } => (last(self.0.iter().collect(), *n), output),
            HistoryRequest::Range {
                session,
                start,
                stop,
                output,
                ..
            } => (self.range(session.unwrap_or(0), *start, *stop), output),
            HistoryRequest::Search {
                pattern,
                unique,
                n,
                output,
                ..
            } => (last(self.search(pattern, *unique), *n), output),
        };
        HistoryReply::new(cells.iter().map(|cell| cell.entry(*output)).collect())
    }

    /// Returns the cells from `start` up to and excluding `stop`, or none for another session than the
    /// current one, which is 0 or [`SESSION`].
    fn range(&self, session: i32, start: i32, stop: i32) -> Vec<&Cell> {
        let ours = session == 0 || session == SESSION as i32;
        let (start, stop) = (start.max(0) as usize, stop.max(0) as usize);
        let asked = |cell: &&Cell| ours && (start..stop).contains(&cell.count);
        self.0.iter().filter(asked).collect()
    }

    /// Returns the cells that match a pattern in which `*` matches any text and `?` any character;
    /// with `unique`, the last of those with the same text.
    fn search(&self, pattern: &str, unique: bool) -> Vec<&Cell> {
        let pattern: Vec<char> = pattern.chars().collect();
        let mut seen = HashSet::new();
        let mut found: Vec<&Cell> = self
            .0
            .iter()
            .rev()
            .filter(|cell| matches(&pattern, &cell.input.chars().collect::<Vec<_>>()))
            .filter(|cell| !unique || seen.insert(&cell.input))
            .collect();
        found.reverse();
        found
    }
}

impl Cell {
    fn entry(&self, output: bool) -> HistoryEntry {
        let input = self.input.clone();
        if output {
            let output = self.output.clone().unwrap_or_default();
            HistoryEntry::InputOutput(SESSION, self.count, (input, output))
        } else {
            HistoryEntry::Input(SESSION, self.count, input)
        }
    }
}

/// Returns the last `n` cells.
fn last(mut cells: Vec<&Cell>, n: i32) -> Vec<&Cell> {
    let n = usize::try_from(n).unwrap_or(0);
    cells.split_off(cells.len().saturating_sub(n))
}

/// Returns whether all of `text` matches `pattern`. At a mismatch, only the last `*` is tried again,
/// with one more character.
fn matches(pattern: &[char], text: &[char]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(c) if *c == '?' || *c == text[t] => (p, t) = (p + 1, t + 1),
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, t) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(history: &History, request: HistoryRequest) -> Vec<(usize, String)> {
        let entry = |entry| match entry {
            HistoryEntry::Input(_, count, input) => (count, input),
            HistoryEntry::InputOutput(_, count, (input, output)) => {
                (count, format!("{input} -> {output}"))
            }
        };
        let reply = history.answer(&request);
        reply.history.into_iter().map(entry).collect()
    }

    fn three() -> History {
        let mut history = History::default();
        history.push(1, "let x = 1;", None);
        history.push(2, "x", Some("1".to_owned()));
        history.push(3, "x", Some("1".to_owned()));
        history
    }

    #[test]
    fn tail_and_range() {
        let tail = HistoryRequest::Tail {
            n: 2,
            output: true,
            raw: true,
        };
        let expected = vec![(2, "x -> 1".to_owned()), (3, "x -> 1".to_owned())];
        assert_eq!(inputs(&three(), tail), expected);
        let range = |session, start, stop| HistoryRequest::Range {
            session: Some(session),
            start,
            stop,
            output: false,
            raw: true,
        };
        let expected = vec![(1, "let x = 1;".to_owned()), (2, "x".to_owned())];
        assert_eq!(inputs(&three(), range(0, 1, 3)), expected);
        assert_eq!(inputs(&three(), range(-1, 1, 3)), vec![]);
    }

    #[test]
    fn search_by_pattern() {
        let search = |pattern: &str, unique, n| HistoryRequest::Search {
            pattern: pattern.to_owned(),
            unique,
            output: false,
            raw: true,
            n,
        };
        assert_eq!(inputs(&three(), search("*x*", false, 9)).len(), 3);
        assert_eq!(inputs(&three(), search("let ? = *;", false, 9)).len(), 1);
        assert_eq!(inputs(&three(), search("y*", false, 9)).len(), 0);
        let expected = vec![(3, "x".to_owned())];
        assert_eq!(inputs(&three(), search("x", true, 9)), expected);
        assert_eq!(inputs(&three(), search("*", false, 1)), expected);
    }
}
