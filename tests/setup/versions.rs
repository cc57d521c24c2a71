//! Several versions of Taper on one machine, a Rust other than the store's, and a disk that becomes full during an
//! import.

use super::CELL;
use super::missing::Disk;
use super::place::{Place, rust_with};
use super::stand_in::home;
use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn two_versions_side_by_side_keep_their_packages_until_one_is_uninstalled() {
    let place = Place::ready();
    let new = place.path().join("version-2");
    let copied = Command::new("cp").arg("-r").args([home(), &new]).status();
    assert!(copied.is_ok_and(|status| status.success()), "it is copied");
    let source = new.join("src/lib.rs");
    let text = fs::read_to_string(&source).expect("the source");
    fs::write(&source, format!("{text}\n// Version 2.\n")).expect("a new version");

    let notebook = place.notebook(CELL);
    let compiles = |version: &Path| {
        let run = place.taper(["run", &notebook.to_string_lossy()]);
        let said = run.env("TAPER_HOME", version).run().succeeds().text;
        said.contains("Compil")
    };
    assert!(compiles(&new), "an update is compiled once");
    for version in [home(), &new, home()] {
        assert!(!compiles(version), "both are ready: {}", version.display());
    }
    assert_eq!(place.images(), 2);
    fs::remove_dir_all(&new).expect("it is uninstalled");
    assert!(!compiles(home()));
    place.becomes_quiet();
    assert_eq!(place.images(), 1);
}

#[test]
fn an_import_onto_a_full_disk_works_at_the_second_try() {
    let (there, here) = (Place::ready(), Place::empty());
    let file = there.path().join("image.tar.gz");
    let export = there.taper(["image", "export"]).argument(&file);
    export.run().succeeds();
    // There is room for bytes but not for files, which the check at the start does not notice.
    let Some(disk) = Disk::mount(here.cache(), "size=3g,nr_inodes=20") else {
        return;
    };
    let import = || here.taper(["image", "import"]).argument(&file).run();
    import().fails().says("No space left on device");
    disk.remount("size=3g,nr_inodes=100000");
    import().succeeds().says("The compiled packages are ready.");
    let said = here.run_cell(CELL).succeeds().text;
    assert!(!said.contains("Compil"), "{said}");
}

/// As after an update of Rust in its folder.
#[test]
fn a_store_of_an_older_rust_names_the_command_that_renews_it() {
    let (store, user) = (Place::empty(), Place::empty());
    let rust = store.path().join("rust");
    let update = |date: &str| {
        let code = format!(
            "if [ \"$*\" = -vV ]; then\n    \"$installed\" -vV | sed 's/^commit-date: .*/commit-date: {date}/'\n    exit\nfi"
        );
        rust_with(&rust, [("rustc", &code), ("cargo", "")])
    };
    let path = update("2020-01-01");
    let fill = || {
        let call = store.taper(["setup", "--system", "--cpu", "--prefix"]);
        let call = call.argument(&store.cache()).env("PATH", &path);
        call.without("RUSTUP_TOOLCHAIN").run().succeeds();
    };
    let notebook = user.notebook(CELL);
    let run = || {
        let call = user.taper(["run"]).argument(&notebook).env("PATH", &path);
        let call = call.env("TAPER_STORE", store.cache());
        call.without("RUSTUP_TOOLCHAIN").run()
    };
    fill();
    run().succeeds();
    update("2020-02-02");
    run().fails().says("taper setup --system --prefix");
    fill();
    run().succeeds();
}
