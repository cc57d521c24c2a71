//! The programs, in a folder that can be copied to another machine.

use crate::program_name::program_name;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use taper_host::gpu;
use taper_host::progress::Progress;
use taper_host::{process, toolchain};

/// The chapters that compute on a GPU where there is one.
const CHAPTERS: [&str; 5] = [
    GPT,
    "33-gpus",
    "34-leaf-network",
    "35-ai-on-a-gpu",
    "36-several-devices",
];

/// The chapter that trains a GPT of ten million parameters there. Its text is the source of Rust's library.
pub(super) const GPT: &str = "22-gpt";

/// Starts the programs of its folder.
const RUN: &str = "#!/bin/sh\n\
    # Checks and measures this machine's card: run [--report FILE] [--no-pytorch] [--minutes N]\n\
    here=$(CDPATH= cd \"$(dirname \"$0\")\" && pwd)\n\
    exec \"$here/bin/taper\" gpu-check --all --prepared \"$here\" \"$@\"\n";

const ABOUT: &str = "about.json";

/// The folder: `bin` with the programs, `lib` with what they link, `benches` with the scripts, `samples` with PyTorch's.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct Programs {
    #[serde(skip)]
    pub(super) folder: PathBuf,
    /// `cuda` or `cpu`.
    pub(super) device: String,
    /// What was built, and how.
    pub(super) built: String,
    /// The chapters' notebooks and programs.
    pub(super) chapters: BTreeMap<String, String>,
    /// A Python with PyTorch.
    pub(super) python: PathBuf,
}

impl Programs {
    /// Reads a folder that [`build`](Self::build) has written.
    pub(super) fn read(folder: &Path) -> Result<Self> {
        let text = fs::read(folder.join(ABOUT));
        let text = text.with_context(|| format!("{}: no programs", folder.display()))?;
        let mut programs: Self = serde_json::from_slice(&text)?;
        programs.folder = std::path::absolute(folder)?;
        Ok(programs)
    }

    /// Builds all programs, and copies them with what they need.
    pub(super) fn build(
        home: &Path,
        folder: &Path,
        feature: Option<&'static str>,
        installs_pytorch: bool,
        progress: &mut dyn Progress,
    ) -> Result<Self> {
        let mut build = Build {
            folder,
            environment: BTreeMap::new(),
            feature,
        };
        let mut how = "for the CPU".to_owned();
        if let Some(feature) = feature {
            let settings = gpu::for_cuda(home, progress)?;
            build.environment = settings.environment;
            how = format!("with {feature} {}", settings.because);
        }
        for part in ["bin", "lib", "samples", "notebooks"] {
            fs::create_dir_all(folder.join(part))?;
        }
        progress.line("Building the programs …");
        let mut of_taper = vec!["--locked", "--profile", "image", "--package", "taper"];
        of_taper.extend(feature.iter().flat_map(|feature| ["--features", feature]));
        let examples = ["build", "--example", "gpu_check", "--example", "training"];
        build.run(home, &examples, &of_taper, &[])?;
        build.run(
            home,
            &["test", "--no-run", "--test", "pytorch"],
            &of_taper,
            &[],
        )?;
        let chapters = build.chapters(home)?;
        let library = toolchain::library_folder()?;
        copy_all(&library, &folder.join("lib"), |name| {
            name.starts_with("libstd-") && name.ends_with(".so")
        })?;
        copy_all(
            &home.join("tests/pytorch"),
            &folder.join("samples"),
            |name| name.ends_with(".gz"),
        )?;
        copy_scripts(
            &home.join("benches/training"),
            &folder.join("benches/training"),
        )?;
        fs::copy(process::program()?, folder.join("bin/taper"))?;
        let run = folder.join("run");
        fs::write(&run, RUN)?;
        fs::set_permissions(&run, Permissions::from_mode(0o755))?;
        let python = match installs_pytorch {
            true => python_with_pytorch(home)?,
            false => "python3".into(),
        };
        let programs = Self {
            folder: folder.to_owned(),
            device: feature.map_or("cpu", |_| "cuda").to_owned(),
            built: format!(
                "Taper {}, built {how}, Rust {}",
                env!("CARGO_PKG_VERSION"),
                toolchain::release()?
            ),
            chapters,
            python,
        };
        fs::write(folder.join(ABOUT), serde_json::to_vec_pretty(&programs)?)?;
        Ok(programs)
    }
}

/// Builds with cargo.
struct Build<'a> {
    folder: &'a Path,
    environment: BTreeMap<String, String>,
    /// The feature for a GPU.
    feature: Option<&'static str>,
}

impl Build<'_> {
    /// Runs cargo, and copies the programs and libraries that it has made.
    fn run(
        &self,
        home: &Path,
        what: &[&str],
        how: &[&str],
        variables: &[(&str, &Path)],
    ) -> Result<()> {
        let mut cargo = Command::new("cargo");
        cargo.args(what).args(how);
        cargo
            .arg("--message-format=json-render-diagnostics")
            .current_dir(home)
            .envs(&self.environment)
            .envs(variables.iter().copied())
            .stderr(Stdio::inherit());
        let output = cargo.output().context("starting cargo")?;
        if !output.status.success() {
            bail!("cargo {}: {}", what.join(" "), output.status);
        }
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let message: Value = serde_json::from_str(line).unwrap_or_default();
            for (from, to) in made(&message) {
                fs::copy(&from, self.folder.join(&to))
                    .with_context(|| format!("copying {from}"))?;
            }
        }
        Ok(())
    }

    /// Exports the chapters and builds their programs; returns the notebooks with the programs' names.
    fn chapters(&self, home: &Path) -> Result<BTreeMap<String, String>> {
        let path = |name: &str| home.join("notebooks").join(name).with_extension("ipynb");
        let there = CHAPTERS.into_iter().filter(|name| path(name).exists());
        let names = there
            .map(|name| Ok((name.to_owned(), program_name(&path(name))?)))
            .collect::<Result<BTreeMap<_, _>>>()?;
        let exported = taper_host::cache::folder()?.join("gpu-check-chapters");
        let mut export = Command::new(process::program()?);
        export.arg("export").arg("--to").arg(&exported);
        export.args(names.keys().map(|name| path(name)));
        let output = export.output().context("exporting the chapters")?;
        if !output.status.success() {
            bail!("{}", String::from_utf8_lossy(&output.stderr));
        }
        let target = exported.join("target");
        let features: Vec<&str> = { self.feature.iter() }
            .flat_map(|feature| ["--features", feature])
            .collect();
        self.run(
            &exported,
            &["build", "--release", "--bins"],
            &features,
            &[("CARGO_TARGET_DIR", &target)],
        )?;
        Ok(names)
    }
}

/// Returns the files that cargo says it has made, with their places in the folder: programs, and libraries that they load.
fn made(message: &Value) -> Vec<(String, String)> {
    if message["reason"] != "compiler-artifact" {
        return vec![];
    }
    let name = message["target"]["name"].as_str().unwrap_or_default();
    let kinds = message["target"]["crate_types"].as_array();
    let is_dylib = kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == "dylib"));
    let files = message["filenames"].as_array().into_iter().flatten();
    let libraries = files
        .filter_map(Value::as_str)
        .filter(|file| is_dylib && file.ends_with(".so"));
    let library = |file: &str| {
        let name = file.rsplit('/').next().unwrap_or(file);
        (file.to_owned(), format!("lib/{name}"))
    };
    let program = message["executable"].as_str();
    let program = program.map(|file| (file.to_owned(), format!("bin/{name}")));
    libraries.map(library).chain(program).collect()
}

fn copy_all(from: &Path, to: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if is_wanted(&entry.file_name().to_string_lossy()) {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Copies Python's files, also those of packages.
fn copy_scripts(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    copy_all(from, to, |name| name.ends_with(".py"))?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.path().join("__init__.py").exists() {
            copy_scripts(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Installs PyTorch in the environment of the measurements, unless it is there; returns its Python.
fn python_with_pytorch(home: &Path) -> Result<PathBuf> {
    let output = Command::new("python3")
        .args(["-c", "from run import environment; print(environment())"])
        .current_dir(home.join("benches/kernel"))
        .stderr(Stdio::inherit())
        .output()
        .context("starting python3")?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().last() {
        Some(python) if output.status.success() => Ok(python.into()),
        _ => bail!("PyTorch cannot be installed; --no-pytorch leaves it out"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn programs_and_libraries_are_copied_and_macros_are_not() {
        let artifact = |name: &str, kind: &str, file: &str, program: Value| {
            json!({"reason": "compiler-artifact", "target": {"name": name, "crate_types": [kind]},
                   "filenames": [file], "executable": program})
        };
        let library = artifact("taper", "dylib", "/t/image/libtaper.so", Value::Null);
        let copied = |from: &str, to: &str| vec![(from.to_owned(), to.to_owned())];
        assert_eq!(
            made(&library),
            copied("/t/image/libtaper.so", "lib/libtaper.so")
        );
        let test = artifact("pytorch", "bin", "/t/pytorch-1f", json!("/t/pytorch-1f"));
        assert_eq!(made(&test), copied("/t/pytorch-1f", "bin/pytorch"));
        assert!(made(&artifact("m", "proc-macro", "/t/libm.so", Value::Null)).is_empty());
        assert!(made(&json!({"reason": "build-finished"})).is_empty());
    }
}
