//! Images that another machine or another user has compiled: imported from a file, or read from a store.

use super::CELL;
use super::hub::{FakeHub, Fault};
use super::place::Place;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

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
    let missing = here.taper(["image", "import", "no-such-file"]);
    missing.run().fails().says("no-such-file");
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

/// Exports the image of a place, and returns a server that offers it with an index, and its SHA-256.
fn offered(there: &Place) -> (FakeHub, String) {
    let [file, index] = ["image.tar.gz", "index.json"].map(|name| there.path().join(name));
    let export = there.taper(["image", "export"]).argument(&file);
    let export = export.argument("--index".as_ref()).argument(&index);
    let said = export.run().succeeds().text;
    let sha256 = said.split(' ').next().expect("its digest").to_owned();
    let read = |file| fs::read(file).expect("it is written");
    let files = [("image.tar.gz", read(file)), ("index.json", read(index))];
    (FakeHub::start(files), sha256)
}

#[test]
fn set_up_asks_an_index_before_it_compiles() {
    let (there, here) = (Place::ready(), Place::empty());
    let (server, _) = offered(&there);
    let index = format!("{}/images/index.json", server.endpoint);
    let setup =
        |place: &Place, index: &str| place.taper(["setup"]).env("TAPER_IMAGES", index).run();
    // The index arrives, and the connection is lost while the image does.
    server.fail([Fault::IgnoreRange, Fault::Cut(100_000)]);
    let said = setup(&here, &index)
        .succeeds()
        .says(&format!("are from {index}"));
    assert!(!said.text.contains("Compiling"), "{}", said.text);
    assert!(said.text.contains("resuming"), "{}", said.text);
    runs_at_once(&here);
    let downloads = fs::read_dir(here.cache().join("downloads/packages")).expect("the folder");
    let left: Vec<_> = downloads.flatten().map(|it| it.file_name()).collect();
    assert!(left.iter().all(|name| name == "lock"), "{left:?}");

    // An index without an image for this Rust, and an index that cannot be reached: the image is compiled.
    let other = there.path().join("index.json");
    let text = fs::read_to_string(&other).expect("the index");
    fs::write(&other, text.replace("\"rust\": \"1.", "\"rust\": \"0.")).expect("a file");
    let compiled = Place::empty();
    let said = setup(&compiled, other.to_str().expect("a path")).succeeds();
    said.says("lists no image for Rust").says("Compiled in");
    let compiled = Place::empty();
    let said = setup(&compiled, "http://127.0.0.1:9/index.json").succeeds();
    said.says("cannot reach http://127.0.0.1:9")
        .says("Compiled in");
}

#[test]
fn an_image_of_a_server_needs_its_digest() {
    let (there, here) = (Place::ready(), Place::empty());
    let (server, sha256) = offered(&there);
    let address = format!("{}/image.tar.gz", server.endpoint);
    let setup = |arguments: &[&str]| {
        let call = here.taper(["setup", "--image"]);
        arguments
            .iter()
            .fold(call, |call, word| call.argument(word.as_ref()))
            .run()
    };
    setup(&[&address]).fails().says("--sha256");
    let http = address.replace("127.0.0.1", "127.0.0.2");
    setup(&[&http, "--sha256", &sha256])
        .fails()
        .says("by https only");
    setup(&[&address, "--sha256", "00"])
        .fails()
        .says("is not the expected one");
    assert!(here.image().is_none_or(|work| !work.exists()));
    let said = setup(&[&address, "--sha256", &sha256])
        .succeeds()
        .says("Taper is ready");
    assert!(!said.text.contains("Compiling"), "{}", said.text);
    runs_at_once(&here);
    let file = there.path().join("image.tar.gz");
    let of_file = Place::empty();
    let call = of_file.taper(["setup", "--image"]).argument(&file);
    let said = call.run().succeeds();
    assert!(!said.text.contains("Compiling"), "{}", said.text);
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

/// Returns the files in a folder and the folders below it, with their times.
fn files(folder: &Path) -> BTreeMap<PathBuf, SystemTime> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let metadata = fs::metadata(&path).expect("it exists");
        match metadata.is_dir() {
            true => found.extend(files(&path)),
            false => _ = found.insert(path, metadata.modified().expect("a time")),
        }
    }
    found
}

/// Runs a cell with a package in a session, with this home of cargo. Returns the libraries that were kept: whether they are
/// those of the image, by name.
fn kept_libraries(place: &Place, home: &Path) -> BTreeMap<PathBuf, bool> {
    let cell = ":dep serde_json = \"1\"\nassert_eq!(serde_json::json!([1]).to_string(), \"[1]\");\nzeros(2)";
    let notebook = place.notebook(cell);
    let run = place.taper(["run", &notebook.to_string_lossy()]);
    run.env("CARGO_HOME", home).run().succeeds();
    let work = place.image().expect("an image");
    let added = work.with_file_name("added");
    let mut kept = BTreeMap::new();
    for file in files(&added).into_keys() {
        let below = file.strip_prefix(&added).expect("it is below").to_owned();
        let of_image = fs::read(work.join(&below)).ok();
        // A compiled one would name the other folder.
        let is_same = of_image.is_some() && fs::read(&file).ok() == of_image;
        if file
            .extension()
            .is_some_and(|extension| extension == "rlib")
        {
            kept.insert(below, is_same);
        }
    }
    kept
}

/// cargo would compile them again, because their sources are in another folder.
#[test]
fn with_another_home_of_cargo_packages_are_taken_from_the_image() {
    let (native, place) = (Place::ready(), Place::ready());
    let known = taper_session::cargo_home().expect("cargo's home");
    let home = place.path().join("cargo-home");
    fs::create_dir(&home).expect("a folder");
    symlink(known.join("registry"), home.join("registry")).expect("a link");
    let compiled = |kept: BTreeMap<PathBuf, bool>| -> Vec<PathBuf> {
        let compiled = kept.into_iter().filter(|(_, is_of_image)| !is_of_image);
        compiled.map(|(library, _)| library).collect()
    };
    let first = kept_libraries(&place, &home);
    assert!(first.values().any(|is_of_image| *is_of_image), "{first:?}");
    assert_eq!(compiled(first), compiled(kept_libraries(&native, &known)));
    let added = place.image().expect("an image").with_file_name("added");
    let libraries = || {
        let mut files = files(&added);
        files.retain(|file, _| {
            file.extension()
                .is_some_and(|extension| extension == "rlib")
        });
        files
    };
    let kept = libraries();
    kept_libraries(&place, &home);
    assert_eq!(libraries(), kept, "the second session compiles nothing");
    place.taper(["doctor"]).run().succeeds();
}
