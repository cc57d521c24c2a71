//! Cells that are interrupted.

use crate::common::events::{Events, Ran, err, error, out, own_session, session, value};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const KEPT: &str = "The cell was stopped. Variables of earlier cells are kept.";
const LOST: &str = "The cell did not stop when asked to, so its process was ended. \
    All variables are lost: run the cells that define them again.";

/// Runs a cell that prints "begun" first, and interrupts it then.
fn stop(session: &mut Events, body: &str) -> Ran {
    let code = format!("println!(\"begun\");\n{body}");
    session.run_with(json!({ "code": code, "interrupt_at": "begun" }), |_| {})
}

/// Returns the error of a cell that was left to itself, with these lost variables.
fn left(lost: &str) -> Value {
    let lost = match lost {
        "" => "Variables of earlier cells are kept.".to_owned(),
        lost => format!(
            "Lost are the variables that it uses, and those that only its thread can use: {lost}. \
             Run the cells that make them again; all others are kept."
        ),
    };
    let message = format!(
        "The cell did not stop when asked to, so it was left: it goes on in the background, with the lowest priority, \
         until it ends or you run `:restart`.\n{lost}"
    );
    error("Interrupted", &message, 0, &[])
}

#[test]
fn a_loop_that_ignores_an_interrupt_is_left_to_itself() {
    let mut session = own_session();
    session.run(
        "let stopping_v = vec![46];\nlet stopping_rc = std::rc::Rc::new(47);\nlet stopping_used = 48u64;",
    );
    let began = Instant::now();
    let ran = stop(
        &mut session,
        "let mut n: u64 = stopping_used;\nloop { n = n.wrapping_add(1); std::hint::black_box(n); }",
    );
    let took = began.elapsed();
    let lost = "`stopping_rc`, `stopping_used`";
    assert_eq!(ran, [out("begun\n"), left(lost)]);
    assert!((2..60).contains(&took.as_secs()), "{took:?}");
    // Another thread runs the next cells; `taper` and its state go on too.
    assert_eq!(session.run("stopping_v[0]"), [value("46")]);
    let ran = session.run("ones(2) + zeros(3)");
    assert_eq!(ran.last().expect("an error")["name"], "Error", "{ran:?}");
    assert_eq!(session.run("taper::interrupted()"), [value("false")]);
    let ran = session.run("stopping_rc");
    let message = ran[0]["traceback"].to_string();
    assert!(message.contains("left to itself"), "{message}");
    // A second time, and a cell that goes on when the next one has begun: nothing happens.
    let cell = "let (stopping_tx, stopping_rx) = std::sync::mpsc::channel::<i32>();";
    assert!(session.run(cell).is_empty());
    let ran = stop(
        &mut session,
        "let stopping_got = stopping_rx.recv()?;\nprintln!(\"{stopping_got}\");",
    );
    assert_eq!(ran, [out("begun\n"), left("`stopping_rx`")]);
    let cell =
        "stopping_tx.send(1)?;\nstd::thread::sleep(std::time::Duration::from_millis(300));\n1";
    assert_eq!(session.run(cell), [out("1\n"), value("1")]);
}

/// Returns cells that wait, each for something else.
fn waiting() -> Vec<String> {
    let folder = "let folder = std::env::temp_dir().join(format!(\"stopping-{}\", std::process::id()));\n\
         let _ = std::fs::create_dir_all(&folder);\nlet fifo = folder.join(\"fifo\");\n\
         std::process::Command::new(\"mkfifo\").arg(&fifo).stderr(std::process::Stdio::null()).status()?;\n";
    let all = [
        "std::net::TcpListener::bind(\"127.0.0.1:0\")?.accept()?;",
        "std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(1000))).join().unwrap();",
        "std::fs::File::open(&fifo)?;",
        "std::future::pending::<()>().await;",
        "let mut one = [0];\nstd::io::Read::read_exact(&mut std::fs::OpenOptions::new().read(true).write(true).open(&fifo)?, &mut one)?;",
        "std::process::Command::new(\"sh\").args([\"-c\", \"trap '' INT; exec sleep 1000\"]).spawn()?.wait()?;",
        "std::process::Command::new(\"sh\").args([\"-c\", \"trap '' INT; exec sleep 1000\"]).output()?;",
        "std::net::UdpSocket::bind(\"127.0.0.1:0\")?.recv_from(&mut [0; 8])?;",
        "let server = std::net::TcpListener::bind(\"127.0.0.1:0\")?;\n\
         std::io::read_to_string(std::net::TcpStream::connect(server.local_addr()?)?)?;",
        "let files = [std::fs::File::create(&fifo.with_extension(\"lock\"))?, std::fs::File::open(&fifo.with_extension(\"lock\"))?];\n\
         files[0].lock()?;\nfiles[1].lock()?;",
    ];
    all.map(|cell| format!("{{ {folder}{cell} }}")).to_vec()
}

#[cfg(target_os = "linux")]
fn stops_and_keeps_variables(cells: &[String]) {
    let mut session = session();
    session.run("let stopping_h = 49;");
    for cell in cells {
        let ran = stop(&mut session, cell);
        assert_eq!(
            ran,
            [out("begun\n"), error("Interrupted", KEPT, 0, &[])],
            "{cell}"
        );
        assert_eq!(session.run("stopping_h"), [value("49")]);
    }
}

/// A call in which a cell waits fails after an interrupt.
#[test]
#[cfg(target_os = "linux")]
fn cells_that_wait_stop_and_variables_are_kept() {
    stops_and_keeps_variables(&waiting()[..4]);
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "slow: run by .ci/nightly"]
fn cells_that_wait_for_anything_stop_and_variables_are_kept() {
    stops_and_keeps_variables(&waiting()[4..]);
}

/// What the next cells need is locked.
#[test]
#[ignore = "slow: run by .ci/nightly"]
fn a_cell_that_cannot_be_left_is_killed() {
    let mut session = session();
    let ran = stop(&mut session, "let out = std::io::stdout().lock();\nloop {}");
    assert_eq!(ran, [out("begun\n"), error("Interrupted", LOST, 0, &[])]);
    assert_eq!(session.run("1 + 1"), [value("2")]);
}

#[test]
fn a_loop_that_checks_interrupted_stops_and_variables_are_kept() {
    let mut session = session();
    session.run("let stopping_a = 40;");
    let code = "println!(\"begun\");\nlet mut stopping_n = 0_u64;\nloop { stopping_n += 1; if taper::interrupted() { break; } }\nprintln!(\"ended\");";
    let ran = session.run_with(json!({ "code": code, "interrupt_at": "begun" }), |_| {});
    assert_eq!(
        ran,
        [out("begun\nended\n"), error("Interrupted", KEPT, 0, &[])]
    );
    assert_eq!(
        session.run("(stopping_a, stopping_n > 0)"),
        [value("(40, true)")]
    );
    // The interrupt does not affect the next cell.
    assert_eq!(session.run("taper::interrupted()"), [value("false")]);
}

/// The commonest loops that run away: none of them asks whether it was interrupted.
#[test]
#[cfg(target_os = "linux")]
fn loops_that_print_or_sleep_stop_and_variables_are_kept() {
    let mut session = session();
    session.run("let stopping_f = 45;");
    for body in [
        "println!(\"on and on\"); std::thread::sleep(std::time::Duration::from_millis(20));",
        "eprintln!(\"on and on\"); std::thread::sleep(std::time::Duration::from_millis(20));",
        "std::thread::sleep(std::time::Duration::from_secs(1000));",
    ] {
        let code = format!("println!(\"begun\");\nloop {{ {body} }}");
        let ran = session.run_with(json!({ "code": code, "interrupt_at": "begun" }), |_| {});
        assert_eq!(
            ran.last(),
            Some(&error("Interrupted", KEPT, 0, &[])),
            "{body}"
        );
        assert_eq!(session.run("println!(\"{stopping_f}\");"), [out("45\n")]);
    }
}

#[test]
fn a_second_interrupt_within_a_second_counts_as_the_first() {
    let mut session = session();
    session.run("let stopping_g = 46;");
    // The text appears twice, so the cell is interrupted twice.
    let code = "eprintln!(\"stop\");\nprintln!(\"stop\");\n\
         std::thread::sleep(std::time::Duration::from_millis(300));\ncheck_interrupt()?;\nprintln!(\"ended\");";
    let ran = session.run_with(json!({ "code": code, "interrupt_at": "stop" }), |_| {});
    assert_eq!(ran[..2], [err("stop\n"), out("stop\n")]);
    assert_eq!(ran[2]["message"], KEPT, "{ran:?}");
    assert_eq!(ran.len(), 3, "{ran:?}");
    assert_eq!(session.run("stopping_g"), [value("46")]);
}

/// An interrupt may come while the cell is still being compiled.
#[test]
fn a_cell_that_is_interrupted_before_it_starts_stops_as_well() {
    let mut session = session();
    session.run("let stopping_b = 41;");
    let code = "while !taper::interrupted() { std::hint::spin_loop(); }";
    let began = Instant::now();
    let ran = session.run_with(json!({ "code": code, "interrupt_after": 50 }), |_| {});
    assert_eq!(ran, [error("Interrupted", KEPT, 0, &[])]);
    assert!(began.elapsed() < Duration::from_secs(60));
    assert_eq!(session.run("stopping_b"), [value("41")]);
}

/// The compiler is ended, the cell never begins, and nothing is lost.
#[test]
fn an_interrupt_ends_a_long_compilation() {
    let mut session = session();
    session.run("let stopping_c = 42;");
    let code = "#[allow(long_running_const_eval)]\n\
         const STOPPING: u64 = { let mut i = 0; while i < 20_000_000_000_u64 { i += 1; } i };\n\
         println!(\"{STOPPING}\");";
    let began = Instant::now();
    let after = Duration::from_millis(1500);
    let request = json!({ "code": code, "interrupt_after": after.as_millis() as u64 });
    let ran = session.run_with(request, |_| {});
    let took = began.elapsed() - after;
    assert_eq!(ran, [error("Interrupted", KEPT, 0, &[])]);
    // The compilation would take minutes.
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(session.run("stopping_c"), [value("42")]);
}

/// The end of a cell is announced with a secret that a cell cannot remove.
#[test]
fn a_cell_that_removes_all_variables_ends() {
    let mut session = session();
    let code = "for (name, _) in std::env::vars_os() { unsafe { std::env::remove_var(name) } }";
    assert!(session.run(code).is_empty());
    assert_eq!(session.run("1 + 1"), [value("2")]);
    // Other tests need the variables.
    session.run(":restart");
}

/// The session is notified of the end of a cell that closes or redirects its standard streams.
#[test]
fn a_cell_that_closes_its_streams_ends() {
    let mut session = session();
    // In a module, since other tests declare some of these in the same session.
    let functions = "mod streams { unsafe extern \"C\" { pub safe fn close(fd: i32) -> i32; \
         pub safe fn dup(fd: i32) -> i32; pub safe fn dup2(from: i32, to: i32) -> i32; } }";
    assert!(session.run(functions).is_empty());
    session.run("let stopping_d = 43;");
    for fd in [0, 1, 2] {
        assert_eq!(
            session.run(&format!("streams::close({fd});")),
            [] as [serde_json::Value; 0]
        );
        let ran = session.run("println!(\"out\");\neprintln!(\"err\");");
        assert_eq!(ran, [out("out\n"), err("err\n")], "after close({fd})");
    }
    session.run("let stopping_out = streams::dup(1);\nstreams::dup2(2, 1);");
    // The streams are put back after each cell.
    assert_eq!(session.run("println!(\"out\");"), [out("out\n")]);
    session.run("streams::dup2(stopping_out, 1);\nstreams::close(stopping_out);");
    assert_eq!(session.run("println!(\"{stopping_d}\");"), [out("43\n")]);
}

/// A process that cannot report to the session any more ends, and the next one works.
#[test]
fn a_cell_that_closes_all_descriptors_ends() {
    let mut session = session();
    let code =
        "unsafe extern \"C\" { safe fn close(fd: i32) -> i32; }\nfor fd in 0..1024 { close(fd); }";
    let ran = session.run(code);
    assert_eq!(
        ran.last().expect("an error")["name"],
        "ProcessEnded",
        "{ran:?}"
    );
    assert_eq!(session.run("1 + 1"), [value("2")]);
}

#[test]
fn a_cell_that_removes_its_folder_ends() {
    let mut session = session();
    session.run(
        "let stopping_home = std::env::current_dir()?;\nlet gone = std::env::temp_dir().join(format!(\"gone-{}\", std::process::id()));\n\
         std::fs::create_dir(&gone)?;\nstd::env::set_current_dir(&gone)?;\nstd::fs::remove_dir(&gone)?;",
    );
    assert_eq!(session.run("1 + 1"), [value("2")]);
    session.run("std::env::set_current_dir(&stopping_home)?;");
}

/// A cell that no parser can read is refused at once, one with many variables runs, and its compilation can be interrupted.
#[test]
fn a_large_cell_runs_and_can_be_interrupted() {
    let mut session = session();
    session.run("let stopping_e = 44;");
    let many: String = (0..600).map(|n| format!("let many_{n} = {n};\n")).collect();
    assert_eq!(session.run(&format!("{many}many_599")), [value("599")]);
    let nested = format!("{}1{}", "(".repeat(20_000), ")".repeat(20_000));
    assert_eq!(session.run(&nested)[0]["name"], "CellTooLarge");
    // Seconds of type inference.
    let slow: String = (0..150)
        .map(|n| format!("let slow_{n} = (0..9).map(|i| (i, {n})).collect::<Vec<(i32, i32)>>();\n"))
        .collect();
    let after = Duration::from_millis(300);
    let began = Instant::now();
    let request = json!({ "code": slow, "interrupt_after": after.as_millis() as u64 });
    let ran = session.run_with(request, |_| {});
    let took = began.elapsed() - after;
    assert_eq!(ran, [error("Interrupted", KEPT, 0, &[])]);
    assert!(took < Duration::from_secs(5), "{took:?}");
    // The analysis itself cannot be stopped: the next cell waits for its end.
    let ran = session.run("stopping_e");
    assert_eq!(ran.last(), Some(&value("44")));
}
