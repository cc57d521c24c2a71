//! The line at the head of a page: what a reader can do with the notebook.

use super::chapter::Chapter;
use super::escape;
use super::links::encode;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Where the notebooks are, for those who want more than to read.
#[derive(Debug, Default)]
pub struct Site {
    /// The folder of the notebooks, as the repository names it.
    folder: String,
    /// A JupyterLab that `taper lab` has opened.
    lab: Option<String>,
    /// `https://github.com/owner/name`
    repository: Option<String>,
}

impl Site {
    /// From `[preprocessor.taper]` of book.toml; a repository that is not named there is that from
    /// which the clone came.
    pub fn new(settings: &Value, notebooks: &Path) -> Site {
        let text = |name: &str| {
            settings[name]
                .as_str()
                .map(|text| text.trim_end_matches('/').to_owned())
        };
        let folder = notebooks.file_name().unwrap_or_default();
        Site {
            folder: folder.to_string_lossy().into_owned(),
            lab: text("lab"),
            repository: text("repository").or_else(|| origin(notebooks)),
        }
    }

    /// The links for one chapter.
    pub fn line(&self, chapter: &Chapter) -> String {
        let notebook = encode(&format!("{}/{}.ipynb", self.folder, chapter.place));
        let mut links = Vec::new();
        if let Some(lab) = &self.lab {
            let command = format!("cargo taper lab {}/{}.ipynb", self.folder, chapter.place);
            let address = format!("{lab}/lab/tree/{notebook}");
            links.push(link(
                &address,
                "Open in JupyterLab",
                &format!("needs `{command}`"),
            ));
        }
        let file = format!("{}.ipynb", encode(chapter.stem()));
        links.push(format!(
            "<a href=\"{}\" download>Download notebook</a>",
            escape(&file)
        ));
        if let Some(repository) = &self.repository {
            links.push(link(
                &format!("{repository}/edit/main/{notebook}"),
                "Edit",
                "on GitHub",
            ));
            if let Some(name) = repository.strip_prefix("https://github.com/") {
                let address =
                    format!("https://mybinder.org/v2/gh/{name}/HEAD?urlpath=lab/tree/{notebook}");
                links.push(link(
                    &address,
                    "Binder",
                    "runs in the browser, nothing to install",
                ));
            }
        }
        format!("<p class=\"actions\">{}</p>", links.join("\n"))
    }
}

fn link(address: &str, text: &str, title: &str) -> String {
    format!(
        "<a href=\"{}\" title=\"{}\">{text}</a>",
        escape(address),
        escape(title)
    )
}

/// The address on GitHub of the clone's origin.
fn origin(folder: &Path) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["remote", "get-url", "origin"])
        .current_dir(folder);
    let output = git.output().ok().filter(|output| output.status.success())?;
    on_github(String::from_utf8_lossy(&output.stdout).trim())
}

/// Neither a name nor a password in the address comes along.
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
    fn a_clone_of_github_is_known() {
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
