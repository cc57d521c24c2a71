//! Compares the pages of the notebooks in `fixtures` with snapshots. To update these, run the tests with
//! `TAPER_UPDATE_SNAPSHOTS=1` and read the difference.

use crate::book::Book;
use crate::builder::{Content, Page};
use crate::chapter::Source;
use crate::protocol::section;
use crate::toolbar::Toolbar;
use crate::{page, preprocess, write_files};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/fixtures")
}

/// The notebooks of the fixtures that are chapters, with their chapter numbers.
const CHAPTERS: [(&str, &[u64]); 3] = [("every", &[1]), ("more/second", &[1, 1]), ("wrong", &[])];

fn book() -> Book {
    let notebooks = fixtures().join("notebooks");
    let content = |path: &str| {
        std::fs::read_to_string(notebooks.join(format!("{path}.ipynb"))).expect("a fixture")
    };
    let contents = CHAPTERS.map(|(path, _)| content(path));
    let sources: Vec<Source> = CHAPTERS
        .iter()
        .zip(&contents)
        .map(|((path, number), content)| Source {
            file: notebooks.join("../notebooks").join(format!("{path}.ipynb")),
            number: section(&json!(number)),
            content,
        })
        .collect();
    Book::read(&notebooks, &sources).expect("all can be read")
}

fn page(path: &str) -> Page {
    let book = book();
    let settings =
        json!({ "lab": "http://localhost:8888/", "repository": "https://github.com/owner/name" });
    let toolbar = Toolbar::new(&settings, &book.notebooks);
    let chapter = book.chapters.iter().find(|chapter| chapter.path == path);
    page::render(chapter.expect("a chapter"), &book, None, &toolbar)
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
fn every_kind_of_cell_and_output_is_rendered() {
    let page = page("every");
    assert!(page.problems.is_empty(), "{:?}", page.problems);
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
fn pages_run_no_code() {
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
fn pages_in_folders_link_to_others() {
    let page = page("more/second");
    assert!(page.problems.is_empty(), "{:?}", page.problems);
    assert_snapshot("second.html", &page.html);
    assert_eq!(page.files[0].0, "more/second_files/far-1.svg");
}

#[test]
fn all_problems_of_a_notebook_are_listed() {
    let problems = page("wrong").problems.join("\n") + "\n";
    assert_snapshot("wrong.txt", &problems);
}

/// Returns a chapter as mdBook passes it.
fn chapter(path: &str, content: &str) -> Value {
    json!({ "Chapter": {
        "name": "Every kind", "content": content, "number": [1], "sub_items": [],
        "path": format!("../notebooks/{path}.ipynb"), "source_path": format!("../notebooks/{path}.ipynb"),
        "parent_names": [],
    }})
}

#[test]
fn sliders_have_a_frame_for_each_position() {
    let svg = |n: u32| format!("<svg width=\"1\" height=\"{n}\"/>");
    let frames = json!({ "sliders": [{ "label": "k", "values": [1, 2], "start": 1 }],
        "frames": [{ "image/svg+xml": svg(1) }, { "image/svg+xml": svg(2) }] });
    let slider = json!({ "application/vnd.jupyter.widget-view+json": {}, "text/plain": "k = 2" });
    let shown = json!({ "image/svg+xml": svg(2), "application/vnd.taper.frames+json": frames });
    let display =
        |data: &Value| json!({ "output_type": "display_data", "metadata": {}, "data": data });
    let cell = json!({ "cell_type": "code", "id": "a", "metadata": {}, "source": "interact()",
        "execution_count": 1, "outputs": [display(&slider), display(&shown)] });
    let html = page_of(json!([cell]));
    assert!(!html.contains("k = 2"), "{html}");
    for part in [
        "<span>k</span><input type=\"range\" aria-label=\"k\" aria-valuetext=\"2\" min=\"0\" max=\"1\" value=\"1\" data-values=\"1 2\"><output>2</output>",
        "<img loading=\"lazy\" src=\"dots_files/a-1.svg\"",
        "<div class=\"frame\" hidden>\n",
        "<img src=\"dots_files/a-2.svg\"",
    ] {
        assert!(html.contains(part), "{html}");
    }
}

/// Returns the text of the notebook `dots`.
fn dots() -> String {
    std::fs::read_to_string(fixtures().join("notebooks/dots.ipynb")).expect("a fixture")
}

fn context() -> Value {
    json!({
        "root": fixtures(), "renderer": "html", "mdbook_version": "0.5.4",
        "config": { "book": { "src": "src" }, "preprocessor": { "taper": { "notebooks": "notebooks" } } },
    })
}

#[test]
fn only_notebooks_are_changed() {
    let foreign = json!({ "Chapter": {
        "name": "Words", "content": "# Words", "number": null, "sub_items": [chapter("dots", &dots())],
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
    let words = output["items"][1]["Chapter"]["content"].as_str();
    let version = concat!(
        "\n\n<footer class=\"version\">Taper ",
        env!("CARGO_PKG_VERSION")
    );
    assert!(words.is_some_and(|words| words.starts_with(&format!("# Words{version}"))));
    // Nothing else has changed, but for the version at the end.
    let mut expected = book;
    expected["items"][1]["Chapter"]["content"] = output["items"][1]["Chapter"]["content"].clone();
    expected["items"][1]["Chapter"]["sub_items"][0] =
        output["items"][1]["Chapter"]["sub_items"][0].clone();
    assert_eq!(output, expected);
}

/// Returns the page of a notebook with these cells.
fn page_of(cells: Value) -> String {
    let mut notebook: Value = serde_json::from_str(&dots()).expect("a notebook");
    notebook["cells"] = cells;
    let items = [chapter("dots", &notebook.to_string())];
    let input = json!([context(), { "items": items }]).to_string();
    let output: Value =
        serde_json::from_str(&preprocess(&input).expect("it renders")).expect("JSON");
    let content = output["items"][0]["Chapter"]["content"].as_str();
    content.expect("a text").to_owned()
}

#[test]
fn an_image_without_a_caption_takes_no_number() {
    let source = "![A dot](dot.png)\n\n![Another dot](dot.png \"Captioned\")";
    let cell = json!({ "cell_type": "markdown", "id": "a", "metadata": {}, "source": source });
    let html = page_of(json!([cell]));
    let caption = "<b class=\"figure-number\">Figure 1.1.</b> Captioned</figcaption>";
    assert!(html.contains(caption), "{html}");
    assert_eq!(html.matches("<figure>").count(), 1, "{html}");
}

#[test]
fn a_heading_without_an_anchor_is_no_link() {
    let shown = json!({ "output_type": "display_data", "metadata": {},
        "data": { "text/markdown": "# A\n\n## [b](https://example.com)" } });
    let code = json!({ "cell_type": "code", "id": "a", "metadata": {}, "source": "a",
        "execution_count": 1, "outputs": [shown] });
    let empty = json!({ "cell_type": "markdown", "id": "b", "metadata": {}, "source": "# C\n#" });
    let html = page_of(json!([code, empty]));
    assert!(html.contains("<h1>A</h1>"), "{html}");
    assert!(
        html.contains("<h2><a href=\"https://example.com\">b</a></h2>"),
        "{html}"
    );
    assert!(
        html.contains("<h1 id=\"C\"><a class=\"header\" href=\"#C\">C</a></h1>"),
        "{html}"
    );
    assert!(
        !html.contains("id=\"\"") && !html.contains("href=\"#\""),
        "{html}"
    );
}

#[test]
fn files_are_written_beside_the_pages() {
    let folder = tempfile::tempdir().expect("a folder");
    let dots = dots();
    let mut input = context();
    input["destination"] = json!(folder.path().join("taper"));
    input["book"] = json!({ "items": [chapter("dots", &dots)] });
    let pages = folder.path().join("html");
    std::fs::create_dir(&pages).expect("the folder that mdBook has written");
    std::fs::write(pages.join("searchindex.js"), "// mdBook's").expect("its index");
    write_files(&input.to_string()).expect("they are written");
    let read = |name: &str| std::fs::read(pages.join(name)).expect(name);
    assert_eq!(read("dots.ipynb"), dots.as_bytes());
    let index = String::from_utf8(read("searchindex.js")).expect("text");
    let begin = "// mdBook's\nwindow.search.sections = [{\"body\":";
    assert!(
        index.starts_with(begin) && index.contains("\"url\":\"dots.html#Dots\""),
        "{index}"
    );
    assert!(read("dots_files/dot-1.png").starts_with(b"\x89PNG"));
}

#[test]
fn broken_notebooks_are_named() {
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
        let input = json!([context(), { "items": [chapter("dots", content)] }]).to_string();
        let error = preprocess(&input).expect_err("it is broken").to_string();
        assert!(error.starts_with(what), "{error}");
        assert_eq!(error.lines().count(), 2, "{error}");
    }
}

#[test]
fn other_input_is_refused() {
    for input in ["", "[]", "{}", "[1, 2]"] {
        let error = preprocess(input).expect_err("it is not a book").to_string();
        assert!(error.contains("mdBook"), "{input}: {error}");
    }
}

#[test]
fn linked_files_are_copied() {
    let page = page("every");
    let (_, content) = page
        .files
        .iter()
        .find(|(name, _)| name == "numbers.csv")
        .expect("the file");
    assert!(matches!(content, Content::CopyOf(file) if file.ends_with("notebooks/numbers.csv")));
}

#[test]
fn outputs_of_two_machines_are_side_by_side() {
    let html = page("every").html;
    let names: Vec<&str> = html
        .split("class=\"machine\" aria-label=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let both = ["CPU", "NVIDIA &lt;H200&gt;"];
    assert_eq!(names, [both, both].concat(), "in the cells drawn and value");
    assert!(html.contains("(1, 2)") && html.contains("(3, 4)"));
    assert!(html.contains("&lt;there&gt;"));
    assert!(!html.contains("of an older cell"));
    let hint = "<code>cargo taper gpu-check</code></p>\n</section>";
    assert_eq!(html.matches(hint).count(), 2, "in the GPU's outputs");
}

#[test]
fn a_claim_that_the_other_machines_outputs_refute_is_a_problem() {
    let notebooks = fixtures().join("notebooks");
    let file = notebooks.join("every.ipynb");
    let text = std::fs::read_to_string(&file).expect("a fixture");
    let read = |claim: &str| {
        let mut notebook: Value = serde_json::from_str(&text).expect("a notebook");
        let cells = notebook["cells"].as_array_mut().expect("cells");
        let value = cells.iter_mut().find(|cell| cell["id"] == "value");
        value.expect("the cell")["metadata"]["taper"] = json!({ "on_gpu": [claim] });
        let content = notebook.to_string();
        let source = Source {
            file: file.clone(),
            number: section(&json!([1])),
            content: &content,
        };
        let read = Book::read(&notebooks, &[source]);
        read.map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(read("(3, 4)"), Ok(()));
    let refuted = read("(3, 5)").expect_err("it is refuted");
    let expected = "value: expected \"(3, 5)\" on NVIDIA <H200>, found\n(3, 4)";
    assert!(refuted.ends_with(expected), "{refuted}");
}

#[test]
fn pages_and_their_files_have_no_number() {
    let dots = dots();
    let link = json!([{ "cell_type": "markdown", "id": "link", "metadata": {}, "source": "[a](09-dots.ipynb)" }]);
    let mut other: Value = serde_json::from_str(&dots).expect("a notebook");
    other["cells"] = link;
    let items = [
        chapter("09-dots", &dots),
        chapter("10-link", &other.to_string()),
    ];
    let input = json!([context(), { "items": items }]).to_string();
    let output: Value =
        serde_json::from_str(&preprocess(&input).expect("it renders")).expect("JSON");
    let (first, second) = (
        &output["items"][0]["Chapter"],
        &output["items"][1]["Chapter"],
    );
    assert_eq!(
        (&first["path"], &second["path"]),
        (&json!("dots.md"), &json!("link.md"))
    );
    let content = first["content"].as_str().expect("a text");
    assert!(
        content.contains("<a href=\"dots.ipynb\" download=\"09-dots.ipynb\">"),
        "{content}"
    );
    assert!(
        content.contains("<img src=\"dots_files/dot-1.png\""),
        "{content}"
    );
    let content = second["content"].as_str().expect("a text");
    assert!(content.contains("<a href=\"dots.html\">a</a>"), "{content}");
}

#[test]
fn two_chapters_cannot_have_the_same_page() {
    let dots = dots();
    let items = [chapter("09-dots", &dots), chapter("10-dots", &dots)];
    let input = json!([context(), { "items": items }]).to_string();
    let error = preprocess(&input).expect_err("one page").to_string();
    assert_eq!(
        error,
        "09-dots.ipynb and 10-dots.ipynb would both be the page dots.html\nRename one of them"
    );
}

/// Solutions are an appendix, but keep the numbers of their chapters.
#[test]
fn chapters_and_solutions_lead_to_each_other() {
    let appendix = json!({ "Chapter": {
        "name": "Solutions", "content": "<!-- solutions -->", "number": [7], "path": "solutions.md",
        "source_path": "solutions.md", "parent_names": [],
        "sub_items": [chapter("solutions/09-dots", &dots().replace("dot.png", "../dot.png"))],
    }});
    let input = json!([context(), { "items": [chapter("09-dots", &dots()), appendix] }]);
    let output = preprocess(&input.to_string()).expect("it renders");
    let output: Value = serde_json::from_str(&output).expect("JSON");
    let (first, appendix) = (
        &output["items"][0]["Chapter"],
        &output["items"][1]["Chapter"],
    );
    let solutions = &appendix["sub_items"][0]["Chapter"];
    let content = |page: &Value| page["content"].as_str().expect("a text").to_owned();
    let link = "<a href=\"solutions/dots.html\" title=\"of the exercises\">Solutions</a>";
    assert!(content(first).contains(link), "{first}");
    let link = "<a href=\"../dots.html\" title=\"where these exercises are\">Chapter</a>";
    assert!(content(solutions).contains(link), "{solutions}");
    let list = "<li><a href=\"solutions/dots.html\">1. Dots</a></li>";
    assert!(content(appendix).contains(list), "{appendix}");
    assert_eq!(
        (&solutions["number"], &solutions["path"]),
        (&json!([1, 1]), &json!("solutions/dots.md"))
    );
}
