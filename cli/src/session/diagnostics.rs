//! What a student reads when a cell fails.

use super::event::{CellError, Location};
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// What evcxr answers instead of a value.
pub enum EngineError {
    Compile(Vec<Diagnostic>),
    /// The cells process ended; the text says how.
    Ended(String),
    /// Variables whose type was defined anew.
    Lost(Vec<String>),
    Message(String),
}

/// One message of the compiler about the cell.
pub struct Diagnostic {
    pub is_error: bool,
    pub message: String,
    pub code: Option<String>,
    pub labels: Vec<Label>,
    pub helps: Vec<String>,
    pub hint: Option<String>,
}

/// A place in the cell that a message speaks of; line and column from 1, in characters.
pub struct Label {
    pub start: (usize, usize),
    pub end: (usize, usize),
    pub text: String,
    pub primary: bool,
}

/// A cell that failed while it ran.
pub struct Failure {
    name: &'static str,
    message: String,
    /// `Err`: a line of the compiled source.
    place: Option<Result<Location, usize>>,
}

impl From<(String, Option<String>, Option<usize>)> for Failure {
    /// A panic: its message, the file and the line there.
    fn from((message, file, line): (String, Option<String>, Option<usize>)) -> Self {
        let in_cell = file.as_deref() == Some("src/lib.rs");
        Failure {
            name: "Panic",
            message: or_say_so(&message),
            place: line.filter(|_| in_cell).map(Err),
        }
    }
}

/// A failing `?` with its error's text.
pub fn failed(message: &str, code: &str) -> Failure {
    Failure {
        name: "Error",
        message: or_say_so(message),
        place: only_question_mark(code).map(Ok),
    }
}

/// An empty message would leave a student with nothing but the error's name.
fn or_say_so(message: &str) -> String {
    let message = if message.trim().is_empty() {
        "(no message)"
    } else {
        message
    };
    message.to_owned()
}

impl Failure {
    /// `find` gives the cell's line for a line of the compiled source.
    pub fn into_error(self, find: impl FnOnce(usize) -> Option<Location>, code: &str) -> CellError {
        let location = match self.place {
            Some(Ok(location)) => Some(location),
            Some(Err(line)) => find(line),
            None => None,
        };
        let mut error = error(self.name, &self.message, location);
        if let Some(line) =
            location.and_then(|l| code.lines().nth(l.line - 1).map(|text| (l.line, text)))
        {
            error.traceback.push(format!(
                "{BLUE}{:>4} |{RESET} {}",
                line.0,
                line.1.trim_end()
            ));
        }
        error
    }
}

/// The name of the error when the process in which the cells run is gone.
pub const PROCESS_ENDED: &str = "ProcessEnded";

const RED: &str = "\x1b[1;31m";
const BLUE: &str = "\x1b[1;34m";
const RESET: &str = "\x1b[0m";

/// An error with its name in red and its message below.
pub fn error(name: &str, message: &str, location: Option<Location>) -> CellError {
    CellError {
        name: name.to_owned(),
        message: message.to_owned(),
        traceback: format!("{RED}{name}{RESET}: {message}")
            .lines()
            .map(str::to_owned)
            .collect(),
        location,
    }
}

/// Turns evcxr's answer into an error of the cell.
pub fn explain(error: EngineError, code: &str) -> CellError {
    match error {
        EngineError::Compile(diagnostics) => compile_error(diagnostics, code),
        EngineError::Ended(status) => self::error(PROCESS_ENDED, &ended(&status), None),
        EngineError::Lost(variables) => self::error(
            "VariablesLost",
            &format!(
                "the type of {} was defined anew, so the old values are lost: run the cells that make them again",
                variables.join(", ")
            ),
            None,
        ),
        EngineError::Message(message) => self::error("Error", &message, None),
    }
}

/// `status` is the tail of evcxr's message: `exit status: 3`, `signal: 11 (SIGSEGV)`.
fn ended(status: &str) -> String {
    let status = status.rsplit("status: ").next().unwrap_or(status).trim();
    let what = if let Some(code) = status
        .strip_prefix("exit status: ")
        .or(status.strip_prefix("status: "))
    {
        format!("The cell ended the process in which all cells run (exit status {code}).")
    } else if status.contains("SIGSEGV") {
        "The process in which all cells run crashed: segmentation fault (SIGSEGV). \
         `unsafe` code touched memory that is not its own."
            .to_owned()
    } else if status.contains("SIGABRT") {
        "The process in which all cells run was aborted (SIGABRT): \
         an endless recursion, a panic inside a panic, or `abort`."
            .to_owned()
    } else if status.contains("SIGKILL") {
        "The process in which all cells run was killed (SIGKILL); often because memory ran out."
            .to_owned()
    } else if status.chars().all(|c| c.is_ascii_digit()) {
        format!("The cell ended the process in which all cells run (exit status {status}).")
    } else {
        format!("The process in which all cells run ended ({status}).")
    };
    format!("{what}\nAll variables are lost: run the cells that define them again.")
}

fn compile_error(mut diagnostics: Vec<Diagnostic>, code: &str) -> CellError {
    if diagnostics.iter().any(|d| d.is_error) {
        diagnostics.retain(|d| d.is_error);
    }
    let mut rendered: Vec<String> = Vec::new();
    for text in diagnostics.iter().map(|d| render(d, code)) {
        if !rendered.contains(&text) {
            rendered.push(text);
        }
    }
    let first = diagnostics.first();
    let primary = first.and_then(|d| d.labels.iter().find(|l| l.primary).or(d.labels.first()));
    CellError {
        name: "CompileError".to_owned(),
        message: first.map_or_else(|| "the cell does not compile".to_owned(), headline),
        traceback: rendered
            .iter()
            .flat_map(|text| text.lines().map(str::to_owned))
            .collect(),
        location: primary.map(|label| Location {
            line: label.start.0,
            column: Some(label.start.1),
        }),
    }
}

fn headline(diagnostic: &Diagnostic) -> String {
    match &diagnostic.code {
        Some(code) => format!("[{code}] {}", diagnostic.message),
        None => diagnostic.message.clone(),
    }
}

/// As rustc shows it, the lines counted in the cell.
fn render(diagnostic: &Diagnostic, code: &str) -> String {
    let mut title = Level::ERROR.primary_title(&*diagnostic.message);
    if let Some(code) = &diagnostic.code {
        title = title.id(&**code);
    }
    let mut group = Group::with_title(title);
    if !diagnostic.labels.is_empty() {
        let annotations = diagnostic.labels.iter().map(|label| {
            let kind = if label.primary {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let span = byte_offset(code, label.start)..byte_offset(code, label.end);
            kind.span(span).label(label.message())
        });
        group = group.element(Snippet::source(code).path("cell").annotations(annotations));
    }
    let helps = diagnostic.helps.iter().chain(&diagnostic.hint);
    for help in helps {
        group = group.element(Level::HELP.message(&**help));
    }
    Renderer::styled().render(&[group])
}

impl Label {
    /// evcxr repeats the error's message where the compiler gave the place no text of its own.
    fn message(&self) -> &str {
        if self.text.starts_with("error: ") {
            ""
        } else {
            &self.text
        }
    }
}

/// Where line and column (from 1, in characters) are in `code`.
fn byte_offset(code: &str, (line, column): (usize, usize)) -> usize {
    let start: usize = code
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    let rest = &code[start.min(code.len())..];
    let within = rest
        .char_indices()
        .nth(column - 1)
        .map_or(rest.len(), |(at, _)| at);
    let end_of_line = rest.find('\n').unwrap_or(rest.len());
    start.min(code.len()) + within.min(end_of_line)
}

/// If the cell has `?` on one line only, that is where it failed.
fn only_question_mark(code: &str) -> Option<Location> {
    use ra_ap_rustc_lexer::{FrontmatterAllowed, TokenKind, tokenize};
    let mut offset = 0;
    let mut lines = Vec::new();
    for token in tokenize(code, FrontmatterAllowed::No) {
        if token.kind == TokenKind::Question {
            lines.push(code[..offset].matches('\n').count() + 1);
        }
        offset += token.len as usize;
    }
    lines.dedup();
    match lines[..] {
        [line] => Some(Location { line, column: None }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_count_characters() {
        let code = "let α = 1;\n\tβ";
        assert_eq!(
            &code[byte_offset(code, (1, 5))..byte_offset(code, (1, 6))],
            "α"
        );
        assert_eq!(
            &code[byte_offset(code, (2, 2))..byte_offset(code, (2, 3))],
            "β"
        );
        assert_eq!(byte_offset(code, (1, 99)), "let α = 1;".len());
        assert_eq!(byte_offset(code, (9, 1)), code.len());
    }

    #[test]
    fn the_place_of_a_single_question_mark_is_known() {
        let line = |code| only_question_mark(code).map(|l| l.line);
        assert_eq!(line("let a = 1;\nf()?;"), Some(2));
        assert_eq!(line("f()?;\ng()?;"), None);
        assert_eq!(line("\"?\""), None);
    }

    #[test]
    fn the_end_of_the_process_is_told_in_words() {
        assert!(
            ended("Subprocess terminated with status: exit status: 3").contains("exit status 3")
        );
        assert!(
            ended("Subprocess terminated with status: signal: 11 (SIGSEGV)")
                .contains("segmentation fault")
        );
    }

    #[test]
    fn a_compile_error_points_into_the_cell() {
        let code = "let x: i32 =\n\t\"é\";";
        let diagnostic = || Diagnostic {
            is_error: true,
            message: "mismatched types".into(),
            code: Some("E0308".into()),
            labels: vec![Label {
                start: (2, 2),
                end: (2, 5),
                text: "expected `i32`".into(),
                primary: true,
            }],
            helps: vec![],
            hint: None,
        };
        let error = compile_error(vec![diagnostic(), diagnostic()], code);
        assert_eq!(
            error.location,
            Some(Location {
                line: 2,
                column: Some(2)
            })
        );
        let text = error.traceback.join("\n");
        assert_eq!(
            text.matches("mismatched types").count(),
            1,
            "each error once:\n{text}"
        );
        assert!(text.contains("^^^"), "{text}");
    }
}
