//! Evaluates the cells of a file, which are separated by lines with `#%%`:
//!
//! ```text
//! cargo run -p taper-engine --example evaluate -- CELLS [FOLDER]
//! ```
//!
//! FOLDER contains compiled packages, such as `libitoa.rlib`. Cells can use them by their names. What these use is in
//! its folder `deps`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use taper_engine::{Config, Engine, Event, Failure, Outcome, Package};
use taper_evaluator::Event as Shown;

/// Where the package `tokio` is there, cells wait for futures on its runtime.
const RUNTIME: &str = "::tokio::runtime::Builder::new_multi_thread().enable_all().build().expect(\"the runtime starts\")";

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<ExitCode> {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    // The engine starts this program a second time, to run the cells.
    if let Some(code) = taper_engine::hook(&arguments, &()) {
        return Ok(code);
    }
    let cells = arguments.get(1).ok_or("usage: evaluate CELLS [FOLDER]")?;
    let packages = arguments.get(2).map(Path::new);
    let folder = std::env::temp_dir().join(format!("evaluate-{}", std::process::id()));
    let mut engine = Engine::start(configuration(&folder, packages)?)?;
    let text = std::fs::read_to_string(cells)?;
    for cell in text.split("#%%\n") {
        println!("\n{}", cell.trim_end());
        let outcome = engine.evaluate(cell, &mut show);
        report(&outcome);
    }
    drop(engine);
    std::fs::remove_dir_all(folder)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the configuration for the compiler on the PATH.
fn configuration(folder: &Path, packages: Option<&Path>) -> Result<Config> {
    let sysroot = PathBuf::from(rustc(&["--print", "sysroot"])?);
    let target = rustc(&["--print", "host-tuple"])?;
    Ok(Config {
        rustc: sysroot.join("bin/rustc"),
        sysroot,
        target,
        flags: vec!["--edition=2024".into()],
        search: match packages {
            Some(folder) => {
                let mut search = OsString::from("dependency=");
                search.push(folder.join("deps"));
                vec![search]
            }
            None => Vec::new(),
        },
        environment: Vec::new(),
        packages: match packages {
            Some(folder) => libraries(folder)?,
            None => Vec::new(),
        },
        folder: folder.to_owned(),
        shared: folder.to_owned(),
        cache: None,
        libraries: None,
        program: std::env::current_exe()?,
        cell_environment: Vec::new(),
        immutable_types: Vec::new(),
    })
}

fn rustc(arguments: &[&str]) -> Result<String> {
    let output = Command::new("rustc").args(arguments).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

/// Returns the packages in a folder.
fn libraries(folder: &Path) -> Result<Vec<Package>> {
    let mut packages = Vec::new();
    for file in std::fs::read_dir(folder)? {
        let file = file?.path();
        let name = file.file_stem().and_then(|name| name.to_str());
        let extension = file.extension().and_then(|it| it.to_str());
        // A shared library is a package of procedural macros.
        let is_package = extension == Some("rlib")
            || extension == Some("so") && !file.with_extension("rlib").exists();
        // The engine has made it of packages.
        let is_package =
            is_package && name.is_some_and(|name| !name.starts_with("libcell_packages_"));
        if let Some(name) = name
            .and_then(|name| name.strip_prefix("lib"))
            .filter(|_| is_package)
        {
            packages.push(Package {
                name: name.split('-').next().unwrap_or(name).to_owned(),
                files: vec![file.clone()],
                runtime: name.starts_with("tokio-").then(|| RUNTIME.to_owned()),
                ..Package::default()
            });
        }
    }
    Ok(packages)
}

fn show(event: Event) {
    match event {
        Event::Shown(Shown::Text { text, .. }) => print!("{text}"),
        Event::Value { text, .. } => println!("= {text}"),
        Event::Warnings(warnings) => {
            warnings
                .iter()
                .for_each(|it| println!("warning: {}", it.message));
        }
        Event::ThreadPanic { fault, .. } => println!("a thread panicked: {}", fault.message),
        _ => {}
    }
}

fn report(outcome: &Outcome) {
    for (what, names) in [
        ("moved", &outcome.moved),
        ("lost", &outcome.lost),
        ("frozen", &outcome.frozen),
    ] {
        if !names.is_empty() {
            println!("{what}: {}", names.join(", "));
        }
    }
    match &outcome.failure {
        Some(Failure::Compile(errors)) => {
            for error in errors {
                let span = error.primary();
                let place = span.and_then(|it| Some((it.cell?, it.line_start, it.column_start)));
                println!("error: {} {place:?}", error.message);
            }
        }
        Some(failure) => println!("{failure:?}"),
        None => {}
    }
    eprintln!("[{} ms]", outcome.compilation.as_millis());
}
