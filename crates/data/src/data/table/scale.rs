//! Standardised columns, and missing values.

use super::{DataFrame, column::Entries, mean};
use crate::error::Result;

impl DataFrame {
    /// Shifts and scales each column of values to mean 0 and standard deviation 1, both computed from the
    /// values that are not missing. A column in which all values are the same becomes 0.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("x,name\n1,a\n3,b\nNA,c\n")?.standardize();
    /// let x = table.values("x")?;
    /// assert!((x[0] + 0.7071).abs() < 1e-4 && (x[1] - 0.7071).abs() < 1e-4);
    /// assert_eq!(table.fill_missing(0.0).values("x")?[2], 0.0); // the mean
    /// # Ok::<(), Error>(())
    /// ```
    pub fn standardize(&self) -> Self {
        self.standardized(self)
    }

    /// Shifts and scales each column of values as [`standardize`](Self::standardize) does, but with the mean
    /// and the standard deviation of the training data.
    ///
    /// # Errors
    /// If `train` lacks a column of values of this table, or has texts in it.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (train, test) = (DataFrame::from_csv("x\n1\n3\n")?, DataFrame::from_csv("x\n2\n")?);
    /// assert_eq!(test.standardize_by(&train)?.values("x")?, [0.0]); // the mean of 1 and 3
    /// # Ok::<(), Error>(())
    /// ```
    pub fn standardize_by(&self, train: &Self) -> Result<Self> {
        self.check_values_in(train)?;
        Ok(self.standardized(train))
    }

    /// Replaces missing values by `value`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("x,y\n1,2\n,3\n")?.fill_missing(-1.0);
    /// assert_eq!(table.values("x")?, [1.0, -1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn fill_missing(&self, value: f64) -> Self {
        self.map_columns(|_| (), |(), entry| entry.or(Some(value)))
    }

    /// Replaces missing values by the mean of their column, or by 0 if the whole column is missing.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("x,y\n1,2\n,3\n5,4\n")?.fill_missing_with_mean();
    /// assert_eq!(table.values("x")?, [1.0, 3.0, 5.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn fill_missing_with_mean(&self) -> Self {
        self.filled(self)
    }

    /// Replaces missing values by the mean of their column in the training data.
    ///
    /// # Errors
    /// If `train` lacks a column of values of this table, or has texts in it.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let (train, test) = (DataFrame::from_csv("x\n1\n3\n")?, DataFrame::from_csv("x\nNA\n")?);
    /// assert_eq!(test.fill_missing_with_mean_of(&train)?.values("x")?, [2.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn fill_missing_with_mean_of(&self, train: &Self) -> Result<Self> {
        self.check_values_in(train)?;
        Ok(self.filled(train))
    }

    fn standardized(&self, train: &Self) -> Self {
        let fitted = |name: &str| {
            let known = train.known(name);
            let mean = mean(&known);
            let squares = known.iter().map(|value| (value - mean).powi(2));
            let std = (squares.sum::<f64>() / (known.len() as f64 - 1.0).max(1.0)).sqrt();
            (mean, if std > 0.0 { std } else { 1.0 })
        };
        self.map_columns(fitted, |(mean, scale), entry| {
            entry.map(|v| (v - mean) / scale)
        })
    }

    fn filled(&self, train: &Self) -> Self {
        self.map_columns(
            |name| mean(&train.known(name)),
            |mean, entry| entry.or(Some(*mean)),
        )
    }

    /// Returns an error unless each column of values has values in the other table as well.
    fn check_values_in(&self, other: &Self) -> Result<()> {
        let mut values = self
            .columns
            .iter()
            .filter(|column| matches!(column.entries, Entries::Values(_)));
        values.try_for_each(|column| other.values(&column.name).map(drop))
    }

    /// Returns the values of a column that are not missing.
    fn known(&self, name: &str) -> Vec<f64> {
        match self.column(name).map(|column| &column.entries) {
            Ok(Entries::Values(values)) => values.iter().copied().flatten().collect(),
            _ => vec![],
        }
    }

    /// Replaces each entry of the columns of values by the result of `map`, which also receives what `fit`
    /// returned for the name of the column.
    fn map_columns<F>(
        &self,
        fit: impl Fn(&str) -> F,
        map: impl Fn(&F, Option<f64>) -> Option<f64>,
    ) -> Self {
        let mut columns = self.columns.clone();
        for column in columns.iter_mut() {
            if let Entries::Values(values) = &mut column.entries {
                let fitted = fit(&column.name);
                values
                    .iter_mut()
                    .for_each(|entry| *entry = map(&fitted, *entry));
            }
        }
        self.with(columns.into_inner())
    }
}
