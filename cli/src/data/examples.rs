//! The examples that every reader returns.

use super::sets::{CLASSES, DataSet};
use anyhow::{Result, bail};
use std::path::Path;

/// Images and their classes. The bytes of an image are in the order channel, row, column.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Examples {
    pub(crate) images: Vec<u8>,
    pub(crate) labels: Vec<u8>,
}

impl Examples {
    pub(crate) fn with_capacity(set: &DataSet, count: usize) -> Self {
        Examples {
            images: Vec::with_capacity(count * set.bytes()),
            labels: Vec::with_capacity(count),
        }
    }
}

/// Returns a label as a class, or an error if it is not a valid class; `example` counts from 0.
pub(crate) fn check_label(
    file: &Path,
    example: usize,
    label: impl TryInto<u8> + Copy + std::fmt::Display,
) -> Result<u8> {
    match label.try_into() {
        Ok(class) if class < CLASSES => Ok(class),
        _ => bail!(
            "{}: the label of example {example} is {label}, not one of 0 to {}",
            file.display(),
            CLASSES - 1
        ),
    }
}
