//! What the book needs of mdBook besides its documentation: one table. After an update of mdBook, the failing rows say what
//! to look at.

use super::pages;
use std::fs;

/// A file of the built book, a text in it, and what would break without the text.
const NEEDED: &[(&str, &str, &str)] = &[
    (
        "index.html",
        "const path_to_root = \"\";",
        "taper.js: the addresses of the other languages",
    ),
    (
        "index.html",
        "id=\"mdbook-menu-bar\"",
        "taper.js: the menu of languages",
    ),
    (
        "index.html",
        "class=\"right-buttons\"",
        "taper.js: the menu of languages",
    ),
    (
        "index.html",
        "id=\"mdbook-sidebar-toggle\"",
        "mdbook.js: the sidebar by the keyboard",
    ),
    (
        "index.html",
        "id=\"mdbook-theme-navy\"",
        "mdbook.js: the name of the dark theme",
    ),
    (
        "index.html",
        "id=\"mdbook-searchbar\"",
        "mdbook.js: a search without keys",
    ),
    (
        "index.html",
        "id=\"mdbook-searchresults-header\"",
        "mdbook.js: the words above the results",
    ),
    (
        "index.html",
        "<a href=\"print.html\"",
        "mdbook.js: the button prints one page",
    ),
    (
        "index.html",
        "class=\"light sidebar-visible\"",
        "taper.css: code beside the arrows, and the themes",
    ),
    (
        "index.html",
        "id=\"mdbook-content\" class=\"content\"",
        "taper.css: the width of code",
    ),
    (
        "index.html",
        "class=\"nav-wide-wrapper\"",
        "taper.css: what is not printed",
    ),
    (
        "fr/index.html",
        "<html lang=\"fr\"",
        "edition.rs: the language by MDBOOK_BOOK__LANGUAGE",
    ),
    (
        "css/variables.css",
        "--color-scheme: dark;",
        "svg.rs: figures in the dark",
    ),
    (
        "css/variables.css",
        "--menu-bar-height",
        "taper.css: the place of a cell to which a link leads",
    ),
    (
        "searchindex.js",
        "window.search = Object.assign(window.search, JSON.parse('{",
        "search.rs: what follows it",
    ),
    (
        "searchindex.js",
        "\"documentStore\":{",
        "mdbook.js: the texts of other pages",
    ),
    (
        "searcher.js",
        "doc_urls = config.doc_urls;",
        "mdbook.js: the addresses of the chapters",
    ),
    (
        "searcher.js",
        "elasticlunr.Index.load(config.index)",
        "mdbook.js: the index of the chapters",
    ),
    (
        "searcher.js",
        "result.doc.breadcrumbs",
        "mdbook.js: titles with `<`",
    ),
    (
        "searcher.js",
        "count + ' search result for \\'' + searchterm + '\\':'",
        "mdbook.js: the words above the results",
    ),
    (
        "searcher.js",
        "count + ' search results for \\'' + searchterm + '\\':'",
        "mdbook.js: the words above the results",
    ),
    (
        "searcher.js",
        "'No search results for \\'' + searchterm + '\\'.'",
        "mdbook.js: the words above the results",
    ),
    (
        "elasticlunr.min.js",
        "tokenizer=",
        "mdbook.js: words of names and of Chinese",
    ),
    (
        "book.js",
        "hljs.configure({",
        "highlight.js: the code is coloured already",
    ),
    (
        "book.js",
        "hljs.highlightBlock(block);",
        "highlight.js: the code is coloured already",
    ),
    (
        "book.js",
        "elem.firstChild.innerText = msg;",
        "mdbook.js: the words after a copy",
    ),
    (
        "book.js",
        "className = 'clip-button",
        "mdbook.js: the words after a copy",
    ),
    (
        "toc.html",
        "<a href=\"index.html\"",
        "epub.py: the order of the pages",
    ),
    ("print.html", "<main>", "pdf.rs: the whole course"),
];

#[test]
fn mdbook_has_what_the_book_needs() {
    let read = |name: &str| fs::read_to_string(pages().join(name)).expect(name);
    let missing = NEEDED
        .iter()
        .filter(|(file, text, _)| !read(file).contains(text));
    let mut missing: Vec<String> = missing
        .map(|(file, text, why)| format!("{file} lacks {text}\n    {why}"))
        .collect();
    // A word that mdBook has changed would stay English in the translations.
    let texts = read("gpus.html") + &read("book.js");
    let is_missing = |word: &&str| !texts.contains(*word);
    let words = taper_book::mdbook_words().filter(is_missing);
    missing.extend(words.map(|word| format!("mdBook no longer says {word}\n    labels.rs")));
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}
