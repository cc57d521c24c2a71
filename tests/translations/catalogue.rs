//! A catalogue of gettext, merged with the document that it translates.

use polib::catalog::Catalog;
use polib::message::{Message, MessageFlags, MessageMutView, MessageView};
use polib::metadata::CatalogMetadata;
use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::ops::AddAssign;
use std::path::Path;
use taper_notebook::Unit;

/// How similar a text must be to an earlier one, whose translation is then proposed.
const SIMILAR: f64 = 0.6;

pub(crate) struct Catalogue(Vec<Entry>);

#[derive(Clone)]
struct Entry {
    unit: Unit,
    translation: String,
    is_fuzzy: bool,
}

#[derive(Default)]
pub(crate) struct Count {
    current: usize,
    fuzzy: usize,
    all: usize,
    /// The words of all paragraphs.
    words: usize,
    /// The words of the current translations.
    translated: usize,
}

impl Catalogue {
    /// Reads a catalogue; a missing one is empty.
    pub(crate) fn read(path: &Path) -> Catalogue {
        if !path.exists() {
            return Catalogue(Vec::new());
        }
        let parsed = polib::po_file::parse(path);
        let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let entry = |message: &dyn MessageView| Entry {
            unit: Unit {
                context: message.msgctxt().unwrap_or_default().into(),
                text: message.msgid().into(),
            },
            translation: message.msgstr().unwrap_or_default().into(),
            is_fuzzy: message.is_fuzzy(),
        };
        Catalogue(parsed.messages().map(entry).collect())
    }

    /// Returns the catalogue of a document: its units in order, with the translations that this catalogue has.
    pub(crate) fn merged(&self, units: &[Unit], _language: &str) -> Catalogue {
        let mut known: HashMap<(&str, &str), &Entry> = HashMap::new();
        for entry in &self.0 {
            known.insert((&entry.unit.context, &entry.unit.text), entry);
            known.entry(("", &entry.unit.text)).or_insert(entry);
        }
        let mut merged: Vec<Entry> = Vec::new();
        for unit in units {
            if merged.iter().any(|entry| entry.unit == *unit) {
                continue;
            }
            let same = known.get(&(unit.context.as_str(), unit.text.as_str()));
            let same = same.or_else(|| known.get(&("", unit.text.as_str())));
            let (translation, is_fuzzy) = match same {
                Some(entry) => (entry.translation.clone(), entry.is_fuzzy),
                None => self.proposal(unit, units),
            };
            merged.push(Entry {
                unit: unit.clone(),
                translation,
                is_fuzzy,
            });
        }
        Catalogue(merged)
    }

    /// Returns the translation of the most similar text that is no longer in the document.
    fn proposal(&self, unit: &Unit, units: &[Unit]) -> (String, bool) {
        let unused = self.0.iter().filter(|entry| {
            !entry.translation.is_empty() && !units.iter().any(|unit| unit.text == entry.unit.text)
        });
        let similarity = |entry: &Entry| strsim::sorensen_dice(&entry.unit.text, &unit.text);
        let best = unused
            .map(|entry| (similarity(entry), entry))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        match best {
            Some((similarity, entry)) if similarity >= SIMILAR => (entry.translation.clone(), true),
            _ => (String::new(), false),
        }
    }

    pub(crate) fn write(&self, path: &Path) {
        let mut metadata = CatalogMetadata::new();
        metadata.content_type = "text/plain; charset=UTF-8".into();
        metadata.content_transfer_encoding = "8bit".into();
        metadata.mime_version = "1.0".into();
        let language = path.components().rev().find_map(|part| {
            let name = part.as_os_str().to_str()?;
            (name.len() == 2).then(|| name.to_owned())
        });
        metadata.language = language.unwrap_or_default();
        let mut catalog = Catalog::new(metadata);
        for entry in &self.0 {
            let mut message = Message::build_singular()
                .with_msgctxt(entry.unit.context.clone())
                .with_msgid(entry.unit.text.clone())
                .with_msgstr(entry.translation.clone())
                .with_flags(MessageFlags::new())
                .done();
            if entry.is_fuzzy {
                message.flags_mut().add_flag("fuzzy");
            }
            catalog.append_or_update(message);
        }
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder is made");
        polib::po_file::write_to_file(&catalog, path).expect("the catalogue is written");
    }

    /// Returns the current translations, each with its source.
    pub(crate) fn current(&self) -> impl Iterator<Item = (&str, &str)> {
        let current = self.0.iter().filter(|entry| entry.is_current());
        current.map(|entry| (entry.unit.text.as_str(), entry.translation.as_str()))
    }

    pub(crate) fn count(&self) -> Count {
        let count = |is: fn(&Entry) -> bool| self.0.iter().filter(|entry| is(entry)).count();
        Count {
            current: count(Entry::is_current),
            fuzzy: count(|entry| entry.is_fuzzy),
            all: self.0.len(),
            words: self.0.iter().map(|entry| words(&entry.unit.text)).sum(),
            translated: self.current().map(|(_, text)| words(text)).sum(),
        }
    }
}

/// Counts words; Chinese has no spaces between them, so that each character counts.
fn words(text: &str) -> usize {
    let is_han = |letter: &char| ('\u{4e00}'..='\u{9fff}').contains(letter);
    let count = |part: &str| match part.chars().filter(is_han).count() {
        0 => usize::from(part.contains(char::is_alphabetic)),
        letters => letters,
    };
    text.split_whitespace().map(count).sum()
}

impl Entry {
    fn is_current(&self) -> bool {
        !self.is_fuzzy && !self.translation.is_empty()
    }
}

impl Count {
    pub(crate) fn percent(&self) -> f64 {
        100.0 * self.current as f64 / self.all.max(1) as f64
    }
}

impl AddAssign for Count {
    fn add_assign(&mut self, other: Count) {
        self.current += other.current;
        self.fuzzy += other.fuzzy;
        self.all += other.all;
        self.words += other.words;
        self.translated += other.translated;
    }
}

impl fmt::Display for Count {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let Count {
            current,
            fuzzy,
            all,
            words,
            translated,
        } = self;
        let percent = self.percent();
        write!(
            formatter,
            "{current} of {all} paragraphs are translated ({percent:.1} %), {fuzzy} are fuzzy; \
             {words} English words, {translated} words or characters in translations"
        )
    }
}

#[test]
fn a_changed_paragraph_is_fuzzy_and_a_moved_one_is_not() {
    let unit = |context: &str, text: &str| Unit {
        context: context.into(),
        text: text.into(),
    };
    let entry = |unit, translation: &str| Entry {
        unit,
        translation: translation.into(),
        is_fuzzy: false,
    };
    let old = Catalogue(vec![
        entry(
            unit("a", "The loss falls quickly."),
            "La perte baisse vite.",
        ),
        entry(unit("a", "It moves."), "Il bouge."),
    ]);
    let new = old.merged(
        &[
            unit("a", "The loss falls slowly."),
            unit("b", "It moves."),
            unit("b", "Unlike."),
        ],
        "fr",
    );
    let found: Vec<_> = new
        .0
        .iter()
        .map(|entry| (entry.translation.as_str(), entry.is_fuzzy))
        .collect();
    assert_eq!(
        found,
        [
            ("La perte baisse vite.", true),
            ("Il bouge.", false),
            ("", false)
        ]
    );
    assert_eq!(
        (new.count().current, new.count().fuzzy, new.count().all),
        (1, 1, 3)
    );
}
