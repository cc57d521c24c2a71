//! `taper class`: starts the script that prepares a class on one server, with JupyterHub and nbgrader.

use anyhow::{Context, Result};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use taper_host::{checkout, toolchain};

/// Prepare a class on this machine: JupyterHub, nbgrader and the compiled packages
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// The folder of the class, and options, which `--help` lists
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// Becomes the script.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let script = checkout::folder()?.join("packaging/class/prepare.py");
    let mut python = Command::new("python3");
    python
        .arg(script)
        .args(&arguments.arguments)
        .env("TAPER_PROGRAM", std::env::current_exe()?)
        .env("TAPER_RUSTC", &toolchain::get()?.rustc)
        .env(
            "TAPER_CARRIED",
            ["", "1"][usize::from(checkout::is_carried())],
        );
    Err(python.exec()).context("starting python3, which prepares a class")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes(script: &str) {
        let asked = Command::new("python3")
            .arg(script)
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&asked.stderr);
        assert!(asked.status.success(), "{said}");
    }

    #[test]
    fn answers_that_fit_no_question_are_refused() {
        passes("tests/hub/questions.py");
    }

    #[test]
    fn what_is_behind_a_link_is_not_collected() {
        passes("tests/hub/links.py");
    }
}
