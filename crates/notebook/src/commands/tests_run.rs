//! `taper run` as a process, with the fake language.

use crate::testing::{Done, Folder, code, notebook, stdout, tagged};
use serde_json::{Value, json};

fn good() -> Value {
    notebook(&[
        code("a", "print 1", json!([])),
        code("b", "value 2", json!([stdout("old")])),
    ])
}

fn bad() -> Value {
    let source = "print 1\nlet y = x;\nfail@2:9 CompileError cannot find `x`";
    notebook(&[
        code("ok", "print fine", json!([])),
        code("broken", source, json!([])),
        code("after", "touch reached", json!([])),
    ])
}

#[test]
fn without_an_option_nothing_is_written() {
    let folder = Folder::new();
    folder.write("x.ipynb", &good());
    let before = folder.read("x.ipynb");
    let done = folder.taper(&["run", "x.ipynb"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(done.out, "x.ipynb: 2 cells, 0 errors, 0.0 s\n");
    assert_eq!(done.err, "");
    assert_eq!(folder.read("x.ipynb"), before);
}

#[test]
fn inplace_and_output() {
    let folder = Folder::new();
    folder.write("sub/x.ipynb", &good());
    let before = folder.read("sub/x.ipynb");
    let done = folder.taper(&["run", "sub/x.ipynb", "--output", "out.ipynb"]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    assert_eq!(folder.read("sub/x.ipynb"), before);
    assert_eq!(
        folder.taper(&["run", "--inplace", "sub/x.ipynb"]).code,
        Some(0)
    );
    assert_eq!(folder.read("sub/x.ipynb"), folder.read("out.ipynb"));
    let written = folder.read_json("out.ipynb");
    assert_eq!(written["cells"][0]["outputs"][0]["text"], json!(["1\n"]));
    assert_eq!(written["cells"][1]["outputs"].as_array().unwrap().len(), 1);
    assert_eq!(folder.list(), ["out.ipynb", "sub"], "no temporary files");
}

#[test]
fn another_machines_outputs_are_written_beside_the_notebook() {
    let folder = Folder::new();
    folder.write("x.ipynb", &good());
    let before = folder.read("x.ipynb");
    let done = folder.taper(&["run", "x.ipynb", "--machine", "NVIDIA H200"]);
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    assert_eq!(folder.read("x.ipynb"), before);
    let beside = folder.read_json("x.gpu.json");
    assert_eq!(beside["machine"], "NVIDIA H200");
    assert_eq!(beside["cells"]["a"]["outputs"][0]["text"], json!(["1\n"]));
    assert_eq!(
        beside["cells"]["b"]["outputs"][0]["output_type"],
        "execute_result"
    );
    assert_eq!(folder.list(), ["x.gpu.json", "x.ipynb"]);
}

#[test]
fn what_a_chapter_says_of_another_machine_is_compared_with_its_outputs() {
    let folder = Folder::new();
    let claim = |claims: Value| {
        let mut cell = code("a", "print of 1: 97.5 %.", json!([]));
        cell["metadata"]["taper"] = json!({"on_gpu": claims});
        folder.write("x.ipynb", &notebook(&[cell]));
        folder.taper(&["run", "x.ipynb", "--machine", "NVIDIA H200"])
    };
    let done = claim(json!(["97.5 %", {"number": 2, "above": 97, "below": 98}]));
    assert_eq!((done.code, done.err.as_str()), (Some(0), ""));
    for wrong in [
        json!("half"),
        json!({"number": 2, "below": 50}),
        json!({"number": 3, "above": 0}),
        json!({"number": 2}),
        json!(7),
    ] {
        let done = claim(json!(["97.5 %", wrong]));
        assert_eq!(done.code, Some(1), "{wrong}");
        let refuted =
            format!("refuted: a: expected {wrong} on NVIDIA H200, found\nof 1: 97.5 %.\n");
        assert!(done.err.contains(&refuted), "{}", done.err);
    }
}

#[test]
fn the_current_directory_is_the_notebooks_folder() {
    let folder = Folder::new();
    for name in ["a/x.ipynb", "b/x.ipynb"] {
        folder.write(name, &notebook(&[code("a", "cwd", json!([]))]));
    }
    let cwd = |name: &str| {
        let text = &folder.read_json(name)["cells"][0]["outputs"][0]["text"][0];
        std::path::PathBuf::from(text.as_str().unwrap())
    };
    let real = |name| folder.path(name).canonicalize().unwrap();
    assert_eq!(
        folder.taper(&["run", "--inplace", "a/x.ipynb"]).code,
        Some(0)
    );
    assert_eq!(cwd("a/x.ipynb"), real("a"));
    assert_eq!(
        folder
            .taper(&["run", "--inplace", "a/x.ipynb", "b/x.ipynb"])
            .code,
        Some(0)
    );
    assert_eq!((cwd("a/x.ipynb"), cwd("b/x.ipynb")), (real("a"), real("b")));
}

#[test]
fn a_failing_cell_is_shown_and_nothing_is_written() {
    let folder = Folder::new();
    folder.write("x.ipynb", &bad());
    let before = folder.read("x.ipynb");
    for arguments in [
        &["run", "x.ipynb", "--inplace"][..],
        &["run", "x.ipynb", "--output", "y.ipynb"],
        &["run", "x.ipynb"],
    ] {
        let done = folder.taper(arguments);
        assert_eq!(done.code, Some(1));
        let expected = "x.ipynb: cell [2], line 2 (id broken)\n    let y = x;\n            ^\n\
                        CompileError: cannot find `x`\n";
        assert!(done.err.starts_with(expected), "{}", done.err);
        assert_eq!(
            done.err.contains("nothing was written"),
            arguments.len() > 2
        );
        assert_eq!(done.out, "x.ipynb: 2 cells, 1 error, 0.0 s\n");
        assert_eq!(folder.read("x.ipynb"), before);
        assert_eq!(folder.list(), ["x.ipynb"], "the cell after it has not run");
    }
}

#[test]
fn allowed_errors_are_outputs() {
    let folder = Folder::new();
    folder.write("x.ipynb", &bad());
    let done = folder.taper(&["run", "--inplace", "--allow-errors", "x.ipynb"]);
    assert_eq!(done.code, Some(0));
    assert!(
        done.err.contains("cell [2], line 2"),
        "errors are reported nevertheless"
    );
    assert_eq!(done.out, "x.ipynb: 3 cells, 1 error, 0.0 s\n");
    assert_eq!(
        folder.read_json("x.ipynb")["cells"][1]["outputs"][1]["ename"],
        "CompileError"
    );
    assert!(folder.path("reached").exists());
}

#[test]
fn an_expected_error_is_not_counted() {
    let folder = Folder::new();
    let cells = [
        tagged("raises-exception", "fail Error x", json!([])),
        code("b", "print 1", json!([])),
    ];
    folder.write("x.ipynb", &notebook(&cells));
    let done = folder.taper(&["run", "x.ipynb"]);
    assert_eq!(
        (done.code, done.out.as_str()),
        (Some(0), "x.ipynb: 2 cells, 0 errors, 0.0 s\n")
    );
}

#[test]
fn broken_notebooks() {
    let folder = Folder::new();
    folder.write_text("json.ipynb", "{\n oops");
    let mut python = good();
    python["metadata"]["kernelspec"] = json!({"name": "python3", "language": "python"});
    folder.write("python.ipynb", &python);
    for (name, text) in [
        (
            "json.ipynb",
            "json.ipynb: is not JSON: key must be a string at line 2 column 2\n",
        ),
        (
            "python.ipynb",
            "python.ipynb: is for the kernel `python3` (python), not for Rust\n",
        ),
        ("none.ipynb", "none.ipynb: there is no such file\n"),
        (".", ".: is a folder, not a notebook\n"),
    ] {
        let before = std::fs::read(folder.path(name)).ok();
        let done = folder.taper(&["run", "--inplace", name]);
        assert_eq!(done.code, Some(1));
        assert!(done.err.starts_with(text), "{}", done.err);
        assert_eq!(std::fs::read(folder.path(name)).ok(), before);
    }
}

#[test]
fn old_formats_are_upgraded_when_written() {
    let folder = Folder::new();
    let mut old = good();
    old["nbformat_minor"] = json!(2);
    for cell in old["cells"].as_array_mut().unwrap() {
        cell.as_object_mut().unwrap().remove("id");
    }
    folder.write("x.ipynb", &old);
    assert_eq!(folder.taper(&["run", "x.ipynb"]).err, "");
    let done = folder.taper(&["run", "--inplace", "x.ipynb"]);
    let said =
        "x.ipynb: written in the notebook format 4.5 (format 4.2 became 4.5, 2 cells got an id)\n";
    assert_eq!((done.code, done.err.as_str()), (Some(0), said));
    let written = folder.read_json("x.ipynb");
    assert_eq!(written["nbformat_minor"], 5);
    assert_eq!(written["cells"][1]["id"], "cell-2");
    assert_eq!(
        folder.taper(&["run", "--inplace", "x.ipynb"]).err,
        "",
        "once"
    );
}

#[test]
fn a_notebook_without_code() {
    let folder = Folder::new();
    folder.write("x.ipynb", &notebook(&[]));
    let before = folder.read("x.ipynb");
    let mut command = folder.command(&["run", "--inplace", "x.ipynb"]);
    let output = command.env("TAPER_TEST_NO_KERNEL", "1").output().unwrap();
    assert!(output.status.success(), "no kernel is needed");
    let out = String::from_utf8(output.stdout).unwrap();
    assert!(
        out.ends_with("x.ipynb: no code cells, nothing to run\n"),
        "{out}"
    );
    assert_eq!(folder.read("x.ipynb"), before);
}

#[test]
fn a_kernel_that_does_not_start() {
    let folder = Folder::new();
    folder.write("x.ipynb", &good());
    let mut command = folder.command(&["run", "--inplace", "x.ipynb"]);
    let output = command.env("TAPER_TEST_NO_KERNEL", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        text,
        "x.ipynb: the kernel does not start: no toolchain here\n"
    );
}

#[test]
fn several_notebooks_in_several_processes() {
    let folder = Folder::new();
    for name in ["a.ipynb", "b.ipynb"] {
        folder.write(name, &good());
    }
    folder.write("bad.ipynb", &bad());
    folder.write("dead.ipynb", &notebook(&[code("a", "die", json!([]))]));
    for jobs in ["1", "3"] {
        let names = ["bad.ipynb", "a.ipynb", "dead.ipynb", "b.ipynb"];
        let done = folder.taper(&[&["run", "--inplace", "-j", jobs][..], &names].concat());
        assert_eq!(done.code, Some(1), "{done:?}");
        for name in ["a.ipynb", "b.ipynb"] {
            assert!(
                done.out
                    .contains(&format!("{name}: 2 cells, 0 errors, 0.0 s\n")),
                "{done:?}"
            );
            assert_eq!(
                folder.read_json(name)["cells"][0]["outputs"][0]["text"],
                json!(["1\n"])
            );
        }
        assert!(
            done.err
                .contains("bad.ipynb: cell [2], line 2 (id broken)\n    let y = x;\n")
        );
        assert!(
            done.err
                .contains("dead.ipynb: its process ended: signal: 6"),
            "{}",
            done.err
        );
        assert!(!folder.path("reached").exists());
    }
    let all = folder.taper(&["run", "a.ipynb", "b.ipynb"]);
    assert_eq!(all.code, Some(0));
    let refused = folder.taper(&["run", "a.ipynb", "b.ipynb", "--output", "c.ipynb"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .err
            .contains("--output takes the outputs of one notebook")
    );
}

#[test]
fn every_notebook_whose_process_does_not_start_is_reported() {
    let folder = Folder::new();
    let names = ["a.ipynb", "b.ipynb", "c.ipynb"];
    for name in names {
        folder.write(name, &good());
    }
    let done = |arguments: &[&str]| {
        let mut command = folder.command(&[arguments, &names].concat());
        // Workers write into temporary files.
        command.env("TMPDIR", folder.path("none"));
        Done::from(command.output().unwrap())
    };
    let run = done(&["run", "-j1"]);
    assert_eq!(run.code, Some(1), "{run:?}");
    for name in names {
        let expected = format!("{name}: its process cannot be run: ");
        assert!(run.err.contains(&expected), "{name}: {run:?}");
    }
    let test = done(&["test"]);
    assert_eq!(test.code, Some(1), "{test:?}");
    let total = "0 passed, 3 failed, 0 skipped\n";
    assert!(test.out.ends_with(total), "{test:?}");
}

#[test]
fn ctrl_c_ends_with_130_and_leaves_the_file() {
    let folder = Folder::new();
    let cells = |mark: &str| {
        let source = format!("touch {mark}\nsleep");
        notebook(&[
            code("a", &source, json!([])),
            code("b", "touch reached", json!([])),
        ])
    };
    folder.write("x.ipynb", &cells("x"));
    folder.write("y.ipynb", &cells("y"));
    folder.write("z.ipynb", &cells("z"));
    let before = folder.read("x.ipynb");
    let one = folder.interrupted(&["run", "--inplace", "--allow-errors", "x.ipynb"], &["x"]);
    assert_eq!(one.code, Some(130), "{one:?}");
    assert!(
        one.err
            .contains("x.ipynb: interrupted\nx.ipynb: nothing was written\n"),
        "{one:?}"
    );
    assert_eq!(folder.read("x.ipynb"), before);

    let arguments = ["run", "--inplace", "-j2", "x.ipynb", "y.ipynb", "z.ipynb"];
    let two = folder.interrupted(&arguments, &["x", "y"]);
    assert_eq!(two.code, Some(130), "{two:?}");
    assert!(two.err.contains("x.ipynb: interrupted") && two.err.contains("y.ipynb: interrupted"));
    assert_eq!(folder.read("x.ipynb"), before);
    assert!(!folder.path("z").exists(), "the third does not begin");
    assert!(!folder.path("reached").exists());
}

#[test]
fn ctrl_c_while_the_kernel_starts() {
    let folder = Folder::new();
    folder.write("x.ipynb", &good());
    folder.write("y.ipynb", &good());
    for arguments in [&["run", "x.ipynb"][..], &["run", "x.ipynb", "y.ipynb"]] {
        let mut command = folder.command(arguments);
        command.env("TAPER_TEST_SLOW_START", folder.path("starting"));
        let done = folder.interrupt(command, &["starting"]);
        assert_eq!(done.code, Some(130), "{done:?}");
        assert!(!done.err.contains("ended"), "{done:?}");
    }
}

#[test]
fn a_notebook_saved_meanwhile_is_not_overwritten() {
    let folder = Folder::new();
    folder.write(
        "x.ipynb",
        &notebook(&[code("a", "append x.ipynb", json!([]))]),
    );
    let before = folder.read("x.ipynb");
    let done = folder.taper(&["run", "--inplace", "x.ipynb"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.err
            .contains("was changed by another program while it ran"),
        "{}",
        done.err
    );
    assert_eq!(folder.read("x.ipynb"), before + "\n");
}
