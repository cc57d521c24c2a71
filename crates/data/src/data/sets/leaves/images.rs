//! The folder of leaf images: drawn once, and then only read.

use super::{Leaves, render};
use crate::data::sets::drawing::ImageRng;
use crate::error::{Result, problem, refuse};
use rayon::prelude::*;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The classes, in the order of their names.
pub(super) const CLASSES: [&str; 2] = ["diseased", "healthy"];
/// Incremented when the images change.
const VERSION: u32 = 1;
/// The file that describes the images in the folder. It is written last.
const NOTE: &str = "about.txt";

impl Leaves {
    /// Returns a folder name that is different for different images.
    pub(super) fn folder_name(&self) -> String {
        format!(
            "leaves-{}-{}-{}-{}-v{VERSION}",
            self.num_train, self.num_val, self.num_test, self.seed
        )
    }

    /// Returns whether the folder contains exactly these images, all of them.
    pub(super) fn are_in(&self, folder: &Path) -> bool {
        std::fs::read_to_string(folder.join(NOTE)).is_ok_and(|note| note == self.note())
    }

    /// Draws all images into a temporary folder and then renames it, so that the folder never exists with
    /// only some of the images. Several threads and processes may do this at the same time.
    pub(super) fn draw_into(&self, folder: &Path) -> Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let is_empty = std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none());
        if folder.exists() && !is_empty {
            if self.are_in(folder) {
                return Ok(());
            }
            refuse!(file("write the leaves to", folder, "it holds other files");
                "Name another folder, or delete this one");
        }
        let mut name = folder.file_name().unwrap_or_default().to_owned();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        name.push(format!(".{}-{number}.part", std::process::id()));
        let part = folder.with_file_name(name);
        let made = self.write_all(&part).and_then(|()| {
            if is_empty {
                // Another thread may have removed it, or put the images there.
                let _ = std::fs::remove_dir(folder);
            }
            std::fs::rename(&part, folder)
        });
        let _ = std::fs::remove_dir_all(&part);
        match made {
            // Another thread or process has created the folder in the meantime.
            Err(_) if self.are_in(folder) => Ok(()),
            Err(error) => Err(unwritable(folder, &error)),
            Ok(()) => Ok(()),
        }
    }

    /// Returns the content of the note in the folder.
    fn note(&self) -> String {
        format!(
            "Leaves drawn by Taper, version {VERSION}, seed {}: {} for training, {} for validation, \
             {} to test with, of each kind.\n",
            self.seed, self.num_train, self.num_val, self.num_test
        )
    }

    fn write_all(&self, root: &Path) -> std::io::Result<()> {
        let parts = [
            ("train", self.num_train),
            ("validation", self.num_val),
            ("test", self.num_test),
        ];
        for (part, (name, count)) in parts.into_iter().enumerate() {
            for (class, class_name) in CLASSES.into_iter().enumerate() {
                let folder = root.join(name).join(class_name);
                std::fs::create_dir_all(&folder)?;
                (0..count).into_par_iter().try_for_each(|i| {
                    // Unique for each image, whatever the sizes of the parts.
                    let number = (i << 3) | (part << 1) | class;
                    let mut rng = ImageRng::new(self.seed, number);
                    let bytes = render::draw(&mut rng, class == 0).encode_png();
                    std::fs::write(folder.join(format!("{i:03}.png")), bytes)
                })?;
            }
        }
        std::fs::write(root.join(NOTE), self.note())
    }
}

pub(super) fn unwritable(folder: &Path, reason: &dyn fmt::Display) -> crate::error::Error {
    problem!(file("write the leaves to", folder, reason);
        "Name a folder that you may write to: .folder(\"leaves\")")
}
