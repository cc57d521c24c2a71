//! Selecting and grouping rows of a table.

use super::{DataFrame, column::Column, column::Entries, mean};
use crate::error::{Result, refuse};
use std::collections::BTreeMap;
use std::ops::Range;

impl DataFrame {
    /// Returns the first `n` rows, or all if there are fewer.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("x\n1\n2\n3\n")?;
    /// assert_eq!(table.head(2).values("x")?, [1.0, 2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn head(&self, n: usize) -> Self {
        self.take(0..n.min(self.rows))
    }

    /// Returns the rows of a range, such as those for training.
    ///
    /// # Errors
    /// If the range ends after the last row.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("x\n1\n2\n3\n")?;
    /// let (train, test) = (table.rows(0..2)?, table.rows(2..3)?);
    /// assert_eq!((train.num_rows(), test.values("x")?), (2, vec![3.0]));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn rows(&self, range: Range<usize>) -> Result<Self> {
        refuse!(if range.end > self.rows; argument("DataFrame::rows", format_args!("{range:?}"));
            ("a range that ends at {} at most", self.rows),
            "End the range at table.num_rows() or before");
        Ok(self.take(range))
    }

    /// Returns the rows for which `keep` returns true for the value in a column. A missing value is NaN,
    /// for which all comparisons except `!=` are false.
    ///
    /// # Errors
    /// If there is no such column, or it has texts.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("rooms,price\n2,90\nNA,70\n4,150\n")?;
    /// assert_eq!(table.filter("rooms", |rooms| rooms > 1.0)?.values("price")?, [90.0, 150.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn filter(&self, name: &str, keep: impl Fn(f64) -> bool) -> Result<Self> {
        self.where_values(name, &keep)
    }

    /// Returns the rows for which `keep` returns true for the text in a column. A missing text is empty.
    ///
    /// # Errors
    /// If there is no such column.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("roof,price\nslate,90\nstraw,70\n")?;
    /// assert_eq!(table.filter_texts("roof", |roof| roof == "slate")?.values("price")?, [90.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn filter_texts(&self, name: &str, keep: impl Fn(&str) -> bool) -> Result<Self> {
        self.where_texts(name, &keep)
    }

    fn where_values(&self, name: &str, keep: &dyn Fn(f64) -> bool) -> Result<Self> {
        let kept: Vec<bool> = self.values(name)?.into_iter().map(keep).collect();
        Ok(self.take((0..self.rows).filter(|&row| kept[row])))
    }

    fn where_texts(&self, name: &str, keep: &dyn Fn(&str) -> bool) -> Result<Self> {
        let kept: Vec<bool> = self.texts(name)?.iter().map(|text| keep(text)).collect();
        Ok(self.take((0..self.rows).filter(|&row| kept[row])))
    }

    /// Returns a table with a row for each distinct value of a column, sorted, which contains the means of
    /// all other columns of values over the rows with that value. Missing values are left out.
    ///
    /// # Errors
    /// If there is no such column.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("roof,price,name\nstraw,70,a\nslate,90,b\nstraw,80,c\n")?;
    /// let means = table.group_mean("roof")?;
    /// assert_eq!(means.columns(), ["roof", "price"]);
    /// assert_eq!(means.texts("roof")?, ["slate", "straw"]);
    /// assert_eq!(means.values("price")?, [90.0, 75.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn group_mean(&self, by: &str) -> Result<Self> {
        let key = self.column(by)?;
        let mut groups: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for row in 0..self.rows {
            if let Some(key) = Key::of(key, row) {
                groups.entry(key).or_default().push(row);
            }
        }
        let firsts = groups.values().map(|rows| rows[0]).collect::<Vec<_>>();
        let mut columns = vec![key.take(&firsts)];
        for column in self.columns.iter().filter(|column| column.name != by) {
            if let Entries::Values(values) = &column.entries {
                let means = groups.values().map(|rows| {
                    let known: Vec<f64> = rows.iter().filter_map(|&row| values[row]).collect();
                    (!known.is_empty()).then(|| mean(&known))
                });
                columns.push(Column {
                    name: column.name.clone(),
                    entries: Entries::Values(means.collect()),
                });
            }
        }
        Ok(Self::of(columns, firsts.len()))
    }

    fn take(&self, rows: impl Iterator<Item = usize>) -> Self {
        let rows: Vec<usize> = rows.collect();
        let columns = self.columns.iter().map(|column| column.take(&rows));
        Self::of(columns.collect(), rows.len())
    }
}

/// An entry by which rows are grouped: values are sorted by size, texts alphabetically.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Value(i64),
    Text(String),
}

impl Key {
    fn of(column: &Column, row: usize) -> Option<Self> {
        match &column.entries {
            Entries::Values(values) => values[row].map(|value| Key::Value(ordered(value))),
            Entries::Texts(texts) => texts[row].clone().map(Key::Text),
        }
    }
}

/// Returns an integer that is larger for a larger value.
fn ordered(value: f64) -> i64 {
    let bits = (value + 0.0).to_bits() as i64; // -0 becomes 0
    bits ^ (((bits >> 63) as u64) >> 1) as i64
}
