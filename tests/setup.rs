//! Set-up, with the real command, the real cargo and a small stand-in for the clone: killed at any
//! moment, twice at once, damaged afterwards, or on a machine where something is missing.

#[path = "common/stand_in.rs"]
mod stand_in;

use stand_in::{Place, Running, find, programs_without, script};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

const CELL: &str = "zeros(2, &cpu())?";

// ---- killed at ten moments, then asked again

#[test]
fn killed_while_the_environment_is_made() {
    killed(Place::with_real_python, |place, _| {
        place.cache().join("python").exists()
    });
}

#[test]
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
fn killed_when_compiling_begins() {
    killed(Place::empty, |_, said| said.contains("Compiling Taper"));
}

#[test]
fn killed_between_two_packages() {
    killed(Place::empty, |place, _| {
        place.file_of_image("libserde_core-", ".rmeta").is_some()
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
    killed(Place::empty, |place, _| {
        place.file_of_image("libcode_", "").is_some()
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

/// Kills a set-up (the process alone) when `is_time` says so; the next one must complete.
fn killed(place: fn() -> Place, mut is_time: impl FnMut(&Place, &str) -> bool) {
    // On a busy machine a moment may pass unseen.
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

// ---- side by side

#[test]
fn of_two_at_once_one_waits() {
    let place = Place::empty();
    let both = [
        place.taper(["setup"]).start(),
        place.taper(["setup"]).start(),
    ];
    let both = both.map(|setup| setup.ends().succeeds().says("Taper is ready").text);
    let waited = |said: &&String| said.contains("Another set-up is at work");
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
fn a_file_that_was_cut_short_is_noticed_by_the_next_run() {
    let place = Place::ready();
    let file = place
        .file_of_image("libserde_json-", ".rlib")
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
fn another_content_of_the_same_size_and_time_is_noticed_by_setup() {
    let place = Place::ready();
    change_content(
        &place
            .file_of_image("libserde_json-", ".rlib")
            .expect("it was compiled"),
    );
    place.taper(["setup"]).run().succeeds().says("damaged");
    place.taper(["doctor"]).run().succeeds();
}

#[test]
fn another_content_and_a_missing_file_are_noticed_by_doctor() {
    let place = Place::ready();
    change_content(
        &place
            .file_of_image("liblibc-", ".rmeta")
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
            .file_of_image("liblibc-", ".rmeta")
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

// ---- something is missing

#[test]
fn what_is_missing_is_named_before_anything_long_begins_and_nothing_else_is_needed() {
    let place = Place::empty();
    let programs = programs_without(place.path(), |name| name == "cc");
    let without_cc = |arguments| place.taper(arguments).env("PATH", &programs).run();
    without_cc(["setup"])
        .fails()
        .says("No C compiler was found")
        .says("build-essential");
    without_cc(["doctor"])
        .fails()
        .says("MISSING C compiler")
        .says("build-essential");

    let old = programs_without(&place.path().join("old"), |name| name == "rustc");
    script(
        &old.join("rustc"),
        "#!/bin/sh\nprintf 'rustc 1.80.0\\nhost: x86_64-unknown-linux-gnu\\nrelease: 1.80.0\\n'\n",
    );
    let with_old = |arguments| place.taper(arguments).env("PATH", &old).run();
    with_old(["setup"])
        .fails()
        .says("This Rust is too old")
        .says("rustup update stable");
    with_old(["doctor"])
        .fails()
        .says("MISSING Rust:")
        .says("rustup update stable");

    let none = programs_without(&place.path().join("none"), |name| name == "rustc");
    let without_rust = |arguments| place.taper(arguments).env("PATH", &none).run();
    without_rust(["setup"])
        .fails()
        .says("rustc is not on the PATH")
        .says("https://rustup.rs");
    without_rust(["doctor"])
        .fails()
        .says("MISSING Rust:")
        .says("https://rustup.rs");

    let no_python = programs_without(&place.path().join("no-python"), |name| {
        name.starts_with("py")
    });
    let without_python = |arguments| {
        place
            .taper(arguments)
            .without("PYTHON")
            .env("PATH", &no_python)
            .run()
    };
    without_python(["setup"])
        .fails()
        .says("Python 3.10 or newer is needed")
        .says("apt install python3");
    without_python(["doctor"])
        .fails()
        .says("MISSING Python:")
        .says("apt install python3");
    script(&no_python.join("python3"), "#!/bin/sh\necho 3.9.18\n");
    without_python(["setup"])
        .fails()
        .says("found python3 3.9.18");

    assert!(
        !place.cache().join("python").exists(),
        "nothing long has begun"
    );
    place.taper(["setup"]).run().succeeds();
}

#[test]
fn a_port_in_use_is_named_before_anything_long_begins() {
    let place = Place::empty();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = taken
        .local_addr()
        .expect("it has an address")
        .port()
        .to_string();
    let lab = place
        .taper(["lab", "--no-browser", "--port", &port])
        .run()
        .fails();
    lab.says(&format!("Port {port} cannot be used"))
        .says("--port");
    assert!(!place.cache().join("python").exists());
}

#[test]
fn a_disk_that_is_nearly_full_is_named_before_anything_long_begins() {
    let place = Place::empty();
    let Some(_disk) = Disk::mount(place.cache(), "size=64m") else {
        return;
    };
    place
        .taper(["setup"])
        .run()
        .fails()
        .says("The disk is nearly full")
        .says("TAPER_CACHE");
    place
        .taper(["doctor"])
        .run()
        .fails()
        .says("MISSING cache: The disk is nearly full");
}

#[test]
fn a_disk_that_runs_full_loses_nothing() {
    let place = Place::empty();
    // Room for bytes, but not for files: so the check before sees nothing.
    let Some(disk) = Disk::mount(place.cache(), "size=3g,nr_inodes=120") else {
        return;
    };
    place
        .taper(["setup"])
        .run()
        .fails()
        .says("The disk is full")
        .says("run the same command again");
    disk.remount("size=3g,nr_inodes=100000");
    place.taper(["setup"]).run().succeeds();
    place.taper(["doctor"]).run().succeeds();
}

/// A disk of its own in place of a folder.
struct Disk(PathBuf);

impl Disk {
    /// `None`, and a word about it, where we may not.
    fn mount(folder: PathBuf, options: &str) -> Option<Disk> {
        fs::create_dir_all(&folder).expect("a folder");
        let mounted = cfg!(target_os = "linux")
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", options, "tmpfs"])
                .arg(&folder)
                .output()
                .is_ok_and(|o| o.status.success());
        if !mounted {
            // Not `eprintln`, which a test that passes keeps to itself.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: a small disk cannot be mounted here (that needs Linux and root)"
            );
        }
        mounted.then_some(Disk(folder))
    }

    fn remount(&self, options: &str) {
        let options = format!("remount,{options}");
        let status = Command::new("mount")
            .args(["-o", &options])
            .arg(&self.0)
            .status();
        assert!(status.is_ok_and(|s| s.success()), "the disk grows");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

// ---- afterwards

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
fn setting_up_twice_does_nothing_the_second_time() {
    let place = Place::ready();
    let again = place.taper(["setup"]).run().succeeds();
    assert_eq!(again.text.lines().count(), 1, "{}", again.text);
}

#[test]
fn a_session_leaves_nothing_behind_and_the_image_as_it_was() {
    let place = Place::ready();
    let helper = place.path().join("helper");
    fs::create_dir_all(helper.join("src")).expect("a folder");
    fs::write(
        helper.join("Cargo.toml"),
        "[package]\nname = \"helper\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    )
    .expect("written");
    fs::write(helper.join("src/lib.rs"), "pub fn seven() -> i32 { 7 }\n").expect("written");

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
fn a_session_that_is_killed_leaves_no_process_and_the_next_one_clears_up() {
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
    Running::kill(run);
    place.becomes_quiet();
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "they end soon: {:?}",
        began.elapsed()
    );
    assert_eq!(place.sessions(), 1);
    place.run_cell(CELL).succeeds();
    assert_eq!(place.sessions(), 0);
}
