//! `%fmt`: formats the Rust of a cell.

use crate::session::tokens::with_offsets;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use taper_host::toolchain;

/// The width of a line: rustfmt's default.
const WIDTH: usize = 100;
const INDENT: &str = "    ";
/// The prefix that makes lines that are not Rust comments, while rustfmt formats the cell.
const COMMAND: &str = "//taper: ";

/// Returns the formatted code, or a sentence about why it cannot be formatted.
pub(super) fn formatted(code: &str) -> Result<String, String> {
    let is_command = |line: &str| line.starts_with(['!', ':', '%']) && !line.starts_with("::");
    let lines = code.lines().map(|line| match is_command(line) {
        true => format!("{COMMAND}{line}"),
        false => line.to_owned(),
    });
    let body: Vec<String> = lines.collect();
    let printed = rustfmt(
        &program(),
        &format!("fn cell() {{\n{}\n}}\n", body.join("\n")),
    )?;
    Ok(unwrapped(&printed))
}

/// Returns the toolchain's rustfmt, else that on the PATH.
fn program() -> PathBuf {
    let installed = toolchain::sysroot().map(|root| root.join("bin/rustfmt"));
    let installed = installed.ok().filter(|program| program.is_file());
    installed.unwrap_or_else(|| "rustfmt".into())
}

fn rustfmt(program: &Path, source: &str) -> Result<String, String> {
    let mut command = command(program);
    let width = format!("max_width={}", WIDTH + INDENT.len());
    command
        .args(["--edition", "2024", "--emit", "stdout", "--config", &width])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let needed = "`%fmt` needs rustfmt: run `rustup component add rustfmt`.";
    let no_rustfmt = |_| needed.to_owned();
    let mut child = command.spawn().map_err(no_rustfmt)?;
    if let Some(mut stdin) = child.stdin.take() {
        // If this fails, rustfmt has ended, and reports why.
        let _ = stdin.write_all(source.as_bytes());
    }
    let output = child.wait_with_output().map_err(no_rustfmt)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false if runs(program) => Err(
            "the cell is not formatted, because it does not parse. Run it to see the error."
                .to_owned(),
        ),
        false => Err(needed.to_owned()),
    }
}

/// Returns whether rustfmt runs at all: rustup's proxy fails if the toolchain does not have it.
fn runs(program: &Path) -> bool {
    let mut command = command(program);
    let status = command.arg("--version").stdout(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    crate::environment::for_shell(&mut command);
    command
}

/// Removes the function around the cell, and the indentation of its lines except within strings.
fn unwrapped(printed: &str) -> String {
    let tokens = with_offsets(printed);
    let in_a_string = |at: usize| {
        tokens
            .iter()
            .any(|(start, _, text)| *start < at && at < start + text.len())
    };
    let mut lines = Vec::new();
    let mut at = 0;
    for line in printed.split_inclusive('\n') {
        let text = line.trim_end_matches('\n');
        let text = match in_a_string(at) {
            true => text,
            false => text.strip_prefix(INDENT).unwrap_or(text),
        };
        lines.push(text.strip_prefix(COMMAND).unwrap_or(text));
        at += line.len();
    }
    let last = lines
        .iter()
        .rposition(|line| *line == "}")
        .unwrap_or(lines.len());
    lines[1.min(last)..last].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn code_that_does_not_parse_is_no_sign_of_a_missing_rustfmt() {
        let error = formatted("let component = ;").expect_err("it does not parse");
        // A minimal Rust has no rustfmt.
        let expected = match runs(&program()) {
            true => "does not parse",
            false => "needs rustfmt",
        };
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_rustfmt_that_does_not_run_is_missing() {
        let folder = tempfile::tempdir().expect("a folder");
        let proxy = folder.path().join("rustfmt");
        for script in [None, Some("#!/bin/sh\nexit 1\n")] {
            if let Some(script) = script {
                std::fs::write(&proxy, script).expect("a file");
                let executable = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(&proxy, executable).expect("it is ours");
            }
            let error = rustfmt(&proxy, "fn a() {}\n").expect_err("it does not run");
            assert!(error.contains("rustup component add rustfmt"), "{error}");
        }
    }

    #[test]
    fn the_function_and_the_indentation_are_removed() {
        let printed = "fn cell() {\n    //taper: :dep a\n    let s = \"x\n    y\";\n    if a {\n        b\n    }\n}\n";
        assert_eq!(
            unwrapped(printed),
            ":dep a\nlet s = \"x\n    y\";\nif a {\n    b\n}"
        );
    }
}
