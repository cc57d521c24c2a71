//! The table of attacks and faults in SECURITY.md counts what is in the tests.

use super::{read, root};

/// Returns the number of attempts in the row of SECURITY.md that names a file or a folder.
fn stated(file: &str) -> usize {
    let text = read("SECURITY.md");
    let named = format!("`{file}`");
    let row = text.lines().find(|line| line.contains(&named));
    let row = row.unwrap_or_else(|| panic!("{file} is in no row"));
    let column = row.split('|').nth(2).expect("the attempts");
    let digits: String = column.chars().filter(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

#[test]
fn the_table_of_attacks_counts_what_is_tried() {
    let attempts =
        ["attempts", "shapes", "various"].map(|name| format!("tests/grading/{name}.txt"));
    let attempts = attempts.map(|file| read(&file).matches("\n== ").count());
    let grades: usize = attempts.iter().sum();
    assert_eq!(stated("tests/grading/attempts.txt"), grades);

    let faults = std::fs::read_dir(root().join("tests/faults")).expect("a folder");
    let texts = faults.flatten().map(|file| {
        let name = file.file_name();
        read(&format!("tests/faults/{}", name.to_string_lossy()))
    });
    let cases: usize = texts.map(|text| text.matches("\n## ").count()).sum();
    assert_eq!(stated("tests/faults"), cases);

    // Each damages its files as often as the nightly job says.
    let calls: usize = [
        "tests/fuzz.rs",
        "src/fuzz.rs",
        "cli/src/data/tests/damaged.rs",
    ]
    .map(|file| read(file).matches("    each_damaged(").count())
    .iter()
    .sum();
    let nightly = read(".ci/nightly");
    let inputs = nightly.split("FUZZ_INPUTS=").nth(1).expect("a setting");
    let inputs: usize = inputs
        .split(' ')
        .next()
        .and_then(|it| it.parse().ok())
        .expect("a number");
    // One more damages messages.
    assert_eq!(stated("tests/fuzz.rs"), (calls + 1) * inputs);
    assert!(grades >= 60 && cases >= 150 && (calls + 1) * inputs >= 20_000);
}
