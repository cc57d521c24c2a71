//! `taper doctor`: checks what Taper needs on this machine.

mod finding;
mod gpu;
mod mpi;

use crate::data::{ALL, store};
use crate::setup::{jupyter::Jupyter, kernelspec};
use anyhow::Result;
use finding::{Finding, SET_UP, State};
use std::process::ExitCode;
use taper_host::progress::Console;
use taper_host::python::interpreter;
use taper_host::{cache, checkout, checks, components, store as shared, toolchain};
use taper_session::image::{Condition, Image};
use taper_session::image_key;

/// Prints a line for each check; fails if something that is needed is missing.
pub(crate) fn run() -> Result<ExitCode> {
    let mut findings = vec![
        finding(
            "Rust",
            checks::compiler().and_then(|()| Ok(toolchain::release()?.to_owned())),
        ),
        finding(
            "Rust's library source",
            components::library_source().map(|p| p.display().to_string()),
        ),
        Finding {
            name: "rust-analyzer",
            state: match toolchain::analyzer() {
                Ok(program) => State::Good(program.display().to_string()),
                // Cells run without it.
                Err(missing) => State::Absent(missing.to_string()),
            },
        },
        finding("C compiler", checks::c_compiler()),
        finding(
            "Python",
            interpreter::find().map(|p| format!("{} ({})", p.version, p.program.display())),
        ),
        finding("cache", cache_state()),
        state("store", store_state()),
        state("JupyterLab", jupyter_state()),
        state("kernel", kernel_state()),
        state("compiled packages", image_state()),
        state("data sets", data_state()),
    ];
    findings.extend(gpu::findings()?);
    findings.push(mpi::finding());
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
    cache::check_writable(&folder)?;
    if Image::find(&image_key()?)?.0 != Condition::Ready {
        checks::disk(&folder, false)?;
    }
    Ok(folder.display().to_string())
}

fn store_state() -> Result<State> {
    let variable = shared::VARIABLE;
    Ok(match shared::folder() {
        None => State::Absent(format!("none ({variable} is not set): the cache is used")),
        Some(store) if store.join("images").exists() => State::Good(store.display().to_string()),
        Some(store) => State::Bad(format!(
            "{variable} is {}, where `taper setup --system` has stored nothing",
            store.display()
        )),
    })
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
    let key = image_key()?;
    if let Some(step) = Image::progress(&key) {
        return Ok(State::Bad(format!("not complete yet. {}", step.describe())));
    }
    let condition = Image::verify(&key, &mut Console::new())?;
    Ok(match condition {
        Condition::Ready => State::Good("complete, every file as it was built".to_owned()),
        Condition::Missing => match Image::other(&key) {
            Some(other) => State::Bad(format!(
                "{SET_UP}. {}",
                other.describe(toolchain::release()?)
            )),
            None => State::Bad(format!("not built yet; {SET_UP}")),
        },
        Condition::Outdated => State::Bad(format!("older than the sources of taper; {SET_UP}")),
        Condition::Damaged(file) => State::Bad(format!("damaged ({}); {SET_UP}", file.display())),
    })
}

fn data_state() -> Result<State> {
    let folder = store::folder()?;
    let there = ALL.iter().filter(|set| store::is_there(set, &folder));
    let there: Vec<&str> = there.map(|set| set.name).collect();
    Ok(match there[..] {
        [] => State::Absent(format!(
            "none downloaded; `{} data list` names them",
            checkout::command()
        )),
        _ => State::Good(format!("{} in {}", there.join(", "), folder.display())),
    })
}
