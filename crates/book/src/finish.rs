//! What mdBook's pages lack: a footer with the version of Taper from which they are built, and, if a page has formulae,
//! their style sheet.

use crate::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Finishes all pages in a folder, after mdBook's search has read them.
pub(crate) fn pages(folder: &Path, sources: &Path) -> Result<(), Error> {
    let footer = format!("<footer class=\"version\">{}</footer>\n", version(sources));
    pages_below(folder, "", &footer)
}

/// Finishes the pages in a folder, from which the path `up` leads to the folder of all pages.
fn pages_below(folder: &Path, up: &str, footer: &str) -> Result<(), Error> {
    for entry in fs::read_dir(folder)
        .map_err(Error::io("reading", folder))?
        .flatten()
    {
        let path = entry.path();
        if path.is_dir() {
            pages_below(&path, &format!("../{up}"), footer)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "html")
        {
            let page = fs::read_to_string(&path).map_err(Error::io("reading", &path))?;
            if let Some(page) = finished(&page, up, footer) {
                fs::write(&path, page).map_err(Error::io("writing", &path))?;
            }
        }
    }
    Ok(())
}

/// Returns the finished page, if it has a text.
fn finished(page: &str, up: &str, footer: &str) -> Option<String> {
    let (before, after) = page.rsplit_once("</main>")?;
    let page = format!("{before}{footer}</main>{after}");
    if !page.contains("class=\"katex") {
        return Some(page);
    }
    let style = format!("<link rel=\"stylesheet\" href=\"{up}fonts/katex.css\">\n</head>");
    Some(page.replacen("</head>", &style, 1))
}

/// Returns the version, with the commit of the sources if they are a clone: `Taper 0.1.0, f8cae02 of 2026-11-25`.
fn version(sources: &Path) -> String {
    let version = concat!("Taper ", env!("CARGO_PKG_VERSION"));
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%h of %cs"])
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
        pages(folder.path(), folder.path()).expect("they are written");
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
        assert!(
            finished(&formula, "../", "")
                .expect("a page")
                .starts_with(expected)
        );
        assert_eq!(finished(&page("x"), "", ""), Some(page("x")));
    }
}
