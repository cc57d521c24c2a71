//! Adds to mdBook's pages: a footer with the version of Taper from which they are built, the style sheet for formulae
//! if a page has any, the addresses of the same page in other languages, and mdBook's own words in the book's language.

use crate::book::Book;
use crate::compact;
use crate::edition;
use crate::error::Error;
use crate::labels::Labels;
use crate::url::encode;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What is added to the pages.
#[derive(Default)]
pub(crate) struct Finish {
    footer: String,
    /// The path to the English pages, and each edition's folder there with its language.
    root: &'static str,
    editions: Vec<(String, String)>,
    labels: Labels,
}

impl Finish {
    pub(crate) fn new(context: &Value, book: &Book) -> Finish {
        Finish {
            footer: footer(&book.notebooks, &book.labels),
            root: book.root,
            editions: edition::all(context),
            labels: book.labels.clone(),
        }
    }

    /// Finishes all pages in a folder, after mdBook's search has read them, and the style sheets and scripts.
    pub(crate) fn pages(&self, folder: &Path) -> Result<(), Error> {
        for name in ["book.js", "searcher.js"] {
            let path = folder.join(name);
            if !self.labels.are_english() && path.exists() {
                let script = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
                let script = self.labels.script(&script);
                fs::write(&path, script).map_err(Error::io("writing", &path))?;
            }
        }
        self.pages_below(folder, "")
    }

    /// Finishes the pages in a folder, whose path from the folder of all pages is `below`.
    fn pages_below(&self, folder: &Path, below: &str) -> Result<(), Error> {
        for entry in fs::read_dir(folder)
            .map_err(Error::io("reading", folder))?
            .flatten()
        {
            let (path, name) = (entry.path(), entry.file_name());
            let name = format!("{below}{}", name.to_string_lossy());
            if path.is_dir() {
                self.pages_below(&path, &format!("{name}/"))?;
            } else if name.ends_with(".html") {
                let page = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
                if let Some(page) = self.finished(&page, &name) {
                    fs::write(&path, page).map_err(Error::io("writing", &path))?;
                }
            } else if compact::is_for(&name) {
                let text = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
                fs::write(&path, compact::compact(&text)).map_err(Error::io("writing", &path))?;
            }
        }
        Ok(())
    }

    /// Returns the finished page, if it has a text; `name` is its path from the folder of all pages.
    fn finished(&self, page: &str, name: &str) -> Option<String> {
        let up = "../".repeat(name.matches('/').count());
        let (before, after) = page.rsplit_once("</main>")?;
        let page = format!("{before}{}</main>{after}", self.footer);
        let mut head = String::new();
        if page.contains("class=\"katex") {
            head += &format!("<link rel=\"stylesheet\" href=\"{up}fonts/katex.css\">\n");
        }
        for (folder, language) in &self.editions {
            let address = format!("{up}{}{folder}{}", self.root, encode(name));
            head +=
                &format!("<link rel=\"alternate\" hreflang=\"{language}\" href=\"{address}\">\n");
        }
        head += &self.labels.for_scripts();
        let page = page.replacen("</head>", &format!("{head}</head>"), 1);
        Some(self.labels.page(&page))
    }
}

fn footer(sources: &Path, labels: &Labels) -> String {
    let version = version(sources, labels);
    format!("<footer class=\"version\">{version}</footer>\n")
}

/// Returns the version, with the commit of the sources if they are a clone: `Taper 0.1.0, f8cae02 of 2026-11-25`.
fn version(sources: &Path, labels: &Labels) -> String {
    let version = concat!("Taper ", env!("CARGO_PKG_VERSION"));
    let mut git = Command::new("git");
    let of = labels.get("{commit} of {date}");
    let format = of.replace("{commit}", "%h").replace("{date}", "%cs");
    git.args(["log", "-1", &format!("--format={format}")])
        .current_dir(sources);
    let output = git.output().ok().filter(|output| output.status.success());
    match output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()) {
        Some(commit) if !commit.is_empty() => format!("{version}, {commit}"),
        _ => version.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_the_version_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let page = |name: &str| folder.path().join(name);
        fs::create_dir(page("solutions")).expect("a folder");
        for name in ["a.html", "solutions/b.html"] {
            fs::write(page(name), "<main>\nText\n</main>\n<nav></nav>").expect("a page");
        }
        fs::write(page("toc.html"), "<ol></ol>").expect("a page");
        let finish = Finish {
            footer: footer(folder.path(), &Labels::default()),
            ..Finish::default()
        };
        finish.pages(folder.path()).expect("they are written");
        let version = concat!("Taper ", env!("CARGO_PKG_VERSION"));
        let expected = format!(
            "<main>\nText\n<footer class=\"version\">{version}</footer>\n</main>\n<nav></nav>"
        );
        for name in ["a.html", "solutions/b.html"] {
            assert_eq!(fs::read_to_string(page(name)).expect("a page"), expected);
        }
        assert_eq!(
            fs::read_to_string(page("toc.html")).expect("a page"),
            "<ol></ol>"
        );
    }
    #[test]
    fn only_pages_with_formulae_load_their_style() {
        let page = |text: &str| format!("<head></head><main>{text}</main>");
        let formula = page("<span class=\"katex\">x</span>");
        let expected = "<head><link rel=\"stylesheet\" href=\"../fonts/katex.css\">\n</head>";
        let finished = |page: &str, name: &str| Finish::default().finished(page, name);
        let with_style = finished(&formula, "solutions/a.html").expect("a page");
        assert!(with_style.starts_with(expected), "{with_style}");
        assert_eq!(finished(&page("x"), "a.html"), Some(page("x")));
    }

    #[test]
    fn a_page_names_its_translations() {
        let finish = Finish {
            root: "../",
            editions: [("", "en"), ("zh/", "zh")]
                .map(|(a, b)| (a.into(), b.into()))
                .into(),
            ..Finish::default()
        };
        let page = finish.finished("<head></head><main></main>", "solutions/a.html");
        let expected = "<head><link rel=\"alternate\" hreflang=\"en\" href=\"../../solutions/a.html\">\n\
                        <link rel=\"alternate\" hreflang=\"zh\" href=\"../../zh/solutions/a.html\">\n</head><main></main>";
        assert_eq!(page.as_deref(), Some(expected));
    }
}
