//! The whole course as one PDF, which a browser prints from mdBook's `print.html`.

use anyhow::{Context, Result, bail};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use taper_host::process::on_path;

/// The names of the browser, of which the first that is found is used.
const BROWSERS: [&str; 4] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
];
const NAME: &str = "taper.pdf";

const NO_BROWSER: &str =
    "expected Chromium or Chrome, which prints the PDF; install it, or set CHROMIUM to its path";

/// Prints the book in the folder `pages` with Chromium, and adds a link to the file to the home page; returns the file.
///
/// # Errors
///
/// When no Chromium is found (the variable `CHROMIUM` may name it), when it fails, or when a file cannot be written.
pub fn write_pdf(pages: &Path) -> Result<PathBuf> {
    let (page, file) = (pages.join("print.html"), pages.join(NAME));
    // Chromium writes the file even when it could not load the page.
    fs::metadata(&page).with_context(|| format!("reading {}", page.display()))?;
    let mut browser = Command::new(browser().context(NO_BROWSER)?);
    browser
        .args(["--headless", "--disable-gpu", "--no-pdf-header-footer"])
        .arg("--generate-pdf-document-outline")
        // The page is the book's own. In a container, as root, Chromium does not start with its sandbox.
        .arg("--no-sandbox")
        .arg(format!("--print-to-pdf={}", file.display()))
        .arg(format!("file://{}", page.display()))
        .stdin(Stdio::null());
    let output = browser.output().context("starting Chromium")?;
    if !output.status.success() || !file.is_file() {
        let printed = String::from_utf8_lossy(&output.stderr);
        bail!("Chromium has not written the PDF; it printed:\n{printed}");
    }
    link(&pages.join("index.html"))?;
    Ok(file)
}

fn browser() -> Option<PathBuf> {
    let named = env::var_os("CHROMIUM").map(PathBuf::from);
    named.or_else(|| BROWSERS.into_iter().find_map(on_path))
}

/// Adds a link to the file to the footer of the home page.
fn link(home: &Path) -> Result<()> {
    let page = fs::read_to_string(home).with_context(|| format!("reading {}", home.display()))?;
    let link = format!(", <a href=\"{NAME}\">the whole course as PDF</a></footer>");
    fs::write(home, page.replacen("</footer>", &link, 1))
        .with_context(|| format!("writing {}", home.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_pages_nothing_is_printed() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = write_pdf(folder.path())
            .expect_err("there is no page")
            .to_string();
        assert!(error.contains("print.html"), "{error}");
    }

    #[test]
    fn the_home_page_links_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("index.html");
        fs::write(&home, "<footer>Taper 1</footer>").expect("a page");
        link(&home).expect("it is written");
        let expected =
            "<footer>Taper 1, <a href=\"taper.pdf\">the whole course as PDF</a></footer>";
        assert_eq!(fs::read_to_string(&home).expect("a page"), expected);
    }
}
