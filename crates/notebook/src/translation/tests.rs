use super::units::{in_code, in_markdown};
use super::*;
use crate::testing::*;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

fn texts(places: Vec<super::units::Place>, source: &str) -> Vec<String> {
    let texts = std::cell::RefCell::new(Vec::new());
    super::units::Place::replace(&places, source, |text| {
        texts.borrow_mut().insert(0, text.to_owned());
        None
    });
    texts.into_inner()
}

#[test]
fn paragraphs_items_and_rows_are_units_but_code_and_formulas_are_not() {
    let source = "# A title\nOne line\nand another.\n\n- first item\n  continued\n- second `x`\n\n\
                  ```rust\nlet not = 1;\n\n// nor this\n```\n$$\nx = y_{not this}\n$$\nAfter it.\n\n$$a + b$$\n\n\
                  | a | word |\n|---|---|\n| `code` | $x^2$ |\n\n1. [`x`](y.md)\n2. numbered";
    assert_eq!(
        texts(in_markdown(source), source),
        [
            "# A title",
            "One line\nand another.",
            "- first item\n  continued",
            "- second `x`",
            "After it.",
            "| a | word |",
            "2. numbered"
        ]
    );
}

#[test]
fn indented_code_has_no_units_but_the_comments_of_its_commands() {
    let source = "Run\n\n    taper lab a.ipynb  # the first chapter\n\n    taper doctor\n\n\
                  - an item\n  of two lines:\n\n      pip install it\n\n  and its end\n      continued\n\n\
                  10. numbered\n\n        let code = 1;\n\n    more\n    - inner\n\nText\n\n  indented a little";
    assert_eq!(
        texts(in_markdown(source), source),
        [
            "Run",
            "the first chapter",
            "- an item\n  of two lines:",
            "and its end\n      continued",
            "10. numbered",
            "more",
            "- inner",
            "Text",
            "indented a little"
        ]
    );
}

#[test]
fn comments_are_units_but_shapes_and_strings_are_not() {
    let source = "// Figure: The loss.\n// A comment\n// of two lines.\nlet x = f(\"// text\"); // (2, 3)\n    \
                  // Another.\nlet y = 1; // trailing\n/// Documentation.\n// NBVAL_SKIP\n";
    assert_eq!(
        texts(in_code(source), source),
        [
            "The loss.",
            "A comment\nof two lines.",
            "Another.",
            "trailing",
            "Documentation."
        ]
    );
}

const CATALOGUE: &str = r##"msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

msgctxt "a"
msgid "# The loss"
msgstr "# La perte"

msgctxt "a"
msgid "See [there](02-b.ipynb#An-end) and [here](#The-loss)."
msgstr "Voir [là](02-b.ipynb#An-end) et [ici](#The-loss) : « `a ? b : c` », $x : y$ à 97 % !"

#, fuzzy
msgctxt "a"
msgid "Old."
msgstr "Vieux."

msgctxt "b"
msgid ""
"Two\n"
"lines."
msgstr ""
"Deux\n"
"lignes."
"##;

fn edition(folder: &Path) -> Edition {
    let french = folder.join("fr");
    fs::create_dir_all(french.join("solutions")).expect("a folder");
    fs::write(french.join("01-a.po"), CATALOGUE).expect("a file");
    let other = CATALOGUE
        .replace("# The loss", "## An end")
        .replace("# La perte", "## Une fin");
    fs::write(french.join("02-b.po"), other).expect("a file");
    Edition::load(folder, "fr").expect("it is read")
}

#[test]
fn a_notebook_is_translated_where_the_catalogue_is_current() {
    let folder = tempfile::tempdir().expect("a folder");
    let edition = edition(folder.path());
    let cells = [
        json!({"cell_type": "markdown", "id": "a", "metadata": {},
            "source": "# The loss\n\nSee [there](02-b.ipynb#An-end) and [here](#The-loss).\n\nOld.\n\nNew: [loss](#The-loss)."}),
        code(
            "b",
            "let x = 1; // (1,)\n    // Two\n    // lines.\nx",
            json!([]),
        ),
    ];
    let text = edition
        .notebook("01-a", &notebook(&cells).to_string())
        .expect("a notebook");
    let document: Value = serde_json::from_str(&text).expect("JSON");
    let source = |at: usize| -> String {
        let lines = document["cells"][at]["source"].as_array().expect("lines");
        lines.iter().filter_map(|line| line.as_str()).collect()
    };
    assert_eq!(
        source(0),
        "# La perte\n\nVoir [là](02-b.ipynb#Une-fin) et [ici](#La-perte)\u{a0}: «\u{a0}`a ? b : c`\u{a0}», $x : y$ à 97\u{a0}%\u{a0}!\n\nOld.\n\nNew: [loss](#La-perte)."
    );
    assert_eq!(
        source(1),
        "let x = 1; // (1,)\n    // Deux\n    // lignes.\nx"
    );
}

#[test]
fn a_language_that_is_not_there_names_those_that_are() {
    let folder = tempfile::tempdir().expect("a folder");
    edition(folder.path());
    let error = Edition::load(folder.path(), "de").expect_err("there is no German");
    assert!(error.to_string().contains("en, fr"), "{error}");
    fs::write(folder.path().join("fr/03-c.po"), "msgid \"x\"\n").expect("a file");
    let error = Edition::load(folder.path(), "fr").expect_err("it is damaged");
    assert!(
        error.to_string().contains("03-c.po is not a catalogue"),
        "{error}"
    );
}
