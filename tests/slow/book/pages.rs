//! The pages of the built book.

use super::{TO_BUILD, TO_READ, book, pages, script};
use crate::common::browser::has_chromium;
use crate::common::{run_within, taper};
use std::fs;

#[test]
fn every_chapter_of_the_home_page_has_a_text_and_a_time() {
    let home = fs::read_to_string(pages().join("index.html")).expect("the page");
    let cards: Vec<&str> = home.split("class=\"chapter-name\">").skip(1).collect();
    assert!(cards.len() >= 28, "{} chapters", cards.len());
    for card in cards {
        assert!(
            !card.contains("class=\"chapter-question\"></span>"),
            "{card}"
        );
        assert!(card.contains(" minutes</span>"), "{card}");
    }
}

/// The build fails where a page is not well-formed.
#[test]
fn the_whole_course_is_an_epub_in_each_language() {
    for folder in ["", "fr", "zh"] {
        let folder = pages().join(folder);
        let file = fs::read(folder.join("taper.epub")).expect("the file");
        assert_eq!(&file[30..58], b"mimetypeapplication/epub+zip");
        assert!(file.len() > 1 << 20, "{} bytes", file.len());
        let home = fs::read_to_string(folder.join("index.html")).expect("the page");
        assert!(home.contains("href=\"taper.epub\""));
    }
}

#[test]
fn no_link_in_the_book_is_broken() {
    let mut check = script("book_check.py");
    check.arg(pages());
    let said = run_within(TO_READ, check);
    assert!(said.status.success(), "{}", said.all());
    assert!(said.stdout.starts_with("ok "), "{}", said.all());
}

#[test]
fn the_translations_can_be_read_in_a_browser() {
    visit_translations(&[]);
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn every_translated_page_can_be_read_in_a_browser() {
    visit_translations(&["--all"]);
}

fn visit_translations(arguments: &[&str]) {
    if !has_chromium() {
        return;
    }
    let mut visit = script("book_editions.py");
    visit.arg(pages()).args(arguments);
    visit.args(["--screenshots", "tests/output/editions"]);
    let said = run_within(TO_READ, visit);
    assert!(said.status.success(), "{}", said.all());
    assert!(said.stdout.starts_with("ok "), "{}", said.all());
}

#[test]
fn names_in_code_lead_to_the_documentation() {
    let page = fs::read_to_string(pages().join("leaf-network.html")).expect("the chapter");
    for link in [
        "api/taper/device/fn.try_gpu.html",
        "api/taper/fn.try_gpu.html",
    ] {
        if pages().join(link).exists() {
            assert!(
                page.contains(&format!("href=\"{link}\">try_gpu</a>(")),
                "{link}"
            );
            return;
        }
    }
    panic!(
        "try_gpu is not documented in {}",
        pages().join("api").display()
    );
}

/// Nothing is installed or documented a second time.
#[test]
fn a_second_build_only_renders_the_chapters() {
    book();
    let folder = tempfile::tempdir().expect("a folder");
    let mut build = taper(&["book", "build", "--dest-dir"]);
    build.arg(folder.path());
    let said = run_within(TO_BUILD, build);
    assert!(said.status.success(), "{}", said.all());
    for repeated in ["Installing", "Documenting"] {
        assert!(!said.all().contains(repeated), "{}", said.all());
    }
}
