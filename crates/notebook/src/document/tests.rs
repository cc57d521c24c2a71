//! Reading and writing notebook files.

use super::layout::{layout, name_kernel};
use super::notebook::Notebook;
use super::write::Target;
use crate::testing::{Folder, code, load, notebook, stdout};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

/// Returns the error message for a file with this content.
fn refusal(content: impl AsRef<[u8]>) -> String {
    let folder = Folder::new();
    let path = folder.write_text("x.ipynb", content.as_ref());
    let message = Notebook::load(&path).unwrap_err().to_string();
    assert_eq!(
        fs::read(&path).unwrap(),
        content.as_ref(),
        "the file is as it was"
    );
    let message = message.replace(&path.display().to_string(), "x.ipynb");
    assert_eq!(
        message.lines().count(),
        2,
        "what is wrong, and what to do: {message}"
    );
    message
}

fn refused(notebook: &Value) -> String {
    refusal(notebook.to_string())
}

#[test]
fn unreadable_files() {
    let folder = Folder::new();
    let message = |name| Notebook::load(&folder.path(name)).unwrap_err().to_string();
    assert!(message("none.ipynb").contains("none.ipynb: there is no such file"));
    assert!(message("").contains("is a folder, not a notebook"));
    assert!(refusal(b"{\"a\": \"\xff\"}").contains("not text in UTF-8 (byte 7)"));
}

#[test]
fn files_that_are_not_json() {
    assert!(refusal("").contains("is not JSON: EOF while parsing a value at line 1 column 0"));
    let text = refusal("{\n \"cells\": [,]\n}");
    assert!(
        text.contains("x.ipynb: is not JSON: expected value at line 2 column 12"),
        "{text}"
    );
    let conflict = refusal("{\n<<<<<<< HEAD\n \"cells\": []\n=======\n}");
    assert!(conflict.contains("line 2 column 1") && conflict.contains("merge conflict"));
    for (text, advice) in [
        (" \n", "The file is empty"),
        ("\u{feff}{}", "without a byte order mark"),
        ("\n<!DOCTYPE html>", "Download the notebook itself"),
        (
            "version https://git-lfs.github.com/spec/v1\n",
            "git lfs pull",
        ),
    ] {
        assert!(refusal(text).contains(advice), "{text}: {}", refusal(text));
    }
}

#[test]
fn json_that_is_not_a_notebook() {
    assert!(refusal("[1]").contains("it has no `nbformat`"));
    assert!(refused(&json!({"nbformat": 4, "nbformat_minor": 5})).contains("it has no `cells`"));
    let version = |major, minor| {
        refused(&json!({"nbformat": major, "nbformat_minor": minor, "cells": [], "metadata": {}}))
    };
    assert!(version(3, 0).contains("format 3, from before Jupyter"));
    assert!(version(4, 6).contains("format 4.6; Taper reads up to 4.5"));
    assert!(version(5, 0).contains("format 5.0; Taper reads up to 4.5"));
    let without_source = json!({"cell_type": "markdown", "id": "a", "metadata": {}});
    let text = refused(&notebook(&[without_source]));
    assert!(
        text.contains("not a valid notebook") && text.contains("`source`"),
        "{text}"
    );
    let twice = [code("a", "", json!([])), code("a", "", json!([]))];
    assert!(refused(&notebook(&twice)).contains("Duplicate Cell ID found: a"));
    assert!(refused(&notebook(&[json!(3)])).contains("not a valid notebook"));
}

#[test]
fn kernels() {
    let with = |metadata: Value| {
        let mut value = notebook(&[]);
        value["metadata"] = metadata;
        value
    };
    let spec = |name: &str, language: Option<&str>| {
        let mut spec = json!({"name": name, "display_name": "The Kernel"});
        spec["language"] = language.map_or(Value::Null, Value::from);
        with(json!({"kernelspec": spec}))
    };
    let folder = Folder::new();
    load(&folder, &with(json!({})));
    load(&folder, &spec("rust", Some("Rust")));
    load(&folder, &spec("evcxr_jupyter", None));
    load(&folder, &with(json!({"language_info": {"name": "Rust"}})));
    let python = refused(&spec("python3", Some("python")));
    assert!(
        python.contains("for the kernel `The Kernel` (python), not for Rust"),
        "{python}"
    );
    assert!(refused(&spec("python3", None)).contains("not for Rust"));
    let info = refused(&with(json!({"language_info": {"name": "julia"}})));
    assert!(info.contains("`unknown` (julia)"), "{info}");
}

#[test]
fn tolerances() {
    let mut value = notebook(&[code("a", "", json!([])), code("b", "", json!([]))]);
    value["metadata"]["taper"] = json!({"rtol": 0.01});
    value["cells"][1]["metadata"]["taper"] = json!({"atol": 0.5});
    let read = load(&Folder::new(), &value);
    let both = |index: usize| {
        (
            read.cells[index].tolerance.rtol,
            read.cells[index].tolerance.atol,
        )
    };
    assert_eq!(both(0), (0.01, 1e-8));
    assert_eq!(both(1), (0.01, 0.5));
    value["cells"][1]["metadata"]["taper"] = json!({"atol": "much"});
    assert!(refused(&value).contains("`taper` cannot be read: `atol` is \"much\""));
}

#[test]
fn old_formats_are_upgraded_with_ids_that_stay() {
    let cell = |kind: &str, source: Value| {
        let mut cell = json!({"cell_type": kind, "metadata": {}, "source": source});
        if kind == "code" {
            cell["outputs"] = json!([]);
            cell["execution_count"] = Value::Null;
        }
        cell
    };
    let cells = [
        cell("markdown", json!("# A")),
        cell("code", json!(["print 1\n", "print 2"])),
    ];
    let mut value = notebook(&cells);
    for minor in 0..=4 {
        value["nbformat_minor"] = json!(minor);
        let read = load(&Folder::new(), &value);
        assert_eq!(read.cells[0].id, "cell-2");
        assert_eq!(read.cells[0].source, "print 1\nprint 2");
        assert_eq!(read.document["nbformat_minor"], 5);
        let said = read.upgraded.unwrap();
        assert_eq!(
            said,
            format!("format 4.{minor} became 4.5, 2 cells got an id")
        );
    }
    value["nbformat_minor"] = json!(5);
    value["cells"][0]["id"] = json!("cell-2");
    let read = load(&Folder::new(), &value);
    assert_eq!(read.upgraded.unwrap(), "1 cell got an id");
    assert_eq!(
        read.cells[0].id, "cell-2x",
        "an existing id is not used twice"
    );
}

#[test]
fn stored_outputs_that_jupyter_tools_leave() {
    let result = json!({"output_type": "execute_result", "execution_count": null,
                        "data": {"text/plain": ["1\n", "2"]}});
    let unknown = json!({"output_type": "hologram"});
    let cells = [
        code("a", "1", json!([result])),
        code("b", "2", json!([unknown])),
    ];
    let read = load(&Folder::new(), &notebook(&cells));
    assert_eq!(read.cells[0].stored.as_ref().unwrap().len(), 1);
    assert!(
        read.cells[1]
            .stored
            .as_ref()
            .unwrap_err()
            .to_string()
            .starts_with("output 1 is not valid")
    );
}

/// Written by Python: `nbformat.write(nbformat.read(f, 4), g)`, nbformat 5.11.1.
const PYTHON: &str = include_str!("fixtures/python.ipynb");

#[test]
fn the_layout_is_that_of_python() {
    let folder = Folder::new();
    let path = folder.write_text("x.ipynb", include_str!("fixtures/odd.ipynb"));
    assert_eq!(layout(&Notebook::load(&path).unwrap()), PYTHON);
    let path = folder.write_text("x.ipynb", PYTHON);
    assert_eq!(layout(&Notebook::load(&path).unwrap()), PYTHON);
}

/// For a notebook of which `nbformat`'s own writer loses nothing, both writers agree.
#[test]
fn the_layout_is_that_of_nbformat() {
    let mut cell = code("a", "", json!([stdout("a\nb\n")]));
    cell["source"] = json!(["let x = 1;\n", "x"]);
    let cells = [cell];
    let read = load(&Folder::new(), &notebook(&cells));
    let theirs = nbformat::parse_notebook(&read.document.to_string()).unwrap();
    assert_eq!(
        layout(&read),
        nbformat::serialize_notebook(&theirs).unwrap()
    );
}

#[test]
fn kernel_metadata() {
    let mut document = json!({"metadata": {}});
    name_kernel(&mut document);
    assert_eq!(
        document["metadata"]["kernelspec"]["display_name"],
        "Rust (Taper)"
    );
    assert_eq!(document["metadata"]["language_info"]["name"], "rust");
    document["metadata"]["kernelspec"] = json!({"name": "rust", "display_name": "Rust"});
    name_kernel(&mut document);
    assert_eq!(
        document["metadata"]["kernelspec"]["name"], "rust",
        "a choice is kept"
    );
}

#[test]
fn writing_keeps_permissions_and_links() {
    let folder = Folder::new();
    let path = folder.write_text("x.ipynb", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, folder.path("link.ipynb")).unwrap();
    Target::new(&folder.path("link.ipynb"))
        .unwrap()
        .write("new")
        .unwrap();
    assert_eq!(folder.read("x.ipynb"), "new");
    assert!(folder.path("link.ipynb").is_symlink());
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o640
    );

    Target::new(&folder.path("fresh.ipynb"))
        .unwrap()
        .write("x")
        .unwrap();
    let any = folder.write_text("any", "");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(
        mode(folder.path("fresh.ipynb")),
        mode(any),
        "as any new file"
    );
    assert_eq!(
        folder.list(),
        ["any", "fresh.ipynb", "link.ipynb", "x.ipynb"]
    );
}

#[test]
fn a_write_that_fails_leaves_the_old_file() {
    let folder = Folder::new();
    let path = folder.write_text("sub/x.ipynb", "old");
    let target = Target::new(&path).unwrap();
    // A folder has taken the place of the file, so the rename fails after everything was written.
    fs::rename(folder.path("sub/x.ipynb"), folder.path("sub/kept")).unwrap();
    folder.write_text("sub/x.ipynb/full", "");
    assert!(target.write("new").is_err());
    assert_eq!(folder.read("sub/kept"), "old");
    let left: Vec<_> = fs::read_dir(folder.path("sub")).unwrap().collect();
    assert_eq!(left.len(), 2, "no temporary file stays behind");
    assert!(
        Target::new(&folder.path("sub/x.ipynb")).is_err(),
        "a folder is not a target"
    );
    assert!(Target::new(&folder.path("nowhere/x.ipynb")).is_err());
}

#[test]
fn the_same_content_is_not_written_again() {
    let folder = Folder::new();
    let path = folder.write_text("x.ipynb", "same");
    let before = fs::metadata(&path).unwrap().modified().unwrap();
    let target = Target::new(&path).unwrap();
    target.write("same").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), before);
    assert!(!target.has_changed_since(b"same"));
    assert!(target.has_changed_since(b"other"));
}

#[test]
fn pipes_and_devices_are_refused_before_they_are_opened() {
    let folder = Folder::new();
    let pipe = folder.path("pipe.ipynb");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for path in [pipe.as_path(), std::path::Path::new("/dev/full")] {
        let message = Notebook::load(path).unwrap_err().to_string();
        assert!(message.contains("is a pipe or a device"), "{message}");
        let message = Target::new(path).unwrap_err().to_string();
        assert!(message.contains("it is a pipe or a device"), "{message}");
    }
}

#[test]
fn a_read_only_file_is_not_replaced() {
    let folder = Folder::new();
    let path = folder.write_text("x.ipynb", "old");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let error = Target::new(&path).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("read-only"), "{error}");
}

#[test]
fn large_integers_are_written_as_they_were() {
    let folder = Folder::new();
    let mut value = notebook(&[code("a", "1", json!([]))]);
    value["metadata"]["large"] = json!("LARGE");
    let text = value
        .to_string()
        .replace("\"LARGE\"", "12345678901234567890123");
    let path = folder.write_text("x.ipynb", text);
    let written = layout(&Notebook::load(&path).unwrap());
    assert!(
        written.contains("\"large\": 12345678901234567890123"),
        "{written}"
    );
}
