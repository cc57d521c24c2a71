//! The process in which cells run, its streams, packages and its end.

use crate::common::{Cells, check_each, example, rustc};
use std::process::Command;
use taper_engine::{Failure, Package};

#[test]
fn a_cell_that_ends_the_process_ends_nothing_else() {
    let mut cells = Cells::start();
    cells.run("let n = 1;\nfn f() -> i32 { 2 }\nstatic S: std::sync::Mutex<i32> = std::sync::Mutex::new(3);");
    let (_, outcome) = cells.evaluate("std::process::exit(3);");
    assert!(matches!(&outcome.failure, Some(Failure::Ended(end)) if end.code == Some(3)));
    assert_eq!(outcome.lost, ["n"]);
    cells.check("f() + *S.lock().unwrap()", "= 5");
    let (_, outcome) =
        cells.evaluate("unsafe { std::ptr::null_mut::<i32>().wrapping_add(1).write(1) };");
    assert!(matches!(&outcome.failure, Some(Failure::Ended(end)) if end.signal.is_some()));
    cells.check("f()", "= 2");
}

#[test]
fn redirected_streams_come_back() {
    let mut cells = Cells::start();
    cells.run("use std::os::fd::AsRawFd;\nunsafe extern \"C\" { fn dup2(a: i32, b: i32) -> i32; }\nlet null = std::fs::File::create(\"/dev/null\")?;");
    assert_eq!(
        cells.run(
            "unsafe { dup2(null.as_raw_fd(), 1); dup2(null.as_raw_fd(), 2); }\nprintln!(\"lost\");"
        ),
        ""
    );
    cells.check("println!(\"back\");", "back");
}

#[test]
fn compiled_packages_are_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("greeter.rs");
    std::fs::write(&source, "pub struct Greeting(pub String);\npub fn greet() -> Greeting { Greeting(\"hello\".to_owned()) }").expect("it is written");
    let path = |name: &str| folder.path().join(name);
    let text = |path: &std::path::Path| path.to_str().expect("it is text").to_owned();
    rustc(&[
        "--edition=2024",
        "--crate-type=rlib",
        &text(&source),
        "-o",
        &text(&path("libgreeter.rlib")),
    ]);
    rustc(&[
        "--edition=2024",
        "--crate-type=dylib",
        "-Cprefer-dynamic",
        &text(&source),
        "-o",
        &text(&path("libgreeter.so")),
    ]);
    for library in [None, Some(path("libgreeter.so"))] {
        let file = library.clone().unwrap_or(path("libgreeter.rlib"));
        let package = Package {
            name: "greeter".into(),
            files: vec![file],
            library,
            ..Package::default()
        };
        let mut cells = Cells::with_packages(vec![package]);
        cells.check("let g = greeter::greet();\n#%%\ng.0", "= \"hello\"");
    }
    let cells = path("cells.txt");
    std::fs::write(&cells, "let a = 1usize;\n#%%\na + greeter::greet().0.len()")
        .expect("it is written");
    let output = Command::new(example())
        .arg(&cells)
        .arg(folder.path())
        .output()
        .expect("it starts");
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(shown.ends_with("= 6\n"), "{shown}");
}

/// Compiles a package of one file. Returns the library.
fn package(folder: &std::path::Path, name: &str, source: &str) -> Package {
    let text = |path: &std::path::Path| path.to_str().expect("it is text").to_owned();
    let file = folder.join(format!("{name}.rs"));
    std::fs::write(&file, source).expect("it is written");
    let library = folder.join(format!("lib{name}.rlib"));
    rustc(&[
        "--edition=2024",
        "--crate-type=rlib",
        &text(&file),
        "-o",
        &text(&library),
    ]);
    Package {
        name: name.to_owned(),
        files: vec![library],
        ..Package::default()
    }
}

#[test]
fn the_statics_of_a_package_are_the_same_in_all_cells() {
    const COUNTER: &str = "use std::sync::atomic::*;\nstatic N: AtomicU32 = AtomicU32::new(0);\n\
        pub fn next() -> u32 { N.fetch_add(1, Ordering::Relaxed) }";
    let folder = tempfile::tempdir().expect("a folder");
    let counter = package(folder.path(), "counter", COUNTER);
    let mut cells = Cells::with_packages(vec![counter.clone()]);
    cells.check("counter::next()\n#%%\ncounter::next()", "= 1");
    // A package that is added later changes nothing of the first.
    let other = package(folder.path(), "other", "pub fn one() -> u32 { 1 }");
    let replaced = cells
        .engine
        .set_packages(vec![counter.clone(), other.clone()], Vec::new());
    assert_eq!(replaced.expect("they are set").variables, [""; 0]);
    cells.check("let seen = counter::next();\nother::one() + seen", "= 3");
    // Another version replaces it.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let changed = package(
        folder.path(),
        "counter",
        &COUNTER.replace("new(0)", "new(70)"),
    );
    let replaced = cells.engine.set_packages(vec![changed, other], Vec::new());
    assert_eq!(replaced.expect("they are set").variables, [""; 0]);
    // It has the symbols of the first, which the process has loaded. So each cell has a copy, until the process ends.
    let both = "counter::next()\n#%%\ncounter::next()";
    cells.check(both, "= 70");
    cells.check("seen + other::one()", "= 3");
    cells.engine.restart_process().expect("it starts");
    cells.check(both, "= 71");
}

#[test]
fn cells_wait_for_futures_on_the_runtime_of_a_package() {
    // It counts what it is entered and waited for.
    const RUNTIME: &str = "use std::sync::atomic::*;\npub static N: AtomicU32 = AtomicU32::new(0);\npub struct Runtime;\n\
        impl Runtime { pub fn enter(&self) -> u8 { N.fetch_add(1, Ordering::Relaxed); 1 }\n\
        pub fn block_on<F: Future>(&self, f: F) -> F::Output { N.fetch_add(10, Ordering::Relaxed);\n\
        let mut f = std::pin::pin!(f); let mut c = std::task::Context::from_waker(std::task::Waker::noop());\n\
        loop { if let std::task::Poll::Ready(it) = f.as_mut().poll(&mut c) { return it; } } } }\n\
        pub fn new() -> Runtime { N.fetch_add(100, Ordering::Relaxed); Runtime }";
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = Package {
        runtime: Some("::rt::new()".to_owned()),
        ..package(folder.path(), "rt", RUNTIME)
    };
    let mut cells = Cells::with_packages(vec![runtime]);
    cells.check("async fn two() -> u32 { 2 }\ntwo().await", "= 2");
    cells.check(
        "two().await + rt::N.load(std::sync::atomic::Ordering::Relaxed)",
        "= 124",
    );
    let failed = "let n: u32 = Err(std::fmt::Error)?;\ntwo().await + n";
    cells.check(failed, "failed at 3:1: Error");
}

#[test]
fn an_interrupt_ends_the_wait_for_a_future_and_keeps_all_variables() {
    let mut cells = Cells::start();
    cells.run("let n = 1;");
    let interrupter = cells.engine.interrupter();
    let stop = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_secs(2));
        interrupter.interrupt();
    });
    let (_, outcome) = cells.evaluate("std::future::pending::<()>().await;\nn");
    stop.join().expect("it ends");
    assert!(matches!(
        outcome.failure,
        Some(Failure::Interrupted { is_killed: false })
    ));
    cells.check("n", "= 1");
}

#[test]
fn types_that_show_themselves_are_preferred() {
    check_each(&[
        (
            "trait Show { fn evcxr_display(&self); }\nimpl Show for [i32] { fn evcxr_display(&self) { println!(\"a slice\") } }\nimpl<T: Show + ?Sized> Show for &T { fn evcxr_display(&self) { (**self).evcxr_display() } }",
            "",
        ),
        ("let v = vec![1, 2]; &v[..]", "a slice"),
        ("v[1]", "= 2"),
        ("&&v[0]", "= 1"),
        (
            "#[derive(Debug)]\nstruct Own;\nimpl Own { fn evcxr_display(&self) { println!(\"itself\") } }\nOwn",
            "itself",
        ),
        ("Box::new(Some(\"a\"))", "= Some(\"a\")"),
    ]);
}

#[test]
fn a_cell_that_opens_all_files_is_followed_by_others() {
    check_each(&[
        (
            "use std::fs::File;\nunsafe extern \"C\" { fn setrlimit(kind: i32, limit: *const [u64; 2]) -> i32; }\nlet kept = 41;",
            "",
        ),
        (
            "let limit = [300, 300];\nunsafe { setrlimit(7, &limit) };\nlet mut files = Vec::new();\n\
             while let Ok(file) = File::open(\"/dev/null\") { files.push(file); }",
            "",
        ),
        ("kept + i32::from(!files.is_empty())", "= 42"),
        ("files.clear(); kept", "= 41"),
    ]);
}

#[test]
fn what_a_cell_has_started_ends_with_the_engine() {
    let mut cells = Cells::start();
    let started =
        "let child = std::process::Command::new(\"sleep\").arg(\"1000\").spawn()?;\nchild.id()";
    let shown = cells.run(started);
    let id: i32 = shown
        .trim_start_matches("= ")
        .trim()
        .parse()
        .expect("a number");
    let lives =
        || std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|it| !it.contains(") Z "));
    assert!(lives());
    drop(cells);
    let mut looks = (0..1000).map(|_| std::thread::sleep(std::time::Duration::from_millis(20)));
    assert!(looks.any(|()| !lives()));
}

#[test]
fn a_process_that_was_killed_while_idle_is_named_once() {
    let mut cells = Cells::start();
    cells.run("fn f() -> i32 { 2 }");
    let id = cells.run("std::process::id()");
    let id = id.trim_start_matches("= ").trim();
    let killed = Command::new("kill")
        .args(["-9", id])
        .status()
        .expect("kill starts");
    assert!(killed.success());
    let (_, outcome) = cells.evaluate("1 + 1");
    assert!(
        matches!(&outcome.failure, Some(Failure::Ended(end)) if end.signal == Some(9)),
        "{:?}",
        outcome.failure
    );
    cells.check("f()", "= 2");
}

#[test]
fn a_cell_runs_after_the_waiting_compiler_was_ended() {
    let mut cells = Cells::start();
    assert_eq!(cells.run("let rested = 1; rested + 1"), "= 2");
    cells.engine.rest();
    assert_eq!(cells.run("rested + 2"), "= 3");
}
