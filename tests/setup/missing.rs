//! A requirement of set-up is missing, or in use by another process.

use super::place::{Call, Place, programs_without, script};
use super::stand_in::PYTHON;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

#[test]
fn a_missing_requirement_is_reported_at_once_and_nothing_else_is_needed() {
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

    let none = programs_without(&place.path().join("none"), |name| {
        name.starts_with("rust") || name == "cargo"
    });
    // Rust is also looked for where it is usually installed.
    let without_rust = |call: Call| {
        call.without("CARGO_HOME")
            .env("HOME", place.path())
            .env("PATH", &none)
            .run()
    };
    without_rust(place.taper(["setup"]))
        .fails()
        .says("Rust was not found")
        .says("https://rustup.rs");
    without_rust(place.taper(["doctor"]))
        .fails()
        .says("MISSING Rust:")
        .says("https://rustup.rs");
    let notebook = place.notebook("1 + 1");
    without_rust(place.taper(["run", &notebook.to_string_lossy()]))
        .fails()
        .says("Rust was not found")
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
fn the_variable_python_chooses_the_python_of_jupyterlab() {
    let place = Place::ready();
    let setup = |python: &str| {
        let call = place.taper(["setup"]);
        call.env("PYTHON", place.path().join(python)).run()
    };
    let installs = "Installing JupyterLab into Taper's own Python environment (Python 3.13.0).";
    let other = PYTHON.replace("3.12.0", "3.13.0");
    script(&place.path().join("other"), &other);
    setup("other").succeeds().says(installs);
    // The same one again, and none.
    let again = setup("other").succeeds().text;
    let without = place.taper(["setup"]).without("PYTHON").run().succeeds();
    for said in [again, without.text] {
        assert!(!said.contains("Installing JupyterLab"), "{said}");
    }

    // It never takes another one than the user has named.
    setup("none")
        .fails()
        .says("The variable PYTHON names")
        .says("which cannot be started");
    script(&place.path().join("old"), "#!/bin/sh\necho 3.9.18\n");
    setup("old")
        .fails()
        .says("which is Python 3.9.18")
        .says("Python 3.10 or newer");
}

#[test]
fn the_first_cell_installs_the_source_of_the_standard_library_once() {
    let place = Place::empty();
    let rustc = Command::new("rustc").args(["--print", "sysroot"]).output();
    let real = String::from_utf8(rustc.expect("rustc is there").stdout).expect("a path");
    let real = PathBuf::from(real.trim()).join("lib/rustlib");
    let rust = place.path().join("rust");
    let ours = rust.join("lib/rustlib");
    fs::create_dir_all(&ours).expect("a folder");
    symlink(real.join("../../bin"), rust.join("bin")).expect("a link");
    for entry in fs::read_dir(&real).expect("a toolchain").flatten() {
        if entry.file_name() != "src" {
            symlink(entry.path(), ours.join(entry.file_name())).expect("a link");
        }
    }
    let programs = programs_without(place.path(), |name| name == "rustc" || name == "rustup");
    let rustc = format!(
        "#!/bin/sh\nif [ \"$*\" = '--print sysroot' ]; then echo '{}'; else exec '{}' \"$@\"; fi\n",
        rust.display(),
        real.join("../../bin/rustc").display()
    );
    script(&programs.join("rustc"), &rustc);
    // It takes a second, so that the other process must wait, and it must be called only once.
    let rustup = format!(
        "#!/bin/sh\n[ \"$*\" = 'component add rust-src' ] && sleep 1 && ln -s '{}' '{}'\n",
        real.join("src").display(),
        ours.join("src").display()
    );
    script(&programs.join("rustup"), &rustup);

    let notebook = place.notebook("1 + 1");
    let run = || {
        let notebook = notebook.to_string_lossy();
        let call = place.taper(["run", &notebook]).env("PATH", &programs);
        call.start()
    };
    let (first, second) = (run(), run());
    let said = [first.ends().succeeds(), second.ends().succeeds()];
    let times = said
        .each_ref()
        .map(|said| said.text.matches("rustup component add").count());
    assert_eq!(times.iter().sum::<usize>(), 1, "{said:?}");
}

#[test]
fn a_port_in_use_is_reported_at_once() {
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
fn a_nearly_full_disk_is_reported_at_once() {
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
fn a_disk_that_becomes_full_loses_nothing() {
    let place = Place::empty();
    // There is room for bytes but not for files, which the check at the start does not notice.
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

/// A file system of its own, mounted on a folder.
pub(crate) struct Disk(PathBuf);

impl Disk {
    /// Mounts a file system in memory. Returns `None`, and prints the reason, without the permission to mount.
    pub(crate) fn mount(folder: PathBuf, options: &str) -> Option<Disk> {
        fs::create_dir_all(&folder).expect("a folder");
        let mounted = cfg!(target_os = "linux")
            && Command::new("mount")
                .args(["-t", "tmpfs", "-o", options, "tmpfs"])
                .arg(&folder)
                .output()
                .is_ok_and(|o| o.status.success());
        if !mounted {
            // Not `eprintln!`, whose output is captured if the test passes.
            let _ = writeln!(
                std::io::stderr(),
                "skipped: a small disk cannot be mounted here (that needs Linux and root)"
            );
        }
        mounted.then_some(Disk(folder))
    }

    pub(crate) fn remount(&self, options: &str) {
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
