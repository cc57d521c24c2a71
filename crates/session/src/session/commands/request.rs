//! Reads the request of a cell to the session.

use super::unit_tests;
use std::borrow::Cow;
use taper_rust_cell::commands::{blank_out, percent_command, without_command};

/// The request of a cell.
#[derive(Debug, PartialEq)]
pub(super) enum Request<'a> {
    /// To run the cell: Rust, and lines that begin with `!` or `:`.
    Cell(&'a str),
    /// To run this code and print how long it took.
    Time(String),
    /// To run this code and show what its lines took.
    Profile(String),
    /// To run the code that a command was turned into.
    Code(String),
    Format(&'a str),
    Bash(&'a str),
    WriteFile {
        file: &'a str,
        append: bool,
        text: &'a str,
    },
    /// To show the documentation of a name, and the cell that defines it.
    About {
        name: &'a str,
        with_source: bool,
    },
}

/// A `:` command of the session, not of its engine, before the Rust of a cell.
#[derive(Debug, PartialEq)]
pub(super) enum Line<'a> {
    Help,
    Documentation(&'a str),
    Type(&'a str),
    Variables,
    Stale,
    Dependencies,
    Explain,
    /// An option of evcxr, which has no meaning here.
    Option(&'a str),
}

/// Options of evcxr that say how it compiles and shows cells.
#[rustfmt::skip]
const OPTIONS: [&str; 15] = [
    ":allow_static_linking", ":cache", ":codegen_backend", ":efmt", ":fmt", ":internal_debug", ":linker",
    ":offline", ":opt", ":preserve_vars_on_panic", ":sccache", ":time_passes", ":timing", ":toolchain",
    ":types",
];

/// Returns what the cell asks for, or one sentence about a command that is used wrongly.
pub(super) fn of(code: &str) -> Result<Request<'_>, String> {
    if let Some(request) = question(code) {
        return Ok(request);
    }
    let Some((start, word)) = percent_command(code) else {
        return Ok(Request::Cell(code));
    };
    let (line, after) = code[start..]
        .split_once('\n')
        .unwrap_or((&code[start..], ""));
    let arguments = line[word.len()..].trim();
    let blanked = || without_command(code).into_owned();
    match word {
        "%time" | "%%time" => match blanked().trim() {
            "" => Err("`%time` needs code, in its line or in those below.".to_owned()),
            _ => Ok(Request::Time(blanked())),
        },
        "%profile" | "%%profile" => match blanked().trim() {
            "" => Err("`%%profile` needs code in the lines below.".to_owned()),
            _ => Ok(Request::Profile(blanked())),
        },
        "%timeit" | "%%timeit" => time_it(code, start, word, arguments).map(Request::Code),
        "%test" | "%%test" => unit_tests::program(&blanked()).map(Request::Code),
        "%fmt" | "%%fmt" => match after.trim() {
            "" => Err("`%fmt` needs code in the lines below.".to_owned()),
            _ => Ok(Request::Format(after)),
        },
        "%%bash" => Ok(Request::Bash(after)),
        "%bash" => Err("`%%bash` is written with `%%`: it runs the whole cell.".to_owned()),
        "%%writefile" => write_file(arguments, after),
        "%writefile" => {
            Err("`%%writefile` is written with `%%`: it writes the whole cell.".to_owned())
        }
        // The compiler refuses it, and a hint says what to write.
        _ => Ok(Request::Cell(code)),
    }
}

/// Returns the code that a cell asks to run, if it runs any.
pub(in crate::session) fn rust_of(code: &str) -> Option<Cow<'_, str>> {
    match of(code).ok()? {
        Request::Cell(code) => Some(code.into()),
        Request::Time(code) | Request::Code(code) => Some(code.into()),
        _ => None,
    }
}

/// Returns the code of a cell without the session's `:` commands.
pub(in crate::session) fn without_lines(code: &str) -> Option<String> {
    Some(lines(code).ok()?.1)
}

/// Reads `NAME?` and `NAME??`, also with the marks in front.
fn question(code: &str) -> Option<Request<'_>> {
    let code = code.trim();
    let name = code.trim_matches('?');
    let marks = code.len() - name.len();
    let at_one_end = code.starts_with(name) || code.ends_with(name);
    let is_path = |c: char| c == '_' || c == ':' || c == '.' || c.is_alphanumeric();
    let is_name = name.starts_with(|c: char| c == '_' || c.is_alphabetic())
        && name.trim_end_matches('!').chars().all(is_path)
        && !name.ends_with(['.', ':'])
        && !name.ends_with(".await");
    (matches!(marks, 1 | 2) && at_one_end && is_name).then_some(Request::About {
        name: name.trim_end_matches('!'),
        with_source: marks == 2,
    })
}

/// Turns `%timeit` and a space into the equally long beginning of a macro call, `timeit!(`.
fn time_it(code: &str, start: usize, word: &str, arguments: &str) -> Result<String, String> {
    let mut rest = arguments;
    let is_option = |rest: &str, option: &&str| {
        let after = rest.strip_prefix(*option);
        after.is_some_and(|after| {
            after.is_empty() || after.starts_with(|c: char| c == ' ' || c.is_numeric())
        })
    };
    while let Some(option) = ["-n", "-r"].into_iter().find(|o| is_option(rest, o)) {
        let (number, after) = rest[option.len()..]
            .strip_prefix(' ')
            .map(|text| text.trim_start())
            .map(|text| text.split_once(' ').unwrap_or((text, "")))
            .unwrap_or_default();
        if !number.parse().is_ok_and(|number: usize| number > 0) {
            return Err(format!(
                "`%timeit` needs a space and an integer after `{option}`: `%timeit -n 100 -r 3 CODE`."
            ));
        }
        rest = after.trim_start();
    }
    let mut after = &code[start + word.len()..];
    if rest.is_empty() && after.lines().skip(1).all(|line| line.trim().is_empty()) {
        return Err("`%timeit` needs code, in its line or in those below.".to_owned());
    }
    let call = "timeit!(";
    if word.len() < call.len() {
        after = after.strip_prefix(' ').unwrap_or(after);
    }
    Ok(format!("{}{call}{after}\n)", &code[..start]))
}

fn write_file<'a>(arguments: &'a str, text: &'a str) -> Result<Request<'a>, String> {
    let (append, file) = match arguments.split_once(' ') {
        Some(("-a" | "--append", file)) => (true, file.trim()),
        _ => (false, arguments),
    };
    let file = file.trim_matches(['"', '\'']);
    if file.is_empty() || file.starts_with('-') {
        return Err("`%%writefile` needs the name of a file: `%%writefile [-a] FILE`.".to_owned());
    }
    Ok(Request::WriteFile { file, append, text })
}

/// Splits the session's `:` commands from the rest of a cell: Rust and the engine's commands. In the rest,
/// their lines are blank.
pub(super) fn lines(rest: &str) -> Result<(Vec<Line<'_>>, String), String> {
    let (mut found, mut ours) = (Vec::new(), Vec::new());
    for line in rest.lines() {
        let text = line.trim();
        let is_command = text.starts_with(':') && text[1..].starts_with(char::is_alphabetic);
        if !is_command {
            match text.is_empty() || text.starts_with("//") {
                true => continue,
                false => break,
            }
        }
        let (name, argument) = text.split_once(' ').unwrap_or((text, ""));
        let command = match (name, argument.trim()) {
            (":help", "") => Line::Help,
            (":vars", "") => Line::Variables,
            (":stale", "") => Line::Stale,
            (":show_deps", "") => Line::Dependencies,
            (":explain", "") => Line::Explain,
            (
                ":help" | ":vars" | ":stale" | ":show_deps" | ":explain" | ":restart" | ":clear",
                argument,
            ) if !argument.is_empty() => {
                return Err(format!("`{name}` takes no argument, found `{argument}`."));
            }
            (":doc", name) if !name.is_empty() => Line::Documentation(name),
            (":type" | ":t", expression) if !expression.is_empty() => Line::Type(expression),
            (":doc", _) => return Err("`:doc` needs a name: `:doc zeros`.".to_owned()),
            (":type" | ":t", _) => {
                return Err("`:type` needs an expression: `:type 1 + 1`.".to_owned());
            }
            (":dep", "") => {
                return Err("`:dep` needs a package: `:dep itertools = \"0.14\"`.".to_owned());
            }
            (":dep" | ":restart" | ":clear", _) => continue,
            (option, _) if OPTIONS.contains(&option) => Line::Option(text),
            _ => {
                return Err(format!(
                    "`{name}` is not a command; `:help` lists the commands."
                ));
            }
        };
        found.push(command);
        ours.push(line);
    }
    let rest = blank_out(rest, |line| {
        ours.iter().any(|ours| std::ptr::eq(*ours, line))
    });
    Ok((found, rest.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_keeps_its_place() {
        let time = |code: &str| match of(code) {
            Ok(Request::Time(code) | Request::Code(code)) => code,
            other => panic!("{other:?}"),
        };
        assert_eq!(time("%time let x = 1;"), "      let x = 1;");
        assert_eq!(time("// a\n%%time\nx"), "// a\n      \nx");
        assert_eq!(time("%timeit -n 3 f(x)"), "timeit!(-n 3 f(x)\n)");
        assert_eq!(time("%%timeit\nf(x);\ng(x)"), "timeit!(\nf(x);\ng(x)\n)");
        assert_eq!(time("%%timeit -r 2 f(x)"), "timeit!( -r 2 f(x)\n)");
        assert_eq!(time("%timeit -number"), "timeit!(-number\n)");
    }

    #[test]
    fn each_wrong_use_gets_one_sentence() {
        for code in [
            "%time",
            "%%profile\n",
            "%%timeit\n",
            "%timeit -n x f()",
            "%timeit -n100 f()",
            "%timeit -n 3",
            "%fmt",
            "%test\nfn f() {}",
            "%bash ls",
            "%%writefile",
            "%%writefile -a",
            "%writefile x",
        ] {
            let sentence = of(code).expect_err(code);
            assert!(
                sentence.ends_with('.') && !sentence.contains('\n'),
                "{sentence}"
            );
        }
        for code in [":nonsense", ":type", ":doc", ":dep", ":vars x", ":quit"] {
            let sentence = lines(code).expect_err(code);
            assert!(
                sentence.ends_with('.') && !sentence.contains('\n'),
                "{sentence}"
            );
        }
    }

    #[test]
    fn scripts_and_files_are_taken_as_they_are() {
        assert_eq!(of("%%bash\nls | wc\n"), Ok(Request::Bash("ls | wc\n")));
        let write = |file, append| {
            let text = "a\n";
            Ok(Request::WriteFile { file, append, text })
        };
        assert_eq!(of("%%writefile a b.txt\na\n"), write("a b.txt", false));
        assert_eq!(of("%%writefile -a \"b\"\na\n"), write("b", true));
    }

    #[test]
    fn a_question_is_a_name_with_a_mark() {
        let about = |code| match of(code) {
            Ok(Request::About { name, with_source }) => Some((name, with_source)),
            _ => None,
        };
        assert_eq!(about("zeros?"), Some(("zeros", false)));
        assert_eq!(about("?x.matmul"), Some(("x.matmul", false)));
        assert_eq!(about("std::fs::read??"), Some(("std::fs::read", true)));
        assert_eq!(about("vec!?"), Some(("vec", false)));
        for code in [
            "f()?",
            "later.await?",
            "x",
            "a?;",
            "let y = x?",
            "1?",
            "x???",
            "a b?",
        ] {
            assert_eq!(about(code), None, "{code}");
        }
    }

    #[test]
    fn commands_stand_before_the_rust() {
        let (found, rest) = lines(":vars\n:dep a\n// b\n:type 1 + 1\nlet x\n:vars").unwrap();
        assert_eq!(found, [Line::Variables, Line::Type("1 + 1")]);
        assert_eq!(rest, "     \n:dep a\n// b\n           \nlet x\n:vars");
        let (found, rest) = lines(":opt 2\nx").unwrap();
        assert_eq!(found, [Line::Option(":opt 2")]);
        assert_eq!(rest.trim(), "x");
        assert_eq!(lines("::std::mem::drop(1);").unwrap().0, []);
    }
}
