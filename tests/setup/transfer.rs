//! Images that another machine or another user has compiled: imported from a file, or read from a store.

use super::CELL;
use super::place::Place;
use std::fs;
use std::time::Instant;

/// Asserts that a cell runs without the compilation of any package.
fn runs_at_once(place: &Place) {
    let said = place.run_cell(CELL).succeeds().text;
    assert!(!said.contains("Compil"), "{said}");
}

#[test]
fn an_image_is_exported_and_imported() {
    let (there, here) = (Place::ready(), Place::empty());
    let file = there.path().join("image.tar.gz");
    let exported = there.taper(["image", "export"]).argument(&file).run();
    let said = exported.succeeds().text;
    let sha256 = said.split(' ').next().expect("its digest").to_owned();

    let import = || here.taper(["image", "import"]).argument(&file);
    let other = import()
        .argument("--sha256".as_ref())
        .argument("00".as_ref());
    other.run().fails().says("expected the SHA-256 00, found ");

    // Killed while it unpacks.
    let mut killed = import().start();
    let unpacked = || {
        here.image()
            .is_some_and(|work| work.with_file_name("imported").exists())
    };
    killed.until(|_| unpacked());
    killed.kill();
    let digest = ["--sha256", &sha256];
    let again = digest
        .iter()
        .fold(import(), |call, word| call.argument(word.as_ref()));
    again
        .run()
        .succeeds()
        .says("The compiled packages are ready.");
    runs_at_once(&here);
}

#[test]
fn an_import_that_was_killed_can_be_repeated() {
    killed_imports(4);
}

#[test]
#[ignore = "slow: fifty imports are killed"]
fn an_import_that_was_killed_at_any_moment_can_be_repeated() {
    killed_imports(50);
}

/// Kills imports at this number of moments. The next one succeeds, and cargo's home is left alone.
fn killed_imports(moments: u32) {
    let (there, here) = (Place::ready(), Place::empty());
    let file = there.path().join("image.tar.gz");
    let export = there.taper(["image", "export"]).argument(&file);
    export.run().succeeds();
    let home = here.path().join("cargo-home");
    let import = || {
        let import = here.taper(["image", "import"]).argument(&file);
        import.env("CARGO_HOME", &home)
    };
    let began = Instant::now();
    import().run().succeeds();
    let whole = began.elapsed();
    for moment in 0..moments {
        fs::remove_dir_all(here.cache().join("images")).expect("it is removed");
        let killed = import().start();
        std::thread::sleep(whole * moment / moments);
        killed.kill();
        import().run().succeeds();
        assert!(!home.exists(), "cargo's home is left alone");
    }
    runs_at_once(&here);
}

#[test]
fn a_file_that_is_no_image_of_this_taper_is_refused() {
    let (there, here) = (Place::ready(), Place::empty());
    let file = there.path().join("image.tar.gz");
    here.taper(["image", "export"])
        .argument(&file)
        .run()
        .fails()
        .says("run `taper setup`");
    assert!(!file.exists());
    there
        .taper(["image", "export"])
        .argument(&file)
        .run()
        .succeeds();
    let whole = fs::read(&file).expect("the file");
    let import = || here.taper(["image", "import"]).argument(&file).run();
    fs::write(&file, &whole[..whole.len() / 2]).expect("half of it");
    import().fails();
    fs::write(&file, "text").expect("another file");
    import().fails();
    fs::write(&file, whole).expect("the whole");
    let other = here.taper(["image", "import"]).argument(&file);
    // Another configuration of cargo, and so another image.
    fs::create_dir(here.path().join(".cargo")).expect("a folder");
    let config = here.path().join(".cargo/config.toml");
    fs::write(&config, "[profile.dev]\nopt-level = 0\n").expect("a file");
    other.run().fails().says("must be the same");
    fs::remove_file(config).expect("it is removed");
    import().succeeds();
    runs_at_once(&here);
}

#[test]
fn a_user_of_a_store_compiles_nothing() {
    let (store, user) = (Place::ready(), Place::empty());
    let with = |store: &Place, arguments: &[&str]| {
        let mut call = user.taper([]);
        for argument in arguments {
            call = call.argument(argument.as_ref());
        }
        call.env("TAPER_STORE", store.cache()).run()
    };
    let notebook = user.notebook(CELL);
    let run = ["run", &notebook.to_string_lossy()];
    let said = with(&store, &run).succeeds().text;
    assert!(!said.contains("Compil"), "{said}");
    assert!(user.image().is_none_or(|work| !work.exists()));
    with(&store, &["doctor"]).says(&format!("ok      store: {}", store.cache().display()));

    // Nothing is compiled for a store that lacks it, either.
    with(&Place::empty(), &run)
        .fails()
        .says("taper setup --system --prefix");
}
