//! The functions of Rust's standard library.

use crate::error::{Result, refuse};
use crate::tensor::{randperm, with_seed};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How a function's first line begins.
const HEADS: [&str; 6] = [
    "fn ",
    "pub fn ",
    "pub const fn ",
    "const fn ",
    "unsafe fn ",
    "pub unsafe fn ",
];
/// More lines than that are not looked at.
const MAX_LINES: usize = 20;

/// The functions of the crates `core`, `alloc` and `std`: a text for language models that needs no download, because the
/// library's source belongs to the compiler.
///
/// Comments and attributes are left out, and functions with a string, a `$` (as in macros) or a character that is not ASCII.
/// Each function ends with a newline, and occurs once. With another release of Rust, some functions are others.
///
/// ```
/// use taper::prelude::*;
///
/// let corpus = RustCorpus::new()?;
/// assert!(corpus.functions().len() > 5000);
/// let text = corpus.shuffled(1).join("\n"); // an empty line between two functions
/// assert!(text.contains("fn len(&self) -> usize {"));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct RustCorpus {
    functions: Vec<String>,
}

impl RustCorpus {
    /// Reads the functions of at most 200 bytes, from the source that belongs to the program `rustc`.
    ///
    /// # Errors
    /// If the library's source is not installed.
    pub fn new() -> Result<Self> {
        Self::of_lengths(0..=200)
    }

    /// Reads the functions with as many bytes, of at most 20 lines.
    ///
    /// # Errors
    /// If the library's source is not installed.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let longer = RustCorpus::of_lengths(201..=400)?;
    /// assert!(longer.functions().iter().all(|function| function.len() > 200));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn of_lengths(bytes: RangeInclusive<usize>) -> Result<Self> {
        Self::read(&library()?, &bytes)
    }

    fn read(library: &Path, bytes: &RangeInclusive<usize>) -> Result<Self> {
        let mut functions = Vec::new();
        for name in ["core", "alloc", "std"] {
            add_folder(&library.join(name).join("src"), bytes, &mut functions)?;
        }
        functions.sort();
        functions.dedup();
        Ok(RustCorpus { functions })
    }

    /// Removes the functions that are `unsafe`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let safe = RustCorpus::new()?.without_unsafe();
    /// assert!(!safe.functions().iter().any(|function| function.starts_with("unsafe fn")));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn without_unsafe(mut self) -> Self {
        let is_unsafe = |text: &str| text.trim_start_matches("pub ").starts_with("unsafe ");
        self.functions.retain(|function| !is_unsafe(function));
        self
    }

    /// Returns the functions in alphabetical order.
    pub fn functions(&self) -> &[String] {
        &self.functions
    }

    /// Returns the functions in a random order, which depends on the seed only.
    pub fn shuffled(&self, seed: u64) -> Vec<String> {
        let order = with_seed(seed, || randperm(self.functions.len())).to_vec1::<i64>();
        let functions = order.iter().map(|&i| self.functions[i as usize].clone());
        functions.collect()
    }
}

/// Returns the folder with the source of the library's crates.
fn library() -> Result<PathBuf> {
    let printed = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = printed.map_or_else(
        |_| PathBuf::new(),
        |printed| PathBuf::from(String::from_utf8_lossy(&printed.stdout).trim()),
    );
    let library = sysroot.join("lib/rustlib/src/rust/library");
    refuse!(if !library.is_dir(); file("read the source of Rust's library in", &library, "there is no such folder");
        "Run `rustup component add rust-src`, or install the package `rust-src` of your system");
    Ok(library)
}

/// Adds the functions of the files in a folder and in the folders below it.
fn add_folder(
    folder: &Path,
    bytes: &RangeInclusive<usize>,
    functions: &mut Vec<String>,
) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            add_folder(&path, bytes, functions)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            functions.extend(functions_of(&fs::read_to_string(path)?, bytes));
        }
    }
    Ok(())
}

/// Returns the functions of a file that rustfmt has formatted, without the indentation of their first line.
fn functions_of(source: &str, bytes: &RangeInclusive<usize>) -> Vec<String> {
    let lines: Vec<&str> = source.lines().collect();
    let function = |(start, first): (usize, &&str)| {
        let code = first.trim_start();
        let is_head = HEADS.iter().any(|head| code.starts_with(head));
        is_head.then(|| body(&lines[start..], first.len() - code.len()))
    };
    let functions = lines.iter().enumerate().filter_map(function);
    let is_plain = |text: &String| {
        text.ends_with("\n}\n") && text.is_ascii() && !text.contains(['$', '"'])
            // A comment behind code: the others are left out.
            && !text.contains("//")
    };
    let functions = functions.filter(|text| bytes.contains(&text.len()) && is_plain(text));
    functions.collect()
}

/// Returns the lines of a function, which ends at the first brace that is indented as its first line.
fn body(lines: &[&str], indent: usize) -> String {
    let mut body = String::new();
    for line in lines.iter().take(MAX_LINES) {
        let line = line.get(indent..).unwrap_or("");
        let code = line.trim_start();
        if !code.is_empty() && !code.starts_with("//") && !code.starts_with("#[") {
            body = body + line + "\n";
        }
        let is_one_line = line.starts_with(char::is_alphabetic) && line.ends_with([';', '}']);
        if line == "}" || is_one_line {
            break;
        }
    }
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
impl Counter {
    /// Returns the count.
    #[inline]
    pub const fn count(&self) -> usize {
        // a comment
        self.count
    }

    pub unsafe fn set(&mut self) {
        self.count = 1;
    }

    fn named(&self) -> &str {
        "a string"
    }

    fn noted(&self) -> usize {
        self.count // behind code
    }

    fn declared(&self) -> usize;
}

fn one_line() {}
"#;

    fn folder(name: &str, crates: &[&str]) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("taper_rust_{name}_{}", std::process::id()));
        for name in crates {
            let inner = folder.join(name).join("src/deep");
            fs::create_dir_all(&inner).expect("the folder is created");
            fs::write(inner.join("counter.rs"), SOURCE).expect("the file is written");
            fs::write(inner.join("notes.md"), "fn main() {\n}\n").expect("the file is written");
        }
        folder
    }

    #[test]
    fn whole_functions_without_comments_and_strings() {
        let library = folder("whole", &["core", "alloc", "std"]);
        let corpus = RustCorpus::read(&library, &(0..=200)).expect("the sources are read");
        let count = "pub const fn count(&self) -> usize {\n    self.count\n}\n";
        let set = "pub unsafe fn set(&mut self) {\n    self.count = 1;\n}\n";
        assert_eq!(corpus.functions(), [count, set]);
        assert_eq!(corpus.clone().without_unsafe().functions(), [count]);
        assert_eq!(corpus.shuffled(1).len(), 2);
        let short = RustCorpus::read(&library, &(0..=set.len())).expect("the sources are read");
        assert_eq!(short.functions(), [set]);
        fs::remove_dir_all(library).expect("the folder is removed");
    }

    #[test]
    fn a_missing_crate_is_an_error() {
        let library = folder("missing", &["core"]);
        assert!(RustCorpus::read(&library, &(0..=200)).is_err());
        fs::remove_dir_all(library).expect("the folder is removed");
    }
}
