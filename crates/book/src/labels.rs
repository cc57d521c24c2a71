//! The book's own words, beside the texts of its pages. In English each is its own key; the catalogue `po/LANGUAGE/labels.po`
//! has the translations, with the same `{}` and names in braces.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use taper_notebook::Edition;

/// The words that this crate writes into the pages.
const OWN: &[&str] = &[
    "Learning deep learning by running it, in Rust",
    "Figure {}.",
    "figure",
    "Figure",
    "chapter",
    "Chapter",
    "Show code",
    "Show output",
    "Show cell",
    "Open in JupyterLab",
    "needs `cargo taper lab {}`",
    "Download notebook",
    "Solutions",
    "of the exercises",
    "where these exercises are",
    "Edit",
    "on GitHub",
    "Binder",
    "runs in the browser, nothing to install",
    "{} minutes",
    "What a network writes while it learns",
    "what the code above draws",
    "Add the outputs of your own GPU:",
    "{commit} of {date}",
];

/// The words in mdBook's pages, as values of attributes and as whole contents of elements.
const MDBOOK_PAGES: &[&str] = &[
    "Keyboard shortcuts",
    "Press <kbd>←</kbd> or <kbd>→</kbd> to navigate between chapters",
    "Press <kbd>S</kbd> or <kbd>/</kbd> to search in the book",
    "Press <kbd>?</kbd> to show this help",
    "Press <kbd>Esc</kbd> to hide this help",
    "Table of contents",
    "Toggle Table of Contents",
    "Change theme",
    "Themes",
    "Auto",
    "Light",
    "Search (`/`)",
    "Toggle Searchbar",
    "Search this book ...",
    "Page navigation",
    "Previous chapter",
    "Next chapter",
];

/// The words that mdBook's scripts write.
const MDBOOK_SCRIPTS: &[&str] = &["Copy to clipboard", "Copied!", "Clipboard error!"];

/// The headings of search results, as `mdbook.js` takes them apart.
const MDBOOK_FOUND: &[&str] = &[
    "{count} search result for '{words}':",
    "{count} search results for '{words}':",
    "No search results for '{words}'.",
];

/// The words that the book's own scripts look up: `taper.js`, `run.js`, `digit-reader.js`.
const SCRIPTS: &[&str] = &[
    "Dark",
    "Print this page",
    "Machine",
    "Language",
    "Box for drawing a digit",
    "Clear",
    "Show an example",
    "Draw a digit.",
    "This is a {digit} ({percent} %).",
    "Code of cell {}",
    "Run",
    "Run this cell (Shift-Enter)",
    "Run all above",
    "Run the cells above, then this one",
    "Reset",
    "Return to the code and the outputs of the book",
    "Stop",
    "Interrupt the running cell",
    "Running…",
    "Waiting",
    "Failed after {} s",
    "Running",
    "Ready",
    "Run all",
    "Run all cells of this page",
    "Restart",
    "End the kernel, with all variables",
    "Restarted: variables are lost",
    "Kernel",
    "Cells run on this machine. Click into the code to change it; Shift-Enter runs it.",
    "The server does not answer. Start `taper book serve` again.",
    "This browser may not run cells any more. Press Enter in the terminal of `taper book serve`, and open the address that it prints.",
];

/// Returns all words, as they are in the catalogues.
pub fn labels() -> impl Iterator<Item = &'static str> {
    let lists = [OWN, MDBOOK_PAGES, MDBOOK_SCRIPTS, SCRIPTS, MDBOOK_FOUND];
    lists.into_iter().flatten().copied()
}

/// Returns mdBook's own words.
pub fn mdbook_words() -> impl Iterator<Item = &'static str> {
    MDBOOK_PAGES.iter().chain(MDBOOK_SCRIPTS).copied()
}

/// The words in the language of the book.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels(BTreeMap<String, String>);

impl Labels {
    pub(crate) fn of(edition: &Edition) -> Labels {
        let texts = edition.texts("labels").into_iter();
        Labels(
            texts
                .map(|(text, translation)| (text.into(), translation.into()))
                .collect(),
        )
    }

    /// Returns the translation of a word, else the word.
    pub(crate) fn get<'a>(&'a self, english: &'a str) -> &'a str {
        debug_assert!(
            labels().any(|label| label == english),
            "{english} is not in the list"
        );
        self.0.get(english).map_or(english, String::as_str)
    }

    /// Returns the translation of a word with `{}`, and this value in its place.
    pub(crate) fn with(&self, english: &str, value: &str) -> String {
        self.get(english).replace("{}", value)
    }

    /// Returns the words as JSON, for the scripts of the pages.
    pub(crate) fn json(&self) -> Value {
        json!(self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_translated_with_their_values() {
        let french = Labels([("{} minutes".into(), "{} min".into())].into());
        assert_eq!(french.with("{} minutes", "4"), "4 min");
        assert_eq!(Labels::default().with("{} minutes", "4"), "4 minutes");
        assert_eq!(french.json(), json!({"{} minutes": "{} min"}));
    }

    /// A word that a script looks up and that is not in the list would stay English.
    #[test]
    fn the_words_of_the_scripts_are_in_the_list() {
        let scripts = [
            include_str!("serve/run.js"),
            include_str!("../../../book/theme/mdbook.js"),
            include_str!("../../../book/theme/taper.js"),
            include_str!("../../../book/src/digit-reader.js"),
        ];
        let mut used = Vec::new();
        for script in scripts {
            for call in script.split("label('").skip(1) {
                used.push(call.split('\'').next().expect("a word"));
            }
        }
        used.sort_unstable();
        used.dedup();
        let mut listed = SCRIPTS.to_vec();
        listed.sort_unstable();
        assert_eq!(used, listed);
    }
}
