//! A message of rustc.

use serde::{Deserialize, Serialize};

/// A message of rustc, as its JSON has it; positions are in the cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// The text.
    pub message: String,
    /// The code, such as `E0382`, or the name of the lint.
    pub code: Option<Code>,
    /// Whether this is an error.
    pub level: Level,
    /// The places that it is about.
    pub spans: Vec<Span>,
    /// Notes and suggestions.
    pub children: Vec<Diagnostic>,
}

/// The code of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// The code itself.
    pub code: String,
}

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// The cell does not compile.
    Error,
    /// The cell compiles.
    Warning,
    /// Part of another message.
    Note,
    /// A suggestion.
    Help,
    /// Another kind of message.
    #[serde(other)]
    Other,
}

/// A piece of source that a message is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Span {
    /// The file.
    pub file_name: String,
    /// The number of the evaluation whose cell this is, unless the span is in code of the engine or of a package.
    #[serde(default)]
    pub cell: Option<u32>,
    /// The first line, counted from 1.
    pub line_start: usize,
    /// The column at which the span begins, in characters, counted from 1.
    pub column_start: usize,
    /// The last line.
    pub line_end: usize,
    /// The column at which the span ends.
    pub column_end: usize,
    /// Whether this is the place of the mistake itself.
    pub is_primary: bool,
    /// What the message says about this place.
    pub label: Option<String>,
    /// What rustc suggests to write there.
    pub suggested_replacement: Option<String>,
    /// The lines of the source.
    pub text: Vec<Line>,
    /// The macro call that this span comes from.
    #[serde(default)]
    pub expansion: Option<Box<Expansion>>,
}

/// A line of source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// The text.
    pub text: String,
}

/// The call of a macro.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expansion {
    /// Where the macro is called.
    pub span: Span,
}

impl Span {
    /// Returns where the macro is called that this comes from.
    pub(crate) fn call(&self) -> Option<&Span> {
        self.expansion.as_ref().map(|expansion| &expansion.span)
    }
}

impl Diagnostic {
    /// Creates a warning of the engine's own about a part of a cell, from the first to the second place.
    pub(crate) fn warning(
        code: &str,
        message: String,
        cell: u32,
        (from, to): ((usize, usize), (usize, usize)),
    ) -> Diagnostic {
        Diagnostic {
            message,
            code: Some(Code {
                code: code.to_owned(),
            }),
            level: Level::Warning,
            spans: vec![Span {
                file_name: String::new(),
                cell: Some(cell),
                line_start: from.0,
                column_start: from.1,
                line_end: to.0,
                column_end: to.1,
                is_primary: true,
                label: None,
                suggested_replacement: None,
                text: Vec::new(),
                expansion: None,
            }],
            children: Vec::new(),
        }
    }

    /// Returns whether this is an error.
    pub fn is_error(&self) -> bool {
        self.level == Level::Error
    }

    /// Returns whether the message has this code.
    pub fn has_code(&self, code: &str) -> bool {
        self.code.as_ref().is_some_and(|it| it.code == code)
    }

    /// Returns the place of the mistake itself.
    pub fn primary(&self) -> Option<&Span> {
        self.spans.iter().find(|span| span.is_primary)
    }

    /// Applies a function to all spans of the message and of its notes.
    pub fn for_each_span(&mut self, change: &mut dyn FnMut(&mut Span)) {
        for span in &mut self.spans {
            change(span);
            let mut inner = &mut span.expansion;
            while let Some(expansion) = inner {
                change(&mut expansion.span);
                inner = &mut expansion.span.expansion;
            }
        }
        for child in &mut self.children {
            child.for_each_span(change);
        }
    }
}
