//! Makes shared libraries of packages.
//!
//! A package that is linked into each cell has its statics once for each cell: a runtime, a logger or a registry of one
//! cell is not that of the next. In a shared library, which the process loads once, it has them once; and a cell that
//! uses it is linked without it, which is faster.

use super::call;
use crate::config::{Config, Package};
use crate::error::compiler_failed;
use anyhow::{Context, Result};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use taper_host::digest;
use taper_host::error::OnFile as _;

/// Compiled files, with their times.
pub(crate) type Files = Vec<(PathBuf, Option<SystemTime>)>;

/// How large the kept libraries may be together, in bytes.
const LIMIT: u64 = 1_000_000_000;

/// The shared libraries of packages.
#[derive(Default)]
pub(crate) struct Shared {
    /// Each may use those before it.
    libraries: Vec<Library>,
    /// What the process has loaded as part of such a library. What is compiled again under the same name has the same
    /// symbols, and the process would call the old functions. Such a package is linked into each cell.
    loaded: HashMap<PathBuf, Option<SystemTime>>,
}

struct Library {
    path: PathBuf,
    /// The name of its crate.
    name: String,
    /// The packages in it, as they were compiled.
    packages: Vec<(String, Files)>,
    /// What it was linked with.
    base: Files,
}

impl Shared {
    /// Sets the shared libraries of packages that have none, and makes what is missing. A package that cannot be in one is
    /// left as it is.
    pub(crate) fn share(&mut self, config: &mut Config) {
        for package in &mut config.packages {
            let made = self.libraries();
            package.library = package.library.take().filter(|it| !made.contains(&it));
        }
        let (given, linked): (Vec<&Package>, Vec<&Package>) = config
            .packages
            .iter()
            .filter(|it| it.library.is_some() || it.is_linked())
            .partition(|it| it.library.is_some());
        let base: Files = given.into_iter().flat_map(files).collect();
        let now = linked.into_iter().map(|it| (it.name.clone(), files(it)));
        let now: Vec<(String, Files)> = now.filter(|(_, files)| !self.is_replaced(files)).collect();
        let is_current = |library: &Library| {
            library.base == base && library.packages.iter().all(|it| now.contains(it))
        };
        let current = self.libraries.iter().take_while(|it| is_current(it));
        let current = current.count();
        self.libraries.truncate(current);
        let is_in_one = |package: &(String, Files)| {
            let mut libraries = self.libraries.iter();
            libraries.any(|library| library.packages.contains(package))
        };
        let new: Vec<(String, Files)> = now.iter().filter(|it| !is_in_one(it)).cloned().collect();
        if !new.is_empty()
            && let Ok(library) = self.compile(config, new, base)
        {
            let files = library.packages.iter().flat_map(|(_, files)| files);
            self.loaded.extend(files.cloned());
            self.libraries.push(library);
        }
        for package in config.packages.iter_mut().filter(|it| it.is_linked()) {
            let compiled = (package.name.clone(), files(package));
            let mut libraries = self.libraries.iter();
            let library = libraries.find(|it| it.packages.contains(&compiled));
            package.library = library.map(|it| it.path.clone());
        }
    }

    /// Returns whether the process has loaded other files under these names.
    fn is_replaced(&self, files: &Files) -> bool {
        let mut files = files.iter();
        files.any(|(file, time)| self.loaded.get(file).is_some_and(|loaded| loaded != time))
    }

    /// Forgets what the process has loaded, which has ended.
    pub(crate) fn forget_process(&mut self) {
        self.loaded.clear();
    }

    /// Returns the paths of the libraries, each behind those that it uses.
    pub(crate) fn libraries(&self) -> Vec<&PathBuf> {
        self.libraries.iter().map(|it| &it.path).collect()
    }

    fn compile(
        &self,
        config: &Config,
        packages: Vec<(String, Files)>,
        base: Files,
    ) -> Result<Library> {
        let known: Vec<&String> = self.libraries.iter().map(|it| &it.name).collect();
        // Another engine has the same files in another folder.
        let named = |files: &Files| -> Vec<_> {
            let files = files.iter();
            files
                .map(|(file, time)| (file.file_name().map(ToOwned::to_owned), *time))
                .collect()
        };
        let all: Vec<_> = packages
            .iter()
            .map(|(name, files)| (name, named(files)))
            .collect();
        let key = format!("{all:?} {:?} {known:?} {:?}", named(&base), config.rustc);
        let name = format!("cell_packages_{}", &digest::of(key.as_bytes())[..16]);
        let first = packages.iter().flat_map(|(_, files)| files).next();
        let folder = first.and_then(|(file, _)| file.parent());
        let folder = folder.unwrap_or(&config.shared).to_owned();
        let file = format!(
            "{}{name}{}",
            std::env::consts::DLL_PREFIX,
            std::env::consts::DLL_SUFFIX
        );
        let library = Library {
            path: folder.join(file),
            name,
            packages,
            base,
        };
        // A library that exists is complete.
        if library.path.exists() {
            return Ok(library);
        }
        let kept = config.libraries.as_ref();
        let kept = kept
            .zip(library.path.file_name())
            .map(|(kept, name)| kept.join(name));
        let recalled = kept.as_ref().map(|kept| recall(kept, &library.path));
        if recalled.is_none_or(|recalled| recalled.is_err()) {
            self.call(config, &library, &folder)?;
            // Without, the next engine makes it again.
            let _ = kept.map(|kept| keep(&library.path, &kept));
        }
        Ok(library)
    }

    fn call(&self, config: &Config, library: &Library, folder: &Path) -> Result<()> {
        let source = config.folder.join(format!("{}.rs", library.name));
        let externs: Vec<(&str, &Path)> = config
            .packages
            .iter()
            .filter(|it| {
                it.library.is_some() || library.packages.iter().any(|(name, _)| *name == it.name)
            })
            .flat_map(|it| it.files.iter().map(|file| (&*it.name, &**file)))
            .chain(self.libraries.iter().map(|it| (&*it.name, &*it.path)))
            .collect();
        let mut names: Vec<&str> = externs.iter().map(|(name, _)| *name).collect();
        names.dedup();
        let text: String = names
            .iter()
            .map(|name| format!("extern crate {name} as _;\n"))
            .collect();
        std::fs::write(&source, text).on_file("write", &source)?;
        let new = folder.join(format!("{}.{}.new", library.name, std::process::id()));
        let mut command = call::rustc(config);
        command
            .args(["--crate-name", &library.name, "--crate-type=dylib"])
            .args(["-Cprefer-dynamic", "-Copt-level=0", "-Crpath"])
            .args(&config.flags);
        for folder in &config.search {
            command.arg("-L").arg(folder);
        }
        let mut folders: Vec<&Path> = externs
            .iter()
            .filter_map(|(_, file)| file.parent())
            .collect();
        folders.extend(
            self.libraries
                .iter()
                .flat_map(|it| &it.packages)
                .flat_map(|(_, files)| files)
                .filter_map(|(file, _)| file.parent()),
        );
        folders.sort_unstable();
        folders.dedup();
        for folder in folders {
            let mut argument = OsString::from("dependency=");
            argument.push(folder);
            command.arg("-L").arg(argument);
        }
        for (name, file) in externs {
            let mut argument = OsString::from(format!("{name}="));
            argument.push(file);
            command.arg("--extern").arg(argument);
        }
        let output = command.arg(&source).arg("-o").arg(&new).output();
        let output = output.context("cannot start rustc")?;
        if output.status.success() {
            return std::fs::rename(&new, &library.path).on_file("create", &library.path);
        }
        let _ = std::fs::remove_file(&new);
        let printed = String::from_utf8_lossy(&output.stderr);
        Err(compiler_failed("rustc", printed))
    }
}

/// Links a library that another engine has made.
fn recall(kept: &Path, library: &Path) -> io::Result<()> {
    fs::hard_link(kept, library)?;
    fs::File::open(kept)?.set_modified(SystemTime::now())
}

/// Keeps a library for other engines, in place of those that were not used for the longest time.
fn keep(library: &Path, kept: &Path) -> io::Result<()> {
    let folder = kept.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    fs::hard_link(library, kept)?;
    let mut all = Vec::new();
    for file in fs::read_dir(folder)?.flatten() {
        let metadata = file.metadata()?;
        all.push((metadata.modified()?, metadata.len(), file.path()));
    }
    all.sort_by_key(|(used, ..)| std::cmp::Reverse(*used));
    let mut size = 0;
    for (_, len, file) in all {
        size += len;
        if size > LIMIT {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

/// Returns the files of a package, with their times.
fn files(package: &Package) -> Files {
    let time = |file: &PathBuf| file.metadata().and_then(|it| it.modified()).ok();
    let files = package.files.iter();
    files.map(|file| (file.clone(), time(file))).collect()
}

/// Returns the files of packages, by name.
pub(crate) fn built(packages: &[Package]) -> HashMap<String, Files> {
    let packages = packages.iter();
    packages.map(|it| (it.name.clone(), files(it))).collect()
}
