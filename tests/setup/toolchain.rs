//! Which Rust compiles the cells, and which variables and files change how it compiles.

use super::lab::held;
use super::place::{Call, Place, Said, programs_without, rust_with, script, with_first};
use super::{CELL, helper};
use serde_json::json;
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

/// As after `rustup update`: plain Rust runs before the library is compiled, and what it has defined stays. A cell that needs
/// the library waits for it; an interrupt ends the wait alone.
#[test]
fn plain_rust_runs_while_the_library_is_compiled() {
    let place = Place::empty();
    let go = place.path().join("go");
    let path = held(&place, &go);
    let cells = [
        json!({ "code": "let mut v = vec![1, 2];\nfn len(v: &[i32]) -> usize { v.len() }\nlen(&v)" }),
        json!({ "code": "unknown(1)" }),
        json!({ "code": "let n: i32 = \"x\".parse()?;" }),
        json!({ "code": "(zeros(2).len(), len(&v))", "interrupt_after": 2000 }),
        json!({ "code": "use taper::prelude::*;", "interrupt_after": 2000 }),
        json!({ "code": format!("std::fs::write({go:?}, \"\")?;\nv.push(3);") }),
        json!({ "code": "(zeros(2).len(), len(&v))" }),
        json!({ "code": "let n: i32 = \"x\".parse()?;" }),
    ];
    let requests = cells.map(|cell| format!("{cell}\n")).concat();
    let events = place.taper(["events", "--defer"]).env("PATH", path);
    let said = events.input(&requests).run().succeeds().text;
    let cells: Vec<&str> = said.split("\"event\":\"done\"").collect();
    let expected = [
        "\"text/plain\":\"2\"",
        "cannot find function `unknown`",
        "InvalidDigit",
        "\"Interrupted\"",
        "\"Interrupted\"",
        "\"ok\":false", // of the cell before
        "\"text/plain\":\"(2, 3)\"",
        "invalid digit found in string",
    ];
    for (cell, expected) in cells.iter().zip(expected) {
        assert!(
            cell.contains(expected),
            "expected {expected} in {cell}\nin {said}"
        );
    }
    for waited in [cells[3], cells[4], cells[6]] {
        assert!(waited.contains("needs the library"), "{waited}");
    }
    assert!(
        cells[6].contains("The library `taper` is ready."),
        "{}",
        cells[6]
    );
    assert!(!cells[1].contains("needs the library"), "{}", cells[1]);
    place.run_cell(CELL).succeeds();
}

/// After `rustup update`, doctor and the first cell say what will happen and how to keep what is compiled: with the older
/// Rust in another folder, nothing is compiled again.
#[test]
fn what_is_compiled_for_another_rust_is_named_and_can_be_kept() {
    let place = Place::empty();
    let rust = |folder: &str, release: &str| {
        let code = format!(
            "if [ \"$*\" = -vV ]; then\n    \"$installed\" -vV | sed 's/^release: .*/release: {release}/'\n    exit\nfi"
        );
        rust_with(
            &place.path().join(folder),
            [("rustc", &code), ("cargo", "")],
        )
    };
    let call = |call: Call, path: &OsStr| call.env("PATH", path).without("RUSTUP_TOOLCHAIN");
    let path = rust("stable", "1.97.0");
    call(place.taper(["setup"]), &path).run().succeeds();
    rust("stable", "1.98.0");
    let named = "Taper was compiled for Rust 1.97.0, and this is Rust 1.98.0: it is compiled again, which took ";
    let kept =
        "`rustup toolchain install 1.97.0`, and RUSTUP_TOOLCHAIN=1.97.0 where you start Taper";
    let doctor = call(place.taper(["doctor"]), &path).run().fails();
    doctor
        .says(named)
        .says(kept)
        .says("MISSING compiled packages: run `cargo taper setup`");
    let request = json!({ "code": CELL, "interrupt_after": 1500 });
    let events = place
        .taper(["events", "--defer"])
        .input(&format!("{request}\n"));
    let said = call(events, &path).run().succeeds();
    said.says(named).says(kept).says("Interrupted");

    let path = rust("1.97.0", "1.97.0");
    let said = call(place.taper(["setup"]), &path).run().succeeds();
    let said = said.says("are used again").text;
    assert!(!said.contains("Compil"), "{said}");
    call(place.taper(["doctor"]), &path).run().succeeds();
    let package = helper(&place);
    let cell =
        format!(":dep helper = {{ path = {package:?} }}\nassert_eq!(helper::seven(), 7);\n{CELL}");
    let notebook = place.notebook(&cell);
    call(place.taper(["run"]).argument(&notebook), &path)
        .run()
        .succeeds();
}

/// What a kernel has compiled when it is killed, the next one finds.
#[test]
fn a_kernel_that_is_killed_while_the_library_is_compiled_leaves_nothing_broken() {
    let place = Place::empty();
    let cell = format!("{}\n", json!({ "code": CELL }));
    let events = |place: &Place| place.taper(["events", "--defer"]).input(&cell);
    let mut first = events(&place).start();
    assert!(first.until(|_| place.file_of_image("libserde_core", ".rmeta").is_some()));
    first.kill();
    let said = events(&place).run().succeeds();
    said.says("needs the library").says("\"ok\":true");
    place.taper(["setup"]).run().succeeds();
    place.taper(["doctor"]).run().succeeds();
    place.becomes_quiet();
    assert_eq!(place.sessions(), 0);
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
