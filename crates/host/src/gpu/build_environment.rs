//! A folder that looks like a CUDA toolkit to Candle's build scripts, and the variables that lead them
//! there: our `nvcc` ([`NVCC`]), the real headers, and libraries that are linked in place of the real ones
//! ([`super::shims`]).

use super::shims;
use super::smi::Capability;
use super::toolkit::Toolkit;
use crate::cache;
use crate::checks;
use crate::digest;
use crate::error::OnFile as _;
use crate::lock::Lock;
use crate::progress::Progress;
use crate::toolchain;
use anyhow::{Context, Result};
use cargo_metadata::MetadataCommand;
use std::collections::BTreeMap;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// The script that is called in place of the toolkit's compiler.
const NVCC: &str = include_str!("nvcc.sh");
const LIST_PACKAGES: &str = "cargo could not list Taper's dependencies; check the connection, then run the same command again";
/// The file that is written when the folder is complete.
const COMPLETE: &str = "complete";
/// The variables in which build scripts look for the toolkit's folder.
const FOLDER_VARIABLES: [&str; 5] = [
    "CUDA_HOME",
    "CUDA_PATH",
    "CUDA_ROOT",
    "CUDA_TOOLKIT_ROOT_DIR",
    "CUDNN_LIB",
];

/// Creates the folder for a toolkit unless it exists, and returns the variables; `checkout` is the folder with
/// Taper's sources.
pub(super) fn prepare(
    toolkit: &Toolkit,
    capability: Capability,
    checkout: &Path,
    progress: &mut dyn Progress,
) -> Result<BTreeMap<String, String>> {
    checks::cpp_compiler()?;
    let bindings = bindings(checkout)?;
    let all = cache::folder()?.join("cuda");
    cache::make(&all)?;
    let folder = all.join(name(toolkit, bindings.as_deref()));
    ensure(&folder, toolkit, bindings.as_deref(), progress)?;
    Ok(variables(&folder, toolkit, capability))
}

/// Writes the folder unless it is complete.
fn ensure(
    folder: &Path,
    toolkit: &Toolkit,
    bindings: Option<&Path>,
    progress: &mut dyn Progress,
) -> Result<()> {
    let is_complete = || folder.join(COMPLETE).exists();
    if is_complete() {
        return Ok(());
    }
    let _lock = Lock::exclusive(folder.parent().unwrap_or(folder), progress)?;
    // Another process may have written it while this one waited, and may compile with it.
    match is_complete() {
        true => Ok(()),
        false => write(folder, toolkit, bindings),
    }
}

/// Returns a name that changes with the toolkit, cuDNN, the bindings and what this crate writes.
fn name(toolkit: &Toolkit, bindings: Option<&Path>) -> String {
    let text = |path: Option<&Path>| path.map(|path| path.to_string_lossy().into_owned());
    digest::name_of(&[
        &toolkit.describe(),
        &text(toolkit.cudnn.as_deref()).unwrap_or_default(),
        &text(bindings).unwrap_or_default(),
        NVCC,
        include_str!("shim.c"),
        include_str!("shims.rs"),
    ])
}

fn write(folder: &Path, toolkit: &Toolkit, bindings: Option<&Path>) -> Result<()> {
    // An interrupted set-up may have left an incomplete folder.
    cache::remove(folder)?;
    cache::make(&folder.join("bin"))?;
    let include = folder.join("include");
    symlink(toolkit.root.join("include"), &include).on_file("create", &include)?;
    let nvcc = folder.join("bin/nvcc");
    let (first, rest) = NVCC.split_once('\n').unwrap_or_default();
    let real = format!("NVCC_OF_TOOLKIT='{}/bin/nvcc'", toolkit.root.display());
    cache::write_atomically(&nvcc, format!("{first}\n{real}\n{rest}").as_bytes())?;
    std::fs::set_permissions(&nvcc, Permissions::from_mode(0o755))
        .on_file("make executable", &nvcc)?;
    if let Some(bindings) = bindings {
        shims::write(bindings, toolkit, &folder.join("lib"))?;
    }
    cache::write_atomically(&folder.join(COMPLETE), b"")
}

/// Returns all variables that the build scripts read, so that no variable of the user leads to another toolkit.
fn variables(folder: &Path, toolkit: &Toolkit, capability: Capability) -> BTreeMap<String, String> {
    let root = folder.to_string_lossy();
    let (major, minor) = toolkit.version;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let others = [
        ("NVCC", format!("{root}/bin/nvcc")),
        ("CUDA_COMPUTE_CAP", capability.number()),
        ("CUDARC_CUDA_VERSION", format!("{major}0{minor}0")),
        // The default is half of the cores.
        ("CUDAFORGE_THREADS", threads.to_string()),
    ];
    let folders = FOLDER_VARIABLES.map(|name| (name, root.to_string()));
    let all = others.into_iter().chain(folders);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the folder with the source of the crate `cudarc`, in the version in `Cargo.lock`; `None` if Taper
/// does not depend on it. Cargo downloads this crate only for the feature `cuda`, so `cargo metadata` is called
/// for a temporary crate that enables the feature, as the image does.
fn bindings(checkout: &Path) -> Result<Option<PathBuf>> {
    let cache = cache::folder()?;
    let folder = tempfile::tempdir_in(&cache).on_file("write", &cache)?;
    let folder = folder.path();
    let taper = toml::Value::String(checkout.to_string_lossy().into_owned());
    let manifest = format!(
        "[package]\nname = \"bindings\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\ntaper = {{ path = {taper}, features = [\"cuda\"] }}\n[workspace]\n"
    );
    cache::write_atomically(&folder.join("Cargo.toml"), manifest.as_bytes())?;
    cache::write_atomically(&folder.join("lib.rs"), b"")?;
    let lock = checkout.join("Cargo.lock");
    std::fs::copy(&lock, folder.join("Cargo.lock")).on_file("copy", &lock)?;
    let toolchain = toolchain::get()?;
    let metadata = MetadataCommand::new()
        .cargo_path(&toolchain.cargo)
        .env("PATH", toolchain.search_path())
        .current_dir(folder)
        .exec()
        .context(LIST_PACKAGES)?;
    let mut packages = metadata.packages.iter();
    let cudarc = packages.find(|package| package.name.as_str() == "cudarc");
    let manifest = cudarc.and_then(|package| package.manifest_path.parent());
    Ok(manifest.map(|folder| folder.join("src").into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::Step;

    /// Another set-up, which completes the folder while this one waits for its lock.
    struct Other<'a>(&'a Path, Option<Lock>);

    impl Progress for Other<'_> {
        fn line(&mut self, _text: &str) {
            cache::make(self.0).expect("a folder");
            for name in ["of-other", COMPLETE] {
                std::fs::write(self.0.join(name), "").expect("a file");
            }
            self.1.take();
        }

        fn step(&mut self, _step: &Step) {}
    }

    #[test]
    fn a_folder_that_another_set_up_has_completed_is_not_written_again() {
        let cache = tempfile::tempdir().expect("a folder");
        let folder = cache.path().join("toolkit");
        let toolkit = Toolkit {
            version: (13, 0),
            root: cache.path().join("cuda"),
            libraries: cache.path().join("cuda/lib64"),
            cudnn: None,
        };
        let lock = Lock::exclusive(cache.path(), &mut crate::progress::Console::new());
        let mut other = Other(&folder, Some(lock.expect("a lock")));
        ensure(&folder, &toolkit, None, &mut other).expect("it is complete");
        assert!(folder.join("of-other").exists());
    }
}
