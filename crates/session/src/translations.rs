//! What a kernel says in the language of a translated course. `taper course --lang` writes the translations into its folder,
//! beside the translated hints of the exercises.

use serde_json::{Map, Value};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;

/// The file with the translations, by the English sentences.
const FILE: &str = ".taper-hints.json";

static TRANSLATIONS: OnceLock<Map<String, Value>> = OnceLock::new();

/// Lets the session say what it says in the language of the course in this folder. For a kernel: what the runner says is
/// compared with stored outputs.
pub fn speak_as_in(folder: &Path) {
    let file = folder.join(FILE);
    let is_file = fs::metadata(&file).is_ok_and(|found| found.is_file());
    let text = is_file.then(|| fs::read_to_string(&file).unwrap_or_default());
    let translations = text.and_then(|text| serde_json::from_str(&text).ok());
    let _ = TRANSLATIONS.set(translations.unwrap_or_default());
}

/// Returns the translation of a sentence, else the sentence.
pub(crate) fn said(english: &str) -> &str {
    let translation = TRANSLATIONS.get().and_then(|all| all.get(english));
    translation.and_then(Value::as_str).unwrap_or(english)
}
