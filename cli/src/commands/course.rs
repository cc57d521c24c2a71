//! `taper course`: writes the chapters into a folder of the student.

mod diffs;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taper_host::{cache, checkout, digest};
use taper_notebook::Edition;

/// The file, in the folder of the course, with the digests of all files that this command wrote. A file with
/// another digest was edited.
const WRITTEN: &str = ".taper-course.json";

/// The file with the translated hints of the exercises, which the crate reads (`src/exercises/translation.rs`).
const HINTS: &str = ".taper-hints.json";

/// The language of the notebooks in the repository.
const ENGLISH: &str = "en";

/// The limit for a file in the student's folder, in bytes.
const LIMIT: u64 = 256 << 20;

/// The line of a chapter that loads the crate, up to its path.
const DEPENDENCY: &str = r#":dep taper = { path = \""#;

/// Write the chapters of the course, with their solutions, into a folder.
///
/// A later call writes what is missing and what a new version of Taper has changed. A file that was edited, and
/// a chapter that was run and saved, stays as it is; the command names them.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The folder; it is created if it does not exist
    pub(crate) folder: PathBuf,
    /// Write the path of the crate into the chapters, as the stock kernel evcxr_jupyter needs it
    #[arg(long)]
    pub(crate) stock: bool,
    /// The language of the texts, such as `zh` or `fr`; a folder keeps its language (default: `en`)
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) lang: Option<String>,
    /// Make the folder a git repository whose diffs of notebooks are readable: without outputs, cell by cell
    #[arg(long)]
    pub(crate) git: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode> {
    let home = checkout::folder()?;
    let path = arguments.stock.then_some(home.as_path());
    let language = language(&arguments.folder, arguments.lang.as_deref())?;
    let edition = match language.as_str() {
        ENGLISH => None,
        language => Some(Edition::load(&home.join("po"), language)?),
    };
    let course = Course::read(&home.join("notebooks"), path, edition.as_ref())?;
    let edited = course.write(&arguments.folder)?;
    let folder = arguments.folder.display();
    if !edited.is_empty() {
        println!("Left as they are, because they were changed since they were written:");
        edited
            .iter()
            .for_each(|file| println!("    {}", file.display()));
    }
    if arguments.git {
        diffs::set_up(&arguments.folder)?;
    }
    let next = next_step(&arguments.folder);
    println!("The course is in {folder}. Next: {next}");
    Ok(ExitCode::SUCCESS)
}

/// Returns the language of a folder; fails if it has another one than `wanted`.
fn language(folder: &Path, wanted: Option<&str>) -> Result<String> {
    let list = folder.join(WRITTEN);
    let own = match list.exists() {
        true => Some(Written::read(&list)?.language),
        false => None,
    };
    match (own, wanted) {
        (Some(own), Some(wanted)) if own != wanted => bail!(
            "the course in {} is in the language `{own}`: choose another folder for `{wanted}`",
            folder.display()
        ),
        (Some(language), _) => Ok(language),
        (None, wanted) => Ok(wanted.unwrap_or(ENGLISH).to_owned()),
    }
}

fn next_step(folder: &Path) -> String {
    let (taper, folder) = (checkout::command(), folder.display());
    format!("{taper} lab {folder}/01-welcome.ipynb")
}

/// The files of the course.
struct Course {
    language: String,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

/// What this command wrote into a folder.
#[derive(Deserialize, Serialize)]
struct Written {
    #[serde(default = "english")]
    language: String,
    /// For each file, the digests of all versions.
    #[serde(flatten)]
    files: BTreeMap<PathBuf, BTreeSet<String>>,
}

fn english() -> String {
    ENGLISH.into()
}

impl Course {
    /// Reads the chapters; `stock` is the folder of the crate, if its path is to be written into them.
    fn read(notebooks: &Path, stock: Option<&Path>, edition: Option<&Edition>) -> Result<Course> {
        let mut files = BTreeMap::new();
        if let Some(edition) = edition {
            let hints = serde_json::to_vec_pretty(&edition.texts("hints"))?;
            files.insert(HINTS.into(), hints);
        }
        for folder in ["", "solutions"].map(Path::new) {
            let from = notebooks.join(folder);
            let entries = fs::read_dir(&from);
            for entry in entries.with_context(|| format!("reading {}", from.display()))? {
                let path = entry?.path();
                let kind = path.extension().and_then(|extension| extension.to_str());
                let Some("ipynb" | "csv" | "safetensors" | "svg") = kind else {
                    continue;
                };
                let mut content = fs::read(&path)?;
                if let (Some(edition), Some("ipynb")) = (edition, kind) {
                    let name = folder.join(path.file_stem().context("it has a name")?);
                    let text = String::from_utf8(content)?;
                    content = edition.notebook(&name.to_string_lossy(), &text)?.into();
                }
                let content = match (stock, kind) {
                    (Some(home), Some("ipynb")) => with_path(&String::from_utf8(content)?, home)?,
                    _ => content,
                };
                let name = path.file_name().context("it has a name")?;
                files.insert(folder.join(name), content);
            }
        }
        let language = edition.map_or(ENGLISH, Edition::language).to_owned();
        Ok(Course { language, files })
    }

    /// Writes the files, except those that were edited; returns the edited ones. If a call is killed, the next
    /// one completes the course.
    fn write(&self, folder: &Path) -> Result<Vec<&Path>> {
        cache::make(&folder.join("solutions"))?;
        let list = folder.join(WRITTEN);
        let mut written = Written::read(&list)?;
        written.language.clone_from(&self.language);
        let (mut edited, mut stale) = (Vec::new(), Vec::new());
        for (name, content) in &self.files {
            let new = digest::of(content);
            let is_ours = |digest: &String| {
                written
                    .files
                    .get(name)
                    .is_some_and(|of| of.contains(digest))
            };
            match found(&folder.join(name))? {
                Some(digest) if digest == new => {}
                Some(digest) if !is_ours(&digest) => {
                    edited.push(name.as_path());
                    continue;
                }
                _ => stale.push((name, content)),
            }
            written.files.entry(name.clone()).or_default().insert(new);
        }
        // Before the files: a file that a killed call has written is still known as ours.
        cache::write_atomically(&list, serde_json::to_string_pretty(&written)?.as_bytes())?;
        for (name, content) in stale {
            cache::write_atomically(&folder.join(name), content)?;
        }
        Ok(edited)
    }
}

impl Written {
    fn read(list: &Path) -> Result<Written> {
        match cache::read_regular(list, LIMIT) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Written {
                language: english(),
                files: BTreeMap::new(),
            }),
            Err(error) => Err(error).with_context(|| format!("reading {}", list.display())),
            text => serde_json::from_slice(&text?).with_context(|| {
                format!(
                    "{} is damaged: delete it, then run the same command again",
                    list.display()
                )
            }),
        }
    }
}

/// Returns the digest of a file's content, if it exists. A link, a pipe or a very large file is the student's: its digest
/// is that of no version.
fn found(file: &Path) -> Result<Option<String>> {
    let is_regular = |found: fs::Metadata| found.is_file() && found.len() <= LIMIT;
    if fs::symlink_metadata(file).is_ok_and(|found| !is_regular(found)) {
        return Ok(Some(String::new()));
    }
    match cache::read_regular(file, LIMIT) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        content => {
            let content = content.with_context(|| format!("reading {}", file.display()))?;
            Ok(Some(digest::of(&content)))
        }
    }
}

/// Returns the text of a notebook, with this path in the line that loads the crate.
fn with_path(notebook: &str, home: &Path) -> Result<Vec<u8>> {
    // The string of TOML, without its quotes, within a string of JSON.
    let path = home
        .to_str()
        .context("the path of Taper's folder is not valid Unicode")?;
    let toml = path.replace('\\', "\\\\").replace('"', "\\\"");
    let json = serde_json::to_string(&toml)?;
    let mut parts = notebook.split(DEPENDENCY);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.find("\\\"").map_or(part, |end| &part[end..]);
        text += &[DEPENDENCY, &json[1..json.len() - 1], rest].concat();
    }
    Ok(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn course(chapter: &str) -> Course {
        let file = |name: &str, text: &str| (PathBuf::from(name), text.as_bytes().to_vec());
        Course {
            language: english(),
            files: BTreeMap::from([
                file("01-a.ipynb", chapter),
                file("solutions/01-a.ipynb", "solution"),
            ]),
        }
    }

    fn text(folder: &Path, name: &str) -> String {
        fs::read_to_string(folder.join(name)).expect(name)
    }

    #[test]
    fn a_new_version_replaces_what_was_not_edited() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        assert!(
            course("old")
                .write(folder)
                .expect("it is written")
                .is_empty()
        );
        fs::write(folder.join("solutions/01-a.ipynb"), "mine").expect("an edit");
        let new = course("new");
        let edited = new.write(folder).expect("it is written");
        assert_eq!(edited, [Path::new("solutions/01-a.ipynb")]);
        assert_eq!(text(folder, "01-a.ipynb"), "new");
        assert_eq!(text(folder, "solutions/01-a.ipynb"), "mine");
        // Also back to the version before.
        course("old").write(folder).expect("it is written");
        assert_eq!(text(folder, "01-a.ipynb"), "old");
    }

    #[test]
    fn a_folder_keeps_its_language() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let of = |wanted| language(folder, wanted).map_err(|error| error.to_string());
        assert_eq!(of(None).as_deref(), Ok("en"));
        assert_eq!(of(Some("fr")).as_deref(), Ok("fr"));
        let mut french = course("bonjour");
        french.language = "fr".into();
        french.write(folder).expect("it is written");
        assert_eq!(of(None).as_deref(), Ok("fr"));
        let error = of(Some("zh")).expect_err("it is French");
        assert!(
            error.contains("in the language `fr`: choose another folder"),
            "{error}"
        );
        // A list of an earlier version has no language.
        let list = folder.join(WRITTEN);
        let text = fs::read_to_string(&list)
            .expect("a list")
            .replace("\"language\": \"fr\",", "");
        fs::write(&list, text).expect("the list");
        assert_eq!(of(None).as_deref(), Ok("en"));
    }

    #[test]
    fn a_translated_course_has_its_hints() {
        let folder = tempfile::tempdir().expect("a folder");
        let (po, notebooks) = (folder.path().join("po"), folder.path().join("notebooks"));
        for folder in [&po.join("fr"), &notebooks.join("solutions")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let head = "msgid \"\"\nmsgstr \"Content-Type: text/plain; charset=UTF-8\\n\"\n\n";
        let entry = "msgctxt \"a.1\"\nmsgid \"Add.\"\nmsgstr \"Additionnez.\"\n";
        fs::write(po.join("fr/hints.po"), format!("{head}{entry}")).expect("a catalogue");
        let edition = Edition::load(&po, "fr").expect("it is read");
        let of = |edition| Course::read(&notebooks, None, edition).expect("it is read");
        let course = of(Some(&edition));
        let hints = &course.files[Path::new(HINTS)];
        assert_eq!(hints, "{\n  \"Add.\": \"Additionnez.\"\n}".as_bytes());
        assert!(of(None).files.is_empty());
    }

    #[test]
    fn a_file_of_the_student_with_the_name_of_a_chapter_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("01-a.ipynb"), "mine").expect("a file");
        let course = course("new");
        assert_eq!(course.write(folder.path()).expect("written").len(), 1);
        assert_eq!(text(folder.path(), "01-a.ipynb"), "mine");
    }

    #[test]
    fn links_and_pipes_of_the_student_are_not_opened() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        let pipe = |name: &str| {
            let made = std::process::Command::new("mkfifo")
                .arg(folder.join(name))
                .status();
            assert!(made.expect("mkfifo runs").success());
        };
        pipe("01-a.ipynb");
        std::os::unix::fs::symlink("/dev/zero", folder.join("link")).expect("a link");
        fs::create_dir(folder.join("solutions")).expect("a folder");
        fs::rename(folder.join("link"), folder.join("solutions/01-a.ipynb")).expect("it is moved");
        assert_eq!(course("new").write(folder).expect("written").len(), 2);
        fs::remove_file(folder.join(WRITTEN)).expect("the list");
        pipe(WRITTEN);
        let error = course("new").write(folder).expect_err("the list is a pipe");
        assert!(
            format!("{error:#}").contains("expected a regular file"),
            "{error:#}"
        );
    }

    #[test]
    fn what_a_killed_call_wrote_is_not_taken_for_an_edit() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path();
        course("1").write(folder).expect("it is written");
        course("2").write(folder).expect("it is written");
        // A call for version 2 that was killed between two files.
        fs::remove_file(folder.join("solutions/01-a.ipynb")).expect("it was there");
        fs::write(folder.join("01-a.ipynb"), "1").expect("it was not replaced yet");
        assert!(course("3").write(folder).expect("it is written").is_empty());
        assert_eq!(text(folder, "01-a.ipynb"), "3");
    }

    #[test]
    fn in_a_clone_the_next_step_is_a_command_of_cargo() {
        let next = next_step(Path::new("course"));
        assert_eq!(next, "cargo taper lab course/01-welcome.ipynb");
    }

    #[test]
    fn the_stock_kernel_gets_a_path() {
        let notebook = r#"{"source": [":dep taper = { path = \"../..\" }\n", "x"]}"#;
        let stock = with_path(notebook, Path::new("/a \"b\"")).expect("it is replaced");
        let stock: serde_json::Value = serde_json::from_slice(&stock).expect("JSON");
        let line = r#":dep taper = { path = "/a \"b\"" }"#.to_owned() + "\n";
        assert_eq!(stock["source"][0], line);
        assert_eq!(stock["source"][1], "x");
    }
}
