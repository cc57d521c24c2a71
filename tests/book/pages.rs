//! The pages of the built book, and the order of the chapters.

use super::common::browser::has_chromium;
use super::common::{root, run_within, taper};
use super::{TO_BUILD, TO_READ, book, notebooks, pages, script};
use std::fs;
use std::process::Command;

#[test]
fn every_notebook_is_in_the_book() {
    let summary = fs::read_to_string(root().join("book/src/SUMMARY.md")).expect("the summary");
    for notebook in notebooks(&root().join("notebooks")) {
        let link = format!("(../../notebooks/{})", notebook.display());
        assert!(summary.contains(&link), "book/src/SUMMARY.md lacks {link}");
    }
}

/// JupyterLab lists files by name, so the prefixes determine the order.
#[test]
fn file_names_begin_with_the_number_of_the_chapter() {
    let summary = fs::read_to_string(root().join("book/src/SUMMARY.md")).expect("the summary");
    let files = |folder: &str| -> Vec<&str> {
        let file = |line| str::split_once(line, folder)?.1.strip_suffix(')');
        summary.lines().filter_map(file).collect()
    };
    let is_chapter = |file: &&str| !file.starts_with("solutions/");
    let chapters: Vec<&str> = files("(../../notebooks/")
        .into_iter()
        .filter(is_chapter)
        .collect();
    for (at, file) in chapters.iter().enumerate() {
        let number = at + 1;
        assert!(
            file.starts_with(&format!("{number:02}-")),
            "{file}\nis number {number}: run python3 book/renumber.py"
        );
    }
    let solutions = files("(../../notebooks/solutions/");
    assert!(
        !solutions.is_empty() && chapters.starts_with(&solutions),
        "{solutions:?}"
    );
}

/// The chapters come one after the other: the solutions are an appendix.
#[test]
fn the_next_page_of_a_chapter_is_the_next_chapter() {
    let summary = fs::read_to_string(root().join("book/src/SUMMARY.md")).expect("the summary");
    let links = summary
        .lines()
        .filter_map(|line| line.split_once("](").map(|(_, link)| link));
    let chapters: Vec<&str> = links.take_while(|link| *link != "solutions.md)").collect();
    assert!(chapters.len() > 30, "{chapters:?}");
    assert!(
        !chapters.iter().any(|link| link.contains("solutions")),
        "{chapters:?}"
    );
}

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
fn the_whole_course_is_an_epub() {
    let file = fs::read(pages().join("taper.epub")).expect("the file");
    assert_eq!(&file[30..58], b"mimetypeapplication/epub+zip");
    assert!(file.len() > 1 << 20, "{} bytes", file.len());
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
    if !has_chromium() {
        return;
    }
    let mut visit = script("book_editions.py");
    visit.arg(pages());
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

#[test]
fn the_digit_reader_is_the_program_of_its_chapter() {
    passes_its_check("book/digit-reader.py");
}

#[test]
fn the_program_of_published_pages_is_that_of_its_source() {
    passes_its_check("book/model-wasm.py");
}

#[test]
fn headlines_over_seeds_belong_to_the_stored_outputs() {
    passes_its_check("book/seeds.py");
}

fn passes_its_check(script: &str) {
    let mut check = Command::new("python3");
    check.args([script, "--check"]).current_dir(root());
    let said = run_within(TO_BUILD, check);
    assert!(said.status.success(), "{}", said.all());
}
