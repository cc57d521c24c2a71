//! Set-up is killed at ten moments, then started again.

use super::CELL;
use super::place::{Place, find};

#[test]
fn killed_while_the_environment_is_made() {
    killed(Place::with_real_python, |place, _| {
        place.cache().join("python").exists()
    });
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn killed_while_pip_installs() {
    killed(Place::with_real_python, |place, _| {
        find(&place.cache().join("python"), &|name| {
            name == "jupyterlab-schema.json" || name == "labapp.py"
        })
        .is_some()
    });
}

#[test]
fn killed_while_packages_of_jupyter_are_installed() {
    killed(Place::empty, |_, said| {
        said.contains("Installing JupyterLab")
    });
}

#[test]
fn killed_when_the_environment_is_complete() {
    killed(Place::empty, |_, said| said.contains("Installed in"));
}

#[test]
fn killed_while_a_cell_runs_in_the_small_image() {
    killed(Place::empty, |place, said| {
        let is_cell = |process: &String| process.contains("__taper_engine_cells");
        said.contains("Checking that cells run") && place.processes().iter().any(is_cell)
    });
}

#[test]
fn killed_when_compiling_begins() {
    killed(Place::empty, |_, said| said.contains("Compiling Taper"));
}

#[test]
fn killed_between_two_packages() {
    killed(Place::empty, |place, _| {
        place.file_of_image("libserde_core", ".rmeta").is_some()
    });
}

#[test]
fn killed_when_checking_begins() {
    killed(Place::empty, |place, _| {
        place.file_of_image("libtaper", ".so").is_some()
    });
}

#[test]
fn killed_when_the_first_cell_begins() {
    killed(Place::empty, |_, said| {
        said.contains("Running a first cell.")
    });
}

#[test]
fn killed_while_the_first_cell_runs() {
    killed(Place::empty, |place, said| {
        let is_cell = |process: &String| process.contains("__taper_engine_cells");
        said.contains("Running a first cell.") && place.processes().iter().any(is_cell)
    });
}

#[test]
fn killed_while_the_manifest_is_written() {
    let mut begun = false;
    killed(Place::empty, move |place, said| {
        let runs = said.contains("Running a first cell.")
            && place.processes().iter().any(|p| p.contains("__warm"));
        begun |= runs;
        begun && !runs
    });
}

/// Kills a set-up (only its main process) when `is_time` returns true. The next set-up must complete.
fn killed(place: fn() -> Place, mut is_time: impl FnMut(&Place, &str) -> bool) {
    // On a busy machine, the moment may be missed.
    for _ in 0..3 {
        let place = place();
        let mut setup = place.taper(["setup"]).start();
        if setup.until(|setup| is_time(&place, &setup.said())) && !setup.has_ended() {
            setup.kill();
            return is_mended(&place);
        }
    }
    panic!("the moment never came");
}

fn is_mended(place: &Place) {
    place
        .taper(["setup"])
        .run()
        .succeeds()
        .says("Taper is ready");
    place.run_cell(CELL).succeeds();
    place.taper(["doctor"]).run().succeeds();
    place.becomes_quiet();
    assert_eq!(place.sessions(), 0);
}
