//! The pages: built when the server starts and whenever a source changes, and served with the Run buttons.

use super::http::{Head, Status};
use crate::edition;
use crate::url::decode;
use anyhow::Result;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};
use taper_host::mutex::lock;

/// The pause between two checks of the sources.
const PAUSE: Duration = Duration::from_millis(500);

/// The files of the book, of the last build.
#[derive(Debug)]
pub(crate) struct Site {
    /// The folder with `book.toml`.
    book: PathBuf,
    notebooks: PathBuf,
    /// The folder with two builds in the folders `0` and `1`: one is served while the other is written.
    folder: PathBuf,
    /// The number of the last build.
    build: Mutex<Option<u64>>,
}

impl Site {
    pub(crate) fn new(book: PathBuf, notebooks: PathBuf, folder: PathBuf) -> Site {
        Site {
            book,
            notebooks,
            folder,
            build: Mutex::default(),
        }
    }

    /// Returns the number of the build that is served.
    pub(crate) fn build_number(&self) -> u64 {
        lock(&self.build).unwrap_or_default()
    }

    fn folder_of(&self, build: u64) -> PathBuf {
        self.folder.join((build % 2).to_string())
    }

    /// Builds the book with mdBook.
    pub(crate) fn build(&self, mdbook: &dyn Fn() -> Command) -> Result<()> {
        let next = lock(&self.build).map_or(0, |build| build + 1);
        edition::build(&self.book, &self.folder_of(next), mdbook)?;
        *lock(&self.build) = Some(next);
        Ok(())
    }

    /// Builds the book again whenever a source has changed.
    pub(crate) fn watch(&self, mdbook: &dyn Fn() -> Command) -> ! {
        let mut built = self.last_change();
        loop {
            std::thread::sleep(PAUSE);
            let now = self.last_change();
            if now != built {
                built = now;
                // mdBook has printed what is wrong; the pages stay as they were.
                let _ = self.build(mdbook);
            }
        }
    }

    /// Returns the number of sources and the time of the last change. The removal of a source changes only the number.
    fn last_change(&self) -> (usize, Option<SystemTime>) {
        let mut all = Vec::new();
        for folder in ["src", "theme"] {
            changes_below(&self.book.join(folder), &mut all);
        }
        changes_below(&self.notebooks, &mut all);
        changes_below(&self.book.with_file_name("po"), &mut all);
        all.extend(changed(&self.book.join("book.toml")));
        (all.len(), all.into_iter().max())
    }

    /// Returns the file at an address, with the head of the response.
    pub(crate) fn get(&self, address: &str) -> Option<(Head, Vec<u8>)> {
        let build = self.build_number();
        let name = match decode(address.strip_prefix('/')?) {
            folder if folder.is_empty() || folder.ends_with('/') => folder + "index.html",
            file => file,
        };
        let content = fs::read(self.folder_of(build).join("html").join(safe(&name)?)).ok()?;
        let mut head = Head::new(Status::Ok, media_type(&name));
        if !name.ends_with(".html") || name.starts_with("api/") {
            return Some((head, content));
        }
        let page = with_buttons(&String::from_utf8_lossy(&content), build);
        head.scripts = inline_scripts(&page);
        Some((head, page.into_bytes()))
    }

    /// Returns whether the book has a page for a chapter, by its path without `.html`.
    pub(crate) fn has_chapter(&self, page: &str) -> bool {
        let folder = self.folder_of(self.build_number()).join("html");
        safe(page).is_some_and(|page| folder.join(format!("{page}.ipynb")).is_file())
    }
}

/// Returns the path if it cannot lead out of the folder or to a hidden file.
fn safe(path: &str) -> Option<&str> {
    let is_safe = |name: &str| {
        let allowed = |c: char| c.is_alphanumeric() || "-_.,+=@() ".contains(c);
        !name.is_empty() && !name.starts_with('.') && name.chars().all(allowed)
    };
    path.split('/').all(is_safe).then_some(path)
}

fn changes_below(folder: &Path, all: &mut Vec<SystemTime>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        // Hidden files are incomplete files or checkpoints; cells write into `output`.
        if name.to_string_lossy().starts_with('.') || name == "output" {
            continue;
        }
        match path.is_dir() {
            true => changes_below(&path, all),
            false => all.extend(changed(&path)),
        }
    }
}

fn changed(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|file| file.modified()).ok()
}

/// Adds the script with the Run buttons, and its style sheet, to a page.
fn with_buttons(page: &str, build: u64) -> String {
    let style = "<link rel=\"stylesheet\" href=\"/_taper/run.css\">\n</head>";
    let script =
        format!("<script src=\"/_taper/run.js\" data-build=\"{build}\"></script>\n</body>");
    page.replacen("</head>", style, 1)
        .replacen("</body>", &script, 1)
}

/// Returns the digests of the page's inline scripts, which are mdBook's, for its Content-Security-Policy. A script
/// that is added to the page in the browser does not run.
fn inline_scripts(page: &str) -> String {
    let mut sources = String::new();
    for element in page.split("<script").skip(1) {
        let Some((attributes, rest)) = element.split_once('>') else {
            continue;
        };
        let (content, _) = rest.split_once("</script").unwrap_or_default();
        if !attributes.contains("src=") {
            let digest = STANDARD.encode(digest(&SHA256, content.as_bytes()));
            let _ = write!(sources, " 'sha256-{digest}'");
        }
    }
    sources
}

fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" | "ipynb" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" => "image/jpeg",
        "gif" => "image/gif",
        "woff2" => "font/woff2",
        "txt" | "md" | "rs" | "csv" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_leads_out_of_the_book() {
        for name in ["a.html", "solutions/gpus_files/loss-1.svg", "a b(1).png"] {
            assert_eq!(safe(name), Some(name));
        }
        for name in [
            "",
            "/etc/passwd",
            "..",
            "a/../b",
            "a//b",
            "a\\b",
            ".git/x",
            "a\0",
            "a/.",
        ] {
            assert_eq!(safe(name), None, "{name:?}");
        }
    }

    #[test]
    fn scripts_of_the_page_are_allowed_by_their_digest() {
        let page = "<head></head><body><script>a()</script><script src=\"b.js\"></script></body>";
        let served = with_buttons(page, 7);
        assert!(served.contains("run.css") && served.contains("data-build=\"7\""));
        // printf 'a()' | openssl dgst -sha256 -binary | base64
        let expected = " 'sha256-qVpDBgj7bpq5hMAcGp3AOc79J3Y1Z4HvySTwKrWDoy4='";
        assert_eq!(inline_scripts(&served), expected);
    }
}
