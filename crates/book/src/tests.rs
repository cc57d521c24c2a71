//! Pages of the notebooks in `fixtures`, each held against a snapshot. To take over what is rendered
//! now, run the tests with `TAPER_UPDATE_SNAPSHOTS=1` and read the difference.

use super::actions::Site;
use super::page::{Content, Page};
use super::shelf::{Shelf, Source, number};
use super::{preprocess, write_files};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fixtures")
}

/// Notebooks with their numbers in the sidebar.
const BOOK: [(&str, &[u64]); 3] = [("every", &[1]), ("more/second", &[1, 1]), ("wrong", &[])];

fn shelf() -> Shelf {
    let notebooks = fixtures().join("notebooks");
    let content = |place: &str| {
        std::fs::read_to_string(notebooks.join(format!("{place}.ipynb"))).expect("a fixture")
    };
    let contents = BOOK.map(|(place, _)| content(place));
    let sources: Vec<Source> = BOOK
        .iter()
        .zip(&contents)
        .map(|((place, section), content)| Source {
            file: notebooks
                .join("../notebooks")
                .join(format!("{place}.ipynb")),
            number: number(&json!(section)),
            content,
        })
        .collect();
    Shelf::read(notebooks.clone(), &sources).expect("all can be read")
}

fn page(place: &str) -> Page {
    let shelf = shelf();
    let settings =
        json!({ "lab": "http://localhost:8888/", "repository": "https://github.com/owner/name" });
    let site = Site::new(&settings, &shelf.notebooks);
    let chapter = shelf.chapters.iter().find(|chapter| chapter.place == place);
    Page::of(chapter.expect("a chapter"), &shelf, None, &site)
}

fn assert_snapshot(name: &str, now: &str) {
    let file = fixtures().join(name);
    if std::env::var_os("TAPER_UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, now).expect("the snapshot can be written");
    }
    let before = std::fs::read_to_string(&file).unwrap_or_default();
    let same = before
        .lines()
        .zip(now.lines())
        .take_while(|(before, now)| before == now)
        .count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_owned();
    assert!(
        before == now,
        "{name} differs from line {}:\n  it was  {}\n  and is  {}",
        same + 1,
        line(&before),
        line(now)
    );
}

#[test]
fn every_kind_of_cell_and_output() {
    let page = page("every");
    assert_eq!(page.problems, [""; 0]);
    assert_snapshot("every.html", &page.html);
    assert!(
        !page.html.lines().any(|line| line.trim().is_empty()),
        "markdown would end there"
    );
    let names: Vec<&str> = page.files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "numbers.csv",
            "every_files/pictures-1.png",
            "every_files/pictures-2.png",
            "every_files/pictures-3.png",
            "every_files/drawn-1.svg",
            "every_files/two-1.svg",
            "every_files/two-2.png",
        ]
    );
}

#[test]
fn nothing_that_runs_is_in_a_page() {
    let html = page("every").html;
    for part in [
        "<script",
        "alert",
        "onclick",
        "onerror",
        "<style",
        "example.com/x.png",
        "fixed",
    ] {
        assert!(!html.contains(part), "{part}");
    }
}

#[test]
fn a_page_in_a_folder_finds_the_others() {
    let page = page("more/second");
    assert_eq!(page.problems, [""; 0]);
    assert_snapshot("second.html", &page.html);
    assert_eq!(page.files[0].0, "more/second_files/far-1.svg");
}

#[test]
fn what_is_wrong_with_a_notebook_is_said_at_once() {
    let problems = page("wrong").problems.join("\n") + "\n";
    assert_snapshot("wrong.txt", &problems);
}

/// A book as mdBook hands it over.
fn request(place: &str, content: &str) -> Value {
    json!({ "Chapter": {
        "name": "Every kind", "content": content, "number": [1], "sub_items": [],
        "path": format!("../notebooks/{place}.ipynb"), "source_path": format!("../notebooks/{place}.ipynb"),
        "parent_names": [],
    }})
}

fn context() -> Value {
    json!({
        "root": fixtures(), "renderer": "html", "mdbook_version": "0.5.4",
        "config": { "book": { "src": "src" }, "preprocessor": { "taper": { "notebooks": "notebooks" } } },
    })
}

#[test]
fn notebooks_become_pages_and_the_rest_passes_through() {
    let second =
        std::fs::read_to_string(fixtures().join("notebooks/dots.ipynb")).expect("a fixture");
    let foreign = json!({ "Chapter": {
        "name": "Words", "content": "# Words", "number": null, "sub_items": [request("dots", &second)],
        "path": "words.md", "source_path": "words.md", "parent_names": [], "unknown": 1,
    }});
    let book = json!({ "items": ["Separator", foreign, { "PartTitle": "Part" }], "also": null });
    let input = json!([context(), book]).to_string();
    let output: Value =
        serde_json::from_str(&preprocess(&input).expect("it renders")).expect("JSON");
    let page = &output["items"][1]["Chapter"]["sub_items"][0]["Chapter"];
    assert_eq!(page["path"], "dots.md");
    let content = page["content"].as_str().expect("a text");
    assert!(content.contains("<h1 id=\"Dots\">"), "{content}");
    // All else is as it was.
    let mut expected = book;
    expected["items"][1]["Chapter"]["sub_items"][0] =
        output["items"][1]["Chapter"]["sub_items"][0].clone();
    assert_eq!(output, expected);
}

#[test]
fn files_lie_beside_the_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let dots = std::fs::read_to_string(fixtures().join("notebooks/dots.ipynb")).expect("a fixture");
    let mut input = context();
    input["destination"] = json!(folder.path().join("taper"));
    input["book"] = json!({ "items": [request("dots", &dots)] });
    write_files(&input.to_string()).expect("they are written");
    let read = |name: &str| std::fs::read(folder.path().join("html").join(name)).expect(name);
    assert_eq!(read("dots.ipynb"), dots.as_bytes());
    assert!(read("dots_files/dot-1.png").starts_with(b"\x89PNG"));
}

#[test]
fn a_broken_notebook_is_named() {
    for (content, what) in [
        (
            "{\"cells\": [",
            "notebooks/dots.ipynb: is not JSON: EOF while parsing a list at line 1 column 11",
        ),
        ("<<<<<<< ours", "notebooks/dots.ipynb: is not JSON"),
        (
            "{}",
            "notebooks/dots.ipynb: is JSON but not a notebook: it has no `nbformat`",
        ),
    ] {
        let input = json!([context(), { "items": [request("dots", content)] }]).to_string();
        let error = format!("{:#}", preprocess(&input).expect_err("it is broken"));
        assert!(error.starts_with(what), "{error}");
        assert_eq!(error.lines().count(), 2, "{error}");
    }
}

#[test]
fn what_is_not_from_mdbook_is_refused() {
    for input in ["", "[]", "{}", "[1, 2]"] {
        let error = preprocess(input).expect_err("it is no book").to_string();
        assert!(error.contains("mdBook"), "{input}: {error}");
    }
}

#[test]
fn a_file_to_copy_is_named_by_its_place() {
    let page = page("every");
    let (_, content) = page
        .files
        .iter()
        .find(|(name, _)| name == "numbers.csv")
        .expect("the file");
    assert!(matches!(content, Content::CopyOf(file) if file.ends_with("notebooks/numbers.csv")));
}

#[test]
fn what_a_gpu_showed_stands_beside_what_the_notebook_holds() {
    let html = page("every").html;
    let names: Vec<&str> = html
        .split("class=\"machine\" aria-label=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let both = ["CPU", "NVIDIA &lt;H200&gt;"];
    assert_eq!(names, [both, both].concat(), "in the cells drawn and value");
    assert!(html.contains("(1, 2)") && html.contains("(3, 4)"));
    assert!(html.contains("no picture &lt;there&gt;"));
    assert!(!html.contains("of an older cell"));
}
