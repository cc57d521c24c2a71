//! What every reader gives.

use super::sets::{CLASSES, DataSet};
use anyhow::{Result, bail};
use std::path::Path;

/// Pictures, one behind the other in the order channel, row, column, and their classes.
#[derive(Debug, Default, PartialEq)]
pub struct Examples {
    pub images: Vec<u8>,
    pub labels: Vec<u8>,
}

impl Examples {
    pub fn with_capacity(set: &DataSet, count: usize) -> Self {
        Examples {
            images: Vec::with_capacity(count * set.bytes()),
            labels: Vec::with_capacity(count),
        }
    }
}

/// Refuses a class that is none; `example` counts from 0.
pub fn check_label(
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
