//! Tables of named columns.

mod column;
mod csv;
mod json;
mod rows;
mod scale;
#[cfg(test)]
mod tests;

use crate::erased::{Erased, outlined};
use crate::error::{self, Result, attempt, refuse};
use crate::input;
use crate::notebook::{Table, show_as_table};
use crate::tensor::Tensor;
use column::{Column, Entries};
use std::fmt::Display;
use std::path::Path;

/// A table with named columns of values or texts, some of which may be missing. It is read from a file of
/// CSV or JSON lines and converted to a tensor.
///
/// A column whose entries are all floating-point numbers has values, any other column has texts. An
/// entry is missing if it is empty, `NA`, `N/A`, `NaN`, `nan`, `null`, `NULL` or `None`; spaces around it do
/// not count.
///
/// From d2l's chapters *Data Preprocessing* and *Predicting House Prices on Kaggle*.
///
/// ```
/// use taper::prelude::*;
///
/// let houses = DataFrame::from_csv("\
/// rooms,roof,price
/// NA,NA,127500
/// 2,NA,106000
/// 4,Slate,178100
/// NA,NA,140000
/// ")?;
/// let targets = houses.select(&["price"])?.to_tensor()?; // (4, 1)
/// let inputs = houses.drop(&["price"])?.one_hot().fill_missing_with_mean();
/// assert_eq!(inputs.columns(), ["rooms", "roof_Slate", "roof_missing"]);
/// let inputs = inputs.to_tensor()?; // (4, 3)
/// assert_eq!(
///     inputs.to_vec2::<f32>(),
///     [[3.0, 0.0, 1.0], [2.0, 0.0, 1.0], [4.0, 1.0, 0.0], [3.0, 0.0, 1.0]]
/// );
/// let data = TensorDataset::new(inputs, targets)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(PartialEq)]
pub struct DataFrame {
    columns: Erased<Vec<Column>>,
    rows: usize,
}

outlined!(Clone Debug for DataFrame { columns, rows });

/// Reads the columns of a text, and the number of its rows; its first argument names the text in errors.
type Parser = fn(&str, &str) -> Result<(Vec<Column>, usize)>;

impl DataFrame {
    /// Reads a CSV file, whose first line has the names of the columns.
    ///
    /// # Errors
    /// If the file cannot be read; else as for [`from_csv`](Self::from_csv).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let path = std::env::temp_dir().join(format!("taper_table_{}.csv", std::process::id()));
    /// std::fs::write(&path, "x,y\n1,2\n")?;
    /// assert_eq!(DataFrame::read_csv(&path)?.columns(), ["x", "y"]);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn read_csv(path: impl AsRef<Path>) -> Result<Self> {
        Self::read(
            path.as_ref(),
            "Give the path of a CSV file in UTF-8",
            csv::parse,
        )
    }

    fn read(path: &Path, advice: &str, parse: Parser) -> Result<Self> {
        let unreadable = |reason: &dyn Display| error::file("read the table", path, reason, advice);
        let bytes = input::read(path).map_err(|reason| unreadable(&reason))?;
        if let [0xff, 0xfe, ..] | [0xfe, 0xff, ..] = bytes[..] {
            return Err(unreadable(&"its text is in UTF-16, not in UTF-8"));
        }
        let text = String::from_utf8(bytes).map_err(|reason| unreadable(&reason.utf8_error()))?;
        Self::parse(&path.display().to_string(), &text, parse)
    }

    /// Reads the text of a CSV file. Fields are separated by commas; a field that contains a comma, a quote
    /// or a line break is enclosed in double quotes.
    ///
    /// # Errors
    /// If there is no line with names, a name occurs twice, a line does not have as many fields as there
    /// are names, or a quote is not closed.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("name,size\n\"Smith, J.\",3\n")?;
    /// assert_eq!(table.texts("name")?, ["Smith, J."]);
    ///
    /// let error = DataFrame::from_csv("x,y\n1,2\n3\n").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "the table: expected 2 fields in line 3, as in the first line, found 1\n\
    ///      Separate all fields by commas; put double quotes around a field with a comma in it"
    /// );
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_csv(text: &str) -> Result<Self> {
        Self::parse("the table", text, csv::parse)
    }

    /// Reads a file of JSON lines: each line is an object, whose keys name the columns.
    ///
    /// # Errors
    /// If the file cannot be read; else as for [`from_json_lines`](Self::from_json_lines).
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let path = std::env::temp_dir().join(format!("taper_table_{}.jsonl", std::process::id()));
    /// std::fs::write(&path, "{\"x\": 1, \"y\": 2}\n")?;
    /// assert_eq!(DataFrame::read_json_lines(&path)?.columns(), ["x", "y"]);
    /// # std::fs::remove_file(path)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn read_json_lines(path: impl AsRef<Path>) -> Result<Self> {
        let advice = "Give the path of a file in UTF-8 with a JSON object in each line";
        Self::read(path.as_ref(), advice, json::parse)
    }

    /// Reads the text of a file of JSON lines. The columns are in the order of their names. An entry is missing if it is
    /// `null` or its object does not have it; lists and objects are kept as their JSON text.
    ///
    /// # Errors
    /// If a line is not an object, or the lines have few names in common.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_json_lines(r#"
    /// {"name": "oak", "height": 21.5, "leaves": [1, 2]}
    /// {"name": "elm", "height": null}
    /// "#)?;
    /// assert_eq!(table.columns(), ["height", "leaves", "name"]);
    /// assert_eq!(table.values("height")?[0], 21.5);
    /// assert_eq!(table.texts("leaves")?, ["[1,2]", ""]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_json_lines(text: &str) -> Result<Self> {
        Self::parse("the table", text, json::parse)
    }

    fn parse(source: &str, text: &str, parse: Parser) -> Result<Self> {
        let (columns, rows) = parse(source, text)?;
        Ok(Self::of(columns, rows))
    }

    fn of(columns: Vec<Column>, rows: usize) -> Self {
        let columns = columns.into();
        Self { columns, rows }
    }

    /// Returns the number of rows.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(DataFrame::from_csv("x\n1\n2\n")?.num_rows(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn num_rows(&self) -> usize {
        self.rows
    }

    /// Returns the names of the columns.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// assert_eq!(DataFrame::from_csv("x,y\n")?.columns(), ["x", "y"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn columns(&self) -> Vec<&str> {
        let names = self.columns.iter().map(|column| &*column.name);
        names.collect()
    }

    /// Returns the values of a column, NaN where one is missing.
    ///
    /// # Errors
    /// If there is no such column, or it has texts.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("x,y\n1,a\n,b\n")?;
    /// assert!(table.values("x")?[1].is_nan());
    /// assert!(table.values("y").is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn values(&self, name: &str) -> Result<Vec<f64>> {
        let column = self.column(name)?;
        match &column.entries {
            Entries::Values(values) => Ok(values.iter().map(|v| v.unwrap_or(f64::NAN)).collect()),
            Entries::Texts(_) => Err(column.has_texts()),
        }
    }

    /// Returns the entries of a column as texts, empty where one is missing.
    ///
    /// # Errors
    /// If there is no such column.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("x,y\n1,a\n2,NA\n")?;
    /// assert_eq!(table.texts("y")?, ["a", ""]);
    /// assert_eq!(table.texts("x")?, ["1", "2"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn texts(&self, name: &str) -> Result<Vec<String>> {
        let column = self.column(name)?;
        Ok((0..self.rows).map(|row| column.text(row)).collect())
    }

    /// Returns the table of these columns, in this order.
    ///
    /// # Errors
    /// If there is no such column.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("x,y,z\n1,2,3\n")?;
    /// assert_eq!(table.select(&["z", "x"])?.columns(), ["z", "x"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn select(&self, names: &[&str]) -> Result<Self> {
        let columns = names.iter().map(|name| self.column(name).cloned());
        Ok(self.with(columns.collect::<Result<_>>()?))
    }

    /// Returns the table without these columns.
    ///
    /// # Errors
    /// If there is no such column.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("id,x\n7,2\n")?;
    /// assert_eq!(table.drop(&["id"])?.columns(), ["x"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn drop(&self, names: &[&str]) -> Result<Self> {
        names
            .iter()
            .try_for_each(|name| self.column(name).map(drop))?;
        let columns = self.columns.iter().cloned();
        Ok(self.with(columns.filter(|c| !names.contains(&&*c.name)).collect()))
    }

    /// Returns a table with the rows of this one and of another with the same columns, so that training
    /// and test data get the same [`one_hot`](Self::one_hot) columns. Columns with values here and texts
    /// there become texts.
    ///
    /// # Errors
    /// If the names of the columns differ.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let train = DataFrame::from_csv("roof\nslate\n")?;
    /// let test = DataFrame::from_csv("roof\nstraw\n")?;
    /// let all = train.concat(&test)?.one_hot();
    /// assert_eq!(all.columns(), ["roof_slate", "roof_straw"]);
    /// let tensor = all.to_tensor()?;
    /// let (train, test) = (tensor.narrow(0, 0, 1), tensor.narrow(0, 1, 1));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn concat(&self, other: &Self) -> Result<Self> {
        refuse!(if self.columns() != other.columns();
            argument("DataFrame::concat", other.columns().join(", "));
            ("the columns {}", self.columns().join(", ")),
            "Bring both to the same columns with select or drop");
        let columns = self.columns.iter().zip(other.columns.iter());
        let columns = columns.map(|(a, b)| a.followed_by(b)).collect();
        Ok(Self::of(columns, self.rows + other.rows))
    }

    /// Replaces each column of texts by one column for each distinct text, sorted, in which 1 marks the rows
    /// with this text and 0 all others. If texts are missing, a column `…_missing` marks their rows. If a name
    /// is taken already, the new column gets a number: `…_2`.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("size,colour\n3,red\n5,blue\n4,red\n")?.one_hot();
    /// assert_eq!(table.columns(), ["size", "colour_blue", "colour_red"]);
    /// assert_eq!(table.values("colour_red")?, [1.0, 0.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn one_hot(&self) -> Self {
        let columns = self.columns.iter();
        let kept = columns.filter(|column| matches!(column.entries, Entries::Values(_)));
        let mut taken = kept.map(|column| column.name.clone()).collect();
        let columns = self.columns.iter();
        self.with(columns.flat_map(|c| c.one_hot(&mut taken)).collect())
    }

    /// Returns the values as a tensor of `f32` on the default device: `(rows, columns)`.
    ///
    /// # Errors
    /// If a column has texts or missing values, or the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("x,y\n1,2\n3,\n")?;
    /// let error = table.to_tensor().unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "DataFrame: the column \"y\" has no value in row 1, counted from 0\n\
    ///      Fill it: table.fill_missing(0.0) or table.fill_missing_with_mean()"
    /// );
    /// assert_eq!(table.fill_missing(0.0).to_tensor()?.dims(), [2, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn to_tensor(&self) -> Result<Tensor> {
        let columns = self.columns.iter().map(Column::known);
        let columns: Vec<Vec<f64>> = columns.collect::<Result<_>>()?;
        let row = |row: usize| columns.iter().map(move |column| column[row] as f32);
        let values: Vec<f32> = (0..self.rows).flat_map(row).collect();
        attempt(|| Tensor::from_vec(values, (self.rows, columns.len())))
    }

    fn column(&self, name: &str) -> Result<&Column> {
        let column = self.columns.iter().find(|column| column.name == name);
        column.ok_or_else(|| error::name("column", name, self.columns()))
    }

    fn with(&self, columns: Vec<Column>) -> Self {
        Self::of(columns, self.rows)
    }

    fn table(&self) -> Table {
        let right = self.columns.iter().enumerate();
        let right = right.filter(|(_, c)| matches!(c.entries, Entries::Values(_)));
        let mut table = Table::new(self.columns()).right(right.map(|(i, _)| i));
        let row = |row| self.columns.iter().map(|c| c.text(row)).collect();
        table.push_all(self.rows, row);
        table.with_html(false)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

show_as_table!(DataFrame);
