//! One column of a table.

use crate::error::{Error, Result, problem};
use std::collections::BTreeSet;

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) entries: Entries,
}

/// The entries of a column, `None` where one is missing.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Entries {
    Values(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
}

impl Column {
    /// Returns an entry as text, empty if it is missing.
    pub(super) fn text(&self, row: usize) -> String {
        match &self.entries {
            Entries::Values(values) => values[row].map_or_else(String::new, |v| v.to_string()),
            Entries::Texts(texts) => texts[row].clone().unwrap_or_default(),
        }
    }

    /// Returns a column with the entries of these rows.
    pub(super) fn take(&self, rows: &[usize]) -> Self {
        let entries = match &self.entries {
            Entries::Values(values) => {
                Entries::Values(rows.iter().map(|&row| values[row]).collect())
            }
            Entries::Texts(texts) => {
                Entries::Texts(rows.iter().map(|&row| texts[row].clone()).collect())
            }
        };
        Self {
            name: self.name.clone(),
            entries,
        }
    }

    /// Returns the values, or an error if one is missing or the column has texts.
    pub(super) fn known(&self) -> Result<Vec<f64>> {
        let Entries::Values(values) = &self.entries else {
            return Err(self.has_texts());
        };
        let known = values.iter().enumerate().map(|(row, value)| {
            value.ok_or_else(|| {
                problem!(state("DataFrame");
                    ("the column {:?} has no value in row {row}, counted from 0", self.name),
                    "Fill it: table.fill_missing(0.0) or table.fill_missing_with_mean()")
            })
        });
        known.collect()
    }

    pub(super) fn has_texts(&self) -> Error {
        problem!(state("DataFrame");
            ("the column {:?} has texts, not values", self.name),
            "Convert it with table.one_hot(), leave it out with table.drop(…)?, or read it with table.texts(…)?")
    }

    /// Returns this column if it has values, else the one-hot columns that replace it. Their names are none
    /// of those that are `taken`, and are added to these.
    pub(super) fn one_hot(&self, taken: &mut BTreeSet<String>) -> Vec<Column> {
        let Entries::Texts(texts) = &self.entries else {
            return vec![self.clone()];
        };
        let marked = |text: Option<&str>| Column {
            name: unique(
                format!("{}_{}", self.name, text.unwrap_or("missing")),
                taken,
            ),
            entries: Entries::Values(
                texts
                    .iter()
                    .map(|own| Some(f64::from(u8::from(own.as_deref() == text))))
                    .collect(),
            ),
        };
        let distinct: BTreeSet<&str> = texts.iter().flatten().map(String::as_str).collect();
        let missing = texts.contains(&None).then_some(None);
        distinct
            .into_iter()
            .map(Some)
            .chain(missing)
            .map(marked)
            .collect()
    }

    /// Returns the entries of this column, then those of the other.
    pub(super) fn followed_by(&self, other: &Column) -> Column {
        let entries = match (&self.entries, &other.entries) {
            (Entries::Values(a), Entries::Values(b)) => Entries::Values([&a[..], b].concat()),
            (a, b) => Entries::Texts([a.texts(), b.texts()].concat()),
        };
        Column {
            name: self.name.clone(),
            entries,
        }
    }
}

/// Returns the name, with a number if it is taken already: `name_2`.
fn unique(name: String, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| format!("{name}_{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    let free = names.find(|name| taken.insert(name.clone()));
    free.expect("the number of columns is finite")
}

impl Entries {
    /// Creates values if all entries that are not missing are floating-point numbers, else texts. NaN is a
    /// missing value, however it is spelled.
    pub(super) fn of(texts: Vec<Option<String>>) -> Self {
        let value = |text: &Option<String>| match text {
            None => Ok(None),
            Some(text) => {
                let value = text.trim().parse();
                value.map(|value: f64| (!value.is_nan()).then_some(value))
            }
        };
        match texts.iter().map(value).collect() {
            Ok(values) => Entries::Values(values),
            Err::<_, std::num::ParseFloatError>(_) => Entries::Texts(texts),
        }
    }

    fn texts(&self) -> Vec<Option<String>> {
        match self {
            Entries::Values(values) => values.iter().map(|v| v.map(|v| v.to_string())).collect(),
            Entries::Texts(texts) => texts.clone(),
        }
    }
}
