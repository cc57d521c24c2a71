//! The book: built by the real mdBook, read in a browser, and checked for broken links.

mod common;

use common::browser::{free_port, has_chromium};
use common::python::{cache, python};
use common::{Said, notebook_of, root, run_within, signal_group, taper};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The limit includes installing mdBook and documenting the crate, which the first build does.
const TO_PREPARE: Duration = Duration::from_secs(1500);
const TO_BUILD: Duration = Duration::from_secs(60);
const TO_READ: Duration = Duration::from_secs(1800);
const TO_APPEAR: Duration = Duration::from_secs(30);

/// Returns the folder of the built book, which is built once for all tests.
fn book() -> &'static Path {
    static BOOK: OnceLock<TempDir> = OnceLock::new();
    let folder = BOOK.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let mut build = taper(&["book", "build", "--epub", "--dest-dir"]);
        build.arg(folder.path());
        let said = run_within(TO_PREPARE, build);
        assert!(said.status.success(), "{}", said.all());
        assert!(!said.all().contains("WARN"), "{}", said.all());
        folder
    });
    folder.path()
}

fn pages() -> PathBuf {
    book().join("html")
}

/// Returns a call of the mdBook that `taper book` has installed, with our program as its renderer.
fn mdbook(arguments: &[&str]) -> Command {
    let mut command = mdbook_alone(arguments);
    let ours = format!("'{}' mdbook", env!("CARGO_BIN_EXE_taper"));
    command
        .env("MDBOOK_PREPROCESSOR__TAPER__COMMAND", &ours)
        .env("MDBOOK_OUTPUT__TAPER__COMMAND", format!("{ours} render"));
    command
}

/// Returns a call of the mdBook that `taper book` has installed.
fn mdbook_alone(arguments: &[&str]) -> Command {
    book();
    let mut found = fs::read_dir(cache().join("mdbook"))
        .expect("it is installed")
        .flatten();
    let program = found.find(|entry| entry.file_name().to_string_lossy().starts_with("mdbook-"));
    let mut command = Command::new(program.expect("it is installed").path());
    command
        .args(arguments)
        .current_dir(root())
        .env_remove("LD_LIBRARY_PATH");
    command
}

fn script(name: &str) -> Command {
    let mut command = Command::new(python());
    command
        .arg(Path::new("tests/python").join(name))
        .current_dir(root());
    command
}

/// Returns the notebooks in a folder and its subfolders, as relative paths.
fn notebooks(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), PathBuf::from(entry.file_name()));
        if path.is_dir() && !name.to_string_lossy().starts_with('.') {
            found.extend(notebooks(&path).into_iter().map(|below| name.join(below)));
        } else if path
            .extension()
            .is_some_and(|extension| extension == "ipynb")
        {
            found.push(name);
        }
    }
    found.sort();
    found
}

#[test]
fn every_notebook_is_in_the_book() {
    let summary = fs::read_to_string(root().join("book/src/SUMMARY.md")).expect("the summary");
    for notebook in notebooks(&root().join("notebooks")) {
        let link = format!("(../../notebooks/{})", notebook.display());
        assert!(summary.contains(&link), "book/src/SUMMARY.md lacks {link}");
    }
}

/// Returns the page of a notebook, whose name lacks the number of the chapter.
fn page_of(notebook: &Path) -> PathBuf {
    let page = notebook.with_extension("html");
    let name = page.file_name().expect("a name").to_string_lossy();
    let title = name.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
    page.with_file_name(title)
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
fn names_in_code_lead_to_the_documentation() {
    let page = fs::read_to_string(pages().join("gpus.html")).expect("the chapter");
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

#[test]
fn words_are_spelled_right() {
    let texts = tempfile::tempdir().expect("a folder");
    for notebook in notebooks(&root().join("notebooks")) {
        let text = fs::read(root().join("notebooks").join(&notebook)).expect("a notebook");
        let name = notebook.to_string_lossy().replace('/', "-");
        fs::write(texts.path().join(name + ".md"), prose(&text)).expect("a text");
    }
    let mut spell = Command::new(python().with_file_name("codespell"));
    spell
        .current_dir(root())
        .args(["--ignore-words", "book/words.txt"])
        .args(texts_of_the_repository())
        .arg(texts.path());
    let said = run_within(TO_BUILD, spell);
    assert!(
        said.status.success(),
        "{}\nCorrect it, or add the word to book/words.txt",
        said.all()
    );
}

/// Returns the files whose text is spell-checked, as git lists them: documents, sources and scripts.
fn texts_of_the_repository() -> Vec<String> {
    let mut list = Command::new("git");
    list.args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .args([
            "*.md",
            "*.rs",
            "*.py",
            "*.toml",
            "*.yml",
            ".ci/*",
            "postBuild",
        ])
        .current_dir(root());
    let listed = run_within(TO_BUILD, list);
    assert!(listed.status.success(), "{}", listed.all());
    let files: Vec<String> = listed.stdout.lines().map(str::to_owned).collect();
    assert!(files.len() > 100, "git lists only {} files", files.len());
    let exists = |file: &String| root().join(file).exists();
    files.into_iter().filter(exists).collect()
}

/// Returns the markdown cells of a notebook.
fn prose(notebook: &[u8]) -> String {
    let notebook: Value = serde_json::from_slice(notebook).expect("a notebook");
    let cells = notebook["cells"].as_array().into_iter().flatten();
    let prose = cells.filter(|cell| cell["cell_type"] == "markdown");
    let lines = prose.flat_map(|cell| match &cell["source"] {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        source => vec![source.as_str().unwrap_or_default()],
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A copy of the book and of its notebooks, with the notebooks of the fixtures in addition.
struct Site {
    folder: TempDir,
}

impl Site {
    fn new() -> Site {
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

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn notebooks(&self) -> Vec<PathBuf> {
        notebooks(&self.path("notebooks"))
    }

    /// Puts these notebooks into the book, between the home page and a page of the appendix.
    fn list(&self, notebooks: &[PathBuf]) {
        let line =
            |notebook: &PathBuf| format!("- [{0}](../../notebooks/{0})\n", notebook.display());
        let mut summary = "[Start](index.md)\n\n".to_owned();
        summary.extend(notebooks.iter().map(line));
        summary += "- [How Taper works](how-taper-works.md)\n";
        fs::write(self.path("book/src/SUMMARY.md"), summary).expect("the summary");
    }

    fn build(&self) -> Said {
        let mut build = mdbook(&["build"]);
        build.arg(self.path("book"));
        run_within(TO_BUILD, build)
    }
}

fn copy(from: &Path, to: &Path) {
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
struct Server {
    process: Child,
    port: u16,
}

impl Server {
    fn start(site: &Site) -> Server {
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

    fn of(mut serve: Command, port: u16) -> Server {
        serve
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let process = serve.spawn().expect("mdBook starts");
        Server { process, port }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until a page has this text.
    fn wait_for(&self, page: &str, text: &str) {
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

    fn get(&self, page: &str) -> std::io::Result<String> {
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

#[test]
fn every_chapter_can_be_read_in_a_browser() {
    visit(|notebook| !notebook.starts_with("solutions"));
}

#[test]
#[ignore = "slow: run by .ci/nightly"]
fn every_page_can_be_read_in_a_browser() {
    visit(|_| true);
}

fn visit(is_visited: impl Fn(&Path) -> bool) {
    if !has_chromium() {
        return;
    }
    let site = Site::new();
    let mut notebooks = site.notebooks();
    site.list(&notebooks);
    notebooks.retain(|notebook| is_visited(notebook));
    let server = Server::start(&site);
    server.wait_for("gpus.html", "</html>");
    // The documentation and the figures are written after the pages.
    server.wait_for("more/second.ipynb", "nbformat");
    let mut visit = script("book_visit.py");
    visit.args(["--tabs", "every.html", "--digits", "ship-it.html"]);
    visit.args(["--url", &server.url(), "--screenshots", "tests/output/book"]);
    visit.args(notebooks.iter().map(|notebook| page_of(notebook)));
    visit.args(["how-taper-works.html", "index.html"]);
    let said = run_within(TO_READ, visit);
    assert!(said.status.success(), "{}", said.all());
    assert!(said.stdout.starts_with("ok "), "{}", said.all());
}

#[test]
#[ignore = "slow: cargo compiles the command as book.toml calls it"]
fn mdbook_alone_builds_and_serves_the_book_of_a_clone() {
    let folder = tempfile::tempdir().expect("a folder");
    // Of its own: cargo would replace the command that other tests run.
    let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/mdbook");
    let mut build = mdbook_alone(&["build", "--dest-dir"]);
    build
        .arg(folder.path())
        .arg("book")
        .env("CARGO_TARGET_DIR", target);
    let said = run_within(TO_PREPARE, build);
    assert!(said.status.success(), "{}", said.all());
    assert!(said.stderr.contains("Finished"), "{}", said.all());
    for page in [
        "html/gpus.html",
        "html/index.html",
        "html/api/taper/index.html",
    ] {
        assert!(folder.path().join(page).exists(), "{page}");
    }
    let port = free_port();
    let mut serve = mdbook_alone(&["serve", "--port", &port.to_string(), "--dest-dir"]);
    serve
        .arg(folder.path())
        .arg("book")
        .env("CARGO_TARGET_DIR", target);
    let server = Server::of(serve, port);
    server.wait_for("gpus.html", "</html>");
}

#[test]
fn a_saved_notebook_is_rendered_again() {
    let site = Site::new();
    site.list(&["dots.ipynb".into()]);
    let server = Server::start(&site);
    server.wait_for("dots.html", "A dot");
    let saved = notebook_of(&["let saved_just_now = 1;"]).to_string();
    // JupyterLab saves like this: a new file replaces the old one.
    fs::write(site.path("notebooks/.~dots.ipynb"), saved).expect("it is written");
    fs::rename(
        site.path("notebooks/.~dots.ipynb"),
        site.path("notebooks/dots.ipynb"),
    )
    .expect("it is moved");
    server.wait_for("dots.html", "saved_just_now");
}

#[test]
fn an_invalid_notebook_fails_the_build() {
    let site = Site::new();
    site.list(&["24-gpus.ipynb".into(), "missing.ipynb".into()]);
    let said = site.build();
    assert!(!said.status.success(), "{}", said.all());
    assert!(
        said.all().contains("notebooks/missing.ipynb"),
        "{}",
        said.all()
    );

    fs::write(site.path("notebooks/missing.ipynb"), "{\"cells\": [").expect("it is written");
    let said = site.build();
    assert!(!said.status.success(), "{}", said.all());
    let what =
        "error: notebooks/missing.ipynb: is not JSON: EOF while parsing a list at line 1 column 11";
    assert!(said.stderr.contains(what), "{}", said.all());

    let mut dead = notebook_of(&[]);
    dead["cells"] = serde_json::json!([{
        "cell_type": "markdown", "id": "dead", "metadata": {}, "source": "[a](24-gpus.ipynb#Nowhere)",
    }]);
    fs::write(site.path("notebooks/missing.ipynb"), dead.to_string()).expect("it is written");
    let said = site.build();
    assert!(!said.status.success(), "{}", said.all());
    let what = "missing.ipynb, cell dead: links to 24-gpus.ipynb#Nowhere, but there is no such heading or cell";
    assert!(said.stderr.contains(what), "{}", said.all());
}
