//! Set-up, with the real command, the real cargo and a small stand-in for the clone: killed at any
//! moment, run twice at the same time, damaged afterwards, or with a missing requirement.

#[path = "../common/mod.rs"]
mod common;
mod faults;
mod gpu;
#[path = "../common/hub.rs"]
mod hub;
mod killed;
mod lab;
mod layout;
mod missing;
mod packages;
mod place;
mod stand_in;
mod toolchain;
mod transfer;
mod versions;

use place::Place;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const CELL: &str = "zeros(2)";

// ---- in parallel

#[test]
fn two_set_ups_at_the_same_time_run_one_after_the_other() {
    let place = Place::empty();
    let both = [
        place.taper(["setup"]).start(),
        place.taper(["setup"]).start(),
    ];
    let both = both.map(|setup| setup.ends().succeeds().says("Taper is ready").text);
    let waited = |said: &&String| said.contains("Another Taper is at work");
    assert!(both.iter().any(|said| waited(&said)), "{both:#?}");
    let compiled = both
        .iter()
        .filter(|said| said.contains("Compiled in"))
        .count();
    assert_eq!(compiled, 1, "{both:#?}");
    place.taper(["doctor"]).run().succeeds();
}

// ---- damaged

#[test]
fn a_truncated_file_is_noticed_by_the_next_run() {
    let place = Place::ready();
    let file = place
        .library_of_image("serde_json", "rlib")
        .expect("it was compiled");
    let half = fs::metadata(&file).expect("it is there").len() / 2;
    File::options()
        .write(true)
        .open(&file)
        .and_then(|f| f.set_len(half))
        .expect("it is cut");
    place.run_cell(CELL).succeeds().says("damaged");
    place.taper(["doctor"]).run().succeeds();
}

#[test]
fn changed_content_of_the_same_size_and_time_is_noticed_by_setup() {
    let place = Place::ready();
    change_content(
        &place
            .library_of_image("serde_json", "rlib")
            .expect("it was compiled"),
    );
    place.taper(["setup"]).run().succeeds().says("damaged");
    place.taper(["doctor"]).run().succeeds();
}

#[test]
fn changed_content_and_a_missing_file_are_noticed_by_doctor() {
    let place = Place::ready();
    change_content(
        &place
            .library_of_image("libc", "rmeta")
            .expect("it was compiled"),
    );
    place
        .taper(["doctor"])
        .run()
        .fails()
        .says("MISSING compiled packages: damaged")
        .says("`cargo taper setup`");

    let place = Place::ready();
    fs::remove_file(
        place
            .library_of_image("libc", "rmeta")
            .expect("it was compiled"),
    )
    .expect("it is removed");
    place
        .taper(["doctor"])
        .run()
        .fails()
        .says("MISSING compiled packages: damaged")
        .says("`cargo taper setup`");
}

fn change_content(file: &Path) {
    let modified = fs::metadata(file)
        .and_then(|m| m.modified())
        .expect("it has a time");
    let mut content = fs::read(file).expect("it is read");
    let middle = content.len() / 2;
    content[middle] ^= 1;
    let mut opened = File::options()
        .write(true)
        .open(file)
        .expect("it is opened");
    opened.write_all(&content).expect("it is changed");
    opened.set_modified(modified).expect("its time is set");
}

// ---- after set-up

#[test]
fn a_missing_image_is_built_by_run_as_well() {
    let place = Place::empty();
    place.run_cell(CELL).succeeds().says("Compiling Taper");
    assert_eq!(place.sessions(), 0);
    place.run_cell(CELL).succeeds();
}

#[test]
fn doctor_names_the_command_for_each_missing_part() {
    let doctor = Place::empty().taper(["doctor"]).run().fails();
    for part in ["JupyterLab", "kernel", "compiled packages"] {
        let line = doctor
            .text
            .lines()
            .find(|line| line.starts_with(&format!("MISSING {part}:")));
        assert!(
            line.is_some_and(|line| line.contains("`cargo taper setup`")),
            "{part}:\n{}",
            doctor.text
        );
    }
}

#[test]
fn a_second_set_up_changes_nothing() {
    let place = Place::ready();
    let again = place.taper(["setup"]).run().succeeds();
    assert_eq!(again.text.lines().count(), 1, "{}", again.text);
}

/// Writes a package into the place, and returns its folder.
fn helper(place: &Place) -> PathBuf {
    let helper = place.path().join("helper");
    fs::create_dir_all(helper.join("src")).expect("a folder");
    fs::write(
        helper.join("Cargo.toml"),
        "[package]\nname = \"helper\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    )
    .expect("written");
    fs::write(helper.join("src/lib.rs"), "pub fn seven() -> i32 { 7 }\n").expect("written");
    helper
}

#[test]
fn a_session_leaves_nothing_behind_and_the_image_unchanged() {
    let place = Place::ready();
    let helper = helper(&place);
    let dependency = format!(
        ":dep helper = {{ path = \"{}\" }}\nassert_eq!(helper::seven(), 7);\n{CELL}",
        helper.display()
    );
    for cell in [CELL, &dependency] {
        place.run_cell(cell).succeeds();
        place.becomes_quiet();
        assert_eq!(place.sessions(), 0);
        place
            .taper(["doctor"])
            .run()
            .succeeds()
            .says("every file as it was built");
    }
}

#[test]
fn an_administrator_limits_memory_and_packages() {
    let place = Place::ready();
    let large = "let _large = vec![1_u8; 1 << 30];";
    let run = |limit: &str, cell: &str| {
        let notebook = place.notebook(cell);
        let run = place.taper(["run", &notebook.to_string_lossy()]);
        run.env("TAPER_MEMORY", limit).run()
    };
    run("300M", CELL).succeeds();
    run("300M", large).fails().says("Out of memory");
    let dependency = place.notebook(":dep rand = \"0.9\"\n1");
    let run_dependency = place.taper(["run", &dependency.to_string_lossy()]);
    run_dependency
        .env("TAPER_DEP", "0")
        .run()
        .fails()
        .says("switched off");
    run("much", CELL)
        .fails()
        .says("expected an integer with the unit");
}

#[test]
fn a_killed_session_leaves_no_process_and_the_next_one_removes_its_folder() {
    let place = Place::ready();
    let mark = place.path().join("the-cell-runs");
    let endless = format!(
        "std::fs::write({:?}, \"\")?;\nloop {{ std::thread::sleep(std::time::Duration::from_secs(1)); }}",
        mark.display()
    );
    let notebook = place.notebook(&endless);
    let mut run = place.taper(["run", &notebook.to_string_lossy()]).start();
    assert!(run.until(|_| mark.exists()), "{}", run.said());
    let began = Instant::now();
    run.kill();
    place.becomes_quiet();
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "they end soon: {:?}",
        began.elapsed()
    );
    assert_eq!(place.sessions(), 1);
    place.run_cell(CELL).succeeds();
    assert_eq!(place.sessions(), 0);
}
