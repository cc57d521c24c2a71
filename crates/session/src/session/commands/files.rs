//! `%%writefile`: writes a cell into a file.

use crate::session::paths::path_of;
use std::fs::OpenOptions;
use std::io::Write;

/// Writes the text into a file, or appends it. Returns a line for the user, or the reason why it failed.
pub(super) fn write(file: &str, append: bool, text: &str) -> Result<String, String> {
    let path = path_of(file);
    let what = match (append, path.exists()) {
        (true, true) => "Appending to",
        (false, true) => "Overwriting",
        (_, false) => "Writing",
    };
    let mut options = OpenOptions::new();
    options
        .create(true)
        .append(append)
        .write(true)
        .truncate(!append);
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let written = options
        .open(&path)
        .and_then(|mut opened| opened.write_all(format!("{text}{end}").as_bytes()));
    match written {
        Ok(()) => Ok(format!("{what} {file}\n")),
        Err(error) => Err(format!("`%%writefile` cannot write {file}: {error}.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_again_or_appended() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.txt").display().to_string();
        assert_eq!(write(&file, false, "one"), Ok(format!("Writing {file}\n")));
        assert_eq!(
            write(&file, true, "two\n"),
            Ok(format!("Appending to {file}\n"))
        );
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n");
        assert_eq!(write(&file, false, ""), Ok(format!("Overwriting {file}\n")));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
        let refused = write("/no/such/folder/a", false, "").unwrap_err();
        assert!(
            refused.starts_with("`%%writefile` cannot write"),
            "{refused}"
        );
    }
}
