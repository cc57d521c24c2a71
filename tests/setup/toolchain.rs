//! Which Rust compiles the cells, and which variables and files change how it compiles.

use super::CELL;
use super::place::{Place, Said, programs_without, script, with_first};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

const OLD: &str =
    "#!/bin/sh\nprintf 'rustc 1.80.0\\nhost: x86_64-unknown-linux-gnu\\nrelease: 1.80.0\\n'\n";

#[test]
fn a_kernel_uses_the_toolchain_of_the_set_up_whatever_its_path_is() {
    let place = Place::ready();
    let old = programs_without(&place.path().join("old"), |name| name == "rustc");
    script(&old.join("rustc"), OLD);
    let notebook = place.notebook(CELL);
    let notebook = notebook.to_string_lossy();
    for path in [old.as_os_str(), OsStr::new("")] {
        let run = place.taper(["run", &notebook]).env("PATH", path);
        let said = run.without("RUSTUP_TOOLCHAIN").run().succeeds();
        assert!(!said.text.contains("Compiling"), "{}", said.text);
    }
    // Set-up chooses again.
    let again = place.taper(["setup"]).env("PATH", old);
    let again = again.without("RUSTUP_TOOLCHAIN").run().fails();
    again
        .says("This Rust is too old")
        .says("rustup update stable");
}

#[test]
fn variables_for_cargo_and_a_toolchain_file_change_nothing() {
    let place = Place::ready();
    let file = place.path().join("rust-toolchain.toml");
    fs::write(file, "[toolchain]\nchannel = \"1.0.0\"\n").expect("it is written");
    let cell = format!("!rustc --version && cargo --version\nlet x = {CELL};\nx");
    let notebook = place.notebook(&cell);
    let run = place.taper(["run", &notebook.to_string_lossy()]);
    let said = run
        .env("RUSTFLAGS", "-Cno-such-option")
        .env("CARGO_ENCODED_RUSTFLAGS", "-Cno-such-option")
        .env("CARGO_BUILD_RUSTFLAGS", "-Cno-such-option")
        .env("CARGO_BUILD_TARGET", "no-such-target")
        .env("CARGO_PROFILE_DEV_LTO", "true")
        .env("CARGO_INCREMENTAL", "0")
        .env("RUSTC_WRAPPER", "/no/such/program")
        .env("RUSTC_WORKSPACE_WRAPPER", "/no/such/program")
        .run()
        .succeeds();
    assert!(!said.text.contains("Compiling"), "{}", said.text);
    assert_eq!(place.images(), 1);
}

/// A wrapper, such as sccache, and a linker, such as mold, in cargo's configuration have an effect: other
/// packages are compiled, once, and cells with them.
#[test]
fn cargos_configuration_has_an_effect() {
    let place = Place::ready();
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(dirs::home_dir()?.join(".cargo")));
    let home = home.expect("cargo has a home");
    let ours = place.path().join("cargo-home-of-user");
    fs::create_dir(&ours).expect("a folder");
    symlink(home.join("registry"), ours.join("registry")).expect("a link");
    let (wrapper, linker) = (place.path().join("wrapper"), place.path().join("linker"));
    let log = |name: &str| format!("echo called >> '{}/{name}.log'\n", place.path().display());
    script(
        &wrapper,
        &format!("#!/bin/sh\n{}exec \"$@\"\n", log("wrapper")),
    );
    script(
        &linker,
        &format!("#!/bin/sh\n{}exec cc \"$@\"\n", log("linker")),
    );
    let config = format!(
        "[build]\nrustc-wrapper = {wrapper:?}\nrustflags = [\"-Cno-such-option\"]\n\
         [target.'cfg(unix)']\nlinker = {linker:?}\n"
    );
    fs::write(ours.join("config.toml"), config).expect("it is written");
    let run = |code: &str| -> Said {
        let notebook = place.notebook(code);
        let run = place.taper(["run", &notebook.to_string_lossy()]);
        run.env("CARGO_HOME", &ours).run().succeeds()
    };
    run(CELL).says("Compiling Taper");
    let called =
        |name: &str| fs::read_to_string(place.path().join(name)).map_or(0, |log| log.len());
    assert!(called("wrapper.log") > 0 && called("linker.log") > 0);
    let again = run(CELL);
    assert!(!again.text.contains("Compiling"), "{}", again.text);
    assert_eq!(place.images(), 1, "the old image is not used any more");
}

#[test]
fn a_folder_that_is_not_unicode_is_refused_in_a_sentence_or_works() {
    let place = Place::ready();
    let odd = place.path().join(OsStr::from_bytes(b"odd\xff"));
    fs::create_dir(&odd).expect("a folder");
    let doctor = place
        .taper(["doctor"])
        .env("TAPER_CACHE", odd.join("cache"));
    doctor
        .run()
        .fails()
        .says("must be valid Unicode")
        .says("TAPER_CACHE");
    let notebook = odd.join("notebook.ipynb");
    fs::copy(place.notebook(CELL), &notebook).expect("it is copied");
    place.taper(["run"]).argument(&notebook).run().succeeds();
    let run = place.taper(["run", "notebook.ipynb"]).inside(&odd);
    run.run().succeeds();
}

/// As on a cluster where the home is small. Compilers report the real path.
#[test]
fn a_cache_behind_a_symbolic_link_runs_each_cell() {
    let place = Place::empty();
    let (real, link) = (place.path().join("real"), place.path().join("link"));
    fs::create_dir(&real).expect("a folder");
    symlink(&real, &link).expect("a link");
    let requests = "{\"code\":\"20 + 3\"}\n{\"code\":\"40 + 5\"}\n";
    let events = place.taper(["events"]).env("TAPER_CACHE", &link);
    let said = events.input(requests).run().succeeds();
    said.says("\"23\"").says("\"45\"");
}

/// As after `rustup update`: the first cell compiles and shows the progress. An interrupt stops the compilation,
/// and the next cell continues it.
#[test]
fn what_is_missing_is_built_by_the_first_cell_of_a_kernel() {
    let place = Place::empty();
    let requests = "{\"code\":\"1 + 1\",\"interrupt_after\":3000}\n{\"code\":\"1 + 1\"}\n";
    let said = place
        .taper(["events", "--defer"])
        .input(requests)
        .run()
        .succeeds();
    let (first, second) = said
        .text
        .split_once("\"ok\":false")
        .expect("the first cell is interrupted");
    assert!(
        first.contains("\"Interrupted\"") && first.contains("Compiling"),
        "{first}"
    );
    assert!(
        second.contains("Compiled in") && second.contains("\"text/plain\":\"2\""),
        "{second}"
    );
}

/// Cells are linked by the linker that comes with Rust.
#[test]
fn a_linker_on_the_path_changes_nothing() {
    let place = Place::ready();
    let folder = place.path().join("linkers");
    let log = place.path().join("linker.log");
    for name in ["lld", "ld.lld"] {
        script(
            &folder.join(name),
            &format!("#!/bin/sh\necho {name} >> '{}'\nexit 1\n", log.display()),
        );
    }
    let notebook = place.notebook(CELL);
    let run = place.taper(["run", &notebook.to_string_lossy()]);
    let said = run.env("PATH", with_first(&folder)).run().succeeds();
    assert!(!said.text.contains("Compiling"), "{}", said.text);
}
