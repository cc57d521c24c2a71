//! A compiler that takes what was compiled from the image.
//!
//! cargo compiles a package again where its sources are in another folder: in an imported image, for the users of a store,
//! and with another `CARGO_HOME`. The image has what would be compiled, under the same name, because that name contains a
//! digest of the package, its version and features, its dependencies, the compiler and the profile. So cargo calls this
//! program in place of rustc; it copies these files, and calls rustc for all others.

use super::layout;
use crate::environment::cargo_home;
use anyhow::{Error, Result};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use taper_host::cache;

/// The variable with the folders of an image and of a session.
const FOLDERS: &str = "TAPER_TAKEN_FROM";

/// The file in an image's folder that names the home of the cargo that compiled it.
const HOME: &str = "home-of-cargo";

/// Notes with which of cargo's homes an image is compiled; `None` if that is another machine's.
pub(super) fn note(image: &Path, home: Option<PathBuf>) -> Result<()> {
    let home = home.unwrap_or_default().into_os_string();
    cache::write_atomically(&image.join(HOME), home.as_encoded_bytes())
}

/// Returns whether cargo has the packages in another folder than when it compiled the image.
pub(super) fn is_needed(image: &Path) -> bool {
    let home = cargo_home().unwrap_or_default().into_os_string();
    std::fs::read(image.join(HOME)).ok().as_deref() != Some(home.as_encoded_bytes())
}

/// Makes a call of cargo in a session take what it can from the image.
pub(super) fn prepare(cargo: &mut Command, image: &Path, work: &Path) {
    let program = std::env::current_exe().ok().filter(|it| it.exists());
    let folders = std::env::join_paths([&image.join(layout::WORK), work]);
    if let (Some(program), Ok(folders)) = (program, folders) {
        cargo.env("RUSTC_WRAPPER", program).env(FOLDERS, folders);
    }
}

/// Does the work of rustc if cargo calls this program in its place: `taper …/rustc ARGUMENTS…`.
pub(crate) fn hook(arguments: &[OsString]) -> Option<Result<ExitCode>> {
    let folders = std::env::var_os(FOLDERS)?;
    let (rustc, arguments) = arguments.get(1..)?.split_first()?;
    if Path::new(rustc).file_stem() != Some(OsStr::new("rustc")) {
        return None;
    }
    let folders: Vec<PathBuf> = std::env::split_paths(&folders).collect();
    if let [image, work] = &folders[..]
        && let Some(call) = Call::parse(arguments)
        && call.take(image, work).is_some()
    {
        return Some(Ok(ExitCode::SUCCESS));
    }
    let failed = Command::new(rustc).args(arguments).exec();
    Some(Err(Error::new(failed).context("cannot start rustc")))
}

/// A call that compiles a package.
struct Call {
    /// The name of its files, without `lib` and extension.
    name: String,
    folder: PathBuf,
}

impl Call {
    /// Returns `None` for a question to the compiler, and for what a build script compiles.
    fn parse(arguments: &[OsString]) -> Option<Call> {
        let digest = values(arguments, "-C").find_map(|it| it.strip_prefix("extra-filename="))?;
        let name = values(arguments, "--crate-name").next()?;
        Some(Call {
            name: format!("{name}{digest}"),
            folder: PathBuf::from(values(arguments, "--out-dir").next()?),
        })
    }

    /// Copies the files of the package from the image. Returns `None` if it has none.
    ///
    /// They are copies with a new time: for cargo, a package must not be older than those it depends on.
    fn take(&self, image: &Path, work: &Path) -> Option<()> {
        let folder = self.folder.canonicalize().ok()?;
        let from = image.join(folder.strip_prefix(work).ok()?);
        let mut taken = None;
        for file in std::fs::read_dir(from).ok()?.flatten() {
            let name = file.file_name().into_string().ok()?;
            if !self.is_of(&name) {
                continue;
            }
            let to = folder.join(&name);
            // It may be a link to the image's.
            let _ = std::fs::remove_file(&to);
            std::fs::copy(file.path(), &to).ok()?;
            if !name.ends_with(".d") {
                taken = Some(());
            }
        }
        taken
    }

    /// Returns whether this is the name of a file of the package: `libname.rlib`, `libname.so`, `name`, `name.d`.
    fn is_of(&self, file: &str) -> bool {
        let names = [Some(file), file.strip_prefix("lib")];
        let mut rest = names
            .into_iter()
            .flatten()
            .filter_map(|name| name.strip_prefix(&self.name));
        rest.any(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Returns the arguments that follow an option.
fn values<'a>(arguments: &'a [OsString], option: &'static str) -> impl Iterator<Item = &'a str> {
    let pairs = arguments.windows(2).filter(move |pair| pair[0] == option);
    pairs.filter_map(|pair| pair[1].to_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn arguments(folder: &Path) -> Vec<OsString> {
        let words = "--crate-name libm src/lib.rs --crate-type lib -C opt-level=1 -C extra-filename=-1a --out-dir";
        let words = words.split(' ').map(OsString::from);
        words.chain([folder.into()]).collect()
    }

    #[test]
    fn the_files_of_a_package_are_taken_from_the_image() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("a folder");
        let (image, work) = (folder.join("image"), folder.join("work"));
        for work in [&image, &work] {
            fs::create_dir_all(work.join("target/deps")).expect("a folder");
            fs::create_dir_all(work.join("beside")).expect("a folder");
        }
        let deps = image.join("target/deps");
        for name in [
            "liblibm-1a.rlib",
            "liblibm-1a.rmeta",
            "libm-1a.d",
            "liblibm-1ab.rlib",
            "libm-2",
        ] {
            fs::write(deps.join(name), "image").expect("a file");
        }
        let out = work.join("beside/../target/deps");
        fs::write(out.join("liblibm-1a.rlib"), "old").expect("a file");
        let call = Call::parse(&arguments(&out)).expect("a call");
        assert!(call.take(&image, &work).is_some());
        let found = fs::read_dir(&out).expect("a folder").flatten();
        let mut found: Vec<String> = found
            .filter_map(|it| it.file_name().into_string().ok())
            .collect();
        found.sort();
        assert_eq!(found, ["liblibm-1a.rlib", "liblibm-1a.rmeta", "libm-1a.d"]);
        assert_eq!(fs::read(out.join(&found[0])).expect("a file"), b"image");
        // Another version of the package.
        for name in &found {
            fs::remove_file(deps.join(name)).expect("it is removed");
        }
        assert!(call.take(&image, &work).is_none());
    }

    #[test]
    fn questions_and_the_calls_of_build_scripts_are_for_rustc() {
        for text in [
            "-vV",
            "--crate-name ___ --print=file-names",
            "--crate-name probe --out-dir /tmp",
        ] {
            let arguments: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            assert!(Call::parse(&arguments).is_none(), "{text}");
        }
    }

    #[test]
    fn an_image_of_another_machine_was_compiled_with_another_home() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(is_needed(folder.path()));
        note(folder.path(), cargo_home()).expect("a file");
        assert!(!is_needed(folder.path()));
        note(folder.path(), None).expect("a file");
        assert!(is_needed(folder.path()));
    }
}
