//! A folder that looks like a CUDA toolkit to the crates below Candle, and the variables that lead
//! them there: our `nvcc` ([`NVCC`]), the real headers, and libraries that stand in for the real
//! ones ([`super::shims`]).

use super::shims;
use super::smi::Capability;
use super::toolkit::Toolkit;
use crate::cache;
use crate::checks;
use crate::digest::hex;
use crate::lock::Lock;
use crate::progress::Progress;
use anyhow::{Context, Result, bail};
use ring::digest::{Context as Digest, SHA256};
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is called in place of the toolkit's compiler.
const NVCC: &str = include_str!("nvcc.sh");
/// Written when the folder is complete.
const COMPLETE: &str = "complete";

/// Makes the folder for a toolkit, and gives the variables; `home` is the clone of Taper.
pub fn prepare(
    toolkit: &Toolkit,
    capability: Capability,
    home: &Path,
    progress: &mut dyn Progress,
) -> Result<BTreeMap<String, String>> {
    checks::cpp_compiler()?;
    let bindings = bindings(home)?;
    let all = cache::folder()?.join("cuda");
    cache::make(&all)?;
    let folder = all.join(name(toolkit, bindings.as_deref()));
    if !folder.join(COMPLETE).exists() {
        let _lock = Lock::exclusive(&all, progress)?;
        write(&folder, toolkit, bindings.as_deref())?;
    }
    Ok(variables(&folder, toolkit, capability))
}

/// One folder for each toolkit, bindings, and form of what we write.
fn name(toolkit: &Toolkit, bindings: Option<&Path>) -> String {
    let mut digest = Digest::new(&SHA256);
    let bindings = bindings.map(Path::to_string_lossy).unwrap_or_default();
    let parts = [
        toolkit.describe(),
        bindings.into_owned(),
        NVCC.to_owned(),
        include_str!("shim.c").to_owned(),
        include_str!("shims.rs").to_owned(),
    ];
    for part in parts {
        digest.update(part.as_bytes());
        digest.update(&[0]);
    }
    hex(digest)[..16].to_owned()
}

fn write(folder: &Path, toolkit: &Toolkit, bindings: Option<&Path>) -> Result<()> {
    // What an earlier try left may be incomplete in any way.
    if folder.exists() {
        std::fs::remove_dir_all(folder)
            .with_context(|| format!("removing {}", folder.display()))?;
    }
    cache::make(&folder.join("bin"))?;
    std::os::unix::fs::symlink(toolkit.root.join("include"), folder.join("include"))?;
    let nvcc = folder.join("bin/nvcc");
    let real = toolkit.root.join("bin/nvcc");
    let (first, rest) = NVCC.split_once('\n').unwrap_or_default();
    let real = format!("NVCC_OF_TOOLKIT='{}'", real.display());
    cache::write_atomically(&nvcc, format!("{first}\n{real}\n{rest}").as_bytes())?;
    std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755))?;
    if let Some(bindings) = bindings {
        shims::write(bindings, toolkit, &folder.join("lib"))?;
    }
    cache::write_atomically(&folder.join(COMPLETE), b"")
}

/// All variables at which the build scripts look, so that none of a person's own leads elsewhere.
fn variables(folder: &Path, toolkit: &Toolkit, capability: Capability) -> BTreeMap<String, String> {
    let home = folder.to_string_lossy().into_owned();
    let nvcc = folder.join("bin/nvcc").to_string_lossy().into_owned();
    let (major, minor) = toolkit.version;
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut variables = BTreeMap::from([
        ("NVCC".to_owned(), nvcc),
        ("CUDA_COMPUTE_CAP".to_owned(), capability.number()),
        (
            "CUDARC_CUDA_VERSION".to_owned(),
            format!("{major}0{minor}0"),
        ),
        // Its own default is a single one of two cores.
        ("CUDAFORGE_THREADS".to_owned(), threads.to_string()),
    ]);
    for name in [
        "CUDA_HOME",
        "CUDA_PATH",
        "CUDA_ROOT",
        "CUDA_TOOLKIT_ROOT_DIR",
        "CUDNN_LIB",
    ] {
        variables.insert(name.to_owned(), home.clone());
    }
    variables
}

/// The source of the crate `cudarc` that the project has locked; `None` if it has none. Asked for a
/// crate of our own, as the image's is, since only with the feature `cuda` cargo gets it.
fn bindings(home: &Path) -> Result<Option<PathBuf>> {
    let folder = tempfile::tempdir_in(cache::folder()?)?;
    let taper = toml::Value::String(home.to_string_lossy().into_owned());
    let manifest = format!(
        "[package]\nname = \"bindings\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[lib]\npath = \"lib.rs\"\n\
         [dependencies]\ntaper = {{ path = {taper}, features = [\"cuda\"] }}\n[workspace]\n"
    );
    std::fs::write(folder.path().join("Cargo.toml"), manifest)?;
    std::fs::write(folder.path().join("lib.rs"), "")?;
    std::fs::copy(home.join("Cargo.lock"), folder.path().join("Cargo.lock"))?;
    let output = Command::new("cargo")
        .args(["metadata", "--format-version=1"])
        .current_dir(folder.path())
        .output()
        .context("starting cargo")?;
    if !output.status.success() {
        bail!(
            "cargo could not list the packages below Taper; check the connection, then run the same command again. \
             It says:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let cudarc = packages.find(|package| package["name"] == "cudarc");
    let manifest = cudarc.and_then(|package| package["manifest_path"].as_str());
    Ok(manifest.and_then(|manifest| Some(Path::new(manifest).parent()?.join("src"))))
}
