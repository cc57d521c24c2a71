//! Changes the source that evcxr writes for a cell. No line moves, because evcxr knows by their position
//! which lines are the user's.

use std::path::Path;
use taper_host::cache;

/// Where evcxr's code for a failed `?` begins.
const BEGIN: &str = "struct EvcxrUserCodeError {}";

/// Parts of that code and their replacements. These report the type of the error and the line of the
/// `?`; evcxr prints only the error's text. The report ends with the mark that evcxr reads.
const CHANGES: [(&str, &str); 3] = [
    ("fn from(error: T)", "#[track_caller] fn from(error: T)"),
    (
        "eprintln!(\"{}\", error);",
        "::taper::notebook::failure::failed(error);",
    ),
    (
        "println!(\"{}\", evcxr_internal_runtime::USER_ERROR_OCCURRED);",
        "",
    ),
];

/// Changes the source of the crate in `folder`, if it depends on `taper`.
pub(crate) fn improve(folder: &Path) {
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap_or_default();
    let file = folder.join("src/lib.rs");
    if manifest.lines().any(|line| line.starts_with("taper = "))
        && let Some(source) = std::fs::read_to_string(&file)
            .ok()
            .as_deref()
            .and_then(improved)
    {
        // Where it cannot be written, evcxr's own report is used.
        let _ = cache::overwrite(&file, source.as_bytes());
    }
}

fn improved(source: &str) -> Option<String> {
    // The last occurrence: items of earlier cells come before it, and may contain the same text.
    let at = source.rfind(BEGIN)?;
    let (before, rest) = source.split_at(at);
    let changed = CHANGES.iter().fold(rest.to_owned(), |text, (old, new)| {
        text.replacen(old, new, 1)
    });
    Some(format!("{before}{changed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "fn f() {}
            struct EvcxrUserCodeError {}
            impl<T: std::fmt::Display> From<T> for EvcxrUserCodeError {
                fn from(error: T) -> Self {
                    eprintln!(\"{}\", error);
                    println!(\"{}\", evcxr_internal_runtime::USER_ERROR_OCCURRED);
                    EvcxrUserCodeError {}
                }
            }
eprintln!(\"{}\", error);";

    #[test]
    fn the_report_is_replaced_and_no_line_moves() {
        let changed = improved(SOURCE).expect("it has evcxr's code");
        assert_eq!(changed.lines().count(), SOURCE.lines().count());
        assert!(changed.contains("#[track_caller] fn from(error: T) -> Self {"));
        assert!(changed.contains("failure::failed(error);"));
        assert!(changed.ends_with("eprintln!(\"{}\", error);"), "the cell's");
        assert_eq!(improved("fn f() {}"), None);
    }
}
