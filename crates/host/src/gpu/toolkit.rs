//! CUDA's compiler and libraries: those of the system, or those of a list of wheels.

use super::smi::{Capability, Driver, Version, version};
use crate::progress::Progress;
use crate::python::environment::{Environment, Packages};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler and the libraries as PyPI has them, with their versions.
const WHEELS: Packages = Packages {
    name: "CUDA 13.0 (once; 0.8 GB to download, 1.3 GB on the disk)",
    list: include_str!("requirements.txt"),
    what_failed: "The packages of CUDA could not be installed; check the connection, then run the same command \
        again, or with --cpu to do without the GPU.",
};
/// Of these packages.
pub const VERSION_OF_WHEELS: Version = (13, 0);

/// The newest that the bindings below Candle know.
const NEWEST: Version = (13, 4);
/// The oldest that Candle's kernels compile with.
const OLDEST: Version = (12, 0);
/// CUDA 13 has left behind what is older.
const LEAST_FOR_13: Capability = Capability::new(7, 5);

/// A compiler with its headers and libraries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolkit {
    pub version: Version,
    /// In it lie `bin/nvcc` and `include`.
    pub root: PathBuf,
    /// With the libraries that a program loads.
    pub libraries: PathBuf,
}

impl Toolkit {
    /// The first one of the system that a driver can work with.
    pub fn of_system(driver: Option<&Driver>) -> Option<Toolkit> {
        let cuda = driver.map(|driver| driver.cuda);
        let capability = driver.map(Driver::capability);
        let found = places().into_iter().filter_map(|root| Toolkit::at(&root));
        found
            .into_iter()
            .find(|toolkit| fits(toolkit.version, cuda, capability))
    }

    /// The pinned wheels, in an environment of their own; installed if they are not there.
    pub fn of_wheels(progress: &mut dyn Progress) -> Result<Toolkit> {
        let environment = Environment::ensure(&WHEELS, |_| Ok(()), progress)?;
        Self::in_environment(&environment)
    }

    fn in_environment(environment: &Environment) -> Result<Toolkit> {
        let root = environment
            .packages()
            .context("the environment has no packages")?
            .join("nvidia/cu13");
        Ok(Toolkit {
            version: VERSION_OF_WHEELS,
            libraries: root.join("lib"),
            root,
        })
    }

    /// What lies in this folder, if it can compile and has all libraries.
    fn at(root: &Path) -> Option<Toolkit> {
        let nvcc = root.join("bin/nvcc");
        let output = Command::new(&nvcc).arg("--version").output().ok()?;
        let version = release(&String::from_utf8_lossy(&output.stdout))?;
        let libraries = ["lib64", "lib", "targets/x86_64-linux/lib"]
            .into_iter()
            .map(|name| root.join(name))
            .find(|folder| has_libraries(folder))?;
        let has_headers = root.join("include/cuda_runtime.h").exists();
        has_headers.then(|| Toolkit {
            version,
            root: root.to_owned(),
            libraries,
        })
    }

    /// `13.0 in /usr/local/cuda`
    pub fn describe(&self) -> String {
        let (major, minor) = self.version;
        format!("{major}.{minor} in {}", self.root.display())
    }
}

/// Whether the wheels do for a driver; a sentence on why not.
pub fn wheels_fit(driver: Option<&Driver>) -> Result<(), String> {
    let Some(driver) = driver else {
        return Ok(());
    };
    if driver.capability() < LEAST_FOR_13 {
        return Err(format!(
            "{} has compute capability {}, which CUDA 13 has left behind. Install a CUDA toolkit 12.x that your \
             driver supports (it says {}.{}), then run `cargo taper setup` again",
            driver.names(),
            driver.capability(),
            driver.cuda.0,
            driver.cuda.1
        ));
    }
    if driver.cuda < VERSION_OF_WHEELS {
        return Err(format!(
            "the NVIDIA driver {} is too old: it runs CUDA up to {}.{}, and 13.0 is needed. Update the driver to 580 \
             or newer, or install the CUDA toolkit {}.{}, then run `cargo taper setup` again",
            driver.version, driver.cuda.0, driver.cuda.1, driver.cuda.0, driver.cuda.1
        ));
    }
    Ok(())
}

/// Whether what a toolkit makes runs with this driver on this card. A driver compiles the kernels
/// for its card, and reads none that are newer than itself.
fn fits(toolkit: Version, driver: Option<Version>, card: Option<Capability>) -> bool {
    let known = (OLDEST..=NEWEST).contains(&toolkit);
    let has_card = toolkit < (13, 0) || card.is_none_or(|card| card >= LEAST_FOR_13);
    known && has_card && driver.is_none_or(|driver| toolkit <= driver)
}

/// Where a toolkit may lie, the named one first.
fn places() -> Vec<PathBuf> {
    let named = ["CUDA_HOME", "CUDA_PATH"]
        .into_iter()
        .filter_map(std::env::var_os);
    let mut places: Vec<PathBuf> = named.map(PathBuf::from).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let compilers = std::env::split_paths(&path).map(|folder| folder.join("nvcc"));
    let found = compilers.filter_map(|nvcc| nvcc.canonicalize().ok());
    places.extend(found.filter_map(|nvcc| Some(nvcc.parent()?.parent()?.to_owned())));
    places.extend(["/usr/local/cuda", "/opt/cuda"].map(PathBuf::from));
    let beside = std::fs::read_dir("/usr/local").into_iter().flatten();
    let mut beside: Vec<PathBuf> = beside.flatten().map(|entry| entry.path()).collect();
    beside.retain(|path| path.to_string_lossy().contains("/cuda-"));
    beside.sort();
    places.extend(beside.into_iter().rev());
    places
}

fn has_libraries(folder: &Path) -> bool {
    let needed = [
        "libcublas.so.",
        "libcublasLt.so.",
        "libcurand.so.",
        "libnvrtc.so.",
    ];
    needed.iter().all(|name| library(folder, name).is_some())
}

/// The library whose name begins like this and ends with one number.
pub fn library(folder: &Path, begin: &str) -> Option<PathBuf> {
    let entries = std::fs::read_dir(folder).ok()?.flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_it = |name: &String| {
        let number = name.strip_prefix(begin);
        number.is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()))
    };
    Some(folder.join(names.find(is_it)?))
}

/// From nvcc's `Cuda compilation tools, release 13.0, V13.0.88`.
fn release(said: &str) -> Option<Version> {
    let (_, rest) = said.split_once("release ")?;
    version(rest)
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
    fn what_keeps_the_wheels_from_working_is_told_with_the_next_step() {
        assert!(wheels_fit(None).is_ok());
        assert!(wheels_fit(Some(&driver("580.1", (13, 0), Capability::new(9, 0)))).is_ok());
        let old = wheels_fit(Some(&driver("535.216.01", (12, 2), Capability::new(8, 0))));
        let old = old.unwrap_err();
        assert!(old.contains("driver 535.216.01 is too old"), "{old}");
        assert!(old.contains("580") && old.contains("toolkit 12.2"), "{old}");
        let pascal = wheels_fit(Some(&driver("580.1", (13, 0), Capability::new(6, 1))));
        let pascal = pascal.unwrap_err();
        assert!(
            pascal.contains("A card has compute capability 6.1"),
            "{pascal}"
        );
        assert!(pascal.contains("toolkit 12.x"), "{pascal}");
    }

    #[test]
    fn the_release_is_read_from_what_the_compiler_says() {
        let said = "nvcc: NVIDIA (R) Cuda compiler driver\n\
                    Cuda compilation tools, release 12.8, V12.8.93\nBuild cuda_12.8\n";
        assert_eq!(release(said), Some((12, 8)));
        assert_eq!(release("nvcc: command not found"), None);
    }
}
