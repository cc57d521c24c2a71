//! The lines of a cell that are not Rust: commands of the session and of its engine.

pub mod table;

use std::borrow::Cow;

/// A cell, split into its commands and its Rust.
pub struct Cell<'a> {
    /// The shell commands, from the lines that begin with `!`.
    pub shell: Vec<&'a str>,
    /// Whether the cell contains `:restart`.
    pub restart: bool,
    /// Whether the cell contains `:clear`, a command of the engine that also unloads `taper`.
    pub clear: bool,
    /// The names and values of the lines `:dep name = value`.
    pub dependencies: Vec<(&'a str, &'a str)>,
    /// The source of the cell, with the session's commands replaced by spaces so that all other lines keep
    /// their line number.
    pub rest: Cow<'a, str>,
}

impl<'a> Cell<'a> {
    /// Splits the source of a cell.
    pub fn new(code: &'a str) -> Cell<'a> {
        Self::with_rust(code, |_| false)
    }

    /// Splits the source of a cell. A line that begins with `!` is Rust, not a shell command, if `is_rust`
    /// returns true for the text after the `!`.
    pub fn with_rust(code: &'a str, is_rust: impl Fn(&str) -> bool) -> Cell<'a> {
        let commands = || code.lines().filter_map(command);
        let shell = |line: &'a str| shell_command(line).filter(|rest| !is_rust(rest));
        let is_shell = |line: &str| shell_command(line).is_some_and(|rest| !is_rust(rest));
        let is_ours = |line: &str| is_shell(line) || is(line, ":restart");
        Cell {
            shell: code.lines().filter_map(shell).collect(),
            restart: code.lines().any(|line| is(line, ":restart")),
            clear: code.lines().any(|line| is(line, ":clear")),
            dependencies: commands()
                .filter_map(|(name, rest)| (name == ":dep").then(|| dependency(rest))?)
                .collect(),
            rest: blank_out(code, is_ours),
        }
    }
}

/// Returns the Rust of a cell, with its commands replaced by spaces.
pub fn without_commands(code: &str) -> String {
    let rust = without_percent(code);
    blank_out(&Cell::new(&rust).rest, is_colon_command).into_owned()
}

/// Returns the commands of a cell: lines that begin with `!`, `:` or, as the first one, `%`. Of a script, all lines count.
pub fn lines(code: &str) -> impl Iterator<Item = String> {
    let is_script = is_script(code);
    let first = percent_command(code).map_or("", |(start, _)| &code[start..]);
    let first = first.lines().next();
    code.lines().filter_map(move |line| {
        let is_first = first.is_some_and(|first| line == first);
        let is_command = is_script || line.starts_with('!') || is_colon_command(line) || is_first;
        (is_command && !line.trim().is_empty()).then(|| line.trim().to_owned())
    })
}

/// Returns whether no line of a cell is Rust: it is a script, a file or a measurement.
pub fn is_script(code: &str) -> bool {
    let rust = ["time", "profile", "test", "fmt"];
    percent_command(code).is_some_and(|(_, word)| !rust.contains(&word.trim_start_matches('%')))
}

/// Returns whether a line is a command such as `:dep`. A path such as `::std::mem` is Rust.
pub fn is_colon_command(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with(':') && !line.starts_with("::")
}

/// Returns the Rust code of a cell that may begin with a `%` command: the cell without the command, or only
/// spaces if no line is Rust.
pub fn without_percent(code: &str) -> Cow<'_, str> {
    match is_script(code) {
        true => blank_out(code, |_| true),
        false => without_command(code),
    }
}

/// Replaces the command that begins with `%` by spaces, so that the rest keeps its position.
pub fn without_command(code: &str) -> Cow<'_, str> {
    let Some((start, word)) = percent_command(code) else {
        return Cow::Borrowed(code);
    };
    let (before, after) = (&code[..start], &code[start + word.len()..]);
    Cow::Owned(format!("{before}{}{after}", " ".repeat(word.len())))
}

/// Returns the command that begins with `%` in the first line of a cell that is neither empty nor a
/// comment, and its byte offset.
pub fn percent_command(code: &str) -> Option<(usize, &str)> {
    let is_text = |line: &&str| !line.trim().is_empty() && !line.starts_with("//");
    let line = code.lines().find(is_text)?;
    let word = line.split(' ').next()?;
    let start = line.as_ptr().addr() - code.as_ptr().addr();
    word.starts_with('%').then_some((start, word))
}

/// Replaces lines by spaces, without changing their length. The other lines keep their line number, so
/// errors still point at the right line.
pub fn blank_out(code: &str, is_blanked: impl Fn(&str) -> bool) -> Cow<'_, str> {
    if !code.lines().any(&is_blanked) {
        return Cow::Borrowed(code);
    }
    let lines = code.split('\n').map(|line| {
        if is_blanked(line) {
            " ".repeat(line.len())
        } else {
            line.to_owned()
        }
    });
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the shell command of a line that begins with `!`.
fn shell_command(line: &str) -> Option<&str> {
    Some(line.strip_prefix('!')?.trim_start_matches('!').trim())
}

/// Splits a line such as `:dep rand = "0.9"` into the command and its arguments.
fn command(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(' ');
    line.starts_with(':').then(|| {
        let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
        (name.trim(), rest.trim())
    })
}

fn is(line: &str, name: &str) -> bool {
    command(line).is_some_and(|(found, _)| found == name)
}

/// Splits `name = value`. A name alone means any version. Returns `None` for a path alone, which
/// does not say the name of the package.
fn dependency(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=').unwrap_or((text, "\"*\""));
    let name = name.trim();
    (!name.is_empty() && !name.starts_with(['.', '/'])).then_some((name, value.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_split_and_lines_keep_their_number() {
        let cell = Cell::new(
            "!echo a\n:dep rand = \"0.9\"\n:dep ndarray\n  :restart\nlet x = 1;\n:clear\n:dep ./here",
        );
        assert_eq!(cell.shell, ["echo a"]);
        assert!(cell.restart && cell.clear);
        assert_eq!(
            cell.dependencies,
            [("rand", "\"0.9\""), ("ndarray", "\"*\"")]
        );
        let rest: Vec<&str> = cell.rest.lines().map(str::trim).collect();
        assert_eq!(
            rest,
            [
                "",
                ":dep rand = \"0.9\"",
                ":dep ndarray",
                "",
                "let x = 1;",
                ":clear",
                ":dep ./here"
            ]
        );
    }

    #[test]
    fn a_percent_command_is_left_out() {
        assert_eq!(without_percent("// a\n%time f(x)"), "// a\n      f(x)");
        assert_eq!(without_percent("%%profile\nf(x)"), "         \nf(x)");
        assert_eq!(without_percent("%%bash\nls").trim(), "");
        assert_eq!(without_percent("a\n% b"), "a\n% b");
    }

    #[test]
    fn rust_is_unchanged() {
        let code = "let x = !true;\nlet y: i32 = 1;\n::std::mem::drop(x);";
        let cell = Cell::new(code);
        assert!(matches!(cell.rest, Cow::Borrowed(_)));
        assert!(cell.shell.is_empty() && cell.dependencies.is_empty() && !cell.clear);
    }

    #[test]
    fn a_line_that_negates_a_variable_is_rust() {
        let cell = Cell::with_rust("!flag\n!ls", |rest| rest == "flag");
        assert_eq!(cell.shell, ["ls"]);
        assert_eq!(cell.rest.lines().next(), Some("!flag"));
    }

    #[test]
    fn a_command_is_a_line_that_begins_with_an_exclamation_mark() {
        assert_eq!(shell_command("!ls -l"), Some("ls -l"));
        assert_eq!(shell_command("!!ls"), Some("ls"));
        assert_eq!(shell_command(" !ls"), None);
    }
}
