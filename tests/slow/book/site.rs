//! A copy of the book, and mdBook as a server.

use super::{TO_APPEAR, TO_BUILD, mdbook};
use crate::common::browser::free_port;
use crate::common::{Said, notebooks, root, run_within, signal_group};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A copy of the book and of its notebooks, with the notebooks of the fixtures in addition.
pub(crate) struct Site {
    folder: TempDir,
}

impl Site {
    pub(crate) fn new() -> Site {
        let site = Site {
            folder: tempfile::tempdir().expect("a folder"),
        };
        copy(&root().join("book"), &site.path("book"));
        copy(&root().join("notebooks"), &site.path("notebooks"));
        copy(
            &root().join("crates/book/src/fixtures/notebooks"),
            &site.path("notebooks"),
        );
        fs::remove_file(site.path("notebooks/wrong.ipynb")).expect("it is there");
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn notebooks(&self) -> Vec<PathBuf> {
        notebooks(&self.path("notebooks"))
    }

    /// Puts these notebooks into the book, between the home page and a page of the appendix.
    pub(crate) fn list(&self, notebooks: &[PathBuf]) {
        let line =
            |notebook: &PathBuf| format!("- [{0}](../../notebooks/{0})\n", notebook.display());
        let mut summary = "[Start](index.md)\n\n".to_owned();
        summary.extend(notebooks.iter().map(line));
        summary += "- [How Taper works](how-taper-works.md)\n";
        fs::write(self.path("book/src/SUMMARY.md"), summary).expect("the summary");
    }

    pub(crate) fn build(&self) -> Said {
        let mut build = mdbook(&["build"]);
        build.arg(self.path("book"));
        run_within(TO_BUILD, build)
    }
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder").flatten() {
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            copy(&source, &target);
        } else {
            fs::copy(&source, &target).expect("a copy");
        }
    }
}

/// `mdbook serve`; ended when dropped.
pub(crate) struct Server {
    process: Child,
    port: u16,
}

impl Server {
    pub(crate) fn start(site: &Site) -> Server {
        let port = free_port();
        let mut serve = mdbook(&[
            "serve",
            "--hostname",
            "127.0.0.1",
            "--port",
            &port.to_string(),
        ]);
        serve.arg(site.path("book"));
        Server::of(serve, port)
    }

    pub(crate) fn of(mut serve: Command, port: u16) -> Server {
        serve
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let process = serve.spawn().expect("mdBook starts");
        Server { process, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until a page has this text.
    pub(crate) fn wait_for(&self, page: &str, text: &str) {
        let patience = Instant::now() + TO_APPEAR;
        let mut last = String::new();
        while Instant::now() < patience {
            last = self.get(page).unwrap_or_else(|error| error.to_string());
            if last.contains(text) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("{page} does not show {text:?} but:\n{last}");
    }

    pub(crate) fn get(&self, page: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        write!(stream, "GET /{page} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        signal_group(&self.process, Signal::KILL);
        let _ = self.process.wait();
    }
}
