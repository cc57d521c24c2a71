//! The links below the title of a page: open, download or edit the notebook, and lead from a chapter to its solutions
//! and back; and the version of Taper at its end.

use crate::book::Book;
use crate::chapter::Chapter;
use crate::html::escape;
use crate::labels::Labels;
use crate::url::{decode, encode};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// The folder of the pages with solutions.
pub(crate) const SOLUTIONS: &str = "solutions/";

/// The places where the notebooks can be opened and edited.
#[derive(Debug, Default)]
pub(crate) struct Toolbar {
    /// The name of the folder of the notebooks in the repository.
    folder: String,
    /// The address of a JupyterLab that `taper lab` has opened.
    lab: Option<String>,
    /// `https://github.com/owner/name`
    repository: Option<String>,
}

impl Toolbar {
    /// Reads `[preprocessor.taper]` of book.toml. If it names no repository, the origin of the clone is used.
    pub(crate) fn new(settings: &Value, notebooks: &Path) -> Toolbar {
        let text = |name: &str| {
            settings[name]
                .as_str()
                .map(|text| text.trim_end_matches('/').to_owned())
        };
        let folder = notebooks.file_name().unwrap_or_default();
        Toolbar {
            folder: folder.to_string_lossy().into_owned(),
            lab: text("lab"),
            repository: text("repository").or_else(|| origin(notebooks)),
        }
    }

    /// Returns the links of a chapter.
    pub(crate) fn render(&self, chapter: &Chapter, book: &Book) -> String {
        let notebook = encode(&format!("{}/{}.ipynb", self.folder, chapter.path));
        let mut links = Vec::new();
        let labels = &book.labels;
        let in_lab = |lab: &String| self.in_lab(lab, &notebook, labels);
        links.extend(self.lab.as_ref().map(in_lab));
        links.push(download(chapter, labels));
        links.extend(counterpart(chapter, book));
        if let Some(repository) = &self.repository {
            links.push(link(
                &format!("{repository}/edit/main/{notebook}"),
                labels.get("Edit"),
                labels.get("on GitHub"),
            ));
            if let Some(name) = repository.strip_prefix("https://github.com/") {
                let address =
                    format!("https://mybinder.org/v2/gh/{name}/HEAD?urlpath=lab/tree/{notebook}");
                links.push(link(
                    &address,
                    labels.get("Binder"),
                    labels.get("runs in the browser, nothing to install"),
                ));
            }
        }
        format!("<p class=\"actions\">{}</p>", links.join("\n"))
    }

    /// Returns the link that opens a notebook in JupyterLab. If that is on the machine of the reader, the link is
    /// hidden until `run.js` shows it in a book that this machine serves.
    fn in_lab(&self, lab: &str, notebook: &str, labels: &Labels) -> String {
        let address = format!("{lab}/lab/tree/{notebook}");
        let link = link(
            &address,
            labels.get("Open in JupyterLab"),
            &labels.with("needs `cargo taper lab {}`", &decode(notebook)),
        );
        match is_local(lab) {
            true => link.replacen("<a ", "<a class=\"local\" hidden ", 1),
            false => link,
        }
    }
}

/// Returns whether an address leads to the machine of the reader.
fn is_local(address: &str) -> bool {
    let host = address.split_once("://").map_or(address, |(_, rest)| rest);
    ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        let rest = host.strip_prefix(local);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    })
}

/// Returns the link that downloads the notebook. The file beside the page has the page's name; the browser saves it
/// under the notebook's name.
fn download(chapter: &Chapter, labels: &Labels) -> String {
    let (_, page) = chapter.folder_and_name();
    let (file, name) = (format!("{page}.ipynb"), chapter.file_name());
    let name = match file == name {
        true => String::new(),
        false => format!("=\"{}\"", escape(&name)),
    };
    let file = escape(&encode(&file));
    let label = labels.get("Download notebook");
    format!("<a href=\"{file}\" download{name}>{label}</a>")
}

/// Returns the link from a chapter to its solutions, or from solutions to their chapter.
fn counterpart(chapter: &Chapter, book: &Book) -> Option<String> {
    let (page, text, title) = match chapter.page.strip_prefix(SOLUTIONS) {
        Some(page) => (page.to_owned(), "Chapter", "where these exercises are"),
        None => (
            format!("{SOLUTIONS}{}", chapter.page),
            "Solutions",
            "of the exercises",
        ),
    };
    let other = book.chapters.iter().find(|other| other.page == page)?;
    let (text, title) = (book.labels.get(text), book.labels.get(title));
    Some(link(&book.href(chapter, other), text, title))
}

/// Returns the end of a page, with the version of Taper and the commit of the sources if they are a clone:
/// `Taper 0.1.0, f8cae02 of 2026-11-25`.
pub(crate) fn footer(sources: &Path, labels: &Labels) -> String {
    let of = labels.get("{commit} of {date}");
    let format = of.replace("{commit}", "%h").replace("{date}", "%cs");
    let commit = git(sources, &["log", "-1", &format!("--format={format}")]);
    let commit = commit.map_or(String::new(), |commit| format!(", {commit}"));
    let version = env!("CARGO_PKG_VERSION");
    format!("<footer class=\"version\">Taper {version}{commit}</footer>\n")
}

fn link(address: &str, text: &str, title: &str) -> String {
    format!(
        "<a href=\"{}\" title=\"{}\">{text}</a>",
        escape(address),
        escape(title)
    )
}

/// Returns the address of the clone's origin, if that is on GitHub.
fn origin(folder: &Path) -> Option<String> {
    on_github(&git(folder, &["remote", "get-url", "origin"])?)
}

/// Returns what git prints in a folder; `None` if that is nothing.
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(arguments)
        .current_dir(folder)
        .output()
        .ok()?;
    let printed = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !printed.is_empty()).then_some(printed)
}

/// Returns the address of a repository on GitHub, without a user's name and password.
fn on_github(address: &str) -> Option<String> {
    let (_, path) = address.split_once("github.com")?;
    let path = path.strip_prefix([':', '/'])?.trim_end_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    (path.matches('/').count() == 1).then(|| format!("https://github.com/{path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_recognised() {
        for address in [
            "http://localhost:8888",
            "http://127.0.0.1",
            "http://[::1]:8888/hub",
        ] {
            assert!(is_local(address), "{address}");
        }
        for address in [
            "https://hub.example.org",
            "http://localhost.example.org",
            "",
        ] {
            assert!(!is_local(address), "{address}");
        }
    }

    #[test]
    fn origins_on_github_are_recognised() {
        for address in [
            "https://github.com/a/b.git",
            "https://user:secret@github.com/a/b",
            "git@github.com:a/b.git",
            "ssh://git@github.com/a/b/",
        ] {
            assert_eq!(
                on_github(address).as_deref(),
                Some("https://github.com/a/b"),
                "{address}"
            );
        }
        assert_eq!(on_github("/srv/git/taper"), None);
        assert_eq!(on_github("https://example.com/a/b"), None);
    }
}
