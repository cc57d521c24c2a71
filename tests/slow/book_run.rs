//! The served book: its cells run for the browser that opened its address, and for no other client.

use crate::common::browser::has_chromium;
use crate::common::python::python;
use crate::common::{root, run_within, signal_group, taper};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// The first run builds the image, unless an earlier test has.
const TO_READ: Duration = Duration::from_secs(1800);

#[test]
fn cells_run_in_the_book_for_its_reader_only() {
    if !has_chromium() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    write_book(folder.path());
    // JupyterLab, as far as its description goes.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its port").port();
    let lab = format!("http://localhost:{port}/");
    let described = json!({"port": port, "url": lab, "token": "abc", "root_dir": folder.path()});
    let jupyter = folder.path().join("jupyter");
    fs::create_dir(&jupyter).expect("a folder");
    fs::write(jupyter.join("jpserver-1.json"), described.to_string()).expect("its description");
    let mut server = Server::start(&folder.path().join("book"), &jupyter);
    let mut visit = Command::new(python());
    visit
        .current_dir(root())
        .arg("tests/python/book_run.py")
        .args(["--url", &server.address, "--lab", &lab])
        .args(["--screenshots", "tests/output/book"]);
    let said = run_within(TO_READ, visit);
    assert!(said.status.success(), "{}", said.all());
    assert!(said.stdout.starts_with("ok "), "{}", said.all());
    assert!(!arguments_of_all_processes().contains(server.token()));
    server.end();
}

/// `taper book serve`; ended when dropped.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(book: &Path, jupyter: &Path) -> Server {
        let mut serve = taper(&["book", "serve", "--port", "0", "--book"]);
        let mut process = serve
            .arg(book)
            .env("JUPYTER_RUNTIME_DIR", jupyter)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("it starts");
        let stdout = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut lines = stdout.lines().map_while(Result::ok);
        let address = lines.find(|line| line.contains("?token="));
        let address = address.expect("the server prints its address");
        Server {
            process,
            address: address.trim().to_owned(),
        }
    }

    fn token(&self) -> &str {
        self.address.rsplit('=').next().expect("a token")
    }

    fn end(&mut self) {
        signal_group(&self.process, Signal::KILL);
        let _ = self.process.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

fn arguments_of_all_processes() -> String {
    let mut list = Command::new("ps");
    list.args(["-A", "-o", "args"]);
    let said = run_within(Duration::from_secs(60), list);
    assert!(said.stdout.contains("book serve"), "{}", said.all());
    said.stdout
}

/// Writes a book of two chapters, with the theme of the real one.
fn write_book(folder: &Path) {
    let (book, notebooks) = (folder.join("book"), folder.join("notebooks"));
    fs::create_dir_all(book.join("src")).expect("a folder");
    fs::create_dir_all(&notebooks).expect("a folder");
    let theme = Command::new("cp")
        .arg("-r")
        .args(["book/theme", "book/book.toml"])
        .arg(&book)
        .current_dir(root())
        .status();
    assert!(theme.is_ok_and(|status| status.success()));
    let summary = "- [Run](../../notebooks/run.ipynb)\n- [Other](../../notebooks/other.ipynb)\n";
    fs::write(book.join("src/SUMMARY.md"), summary).expect("the summary");
    let write = |name: &str, cells: &[Value]| {
        let notebook = json!({
            "cells": cells,
            "metadata": {"kernelspec": {"name": "taper", "display_name": "Rust", "language": "rust"}},
            "nbformat": 4, "nbformat_minor": 5,
        });
        fs::write(notebooks.join(name), notebook.to_string()).expect("a notebook");
    };
    write("run.ipynb", &chapter());
    write(
        "other.ipynb",
        &[prose("# Other"), code("only", "1 + 1", &[])],
    );
}

fn chapter() -> [Value; 9] {
    let circle = "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='20'><circle r='9' cx='20' cy='10' fill='green'/></svg>";
    let table = "<table><tr><td>a</td></tr></table><script>document.title = 1</script>\
        <img src=x onerror='document.title = 2'>";
    let stored = json!([{
        "output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": "21"},
    }]);
    let mut first = code("first", "let mut x = 20;\nx + 1", &[]);
    first["outputs"] = stored.clone();
    let source = format!("// Figure: A dot.\n{}", show("image/svg+xml", circle));
    let mut figure = code("figure", &source, &[]);
    figure["outputs"] = stored;
    [
        prose("# Run me\n\nA page with cells of every kind."),
        first,
        code("hidden", "let hidden = 2;", &["remove-input"]),
        code("text", PROGRESS, &[]),
        figure,
        code("table", &show("text/html", table), &[]),
        code("error", "let y: i32 = \"text\";", &["raises-exception"]),
        code(
            "loop",
            "println!(\"begins\");\nloop {\n    std::thread::sleep(std::time::Duration::from_millis(10));\n}",
            &[],
        ),
        code("last", "x + 2", &[]),
    ]
}

const PROGRESS: &str = r#"println!("\x1b[31mred\x1b[0m");
for i in 0..=10 {
    print!("\r{} %", i * 10);
    std::thread::sleep(std::time::Duration::from_millis(30));
}
println!();
hidden"#;

/// Returns code that shows a value in evcxr's own format.
fn show(media_type: &str, content: &str) -> String {
    format!("println!(r#\"EVCXR_BEGIN_CONTENT {media_type}\n{content}\nEVCXR_END_CONTENT\"#);")
}

fn prose(text: &str) -> Value {
    json!({"cell_type": "markdown", "id": "title", "metadata": {}, "source": text})
}

fn code(id: &str, source: &str, tags: &[&str]) -> Value {
    json!({
        "cell_type": "code", "id": id, "metadata": {"tags": tags}, "execution_count": null,
        "outputs": [], "source": source,
    })
}
