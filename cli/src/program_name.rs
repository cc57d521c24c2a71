//! The names of the programs that `taper export` makes of notebooks.

use anyhow::bail;
use std::path::Path;

/// Returns the name of a notebook's program: the file's name without its number, in the characters
/// that Cargo allows.
pub(crate) fn program_name(path: &Path) -> anyhow::Result<String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    let name: String = without_number(stem.unwrap_or_default())
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        bail!(
            "{} cannot become the name of a program\nThe name of the notebook must begin with a letter, or with a number, - and a letter",
            path.display()
        );
    }
    Ok(name)
}

/// Returns `gpus` for `33-gpus`: Cargo allows no digit at the start, and a chapter's program keeps its name
/// when chapters are renumbered.
fn without_number(stem: &str) -> &str {
    match stem.split_once('-') {
        Some((number, name)) if number.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_after_its_notebook_without_the_number() {
        for (notebook, name) in [
            ("notebooks/33-gpus.ipynb", "gpus"),
            ("notebooks/35-ai-on-a-gpu.ipynb", "ai-on-a-gpu"),
            ("first try.ipynb", "first_try"),
            ("a-2.ipynb", "a-2"),
        ] {
            assert_eq!(program_name(Path::new(notebook)).expect(notebook), name);
        }
        for notebook in ["09.ipynb", "09-.ipynb", "3d.ipynb"] {
            let message = program_name(Path::new(notebook))
                .expect_err(notebook)
                .to_string();
            assert!(
                message.starts_with(&format!("{notebook} cannot become the name")),
                "{message}"
            );
        }
    }
}
