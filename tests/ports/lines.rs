//! The lines of the programs in both languages: the table of README.md.

use crate::run::path;
use std::fmt::Write;
use std::fs;

/// The largest mean of the lines of Rust divided by the lines of Python. Lower it when a program becomes shorter.
const MOST: f64 = 1.4;

/// Returns the lines between the marks, without comments and empty lines.
fn lines(file: &str, comment: &str) -> usize {
    let text = fs::read_to_string(path(file)).unwrap();
    let begin = format!("{comment} begin");
    let end = format!("{comment} end");
    let inside = text.lines().map(str::trim).skip_while(|line| *line != begin).skip(1);
    let inside = inside.take_while(|line| *line != end);
    inside.filter(|line| !line.is_empty() && !line.starts_with(comment)).count()
}

#[test]
fn the_table_of_lines_is_current() {
    let mut names: Vec<String> = fs::read_dir(path("."))
        .unwrap()
        .filter_map(|entry| Some(entry.unwrap().file_name().to_str()?.strip_suffix(".py")?.to_owned()))
        .filter(|name| name != "run")
        .collect();
    names.sort();
    let mut table = "# Programs in Taper and in PyTorch\n\n\
        Each program trains for 20 steps from the same weights and on the same batches, and its losses are compared with\n\
        PyTorch's. The table counts the lines of the model and its loss, without comments and empty lines; a line has at most\n\
        120 columns in both languages.\n\n\
        | program | Rust | Python | |\n|:--|--:|--:|--:|\n"
        .to_owned();
    let mut ratios = vec![];
    for name in &names {
        let (rust, python) = (lines(&format!("{name}.rs"), "//"), lines(&format!("{name}.py"), "#"));
        let ratio = rust as f64 / python as f64;
        writeln!(table, "| {} | {rust} | {python} | {ratio:.2} |", name.replace('_', " ")).unwrap();
        ratios.push(ratio);
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
    writeln!(table, "\nIn the mean, {mean:.2} lines of Rust for a line of Python.").unwrap();
    if std::env::var_os("TAPER_UPDATE_SNAPSHOTS").is_some() {
        fs::write(path("README.md"), &table).unwrap();
    }
    let stored = fs::read_to_string(path("README.md")).unwrap_or_default();
    assert!(stored == table, "tests/ports/README.md is not current: run with TAPER_UPDATE_SNAPSHOTS=1");
    assert!(mean <= MOST, "{mean} lines of Rust for a line of Python");
}
