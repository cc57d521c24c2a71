//! The cases in tests/faults: what goes wrong, and the message that says what to do.
//!
//! ```text
//! ## a title, perhaps with words in brackets that say where it runs
//! lines to run
//! => what the end is
//! a part of the message
//! ```

/// One case of a file.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) title: &'static str,
    /// The lines to run.
    pub(crate) lines: &'static str,
    /// How it ends: an exit status, or the name of an error.
    pub(crate) end: &'static str,
    /// What the message contains.
    pub(crate) parts: Vec<&'static str>,
}

impl Case {
    /// Returns whether the title has this word in brackets.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.title.contains(&format!("[{word}]"))
    }
}

/// Returns the cases of a file.
pub(crate) fn cases(text: &'static str) -> Vec<Case> {
    let cases = text.split("\n## ").skip(1).map(|case| {
        let (title, rest) = case.split_once('\n').expect("a title");
        let (lines, end) = rest.split_once("\n=> ").expect("an end");
        let mut end = end.lines().filter(|line| !line.is_empty());
        Case {
            title,
            lines,
            end: end.next().expect("an end").trim(),
            parts: end.collect(),
        }
    });
    cases.collect()
}

/// Returns what is wrong with a message: a part that is missing, or what no message may contain. `None` if it is good.
pub(crate) fn complaint(case: &Case, said: &str) -> Option<String> {
    const LONGEST: usize = 4000;
    let missing = case.parts.iter().find(|part| !said.contains(**part));
    // The report of a panic, a record of the protocol, a whole file.
    let forbidden = ["panicked at", "RUST_BACKTRACE", "\x1e"];
    let found = forbidden.into_iter().find(|text| said.contains(text));
    match (missing, found) {
        (Some(part), _) => Some(format!("expected `{part}`")),
        (None, Some(text)) => Some(format!("it contains {text:?}")),
        (None, None) => (said.len() > LONGEST).then(|| format!("{} bytes", said.len())),
    }
}
