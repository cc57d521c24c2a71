//! CUDA's compiler and libraries: the system's, or wheels from PyPI.

use super::smi::{Capability, Driver};
use crate::progress::Progress;
use crate::python::environment::{Environment, Packages};
use crate::version::{self, Version};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler and the libraries from PyPI, with their versions.
const WHEELS: Packages = Packages {
    name: "CUDA 13.0 (once; 1.2 GB to download, 2.1 GB on the disk)",
    requirements: include_str!("requirements.txt"),
    advice: "The packages of CUDA could not be installed; check the connection, then run the same command \
        again, or with --cpu to do without the GPU.",
};
/// The version of these packages.
const VERSION_OF_WHEELS: Version = (13, 0);

/// The newest version that Candle's bindings support.
const NEWEST: Version = (13, 4);
/// The oldest version that compiles Candle's kernels.
const OLDEST: Version = (12, 0);
/// The lowest compute capability that CUDA 13 supports.
const OLDEST_FOR_13: Capability = Capability::new(7, 5);

/// CUDA's compiler with its headers and libraries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    pub(crate) version: Version,
    /// The folder with `bin/nvcc` and `include`.
    pub(crate) root: PathBuf,
    /// The folder with the libraries that a program loads.
    pub(crate) libraries: PathBuf,
    /// The library cuDNN, if it is there.
    pub(crate) cudnn: Option<PathBuf>,
}

impl Toolkit {
    /// Returns the system's first toolkit that works with a driver.
    pub(crate) fn of_system(driver: Option<&Driver>) -> Option<Toolkit> {
        let cuda = driver.map(|driver| driver.cuda);
        let capability = driver.map(Driver::capability);
        let mut found = roots().into_iter().filter_map(|root| Toolkit::at(&root));
        found.find(|toolkit| fits(toolkit.version, cuda, capability))
    }

    /// Returns the pinned wheels, in an environment of their own; installs them if they are missing.
    pub(crate) fn of_wheels(progress: &mut dyn Progress) -> Result<Toolkit> {
        let environment = Environment::ensure(&WHEELS, progress)?;
        let packages = environment.site_packages()?.join("nvidia");
        let root = packages.join("cu13");
        Ok(Toolkit {
            version: VERSION_OF_WHEELS,
            libraries: root.join("lib"),
            cudnn: find_cudnn(&[&packages.join("cudnn/lib")]),
            root,
        })
    }

    /// Returns the toolkit in a folder if it has a compiler, the headers and all libraries.
    fn at(root: &Path) -> Option<Toolkit> {
        let nvcc = root.join("bin/nvcc");
        let output = Command::new(&nvcc).arg("--version").output().ok()?;
        let version = release(&String::from_utf8_lossy(&output.stdout))?;
        let libraries = ["lib64", "lib", "targets/x86_64-linux/lib"]
            .into_iter()
            .map(|name| root.join(name))
            .find(|folder| has_libraries(folder))?;
        let has_headers = root.join("include/cuda_runtime.h").exists();
        let of_system = ["/usr/lib/x86_64-linux-gnu", "/usr/lib64"].map(Path::new);
        let cudnn = find_cudnn(&[&libraries, of_system[0], of_system[1]]);
        has_headers.then(|| Toolkit {
            version,
            root: root.to_owned(),
            cudnn,
            libraries,
        })
    }

    /// Returns the version and the folder, as in `13.0 in /usr/local/cuda`.
    pub(crate) fn describe(&self) -> String {
        let (major, minor) = self.version;
        format!("{major}.{minor} in {}", self.root.display())
    }
}

/// The reason why no CUDA toolkit can be used on this machine, without a full stop: it ends a sentence.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoToolkit(pub(crate) String);

/// Checks that programs built with the wheels run with a driver.
pub fn wheels_fit(driver: Option<&Driver>) -> Result<(), NoToolkit> {
    let Some(driver) = driver else {
        return Ok(());
    };
    let (major, minor) = driver.cuda;
    if driver.capability() < OLDEST_FOR_13 {
        return Err(NoToolkit(format!(
            "{} has compute capability {}, which CUDA 13 does not support any more. Install a CUDA \
             toolkit 12.x that your driver supports (it supports up to {major}.{minor}), then run `cargo taper setup` again",
            driver.names(),
            driver.capability()
        )));
    }
    if driver.cuda < VERSION_OF_WHEELS {
        return Err(NoToolkit(format!(
            "the NVIDIA driver {} is too old: it runs CUDA up to {major}.{minor}, and 13.0 is needed. Update the \
             driver to 580 or newer, or install the CUDA toolkit {major}.{minor}, then run `cargo taper setup` again",
            driver.version
        )));
    }
    Ok(())
}

/// Returns whether programs built with a toolkit run with this driver on this GPU. The driver translates
/// kernels for its GPU, but no kernels of a newer CUDA than its own.
fn fits(toolkit: Version, driver: Option<Version>, gpu: Option<Capability>) -> bool {
    let is_known = (OLDEST..=NEWEST).contains(&toolkit);
    let supports_gpu = toolkit < (13, 0) || gpu.is_none_or(|gpu| gpu >= OLDEST_FOR_13);
    is_known && supports_gpu && driver.is_none_or(|driver| toolkit <= driver)
}

/// Returns the folders in which a toolkit may be installed; those in environment variables come first.
fn roots() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(std::env::var_os);
    let mut roots: Vec<PathBuf> = named.map(PathBuf::from).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let compilers = std::env::split_paths(&path).map(|folder| folder.join("nvcc"));
    let found = compilers.filter_map(|nvcc| nvcc.canonicalize().ok());
    roots.extend(found.filter_map(|nvcc| Some(nvcc.parent()?.parent()?.to_owned())));
    roots.extend(["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from));
    let beside = std::fs::read_dir("/usr/local").into_iter().flatten();
    let mut beside: Vec<PathBuf> = beside.flatten().map(|entry| entry.path()).collect();
    beside.retain(|path| path.to_string_lossy().contains("/cuda-"));
    beside.sort();
    roots.extend(beside.into_iter().rev());
    roots
}

fn has_libraries(folder: &Path) -> bool {
    let needed = [
        "libcublas.so.",
        "libcublasLt.so.",
        "libcurand.so.",
        "libnvrtc.so.",
    ];
    needed
        .iter()
        .all(|name| find_library(folder, name).is_some())
}

/// Returns cuDNN in the version of Candle's bindings, from the first folder that contains it.
fn find_cudnn(folders: &[&Path]) -> Option<PathBuf> {
    let mut libraries = folders.iter().map(|folder| folder.join("libcudnn.so.9"));
    libraries.find(|library| library.exists())
}

/// Returns the library in `folder` whose file name is `begin` and one version number, as in `libcublas.so.13`.
pub(super) fn find_library(folder: &Path, begin: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_it = |name: &String| {
        let number = name.strip_prefix(begin);
        number.is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
    };
    Some(folder.join(names.find(is_it)?))
}

/// Reads the version from nvcc's `Cuda compilation tools, release 13.0, V13.0.88`.
fn release(output: &str) -> Option<Version> {
    let (_, rest) = output.split_once("release ")?;
    version::parse(rest)
}

#[cfg(test)]
mod tests {
    use super::super::smi::Card;
    use super::*;

    fn driver(version: &str, cuda: Version, capability: Capability) -> Driver {
        Driver {
            version: version.to_owned(),
            cuda,
            cards: vec![Card {
                name: "A card".to_owned(),
                capability,
            }],
        }
    }

    #[test]
    fn a_toolkit_must_not_be_newer_than_the_driver_nor_too_new_for_the_card() {
        let (turing, volta) = (Some(Capability::new(7, 5)), Some(Capability::new(7, 0)));
        assert!(fits((13, 0), Some((13, 0)), turing));
        assert!(fits((12, 8), Some((13, 0)), volta));
        assert!(!fits((13, 0), Some((13, 0)), volta));
        assert!(!fits((13, 1), Some((13, 0)), turing));
        assert!(!fits((13, 5), Some((14, 0)), turing));
        assert!(!fits((11, 8), Some((13, 0)), turing));
        assert!(fits((12, 4), None, None));
    }

    #[test]
    fn the_reason_why_wheels_do_not_work_names_the_next_step() {
        assert!(wheels_fit(None).is_ok());
        assert!(wheels_fit(Some(&driver("580.1", (13, 0), Capability::new(9, 0)))).is_ok());
        let old = wheels_fit(Some(&driver("535.216.01", (12, 2), Capability::new(8, 0))));
        let old = old.unwrap_err().to_string();
        assert!(old.contains("driver 535.216.01 is too old"), "{old}");
        assert!(old.contains("580") && old.contains("toolkit 12.2"), "{old}");
        let pascal = wheels_fit(Some(&driver("580.1", (13, 0), Capability::new(6, 1))));
        let pascal = pascal.unwrap_err().to_string();
        assert!(
            pascal.contains("A card has compute capability 6.1"),
            "{pascal}"
        );
        assert!(pascal.contains("toolkit 12.x"), "{pascal}");
    }

    #[test]
    fn cudnn_is_found_in_its_version_or_missing() {
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let paths = folders.each_ref().map(|folder| folder.path());
        std::fs::write(paths[0].join("libcudnn.so.8"), "").expect("a file");
        assert_eq!(find_cudnn(&paths), None);
        let library = paths[1].join("libcudnn.so.9");
        std::fs::write(&library, "").expect("a file");
        assert_eq!(find_cudnn(&paths), Some(library));
    }

    #[test]
    fn the_release_is_read_from_the_compilers_output() {
        let output = "nvcc: NVIDIA (R) Cuda compiler driver\n\
                    Cuda compilation tools, release 12.8, V12.8.93\nBuild cuda_12.8\n";
        assert_eq!(release(output), Some((12, 8)));
        assert_eq!(release("nvcc: command not found"), None);
    }
}
