//! Reads the files of the hub: parquet with a column of PNG images and one of classes.

use super::examples::{Examples, check_label};
use super::sets::{DataSet, Part};
use ::parquet::column::reader::ColumnReader;
use ::parquet::data_type::ByteArray;
use ::parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::fs::File;
use std::io::Cursor;
use std::path::Path;

/// Reads the images and classes of one part.
pub(crate) fn read(path: &Path, set: &DataSet, part: &Part) -> Result<Examples> {
    let reader = SerializedFileReader::new(File::open(path)?)
        .with_context(|| format!("{} is not a complete parquet file", path.display()))?;
    let rows = reader.metadata().file_metadata().num_rows();
    if usize::try_from(rows) != Ok(part.count) {
        let (file, count) = (path.display(), part.count);
        bail!("{file} has {rows} examples, expected {count}");
    }
    let columns = Columns::find(&reader, set)
        .with_context(|| format!("{} does not have the expected columns", path.display()))?;
    let mut examples = Examples::with_capacity(set, part.count);
    for group in 0..reader.num_row_groups() {
        let group = reader.get_row_group(group)?;
        let (images, labels) = columns
            .read(&*group)
            .with_context(|| format!("{} is damaged", path.display()))?;
        for (image, label) in images.iter().zip(labels) {
            let example = examples.labels.len();
            examples.labels.push(check_label(path, example, label)?);
            decode(image.data(), set.shape, &mut examples.images)
                .with_context(|| format!("{}: the image of example {example}", path.display()))?;
        }
    }
    ensure!(
        examples.labels.len() == part.count,
        "{} has fewer examples than its header declares",
        path.display()
    );
    Ok(examples)
}

/// The indices of the columns of images and classes.
struct Columns {
    images: usize,
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
            images: find(&format!("{}.bytes", set.hub.column))?,
            labels: find("label")?,
        })
    }

    /// Returns all encoded images and classes of a row group.
    fn read(&self, group: &dyn RowGroupReader) -> Result<(Vec<ByteArray>, Vec<i64>)> {
        let rows = usize::try_from(group.metadata().num_rows())?;
        // A missing value has a level, but no value.
        let mut levels = Vec::new();
        let mut images = Vec::new();
        match group.get_column_reader(self.images)? {
            ColumnReader::ByteArrayColumnReader(mut reader) => {
                reader.read_records(rows, Some(&mut levels), None, &mut images)?
            }
            _ => bail!("the column of the images does not contain bytes"),
        };
        levels.clear();
        let mut labels = Vec::new();
        match group.get_column_reader(self.labels)? {
            ColumnReader::Int64ColumnReader(mut reader) => {
                reader.read_records(rows, Some(&mut levels), None, &mut labels)?
            }
            _ => bail!("the column of the labels does not contain 64-bit integers"),
        };
        ensure!(
            images.len() == rows && labels.len() == rows,
            "of {rows} examples, {} have an image and {} a label",
            images.len(),
            labels.len()
        );
        Ok((images, labels))
    }
}

/// Decodes a PNG image and appends its bytes, channel by channel.
fn decode(bytes: &[u8], [channels, height, width]: [usize; 3], into: &mut Vec<u8>) -> Result<()> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(png::Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().context("it is not a PNG")?;
    let info = reader.info();
    let found = (info.height as usize, info.width as usize);
    let (color, _) = reader.output_color_type();
    ensure!(
        found == (height, width) && color.samples() == channels,
        "it has {} by {} pixels of {} values, expected {height} by {width} of {channels}",
        found.0,
        found.1,
        color.samples()
    );
    let mut pixels = vec![0; channels * height * width];
    reader.next_frame(&mut pixels).context("it is damaged")?;
    // Plain loops: this is compiled without optimization, and iterators would take ten times as long.
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
