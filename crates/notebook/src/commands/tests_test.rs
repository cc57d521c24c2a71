//! `taper test` as a process, with the fake language.

use crate::testing::{Done, Folder, code, notebook, stdout, tagged};
use serde_json::{Value, json};

fn good() -> Value {
    notebook(&[code("a", "print 1.5", json!([stdout("1.5000001\n")]))])
}

fn bad() -> Value {
    notebook(&[code("a", "print loss 0.7", json!([stdout("loss 0.5\n")]))])
}

/// Tests one notebook with these cells.
fn test(cells: &[Value]) -> Done {
    let folder = Folder::new();
    folder.write("x.ipynb", &notebook(cells));
    let before = folder.read("x.ipynb");
    let done = folder.taper(&["test", "x.ipynb"]);
    assert_eq!(folder.read("x.ipynb"), before, "a test writes nothing");
    done
}

fn last(done: &Done) -> &str {
    done.out.lines().last().unwrap_or_default()
}

/// A log may be of a program that ran on a GPU.
#[test]
fn what_is_other_on_a_gpu_is_compared_but_for_a_log() {
    let folder = Folder::new();
    let cells = [tagged("other-on-gpu", "print 2", json!([stdout("1\n")]))];
    folder.write("x.ipynb", &notebook(&cells));
    assert_eq!(folder.taper(&["test", "x.ipynb"]).code, Some(1));
    let log = folder.taper(&["test", "--from-log", "x.ipynb"]);
    assert_eq!(log.code, Some(0), "{log:?}");
}

#[test]
fn outputs_as_stored() {
    let shown = json!({"output_type": "display_data", "metadata": {},
                       "data": {"text/plain": "done", "image/svg+xml": ["<svg>\n", "1</svg>"]}});
    let done = test(&[
        code(
            "a",
            "write a\nprint b 1.0",
            json!([stdout("ab 1.000001\n")]),
        ),
        code(
            "b",
            "show #x text/plain 0%",
            json!([{"output_type": "display_data", "metadata": {},
             "data": {"text/plain": ["100%"]}}]),
        ),
        code("c", "update #x text/plain 100%", json!([])),
        code("d", "", json!([])),
        tagged(
            "nbval-ignore-output",
            "show image/svg+xml x",
            json!([shown]),
        ),
    ]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(
        done.out,
        "x.ipynb: passed, 3 cells compared, 0.0 s\n3 cells compared\n1 passed, 0 failed, 0 skipped\n"
    );
    assert_eq!(done.err, "");
}

#[test]
fn a_mismatch_shows_cell_output_and_both_values() {
    let cells = [
        code("one", "print 1", json!([stdout("1\n")])),
        code(
            "two",
            "print same\nvalue 2.5",
            json!([stdout("same\n"), {
            "output_type": "execute_result", "execution_count": 9, "metadata": {},
            "data": {"text/plain": "1.5"}}]),
        ),
    ];
    let done = test(&cells);
    assert_eq!(done.code, Some(1));
    let expected = "x.ipynb: cell [2] (id two), output 2: result, text/plain differs\n    --- stored\n    \
                    +++ now\n    @@ -1,1 +1,1 @@\n    -1.5\n    +2.5\nx.ipynb: failed, 2 cells compared, \
                    0.0 s\n2 cells compared\n0 passed, 1 failed, 0 skipped\n";
    assert_eq!(done.out, expected);
}

#[test]
fn a_missing_and_an_extra_output() {
    let done = test(&[
        code("a", "print 1", json!([])),
        code("b", "", json!([])),
        code("c", "clear", json!([stdout("gone\n")])),
    ]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.out
            .contains("cell [1] (id a), output 1: stdout is not in the file\n"),
        "{done:?}"
    );
    assert!(done.out.contains("    +1\n"));
    assert!(
        done.out
            .contains("cell [2] (id c), output 1: stdout is missing\n")
    );
    assert!(done.out.contains("    -gone\n"));
}

#[test]
fn an_error_ends_the_notebook_and_is_a_failure() {
    let stored =
        json!([{"output_type": "error", "ename": "Error", "evalue": "x", "traceback": []}]);
    let done = test(&[
        code("a", "fail@1 Error x", stored),
        code("b", "print never", json!([stdout("other")])),
    ]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.out
            .starts_with("x.ipynb: cell [1], line 1 (id a)\n    fail@1 Error x\nError: x\n")
    );
    assert!(done.out.contains("tag the cell `raises-exception`"));
    assert!(!done.out.contains("never"));
}

#[test]
fn expected_errors() {
    let error = |ename: &str, evalue: &str| json!([{"output_type": "error", "ename": ename, "evalue": evalue, "traceback": ["old"]}]);
    let done = test(&[
        tagged(
            "raises-exception",
            "fail Error no file",
            error("Error", "no file"),
        ),
        tagged(
            "nbval-raises-exception",
            "fail Panic 1.0",
            error("Panic", "1.000001"),
        ),
        code("c", "print on", json!([stdout("on\n")])),
    ]);
    assert_eq!(
        (done.code, last(&done)),
        (Some(0), "1 passed, 0 failed, 0 skipped"),
        "{done:?}"
    );

    let done = test(&[tagged(
        "raises-exception",
        "fail Error no file",
        error("Panic", "no file"),
    )]);
    assert!(done.out.contains("output 1: error differs"), "{done:?}");
    assert_eq!(done.code, Some(1));

    let done = test(&[tagged(
        "raises-exception",
        "print 1",
        json!([stdout("1\n")]),
    )]);
    assert!(
        done.out
            .contains("is tagged `raises-exception`, but did not fail"),
        "{done:?}"
    );
    assert_eq!(done.code, Some(1));
}

#[test]
fn tags_and_comments_that_leave_cells_out() {
    let wrong = json!([stdout("wrong")]);
    let mut of_old_rust = code("r", "print r", wrong.clone());
    of_old_rust["metadata"]["tags"] = json!(["rust-1.2"]);
    let done = test(&[
        of_old_rust,
        tagged("skip-execution", "fail Error a", wrong.clone()),
        tagged("nbval-skip", "fail Error b", wrong.clone()),
        tagged("nbval-ignore-output", "print c", wrong.clone()),
        code("d", "// NBVAL_IGNORE_OUTPUT\nprint d", wrong.clone()),
        code("e", "// NBVAL_SKIP\nfail Error e", wrong),
    ]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.out.starts_with("x.ipynb: passed, 0 cells compared"));
    let failing = test(&[tagged("nbval-ignore-output", "fail Error c", json!([]))]);
    assert_eq!(
        failing.code,
        Some(1),
        "an error is not ignored with the output"
    );
}

#[test]
fn tolerances_of_notebook_and_cell() {
    let folder = Folder::new();
    let cell = |id: &str| code(id, "print 1.05", json!([stdout("1.0\n")]));
    let mut value = notebook(&[cell("a"), cell("b")]);
    value["metadata"]["taper"] = json!({"rtol": 0.1});
    folder.write("wide.ipynb", &value);
    value["cells"][1]["metadata"]["taper"] = json!({"rtol": 0.01});
    folder.write("narrow.ipynb", &value);
    assert_eq!(folder.taper(&["test", "wide.ipynb"]).code, Some(0));
    let done = folder.taper(&["test", "narrow.ipynb"]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.out
            .starts_with("narrow.ipynb: cell [2] (id b), output 1"),
        "{done:?}"
    );
}

#[test]
fn an_output_in_the_file_that_is_not_valid() {
    let done = test(&[code("a", "print 1", json!([{"output_type": "hologram"}]))]);
    assert_eq!(done.code, Some(1));
    assert!(
        done.out
            .contains("cell [1] (id a): in the file, output 1 is not valid"),
        "{done:?}"
    );
}

#[test]
fn folders_and_counts() {
    let folder = Folder::new();
    folder.write("notebooks/a.ipynb", &good());
    folder.write("notebooks/deep/b.ipynb", &good());
    folder.write("notebooks/bad.ipynb", &bad());
    folder.write("notebooks/none.ipynb", &notebook(&[]));
    let mut python = good();
    python["metadata"]["kernelspec"] = json!({"name": "python3", "display_name": "Python 3"});
    folder.write("notebooks/python.ipynb", &python);
    folder.write("notebooks/.ipynb_checkpoints/a-checkpoint.ipynb", &bad());
    folder.write("notebooks/target/c.ipynb", &bad());
    for jobs in ["-j1", "-j4"] {
        let done = folder.taper(&["test", jobs]);
        assert_eq!(done.code, Some(1), "{done:?}");
        assert_eq!(last(&done), "2 passed, 1 failed, 2 skipped");
        assert!(done.out.contains("\n3 cells compared\n"));
        assert!(
            done.out
                .contains("notebooks/none.ipynb: skipped, no code cells\n")
        );
        assert!(
            done.out
                .contains("notebooks/python.ipynb: skipped, it is for the kernel `Python 3`")
        );
        assert!(
            done.out
                .contains("    -loss 0.5\n    +loss 0.7\nnotebooks/bad.ipynb: failed")
        );
    }
    let some = folder.taper(&["test", "notebooks/deep", "notebooks/a.ipynb"]);
    assert_eq!(
        (some.code, last(&some)),
        (Some(0), "2 passed, 0 failed, 0 skipped")
    );
    let named = folder.taper(&["test", "notebooks/python.ipynb"]);
    assert_eq!(
        (named.code, last(&named)),
        (Some(1), "0 passed, 1 failed, 0 skipped")
    );
    assert!(named.err.contains("not for Rust"));
}

#[test]
fn nothing_tested_is_a_failure() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("notebooks")).unwrap();
    let empty = folder.taper(&["test"]);
    assert_eq!(
        (empty.code, last(&empty)),
        (Some(1), "0 passed, 0 failed, 0 skipped")
    );
    assert_eq!(empty.err, "no notebook was run, so nothing was tested\n");
    folder.write("notebooks/x.ipynb", &notebook(&[code("a", " ", json!([]))]));
    let skipped = folder.taper(&["test"]);
    assert_eq!(
        (skipped.code, last(&skipped)),
        (Some(1), "0 passed, 0 failed, 1 skipped")
    );
    let missing = folder.taper(&["test", "nowhere"]);
    assert_eq!(
        (missing.code, last(&missing)),
        (Some(1), "0 passed, 1 failed, 0 skipped")
    );
}

#[test]
fn a_test_can_be_interrupted() {
    let folder = Folder::new();
    for name in ["x", "y"] {
        let sleep = code(
            "b",
            &format!("touch {name}\nsleep"),
            json!([stdout("never compared")]),
        );
        folder.write(
            &format!("{name}.ipynb"),
            &notebook(&[code("a", "", json!([])), sleep]),
        );
    }
    let one = folder.interrupted(&["test", "x.ipynb"], &["x"]);
    assert_eq!(one.code, Some(130), "{one:?}");
    assert!(!one.out.contains("never compared"));
    let two = folder.interrupted(&["test", "-j2", "x.ipynb", "y.ipynb"], &["x", "y"]);
    assert_eq!(
        (two.code, last(&two)),
        (Some(130), "0 passed, 0 failed, 0 skipped")
    );
}

#[test]
fn colours_where_they_are_wanted() {
    let folder = Folder::new();
    folder.write("x.ipynb", &bad());
    let mut command = folder.command(&["test", "x.ipynb"]);
    let done = Done::from(command.env("CLICOLOR_FORCE", "1").output().unwrap());
    assert!(done.out.contains("\x1b[31m-loss 0.5\x1b[0m"), "{done:?}");
    assert!(done.out.contains("\x1b[32m+loss 0.7\x1b[0m"));
    let done = Done::from(command.env("NO_COLOR", "1").output().unwrap());
    assert!(!done.out.contains('\x1b'));
}
