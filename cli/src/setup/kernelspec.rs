//! Registers the kernel with Jupyter.

use anyhow::{Context, Result};
use jupyter_protocol::JupyterKernelspec;
use serde_json::{Map, Value};
use std::fs::File;
use std::path::{Path, PathBuf};
use taper_host::{cache, checkout, process};

/// The name of the kernel in notebooks.
pub(crate) const NAME: &str = "taper";

/// Includes a file of the kernelspec that the wheel installs.
macro_rules! of_wheel {
    ($name:literal) => {
        include_bytes!(concat!(
            "../../wheel.data/data/share/jupyter/kernels/taper/",
            $name
        ))
    };
}

/// The kernelspec of the wheel. Its program is relative to the folder into which pip installs the kernelspec.
const SPEC: &[u8] = of_wheel!("kernel.json");
/// The kernel's icon, as JupyterLab and older front ends look for it.
const LOGO: &[u8] = of_wheel!("logo-svg.svg");
const LOGO_64: &[u8] = of_wheel!("logo-64x64.png");

/// The name that users see.
pub(crate) const DISPLAY_NAME: &str = "Rust (Taper)";

/// Writes the kernelspec into one of Jupyter's data folders. It starts a copy of this program in the
/// cache, so `cargo clean` does not remove the kernel.
pub(crate) fn install(data_folder: &Path) -> Result<()> {
    let variables = [
        cache::VARIABLE,
        taper_host::store::VARIABLE,
        checkout::VARIABLE,
    ];
    let set = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?.into()));
    write(data_folder, variables.into_iter().filter_map(set).collect())
}

/// Writes the kernelspec with which all users start the kernel from a store.
pub(crate) fn install_for_all(store: &Path, data_folder: &Path) -> Result<()> {
    let store = store
        .to_str()
        .context("the store's path is not valid Unicode")?;
    let store = (taper_host::store::VARIABLE.to_owned(), store.into());
    write(data_folder, Map::from_iter([store]))
}

fn write(data_folder: &Path, environment: Map<String, Value>) -> Result<()> {
    let program = copy_of_this_program()?;
    // The metadata announces a debugger, because JupyterLab shows variables in the debugger's panel.
    let mut spec: Value = serde_json::from_slice(SPEC)?;
    spec["argv"][0] = program
        .to_str()
        .context("the program's path is not valid Unicode")?
        .into();
    spec["env"] = environment.into();
    let folder = data_folder.join("kernels").join(NAME);
    cache::make(&folder)?;
    cache::write_atomically(&folder.join("logo-svg.svg"), LOGO)?;
    cache::write_atomically(&folder.join("logo-64x64.png"), LOGO_64)?;
    let text = serde_json::to_string_pretty(&spec)? + "\n";
    cache::write_atomically(&folder.join("kernel.json"), text.as_bytes())
}

/// Returns the program that the kernelspec in this data folder starts, if there is one.
pub(crate) fn installed(data_folder: &Path) -> Option<PathBuf> {
    let file = data_folder.join("kernels").join(NAME).join("kernel.json");
    let spec: JupyterKernelspec = serde_json::from_slice(&std::fs::read(file).ok()?).ok()?;
    spec.argv.first().map(PathBuf::from)
}

/// Copies this program into the cache, unless it is there already, and returns the copy. There is one copy,
/// replaced by a rename: running kernels keep the old file, and every kernelspec starts the newest.
fn copy_of_this_program() -> Result<PathBuf> {
    let program = process::program()?;
    let folder = cache::folder()?.join("bin");
    let copy = folder.join("taper");
    if is_same(&program, &copy) {
        return Ok(copy);
    }
    cache::make(&folder)?;
    let unfinished = folder.join(format!("taper.{}", std::process::id()));
    std::fs::copy(&program, &unfinished).context("copying this program into the cache")?;
    let modified = std::fs::metadata(&program)?.modified()?;
    File::options()
        .write(true)
        .open(&unfinished)?
        .set_modified(modified)?;
    std::fs::rename(&unfinished, &copy)?;
    Ok(copy)
}

/// Returns whether the files have the same size and time of modification.
fn is_same(program: &Path, copy: &Path) -> bool {
    let stamp = |file: &Path| {
        let metadata = std::fs::metadata(file).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    };
    stamp(program).is_some() && stamp(program) == stamp(copy)
}
