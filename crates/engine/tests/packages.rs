//! Packages that are replaced between cells.

use crate::common::{Cells, rustc};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use taper_engine::{Failure, Package, Replaced};

/// Compiles a version of a package.
fn package(folder: &Path, name: &str, version: u32, source: &str) -> Package {
    let file = folder.join(format!("{name}-{version}.rs"));
    std::fs::write(&file, source).expect("it is written");
    let path = |path: &Path| path.display().to_string();
    let option = |option: &str| format!("-C{option}=-{version}");
    let arguments = ["--edition=2024", "--crate-type=rlib", "-Cprefer-dynamic"];
    rustc(
        &[
            &arguments[..],
            &["--crate-name", name, "--out-dir", &path(folder)],
            &[&option("metadata"), &option("extra-filename"), &path(&file)],
        ]
        .concat(),
    );
    Package {
        name: name.to_owned(),
        files: vec![folder.join(format!("lib{name}-{version}.rlib"))],
        ..Package::default()
    }
}

const FIRST: &str = "pub struct Buffer(pub i32); pub fn old(n: i32) -> String { format!(\"old {n}\") }\n\
    pub fn both() -> i32 { 1 } pub mod inner { pub struct Deep; }";
const SECOND: &str =
    "pub struct Buffer(pub i64); pub fn both() -> i32 { 2 } pub mod inner { pub struct Deep; }";

struct Notebook {
    cells: Cells,
    folder: tempfile::TempDir,
}

impl Notebook {
    fn start(source: &str) -> Notebook {
        let folder = tempfile::tempdir().expect("a folder");
        let first = package(folder.path(), "thing", 1, source);
        Notebook {
            cells: Cells::with_packages(vec![first]),
            folder,
        }
    }

    fn set(&mut self, packages: Vec<Package>) -> Result<Replaced, Failure> {
        let search = format!("dependency={}", self.folder.path().display());
        self.cells
            .engine
            .set_packages(packages, vec![search.into()])
    }

    /// Replaces the package, and returns what was given up.
    fn replace(&mut self, version: u32, source: &str) -> Replaced {
        let next = package(self.folder.path(), "thing", version, source);
        self.set(vec![next]).expect("cells compile with it")
    }
}

fn labels(replaced: &Replaced) -> Vec<&str> {
    replaced.items.iter().map(|it| &*it.name).collect()
}

#[test]
fn variables_of_the_old_package_are_lost_and_others_stay() {
    let mut notebook = Notebook::start(FIRST);
    let cells = &mut notebook.cells;
    cells.check(
        "struct Own { buffer: thing::Buffer }\nuse thing::inner::Deep as D;",
        "",
    );
    cells.check("let buffers = vec![thing::Buffer(1)]; let n = 5; let own = Some(Own { buffer: thing::Buffer(2) });", "");
    cells.check("use std::sync::Mutex;\nstatic HELD: Mutex<Option<thing::Buffer>> = Mutex::new(None);\nstatic COUNT: Mutex<i32> = Mutex::new(0);", "");
    cells.check(
        "*HELD.lock().unwrap() = Some(thing::Buffer(3)); *COUNT.lock().unwrap() += 1;",
        "",
    );
    cells.check("let deep = D; let text = String::from(\"kept\");", "");
    let replaced = notebook.replace(2, SECOND);
    assert_eq!(replaced.packages, ["thing"]);
    assert_eq!(replaced.variables, ["buffers", "deep", "own"]);
    assert_eq!(replaced.statics, ["HELD"]);
    assert_eq!(labels(&replaced), [""; 0]);
    let cells = &mut notebook.cells;
    cells.check(
        "(n, text.len(), thing::both(), thing::Buffer(1i64 << 40).0)",
        "= (5, 4, 2, 1099511627776)",
    );
    cells.check(
        "let own = Own { buffer: thing::Buffer(3) }; own.buffer.0",
        "= 3",
    );
    cells.check(
        "(HELD.lock().unwrap().is_none(), *COUNT.lock().unwrap())",
        "= (true, 1)",
    );
    // The same again, and the first one.
    assert_eq!(notebook.replace(2, SECOND).variables, ["own"]);
    let replaced = notebook.replace(1, FIRST);
    assert_eq!(replaced.packages, ["thing"]);
    notebook.cells.check("thing::old(n)", "= \"old 5\"");
}

#[test]
fn items_that_do_not_compile_any_more_are_named_and_removed() {
    let mut notebook = Notebook::start(FIRST);
    let cells = &mut notebook.cells;
    cells.check("use thing::old;\nuse thing::both;\nfn digits() -> String { old(7) }\nfn twice() -> i32 { both() * 2 }", "");
    cells.check("fn chain() -> usize { digits().len() }\nstruct S;\nimpl S {\n    fn good(&self) -> i32 { both() }\n    fn bad(&self) -> String { thing::old(1) }\n}", "");
    cells.check("impl std::fmt::Display for S { fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str(&thing::old(2)) } }", "");
    cells.check(
        "macro_rules! third { () => { thing::old(3) } }\nfn by_macro() -> String { third!() }",
        "",
    );
    cells.check("let s = S; let text = s.bad();", "");
    let replaced = notebook.replace(2, SECOND);
    let mut removed = labels(&replaced);
    removed.sort_unstable();
    let expected = [
        "S::bad",
        "by_macro",
        "chain",
        "digits",
        "impl Display for S",
        "use thing::old",
    ];
    assert_eq!(removed, expected);
    assert!(replaced.items.iter().all(|it| !it.message.is_empty()));
    assert_eq!(replaced.variables, [""; 0]);
    notebook
        .cells
        .check("(twice(), s.good(), text.len())", "= (4, 2, 5)");
    notebook
        .cells
        .check("fn digits() -> i32 { both() + 1 }\ndigits()", "= 3");
}

#[test]
fn a_package_with_which_no_cell_compiles_changes_nothing() {
    let mut notebook = Notebook::start(FIRST);
    notebook.cells.check(
        "let buffer = thing::Buffer(4);\nfn f() -> String { thing::old(4) }",
        "",
    );
    let folder = notebook.folder.path().to_owned();
    let first = || Package {
        name: "thing".to_owned(),
        files: vec![folder.join("libthing-1.rlib")],
        ..Package::default()
    };
    let missing = Package {
        name: "missing".to_owned(),
        files: vec![PathBuf::from("/no/such/libmissing.rlib")],
        ..Package::default()
    };
    let second = package(&folder, "thing", 2, SECOND);
    for packages in [vec![first(), missing.clone()], vec![second, missing]] {
        let Err(Failure::Compile(errors)) = notebook.set(packages) else {
            panic!("it was accepted");
        };
        assert!(errors[0].message.contains("missing"), "{errors:?}");
        notebook.cells.check("(buffer.0, f())", "= (4, \"old 4\")");
    }
}

#[test]
fn another_package_leaves_everything_alone() {
    let mut notebook = Notebook::start(FIRST);
    notebook.cells.check("let buffer = thing::Buffer(4);", "");
    let folder = notebook.folder.path().to_owned();
    let first = Package {
        name: "thing".to_owned(),
        files: vec![folder.join("libthing-1.rlib")],
        ..Package::default()
    };
    let more = package(&folder, "more", 1, "pub fn more() -> u8 { 9 }");
    let replaced = notebook
        .set(vec![first.clone(), more])
        .expect("cells compile");
    assert!(replaced.variables.is_empty() && replaced.packages.is_empty());
    notebook.cells.check("(buffer.0, more::more())", "= (4, 9)");
    // Without the other one.
    notebook.cells.check(
        "use more::more as m;\nfn g() -> u8 { m() }\nlet by = g();",
        "",
    );
    let replaced = notebook.set(vec![first]).expect("cells compile");
    assert_eq!(replaced.packages, ["more"]);
    assert_eq!(labels(&replaced), ["use more::more as m", "g"]);
    notebook.cells.check("(buffer.0, by)", "= (4, 9)");
}

#[test]
fn a_shared_library_is_loaded_into_the_process_that_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("late.rs");
    let library = folder.path().join("liblate.so");
    const LATE: &str =
        "pub fn late() -> i32 { 7 } #[track_caller] pub fn failed<T: std::fmt::Display>(_: T) {}";
    std::fs::write(&source, LATE).expect("it is written");
    let [source, out] = [&source, &library].map(|path| path.display().to_string());
    let dylib = ["--edition=2024", "--crate-type=dylib", "-Cprefer-dynamic"];
    rustc(&[&dylib[..], &[&source, "-o", &out]].concat());
    let mut cells = Cells::start();
    cells.check("let mut kept = vec![1];\nkept.push(2);", "");
    cells.check(
        "let n: i32 = Err(std::fmt::Error)?;\nn",
        "failed at 2:1: Error",
    );
    let late = Package {
        name: "late".to_owned(),
        files: vec![library.clone()],
        library: Some(library),
        question_mark: Some("::late::failed".to_owned()),
        ..Package::default()
    };
    let replaced = cells.engine.set_packages(vec![late], Vec::new());
    assert_eq!(
        replaced.expect("cells compile with it"),
        Replaced::default()
    );
    cells.check("kept.push(late::late());\nkept", "= [1, 2, 7]");
}

#[test]
fn a_shared_library_is_made_once_for_all_engines() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = folder.path().join("kept");
    let first = package(folder.path(), "thing", 1, FIRST);
    // As another session has it.
    let linked = folder.path().join("linked");
    std::fs::create_dir(&linked).expect("a folder");
    let file = linked.join("libthing-1.rlib");
    std::fs::hard_link(&first.files[0], &file).expect("a link");
    let second = Package {
        files: vec![file],
        ..first.clone()
    };
    for (package, folder) in [(first, folder.path()), (second, &*linked)] {
        let mut cells = Cells::with_libraries(vec![package], &kept);
        cells.check("thing::old(1)", "= \"old 1\"");
        let all = std::fs::read_dir(&kept).expect("a folder").flatten();
        let [kept] = &all.collect::<Vec<_>>()[..] else {
            panic!("more than one was made");
        };
        let used = folder.join(kept.file_name());
        let inode = |file: &Path| file.metadata().expect("it is there").ino();
        assert_eq!(inode(&used), inode(&kept.path()));
    }
}
