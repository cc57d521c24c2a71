//! Files `.rs` in the percent format, with the fake language.

use super::convert::{read_script, write_script};
use crate::testing::{Folder, code, notebook, stdout};
use serde_json::json;

const SCRIPT: &str = "\
// %% [markdown]
// # A title

// %% tags=[\"raises-exception\"]
fail Error meant

// %%
print one

// %%
print two
fail@2:6 Error wrong
";

#[test]
fn a_script_runs_and_an_error_names_the_line_of_the_file() {
    let folder = Folder::new();
    folder.write_text("a.rs", SCRIPT);
    let done = folder.taper(&["run", "a.rs"]);
    assert_eq!(done.code, Some(1), "{done:?}");
    assert!(
        done.err
            .starts_with("a.rs:12: cell [3], line 2 (id cell-4)\n    fail@2:6 Error wrong\n"),
        "{done:?}"
    );
    assert!(done.out.starts_with("a.rs: 3 cells, 1 error,"), "{done:?}");
    assert_eq!(folder.read("a.rs"), SCRIPT);
}

#[test]
fn a_test_of_a_script_compares_no_outputs() {
    let folder = Folder::new();
    folder.write_text("a.rs", SCRIPT);
    let done = folder.taper(&["test", "a.rs"]);
    assert!(
        done.out.contains("a.rs:12: cell [3], line 2") && done.out.contains("0 passed, 1 failed"),
        "{done:?}"
    );
    folder.write_text("a.rs", SCRIPT.replace("fail@2:6 Error wrong\n", ""));
    let done = folder.taper(&["test", "a.rs"]);
    assert!(done.out.starts_with("a.rs: passed, 3 cells, "), "{done:?}");
    assert!(
        done.out
            .contains("keeps no outputs to compare with\n0 cells compared\n1 passed"),
        "{done:?}"
    );
    // As a program may have many of them, those in a folder are not meant.
    assert!(
        folder
            .taper(&["test", "."])
            .out
            .contains("0 passed, 0 failed")
    );
}

#[test]
fn the_outputs_of_a_script_are_written_into_a_notebook_only() {
    let folder = Folder::new();
    folder.write_text("a.rs", "// %%\nprint one\n");
    for (arguments, says) in [
        (
            &["run", "a.rs", "--inplace"][..],
            "Write a notebook with --output a.ipynb",
        ),
        (
            &["run", "a.rs", "--machine", "x"],
            "Write a notebook with --output a.ipynb",
        ),
        (
            &["run", "a.rs", "--output", "b.rs"],
            "Name a file that ends in `.ipynb`",
        ),
    ] {
        let done = folder.taper(arguments);
        assert!(done.code == Some(1) && done.err.contains(says), "{done:?}");
        assert_eq!(folder.list(), ["a.rs"]);
    }
    assert_eq!(
        folder.taper(&["run", "a.rs", "--output", "a.ipynb"]).code,
        Some(0)
    );
    let written = folder.read_json("a.ipynb");
    assert_eq!(written["cells"][0]["outputs"][0]["text"], json!(["one\n"]));
    assert_eq!(written["metadata"]["kernelspec"]["name"], "taper");
}

#[test]
fn an_import_keeps_the_outputs_of_cells_that_are_the_same() {
    let folder = Folder::new();
    let mut seen = code("first", "print 1", json!([stdout("1\n")]));
    seen["metadata"] = json!({"scrolled": true, "tags": ["a"]});
    let cells = [
        seen,
        code("second", "print 2", json!([stdout("2\n")])),
        code("third", "print 3", json!([stdout("3\n")])),
    ];
    let old = folder.write("a.ipynb", &notebook(&cells));
    let script = folder.path("a.rs");
    assert_eq!(
        write_script(&old, &script).expect("it is written"),
        [] as [&str; 0]
    );

    let text = folder
        .read("a.rs")
        .replace("print 2", "print two")
        .replace("// %% id=\"third\"", "// %%");
    folder.write_text("a.rs", format!("{text}\n// %%\nprint 3\n"));
    let message = read_script(&script, &old, false)
        .expect_err("it exists")
        .to_string();
    assert!(message.contains("exists\nWith --update"), "{message}");
    read_script(&script, &old, true).expect("it is updated");
    let cells = folder.read_json("a.ipynb")["cells"].clone();
    let cells: Vec<_> = cells
        .as_array()
        .expect("cells")
        .iter()
        .map(|cell| (cell["id"].clone(), cell["outputs"].as_array().map(Vec::len)))
        .collect();
    assert_eq!(
        cells,
        [
            (json!("first"), Some(1)),
            (json!("second"), Some(0)),
            (json!("third"), Some(1)),
            (json!("cell-4"), Some(0))
        ]
    );
    assert_eq!(
        folder.read_json("a.ipynb")["cells"][0]["metadata"],
        json!({"scrolled": true, "tags": ["a"]})
    );
}

#[test]
fn a_program_is_no_notebook() {
    let folder = Folder::new();
    folder.write("a.ipynb", &notebook(&[code("a", "print 1", json!([]))]));
    let program = folder.write_text("main.rs", "fn main() {}\n");
    let done = folder.taper(&["run", "main.rs"]);
    assert!(
        done.err
            .starts_with("main.rs: has no cells: a comment `// %%` begins each cell"),
        "{done:?}"
    );
    let message = write_script(&folder.path("a.ipynb"), &program)
        .expect_err("it exists")
        .to_string();
    assert!(
        message.ends_with("main.rs exists\nIt has no cells. Name another file"),
        "{message}"
    );
    assert_eq!(folder.read("main.rs"), "fn main() {}\n");
}

#[test]
fn attached_images_are_named() {
    let folder = Folder::new();
    let attached = json!({"a.png": {"image/png": "aaaa"}});
    let cell = json!({"cell_type": "markdown", "id": "x", "metadata": {}, "source": "![](attachment:a.png)", "attachments": attached});
    let old = folder.write("a.ipynb", &notebook(&[cell]));
    let script = folder.path("a.rs");
    assert_eq!(
        write_script(&old, &script).expect("it is written"),
        ["cell x: its attached images are left out"]
    );
    read_script(&script, &old, true).expect("it is updated");
    assert_eq!(
        folder.read_json("a.ipynb")["cells"][0]["attachments"],
        attached
    );
}
