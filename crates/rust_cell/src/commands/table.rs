//! The commands of a cell, in one table: `:help` shows it, completion offers its names, and the documentation
//! contains it.

use std::fmt::Write;

/// A command of a cell.
pub struct Command {
    /// The syntax of the command.
    pub usage: &'static str,
    /// A description, which begins with a verb in the third person.
    pub summary: &'static str,
}

/// All commands.
pub const COMMANDS: [Command; 19] = [
    command(":help", "lists the commands"),
    command(
        "NAME?",
        "shows the documentation of a name; `NAME??` also shows the cell that defines it",
    ),
    command(":doc NAME", "shows the documentation of a name"),
    command(
        ":type EXPRESSION",
        "shows the type of an expression, without evaluating it",
    ),
    command(
        ":vars",
        "lists the variables with type, shape, device, size and value; the size names what graphs for `backward` hold",
    ),
    command(
        ":stale",
        "lists the cells that would show something else if all cells ran from the top, and why",
    ),
    command(
        "!COMMAND",
        "runs a shell command and shows its output while it runs",
    ),
    command("%time CODE", "runs the cell and prints how long it took"),
    command(
        "%timeit [-n LOOPS] [-r RUNS] CODE",
        "measures how long code takes: the mean of 7 runs, each with as many loops as take 0.2 s",
    ),
    command(
        "%%profile",
        "runs the cell and shows for each line the time, the calls, the allocations and the memory; for each layer of a model, the time forward and backward, the multiply-adds and the memory",
    ),
    command(
        "%test",
        "runs the functions of the cell that are marked with `#[test]`",
    ),
    command("%fmt", "formats the code of the cell with rustfmt"),
    command("%%bash", "runs the cell with bash"),
    command(
        "%%writefile [-a] FILE",
        "writes the cell into a file; with `-a`, appends it",
    ),
    command(
        ":dep NAME = \"VERSION\"",
        "adds a package of crates.io; `:dep NAME = { path = \"…\" }` adds one of your own",
    ),
    command(":show_deps", "lists the packages that were added"),
    command(
        ":explain",
        "explains the last compile error, with an example",
    ),
    command(
        ":restart",
        "restarts the process in which cells run: removes the variables, keeps functions, types and packages",
    ),
    command(":clear", "removes variables, functions, types and packages"),
];

const fn command(usage: &'static str, summary: &'static str) -> Command {
    Command { usage, summary }
}

impl Command {
    /// Returns the word with which the command begins; `None` if the user chooses that word.
    pub fn name(&self) -> Option<&'static str> {
        let word = self.usage.split(' ').next()?;
        word.starts_with([':', '%']).then_some(word)
    }
}

/// Returns the command with this name.
pub fn find(name: &str) -> Option<&'static Command> {
    COMMANDS.iter().find(|command| command.name() == Some(name))
}

/// Returns the text of `:help`; `said` translates the descriptions.
pub fn help(said: fn(&str) -> &str) -> String {
    let lengths = COMMANDS.iter().map(|command| command.usage.chars().count());
    let width = lengths.max().unwrap_or(0);
    let mut text = String::new();
    for Command { usage, summary } in &COMMANDS {
        let _ = writeln!(text, "{usage:width$}  {}", said(summary).replace('`', ""));
    }
    text
}

/// Returns `:help` as HTML; `said` translates the descriptions.
pub fn help_html(said: fn(&str) -> &str) -> String {
    let rows = COMMANDS.iter().map(|Command { usage, summary }| {
        let summary = escaped(said(summary));
        let parts = summary.split('`').enumerate();
        let parts = parts.map(|(at, part)| match at % 2 {
            0 => part.to_owned(),
            _ => format!("<code>{part}</code>"),
        });
        let style = "style=\"text-align: left\"";
        let usage = format!("<td {style}><code>{}</code></td>", escaped(usage));
        format!(
            "<tr>{usage}<td {style}>{}</td></tr>",
            parts.collect::<String>()
        )
    });
    format!("<table>{}</table>", rows.collect::<String>())
}

/// Returns the commands as a Markdown table, for the documentation.
pub fn help_markdown() -> String {
    let mut text = "| command | what it does |\n|---|---|\n".to_owned();
    for Command { usage, summary } in &COMMANDS {
        let _ = writeln!(text, "| `{usage}` | {summary} |");
    }
    text
}

/// Returns text as HTML.
pub fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_contains_the_table() {
        let page = include_str!("../../../../book/src/commands.md");
        let expected = help_markdown();
        assert!(
            page.contains(&expected),
            "book/src/commands.md must contain\n{expected}"
        );
    }

    #[test]
    fn names_are_found() {
        assert!(find("%timeit").is_some_and(|command| command.usage.contains("-n")));
        assert!(find(":timing").is_none() && find("!COMMAND").is_none());
        let text = help(|text| text);
        assert!(text.contains(":vars ") && !text.contains('`'));
        assert!(
            help(|_| "énumère").contains(":vars")
                && help_html(|_| "a < `b`").contains("a &lt; <code>b</code>")
        );
        assert!(help_html(|text| text).contains("<code>#[test]</code>"));
    }
}
