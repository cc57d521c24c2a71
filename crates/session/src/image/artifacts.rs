//! What cargo has compiled, as it reports it. Where cargo puts files is its own affair: the layout of its build directory
//! changes with its versions.
//!
//! The image keeps the report. Its paths are relative to the work directory, because each session has the files in a
//! folder of its own.

use super::clone;
use anyhow::{Context, Result};
use cargo_metadata::{Artifact, BuildScript};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::env::consts::DLL_EXTENSION;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use taper_host::error::OnFile as _;
use taper_host::{cache, toolchain};

/// The file in a work directory with the report about the image.
pub(super) const FILE: &str = "artifacts.json";

/// The crate that the cells of all sessions use.
pub(super) const TAPER: &str = "taper";

/// Compiled packages.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Artifacts {
    libraries: Vec<Library>,
    /// Where rustc finds what they use.
    search: BTreeSet<Search>,
}

/// The library of a package.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Library {
    /// Cargo's identifier of the package, which may contain a path of the machine that compiled it.
    package: String,
    /// The name of the crate.
    name: String,
    files: Vec<PathBuf>,
}

/// A folder for rustc's option `-L`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Search {
    /// What is in it: `dependency`, or what a build script says, such as `native`.
    kind: String,
    folder: PathBuf,
}

impl Artifacts {
    /// Returns what a call of cargo in `work`, or in a folder below it, has reported.
    pub(super) fn of(
        reported: Vec<Artifact>,
        scripts: &[BuildScript],
        work: &Path,
    ) -> Result<Artifacts> {
        let work = &work.canonicalize().on_file("find", work)?;
        let mut found = Artifacts::default();
        for script in scripts {
            for path in &script.linked_paths {
                let (kind, folder) = path
                    .as_str()
                    .split_once('=')
                    .unwrap_or(("all", path.as_str()));
                let (kind, folder) = (kind.to_owned(), below(work, Path::new(folder)));
                found.search.insert(Search { kind, folder });
            }
        }
        for artifact in reported {
            let mut files = Vec::new();
            for file in artifact.filenames {
                let file = below(work, file.as_std_path());
                let kind = "dependency".to_owned();
                let folder = file.parent().unwrap_or(Path::new("")).to_owned();
                found.search.insert(Search { kind, folder });
                files.push(file);
            }
            found.libraries.push(Library {
                package: artifact.package_id.repr,
                name: artifact.target.name.replace('-', "_"),
                files,
            });
        }
        Ok(found)
    }

    /// Reads what the image in a work directory keeps.
    pub(crate) fn read(work: &Path) -> Result<Artifacts> {
        let file = work.join(FILE);
        let text = std::fs::read(&file).on_file("read", &file)?;
        serde_json::from_slice(&text).context("cannot write the report of an image as JSON")
    }

    /// Keeps them with the image in a work directory.
    pub(super) fn write(&self, work: &Path) -> Result<()> {
        let text =
            serde_json::to_vec(self).context("cannot write the report of an image as JSON")?;
        cache::write_atomically(&work.join(FILE), &text)
    }

    /// Puts the libraries that were compiled in the folder `from` into a work directory too.
    pub(super) fn link(&mut self, from: &Path, work: &Path) -> Result<()> {
        for file in self.libraries.iter().flat_map(|library| &library.files) {
            clone::anew(&from.join(file), &work.join(file))?;
        }
        // What build scripts name stays where it is.
        let search = std::mem::take(&mut self.search).into_iter();
        self.search = search
            .map(|it| match it.kind.as_str() {
                "dependency" => it,
                _ => Search {
                    folder: from.join(&it.folder),
                    ..it
                },
            })
            .collect();
        Ok(())
    }

    /// Returns the files of a package in a work directory; where it is compiled for macros and build scripts too, those
    /// for cells.
    pub(super) fn files(&self, package: &str, work: &Path) -> Result<Vec<PathBuf>> {
        self.files_of(work, |library| library.package == package)
    }

    /// Returns the files of `taper` in a work directory.
    pub(crate) fn taper(&self, work: &Path) -> Result<Vec<PathBuf>> {
        self.files_of(work, |library| library.name == TAPER)
    }

    fn files_of(&self, work: &Path, is_wanted: impl Fn(&Library) -> bool) -> Result<Vec<PathBuf>> {
        let target = toolchain::host()?;
        let wanted = self.libraries.iter().filter(|library| is_wanted(library));
        let mut files: Vec<&PathBuf> = wanted.flat_map(|library| &library.files).collect();
        // With `--target`, cargo documents a folder of this name.
        let is_for_cells = |file: &&PathBuf| file.iter().any(|part| part == target);
        if files.iter().any(is_for_cells) {
            files.retain(is_for_cells);
        }
        Ok(files.into_iter().map(|file| work.join(file)).collect())
    }

    /// Returns the values of rustc's option `-L` for a work directory.
    pub(crate) fn search(&self, work: &Path) -> Vec<OsString> {
        let option = |it: &Search| {
            let mut option = OsString::from(format!("{}=", it.kind));
            option.push(work.join(&it.folder));
            option
        };
        self.search.iter().map(option).collect()
    }
}

/// Returns the shared library among files.
pub(crate) fn shared_library(files: &[PathBuf]) -> Option<&PathBuf> {
    let mut files = files.iter();
    files.find(|file| file.extension().is_some_and(|it| it == DLL_EXTENSION))
}

/// Returns the shared library `taper` of the image in a work directory, which cells load.
///
/// # Errors
///
/// When the image does not say which file that is.
pub(crate) fn library(work: &Path) -> Result<PathBuf> {
    let files = Artifacts::read(work)?.taper(work)?;
    let library = shared_library(&files).cloned();
    library.with_context(|| {
        let file = work.join(FILE);
        format!(
            "cargo has reported no shared library `taper`: {}",
            file.display()
        )
    })
}

/// Returns a path relative to the work directory, if it is below it.
fn below(work: &Path, path: &Path) -> PathBuf {
    // Cargo reports the target directory as it was named, such as `work/beside/../target`. A file may be a link.
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    let path = match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    };
    path.strip_prefix(work).unwrap_or(&path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cargo_metadata::Message;

    /// Returns the messages of cargo, where it has put its files into this folder of a work directory.
    fn messages(work: &Path, text: &str) -> Artifacts {
        let text = text.replace("WORK", work.to_str().expect("a path"));
        let (mut libraries, mut scripts) = (Vec::new(), Vec::new());
        for message in Message::parse_stream(text.as_bytes()) {
            match message.expect("a message") {
                Message::CompilerArtifact(artifact) => libraries.push(artifact),
                Message::BuildScriptExecuted(script) => scripts.push(script),
                other => panic!("{other:?}"),
            }
        }
        Artifacts::of(libraries, &scripts, work).expect("they are below the folder")
    }

    fn artifact(package: &str, files: &[&str]) -> String {
        let files: Vec<_> = files.iter().map(|file| format!("WORK/{file}")).collect();
        serde_json::json!({
            "reason": "compiler-artifact", "package_id": package, "manifest_path": "/Cargo.toml",
            "target": {
                "kind": ["lib"], "crate_types": ["lib"], "name": package, "src_path": "/lib.rs", "edition": "2024",
                "doc": true, "doctest": true, "test": true,
            },
            "profile": {
                "opt_level": "0", "debuginfo": 0, "debug_assertions": true, "overflow_checks": true, "test": false,
            },
            "features": [], "filenames": files, "executable": null, "fresh": false,
        })
        .to_string()
            + "\n"
    }

    #[test]
    fn the_files_of_another_copy_are_found_wherever_cargo_puts_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a folder");
        let host = toolchain::host().expect("a target");
        let (image, session) = (folder.join("image"), folder.join("session"));
        let out = format!("anywhere/{host}/1a2b");
        for folder in ["beside", &out, "anywhere/macros", "built"] {
            std::fs::create_dir_all(image.join(folder)).expect("a folder");
        }
        let text = artifact(
            "taper",
            &[&format!("beside/../{out}/libtaper.{DLL_EXTENSION}")],
        ) + &artifact("syn", &["anywhere/macros/libsyn.rlib"])
            + &artifact("both-ways", &["anywhere/macros/a.rlib"])
            + &artifact(
                "both-ways",
                &[&format!("{out}/b.rlib"), &format!("{out}/b.rmeta")],
            )
            + r#"{"reason":"build-script-executed","package_id":"z","linked_libs":[],"#
            + r#""linked_paths":["native=WORK/built","/opt/lib"],"cfgs":[],"env":[],"out_dir":"/out"}"#;
        messages(&image, &text).write(&image).expect("it is kept");
        std::fs::create_dir(&session).expect("a folder");
        std::fs::copy(image.join(FILE), session.join(FILE)).expect("a copy");

        let found = Artifacts::read(&session).expect("it is there");
        let named = |names: &[&str]| -> Vec<PathBuf> {
            names
                .iter()
                .map(|name| session.join(&out).join(name))
                .collect()
        };
        let files = |package: &str| found.files(package, &session).expect("a target");
        assert_eq!(files("both-ways"), named(&["b.rlib", "b.rmeta"]));
        assert_eq!(files("syn"), [session.join("anywhere/macros/libsyn.rlib")]);
        let library = library(&session).expect("it is reported");
        assert_eq!(library, named(&[&format!("libtaper.{DLL_EXTENSION}")])[0]);
        let search: Vec<String> = found
            .search(&session)
            .into_iter()
            .map(|it| it.into_string().expect("text"))
            .collect();
        let session = session.display();
        assert_eq!(
            search,
            [
                "all=/opt/lib".to_owned(),
                format!("dependency={session}/anywhere/macros"),
                format!("dependency={session}/{out}"),
                format!("native={session}/built"),
            ]
        );
    }
}
