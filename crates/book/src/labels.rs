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

/// The words in mdBook's pages, as values of attributes and as whole texts of elements.
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
    "Print this book",
    "Page navigation",
    "Previous chapter",
    "Next chapter",
];

/// The words in mdBook's scripts, between quotation marks.
const MDBOOK_SCRIPTS: &[&str] = &["Copy to clipboard", "Copied!", "Clipboard error!"];

/// The headings of search results, as mdBook's script joins them.
const MDBOOK_FOUND: [(&str, &str); 3] = [
    (
        "{count} search result for '{words}':",
        r"count + ' search result for \'' + searchterm + '\':'",
    ),
    (
        "{count} search results for '{words}':",
        r"count + ' search results for \'' + searchterm + '\':'",
    ),
    (
        "No search results for '{words}'.",
        r"'No search results for \'' + searchterm + '\'.'",
    ),
];

/// The words that the book's own scripts look up: `taper.js`, `run.js`, `digit-reader.js`.
const SCRIPTS: &[&str] = &[
    "Dark",
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
    let found = MDBOOK_FOUND.iter().map(|(label, _)| *label);
    let lists = [OWN, MDBOOK_PAGES, MDBOOK_SCRIPTS, SCRIPTS];
    lists.into_iter().flatten().copied().chain(found)
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

    /// Returns whether the words are the English ones.
    pub(crate) fn are_english(&self) -> bool {
        self.0.is_empty()
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

    /// Returns a page of mdBook with its words translated; the text of the page stays as it is.
    pub(crate) fn page(&self, page: &str) -> String {
        let (before, rest) = page.split_once("<main>").unwrap_or((page, ""));
        let (main, after) = rest.split_once("</main>").unwrap_or((rest, ""));
        let outside = |part: &str| {
            let all = OWN[..1].iter().chain(MDBOOK_PAGES);
            all.fold(part.to_owned(), |part, english| {
                let own = self.get(english);
                part.replace(&format!("=\"{english}\""), &format!("=\"{own}\""))
                    .replace(&format!(">{english}<"), &format!(">{own}<"))
            })
        };
        match rest.is_empty() {
            true => outside(before),
            false => format!("{}<main>{main}</main>{}", outside(before), outside(after)),
        }
    }

    /// Returns a script of mdBook with its words translated.
    pub(crate) fn script(&self, script: &str) -> String {
        let mut script = script.to_owned();
        for english in MDBOOK_SCRIPTS {
            script = script.replace(
                &format!("'{english}'"),
                &json!(self.get(english)).to_string(),
            );
        }
        for (english, joined) in MDBOOK_FOUND {
            let label = json!(self.get(english));
            let filled = format!(
                "{label}.replace('{{count}}', count).replace('{{words}}', () => searchterm)"
            );
            script = script.replace(joined, &filled);
        }
        script
    }

    /// Returns the element in which the book's scripts find their words; none in English.
    pub(crate) fn for_scripts(&self) -> String {
        let words = SCRIPTS
            .iter()
            .filter_map(|word| Some((*word, self.0.get(*word)?)));
        let words: BTreeMap<_, _> = words.collect();
        if words.is_empty() {
            return String::new();
        }
        // No text in it can end the element.
        let json = Value::to_string(&json!(words)).replace('<', "\\u003c");
        format!("<script type=\"application/json\" id=\"taper-labels\">{json}</script>\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn french() -> Labels {
        let words = [
            ("Light", "Clair"),
            ("Print this book", "Imprimer"),
            ("Copied!", "Copié !"),
            ("No search results for '{words}'.", "Rien pour {words}"),
            ("Run", "Lancer"),
            ("{} minutes", "{} min"),
        ];
        Labels(words.map(|(a, b)| (a.into(), b.into())).into())
    }

    #[test]
    fn words_around_a_page_are_translated_and_its_text_is_not() {
        let page = "<button>Light</button><main><b>Light</b></main><a title=\"Print this book\">Light on</a>";
        let expected =
            "<button>Clair</button><main><b>Light</b></main><a title=\"Imprimer\">Light on</a>";
        assert_eq!(french().page(page), expected);
        assert_eq!(Labels::default().page(page), page);
        assert_eq!(french().page("<b>Light</b>"), "<b>Clair</b>");
        assert_eq!(french().with("{} minutes", "4"), "4 min");
    }

    #[test]
    fn scripts_find_their_words() {
        assert_eq!(
            french().script("show('Copied!'); x"),
            "show(\"Copié !\"); x"
        );
        let found = french().script(r"return 'No search results for \'' + searchterm + '\'.';");
        assert_eq!(
            found,
            r#"return "Rien pour {words}".replace('{count}', count).replace('{words}', () => searchterm);"#
        );
        let element =
            "<script type=\"application/json\" id=\"taper-labels\">{\"Run\":\"Lancer\"}</script>\n";
        assert_eq!(french().for_scripts(), element);
        assert_eq!(Labels::default().for_scripts(), "");
    }

    /// A word that a script looks up and that is not in the list would stay English.
    #[test]
    fn the_words_of_the_scripts_are_in_the_list() {
        let scripts = [
            include_str!("serve/run.js"),
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
