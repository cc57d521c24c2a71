//! The files of the hub: parquet with a column of PNG pictures and one of classes.

use super::examples::{Examples, check_label};
use super::sets::{DataSet, Part};
use ::parquet::column::reader::ColumnReader;
use ::parquet::data_type::ByteArray;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::fs::File;
use std::io::Cursor;
use std::path::Path;

/// Reads the pictures and classes of one part.
pub fn read(path: &Path, set: &DataSet, part: &Part) -> Result<Examples> {
    let reader = SerializedFileReader::new(File::open(path)?)
        .with_context(|| format!("{} is no whole parquet file", path.display()))?;
    let rows = reader.metadata().file_metadata().num_rows();
    if usize::try_from(rows) != Ok(part.count) {
        let (file, count) = (path.display(), part.count);
        bail!("{file} has {rows} examples, expected were {count}");
    }
    let columns = Columns::find(&reader, set)
        .with_context(|| format!("{} has other columns", path.display()))?;
    let mut examples = Examples::with_capacity(set, part.count);
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let (pictures, labels) = columns
            .read(&*group)
            .with_context(|| format!("{} is damaged", path.display()))?;
        for (picture, label) in pictures.iter().zip(labels) {
            let example = examples.labels.len();
            examples.labels.push(check_label(path, example, label)?);
            decode(picture.data(), set.shape, &mut examples.images)
                .with_context(|| format!("{}: the picture of example {example}", path.display()))?;
        }
    }
    ensure!(
        examples.labels.len() == part.count,
        "{} has fewer examples than it says",
        path.display()
    );
    Ok(examples)
}

/// Where pictures and classes are.
struct Columns {
    pictures: usize,
    labels: usize,
}

impl Columns {
    fn find(reader: &impl FileReader, set: &DataSet) -> Result<Self> {
        let schema = reader.metadata().file_metadata().schema_descr();
        let find = |name: &str| {
            let mut columns = schema.columns().iter();
            let found = columns.position(|column| column.path().string() == name);
            found.ok_or_else(|| anyhow!("there is no column {name}"))
        };
        Ok(Columns {
            pictures: find(&format!("{}.bytes", set.hub.column))?,
            labels: find("label")?,
        })
    }

    /// All of a row group: encoded pictures, classes.
    fn read(&self, group: &dyn RowGroupReader) -> Result<(Vec<ByteArray>, Vec<i64>)> {
        let rows = usize::try_from(group.metadata().num_rows())?;
        // Where a value is missing there is a level, but no value.
        let mut levels = Vec::new();
        let mut pictures = Vec::new();
        match group.get_column_reader(self.pictures)? {
            ColumnReader::ByteArrayColumnReader(mut reader) => {
                reader.read_records(rows, Some(&mut levels), None, &mut pictures)?
            }
            _ => bail!("the pictures are no bytes"),
        };
        levels.clear();
        let mut labels = Vec::new();
        match group.get_column_reader(self.labels)? {
            ColumnReader::Int64ColumnReader(mut reader) => {
                reader.read_records(rows, Some(&mut levels), None, &mut labels)?
            }
            _ => bail!("the labels are no integers of 64 bits"),
        };
        ensure!(
            pictures.len() == rows && labels.len() == rows,
            "of {rows} examples, {} have a picture and {} a label",
            pictures.len(),
            labels.len()
        );
        Ok((pictures, labels))
    }
}

/// Adds a picture's bytes, channel by channel.
fn decode(bytes: &[u8], [channels, height, width]: [usize; 3], into: &mut Vec<u8>) -> Result<()> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().context("it is no PNG")?;
    let info = reader.info();
    let found = (info.height as usize, info.width as usize);
    let (color, _) = reader.output_color_type();
    ensure!(
        found == (height, width) && color.samples() == channels,
        "it has {} by {} pixels of {} values, expected were {height} by {width} of {channels}",
        found.0,
        found.1,
        color.samples()
    );
    let mut pixels = vec![0; channels * height * width];
    reader.next_frame(&mut pixels).context("it is damaged")?;
    // Plain loops: this is compiled without optimisation, where iterators take ten times as long.
    let size = height * width;
    let mut planes = vec![0; pixels.len()];
    for channel in 0..channels {
        for pixel in 0..size {
            planes[channel * size + pixel] = pixels[pixel * channels + channel];
        }
    }
    into.extend_from_slice(&planes);
    Ok(())
}
