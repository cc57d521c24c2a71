use super::*;
use crate::document::notebook::Notebook;

/// Returns a document of cells, each a type, metadata and a source.
fn document(cells: &[(&str, Value, &str)]) -> Value {
    let cells = cells.iter().enumerate().map(|(position, (kind, metadata, source))| {
        let mut cell = json!({
            "cell_type": kind, "id": format!("c{position}"), "metadata": metadata, "source": source,
        });
        if *kind == "code" {
            cell["execution_count"] = Value::Null;
            cell["outputs"] = json!([]);
        }
        cell
    });
    json!({"cells": cells.collect::<Vec<_>>(), "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
}

/// Returns the text below the header.
fn body(document: &Value) -> String {
    let text = write(document);
    let (_, body) = text.split_once("// ---\n\n").expect("a header");
    body.to_owned()
}

/// Returns what a script must keep: all but the outputs and what changes when a notebook is viewed.
fn kept(document: &Value) -> Value {
    let mut document = document.clone();
    if let Some(metadata) = document["metadata"].as_object_mut() {
        metadata.remove("language_info");
    }
    for cell in document["cells"].as_array_mut().into_iter().flatten() {
        cell["source"] = joined(&cell["source"]).into();
        if cell["cell_type"] == "code" {
            cell["outputs"] = json!([]);
            cell["execution_count"] = Value::Null;
        }
        if let Some(metadata) = cell["metadata"].as_object_mut() {
            metadata.retain(|key, _| !is_left_out(key));
        }
    }
    document
}

#[track_caller]
fn round_trip(document: &Value) {
    let text = write(document);
    let read = read(&text).expect("a script").document;
    assert_eq!(kept(&read), kept(document), "{text}");
    assert_eq!(write(&read), text);
}

fn read_body(body: &str) -> Vec<(String, Value, String)> {
    let script = read(body).expect("a script");
    let cells = script.document["cells"].as_array().expect("cells").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    cells
        .map(|cell| {
            (
                text(&cell["cell_type"]),
                cell["metadata"].clone(),
                text(&cell["source"]),
            )
        })
        .collect()
}

#[test]
fn cells_are_written_as_jupytext_writes_them() {
    let document = document(&[
        ("markdown", json!({}), "# Title\n\ntext"),
        (
            "code",
            json!({"tags": ["parameters", "é"]}),
            ":dep rand = \"0.9\"\nlet x = 1;",
        ),
        (
            "code",
            json!({"title": "A title", "taper": {"rtol": 1e-3}}),
            "%%bash -e\nls\n\n# comment",
        ),
        ("code", json!({}), "!ls\n// :dep old = \"1\"\n%time x"),
        ("raw", json!({"format": "text/latex"}), "\\LaTeX"),
        ("code", json!({}), ""),
    ]);
    let expected = r#"// %% [markdown] id="c0"
// # Title
//
// text

// %% id="c1" tags=["parameters", "\u00e9"]
// :dep rand = "0.9"
let x = 1;

// %% A title id="c2" taper={"rtol": 0.001} magic_args="-e" language="bash"
// ls
//
// # comment

// %% id="c3"
!ls
// // :dep old = "1"
%time x

// %% [raw] id="c4" format="text/latex"
// \LaTeX

// %% id="c5"
"#;
    assert_eq!(body(&document), expected);
    round_trip(&document);
}

#[test]
fn sources_come_back_whatever_they_are() {
    let sources = [
        "",
        "\n",
        "\n\n",
        "x\n",
        "x\n\n",
        "\n\nx\n\n\n",
        "  indented",
        "\t",
        "   ",
        "a\r\nb",
        "// %%",
        "// %% x\n// %%",
        "//%%",
        "  // %% x",
        "// // %% x",
        "// %%%% x",
        "%% x",
        "%%",
        "// %%bash\nx",
        "%%bash",
        "%%bash\n",
        "%%bash -x\n// %% y\nls\n",
        "%%bash \nls",
        "%%sh\nls",
        "%%writefile a\n// %% b",
        "// ---\n// jupyter:\n// ---",
        ":dep a",
        "//:dep a",
        "// :dep a",
        "// // :dep a",
        " :dep a",
        "::a();",
        "let s = \"\n// %% [markdown]\n:dep x\n\";",
        "/*\n// %%\n*/",
        "//",
        "// ",
        "//  x",
        "///",
        "//!x",
        "é\u{2028}x\u{b}y",
        "---\ntitle: x\n---",
    ];
    for kind in ["code", "markdown", "raw"] {
        for source in sources {
            round_trip(&document(&[(kind, json!({}), source)]));
            round_trip(&document(&[
                ("code", json!({}), "1"),
                (kind, json!({}), source),
                ("markdown", json!({}), "x"),
            ]));
        }
    }
}

#[test]
fn metadata_and_ids_come_back() {
    for metadata in [
        json!({"tags": ["a b", "\"", "]"]}),
        json!({"title": "Step 1: load"}),
        json!({"title": "a = b"}),
        json!({"title": "[raw]"}),
        json!({"title": 3}),
        json!({"title": ""}),
        json!({"cell_depth": 2, "title": "x"}),
        json!({"a b": 1, "c": {"d": [null, 1.5, "x=1 y={"]}}),
        json!({"nbgrader": {"grade": true, "points": 1e-7, "grade_id": "a"}, "editable": false}),
        json!({"nothing": null, "vscode": {"languageId": "rust"}}),
    ] {
        round_trip(&document(&[
            ("code", metadata.clone(), "1"),
            ("markdown", metadata, "2"),
        ]));
    }
    let mut numbered = document(&[
        ("code", json!({}), "1"),
        ("code", json!({}), "2"),
        ("raw", json!({}), "3"),
    ]);
    for (position, id) in ["cell-1", "cell-3", "x"].into_iter().enumerate() {
        numbered["cells"][position]["id"] = id.into();
    }
    assert!(body(&numbered).starts_with("// %%\n1\n\n// %% id=\"cell-3\"\n"));
    round_trip(&numbered);
}

#[test]
fn the_metadata_of_a_notebook_are_yaml() {
    let mut document = document(&[("code", json!({}), "1")]);
    document["metadata"] = json!({
        "kernelspec": {"name": "taper", "display_name": "Rust (Taper)", "language": "rust"},
        "language_info": {"name": "rust"},
        "taper": {"rtol": 1e-5, "ignore": "times"},
        "title": "yes", "empty": {}, "version": "1.10",
        "authors": [{"name": "a: b"}],
        "jupytext": {"formats": "ipynb,rs:percent"},
        "a: b": "- c",
    });
    let expected = "// ---\n// jupyter:\n//   \"a: b\": \"- c\"\n//   authors: [{\"name\": \"a: b\"}]\n//   empty: {}\n//   jupytext:\n\
        //     formats: \"ipynb,rs:percent\"\n//     text_representation:\n//       extension: .rs\n//       format_name: percent\n\
        //       format_version: '1.3'\n//   kernelspec:\n//     display_name: Rust (Taper)\n//     language: rust\n//     name: taper\n\
        //   taper:\n//     ignore: times\n//     rtol: 1.0e-5\n//   title: \"yes\"\n//   version: '1.10'\n// ---\n\n";
    let text = write(&document);
    assert_eq!(text.split_once("// %%").expect("a cell").0, expected);
    document["metadata"]
        .as_object_mut()
        .expect("a map")
        .remove("a: b");
    round_trip(&document);
}

#[test]
fn a_header_of_jupytext_is_read() {
    let text = "#!/usr/bin/env taper\n// -*- coding: utf-8 -*-\n// ---\n// title: 'It''s'\n// jupyter:\n//   jupytext:\n//     text_representation:\n\
        //       extension: .rs\n//       jupytext_version: 1.17.3\n//   authors:\n//   - name: A\n//     role: b\n//   - plain\n\
        //   kernelspec:\n//     display_name: a long name that is\n//       continued\n//     language: rust\n//     name: taper\n//   n: 3\n// ---\n\nlet a = 1;\n";
    let script = read(text).expect("a script");
    let expected = json!({
        "authors": [{"name": "A", "role": "b"}, "plain"], "n": 3,
        "kernelspec": {"display_name": "a long name that is continued", "language": "rust", "name": "taper"},
    });
    assert_eq!(script.document["metadata"], expected);
    assert_eq!(
        script.document["cells"][0]["source"],
        "---\ntitle: 'It''s'\n---"
    );
    assert_eq!(script.document["cells"][1]["source"], "let a = 1;");
    let error = read("// ---\n// jupyter:\n//   a\n// ---\n// %%\n1\n")
        .map(|_| ())
        .expect_err("no YAML");
    let error = error.to_string();
    assert!(error.starts_with("line 3 is not understood:"), "{error}");
    let error = read("// ---\n// jupyter:\n\n1\n")
        .map(|_| ())
        .expect_err("no end");
    let error = error.to_string();
    assert!(error.starts_with("line 3 is not understood:"), "{error}");
}

#[test]
fn scripts_of_other_editors_are_read() {
    let code = |metadata: Value, source: &str| ("code".to_owned(), metadata, source.to_owned());
    assert_eq!(
        read_body(
            "use x;\n\n//%%\nlet a = 1;\r\n\n// %% [md]\n// text\n// %%%% deep tags=['a'] on=True\nb"
        ),
        [
            code(json!({}), "use x;"),
            code(json!({}), "let a = 1;\r"),
            ("markdown".into(), json!({}), "text".into()),
            code(
                json!({"title": "deep", "cell_depth": 2, "incorrectly_encoded_metadata": "tags=['a'] on=True"}),
                "b"
            ),
        ]
    );
    assert_eq!(
        read_body("// %% a='b' on=True\r\nx\r\n\r\n// %%\r\ny\r\n"),
        [
            code(json!({"a": "b", "on": true}), "x"),
            code(json!({}), "y")
        ]
    );
    assert_eq!(
        read_body("// %% [markdown]\nnot a comment\n"),
        [("markdown".into(), json!({}), "not a comment".into())]
    );
    let error = read("fn main() {}\n").map(|_| ()).expect_err("no cells");
    assert!(error.to_string().starts_with("has no cells:"), "{error}");
    assert_eq!(
        read("// %%\n\n1\n\n// %% language=\"bash\"\n// ls\n")
            .expect("a script")
            .lines,
        [2, 5]
    );
}

#[test]
fn every_notebook_of_the_course_comes_back() {
    let notebooks = concat!(env!("CARGO_MANIFEST_DIR"), "/../../notebooks");
    let folders = [notebooks.to_owned(), format!("{notebooks}/solutions")];
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect(folder));
    let files = files.map(|entry| entry.expect("an entry").path());
    let mut count = 0;
    for file in files.filter(|file| file.extension().is_some_and(|end| end == "ipynb")) {
        round_trip(&Notebook::load(&file).expect("a notebook").document);
        count += 1;
    }
    assert!(count > 50, "{count}");
}
