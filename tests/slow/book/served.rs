//! The book in a browser, while it is served, and builds that fail.

use super::site::{Server, Site};
use super::{TO_PREPARE, TO_READ, mdbook_alone, script};
use crate::common::browser::{free_port, has_chromium};
use crate::common::{notebook_of, run_within};
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the page of a notebook, whose name lacks the number of the chapter.
fn page_of(notebook: &Path) -> PathBuf {
    let page = notebook.with_extension("html");
    let name = page.file_name().expect("a name").to_string_lossy();
    let title = name.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
    page.with_file_name(title)
}

#[test]
fn every_chapter_can_be_read_in_a_browser() {
    visit(|notebook| !notebook.starts_with("solutions"), &[]);
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn every_page_can_be_read_in_a_browser() {
    visit(|_| true, &["--both-looks"]);
}

fn visit(is_visited: impl Fn(&Path) -> bool, arguments: &[&str]) {
    if !has_chromium() {
        return;
    }
    let site = Site::new();
    let mut notebooks = site.notebooks();
    site.list(&notebooks);
    notebooks.retain(|notebook| is_visited(notebook));
    let server = Server::start(&site);
    server.wait_for("gpus.html", "</html>");
    // The documentation and the figures are written after the pages.
    server.wait_for("more/second.ipynb", "nbformat");
    let mut visit = script("book_visit.py");
    visit.args(arguments);
    visit.args([
        "--tabs",
        "every.html",
        "--digits",
        "ship-it.html",
        "--sliders",
        "tokenizers.html",
    ]);
    visit.args(["--url", &server.url(), "--screenshots", "tests/output/book"]);
    visit.args(notebooks.iter().map(|notebook| page_of(notebook)));
    visit.args(["how-taper-works.html", "index.html"]);
    let said = run_within(TO_READ, visit);
    assert!(said.status.success(), "{}", said.all());
    assert!(said.stdout.starts_with("ok "), "{}", said.all());
}

#[test]
#[ignore = "slow: cargo compiles the command as book.toml calls it"]
fn mdbook_alone_builds_and_serves_the_book_of_a_clone() {
    let folder = tempfile::tempdir().expect("a folder");
    // Of its own: cargo would replace the command that other tests run.
    let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/mdbook");
    let mut build = mdbook_alone(&["build", "--dest-dir"]);
    build
        .arg(folder.path())
        .arg("book")
        .env("CARGO_TARGET_DIR", target);
    let said = run_within(TO_PREPARE, build);
    assert!(said.status.success(), "{}", said.all());
    assert!(said.stderr.contains("Finished"), "{}", said.all());
    for page in [
        "html/gpus.html",
        "html/index.html",
        "html/api/taper/index.html",
    ] {
        assert!(folder.path().join(page).exists(), "{page}");
    }
    let port = free_port();
    let mut serve = mdbook_alone(&["serve", "--port", &port.to_string(), "--dest-dir"]);
    serve
        .arg(folder.path())
        .arg("book")
        .env("CARGO_TARGET_DIR", target);
    let server = Server::of(serve, port);
    server.wait_for("gpus.html", "</html>");
}

#[test]
fn a_saved_notebook_is_rendered_again() {
    let site = Site::new();
    site.list(&["dots.ipynb".into()]);
    let server = Server::start(&site);
    server.wait_for("dots.html", "A dot");
    let saved = notebook_of(&["let saved_just_now = 1;"]).to_string();
    // JupyterLab saves like this: a new file replaces the old one.
    fs::write(site.path("notebooks/.~dots.ipynb"), saved).expect("it is written");
    fs::rename(
        site.path("notebooks/.~dots.ipynb"),
        site.path("notebooks/dots.ipynb"),
    )
    .expect("it is moved");
    server.wait_for("dots.html", "saved_just_now");
}

#[test]
fn an_invalid_notebook_fails_the_build() {
    let site = Site::new();
    site.list(&["33-gpus.ipynb".into(), "missing.ipynb".into()]);
    let said = site.build();
    assert!(!said.status.success(), "{}", said.all());
    assert!(
        said.all().contains("notebooks/missing.ipynb"),
        "{}",
        said.all()
    );

    fs::write(site.path("notebooks/missing.ipynb"), "{\"cells\": [").expect("it is written");
    let said = site.build();
    assert!(!said.status.success(), "{}", said.all());
    let what =
        "error: notebooks/missing.ipynb: is not JSON: EOF while parsing a list at line 1 column 11";
    assert!(said.stderr.contains(what), "{}", said.all());

    let mut dead = notebook_of(&[]);
    dead["cells"] = serde_json::json!([{
        "cell_type": "markdown", "id": "dead", "metadata": {}, "source": "[a](33-gpus.ipynb#Nowhere)",
    }]);
    fs::write(site.path("notebooks/missing.ipynb"), dead.to_string()).expect("it is written");
    let said = site.build();
    assert!(!said.status.success(), "{}", said.all());
    let what = "missing.ipynb, cell dead: links to 33-gpus.ipynb#Nowhere, but there is no such heading or cell";
    assert!(said.stderr.contains(what), "{}", said.all());
}
