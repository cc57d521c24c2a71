//! Hints in the language of the course: `taper course --lang` writes their translations beside the chapters.

use serde_json::{Map, Value as Json};
use std::fs;
use std::path::Path;

/// The file with the translations, in the folder of a translated course.
const FILE: &str = ".taper-hints.json";

/// The translations of hints, by the English texts.
pub(super) struct Translations(Map<String, Json>);

impl Translations {
    /// Reads those in the current folder, which is the folder of the notebook. In an English course there are none.
    pub(super) fn here() -> Translations {
        Translations::read(Path::new(FILE))
    }

    fn read(file: &Path) -> Translations {
        let is_file = fs::metadata(file).is_ok_and(|found| found.is_file());
        let text = is_file.then(|| fs::read_to_string(file).unwrap_or_default());
        Translations(serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default())
    }

    /// Returns the translation of a text, else the text.
    pub(super) fn of<'t>(&'t self, english: &'t str) -> &'t str {
        let translation = self.0.get(english).and_then(Json::as_str);
        translation.unwrap_or(english)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_translated_is_english() {
        let name = format!("taper-hints-{}", std::process::id());
        let file = std::env::temp_dir().join(name);
        let of = |text: &str| {
            fs::write(&file, text).expect("it is written");
            let translations = Translations::read(&file);
            ["Hint:", "Add."].map(|english| translations.of(english).to_owned())
        };
        assert_eq!(of(r#"{"Hint:": "Indice :"}"#), ["Indice :", "Add."]);
        assert_eq!(of("damaged"), ["Hint:", "Add."]);
        fs::remove_file(&file).expect("it was written");
        assert_eq!(Translations::read(&file).of("Add."), "Add.");
    }
}
