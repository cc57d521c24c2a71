//! `taper doctor`

use crate::data::{ALL, store};
use crate::image::{Condition, Image};
use crate::progress::Console;
use crate::setup::{jupyter::Jupyter, kernelspec, python};
use crate::{cache, checks, home, toolchain};
use anyhow::Result;
use std::process::{Command, ExitCode};

const SET_UP: &str = "run `cargo taper setup`";

/// One thing that Taper needs or can use.
struct Finding {
    name: &'static str,
    state: State,
}

enum State {
    Good(String),
    /// Not there; works without.
    Absent(String),
    /// What is wrong, and what to do.
    Bad(String),
}

/// Prints what is there; fails if something that is needed is not.
pub fn run() -> Result<ExitCode> {
    let findings = [
        finding(
            "Rust",
            checks::compiler().and_then(|()| Ok(toolchain::release()?.to_owned())),
        ),
        finding(
            "Rust's library source",
            checks::rust_src().map(|p| p.display().to_string()),
        ),
        finding("C compiler", checks::c_compiler()),
        finding(
            "Python",
            python::find().map(|p| format!("{} ({})", p.version, p.program.display())),
        ),
        finding("cache", cache_state()),
        state("JupyterLab", jupyter_state()),
        state("kernel", kernel_state()),
        state("compiled packages", image_state()),
        state("data sets", data_state()),
        Finding {
            name: "GPU",
            state: gpu_state(),
        },
    ];
    let mut code = ExitCode::SUCCESS;
    for Finding { name, state } in &findings {
        match state {
            State::Good(what) => println!("ok      {name}: {what}"),
            State::Absent(what) => println!("-       {name}: {what}"),
            State::Bad(what) => {
                println!("MISSING {name}: {what}");
                code = ExitCode::FAILURE;
            }
        }
    }
    Ok(code)
}

fn finding(name: &'static str, result: Result<String>) -> Finding {
    state(name, result.map(State::Good))
}

fn state(name: &'static str, result: Result<State>) -> Finding {
    let state = result.unwrap_or_else(|error| State::Bad(format!("{error:#}")));
    Finding { name, state }
}

fn cache_state() -> Result<String> {
    let folder = cache::folder()?;
    if Image::find(&home::image_key()?)?.0 != Condition::Ready {
        checks::disk(&folder)?;
    }
    Ok(folder.display().to_string())
}

fn jupyter_state() -> Result<State> {
    Ok(match Jupyter::find_private()? {
        Some(jupyter) => State::Good(jupyter.program.display().to_string()),
        None => State::Bad(format!("not installed yet; {SET_UP}")),
    })
}

fn kernel_state() -> Result<State> {
    let Some(jupyter) = Jupyter::find_private()? else {
        return Ok(State::Bad(format!("not registered; {SET_UP}")));
    };
    Ok(match kernelspec::installed(&jupyter.data_folder()?) {
        Some(program) if program.exists() => State::Good(program.display().to_string()),
        Some(program) => State::Bad(format!("{} is gone; {SET_UP}", program.display())),
        None => State::Bad(format!("not registered; {SET_UP}")),
    })
}

fn image_state() -> Result<State> {
    let condition = Image::verify(&home::image_key()?, &mut Console::new())?;
    Ok(match condition {
        Condition::Ready => State::Good("complete, every file as it was built".to_owned()),
        Condition::Missing => State::Bad(format!("not built yet; {SET_UP}")),
        Condition::Outdated => State::Bad(format!("older than the sources of taper; {SET_UP}")),
        Condition::Damaged(file) => State::Bad(format!("damaged ({}); {SET_UP}", file.display())),
    })
}

fn data_state() -> Result<State> {
    let folder = store::folder()?;
    let there = ALL.iter().filter(|set| store::is_there(set, &folder));
    let there: Vec<&str> = there.map(|set| set.name).collect();
    Ok(match there[..] {
        [] => State::Absent("none downloaded; `cargo taper data list` names them".to_owned()),
        _ => State::Good(format!("{} in {}", there.join(", "), folder.display())),
    })
}

fn gpu_state() -> State {
    let query = ["--query-gpu=name,driver_version", "--format=csv,noheader"];
    match Command::new("nvidia-smi").args(query).output() {
        Ok(output) if output.status.success() => {
            let cards = String::from_utf8_lossy(&output.stdout);
            State::Good(cards.trim().replace('\n', "; "))
        }
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stdout);
            let first = said
                .lines()
                .next()
                .unwrap_or("nvidia-smi failed")
                .to_owned();
            State::Absent(format!("{first} Everything runs on the CPU."))
        }
        Err(_) => State::Absent(
            "no NVIDIA driver found (no nvidia-smi). Everything runs on the CPU.".to_owned(),
        ),
    }
}
