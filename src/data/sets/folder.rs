//! Pictures in a folder for each class.

use crate::data::transforms::{ToTensor, Transform};
use crate::data::{Batch, Dataset, dataset::check_indices};
use crate::error;
use crate::image::Pixels;
use crate::notebook::Show;
use candle_core::{Device, Result, Tensor};
use rayon::prelude::*;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pictures that lie in a folder for each class, as PyTorch's `ImageFolder` takes them.
///
/// ```text
/// train/healthy/01.png     the class is the folder's name;
/// train/healthy/02.jpg     classes are numbered in the order of their names
/// train/diseased/01.png
/// ```
///
/// Files ending in `.png`, `.jpg` or `.jpeg` count, in folders within a class folder too. A picture
/// is read when its batch is made: inputs are what the transform gives, stacked, such as
/// `(batch, 3, height, width)`; targets are `(batch,)`, `u32`.
///
/// ```
/// use taper::prelude::*;
///
/// # let folder = std::env::temp_dir().join(format!("taper_folder_{}", std::process::id()));
/// let root = Leaves::new().folder(&folder).num_train(2).num_val(1).num_test(1).path()?;
/// let train = ImageFolder::new(root.join("train"))?
///     .transform(compose![Resize::new(64), CenterCrop::new(64), ToTensor]);
/// assert_eq!(train.classes(), ["diseased", "healthy"]);
/// assert_eq!(train.len(), 4);
/// let batch = train.get(&[0, 3])?;
/// assert_eq!(batch.x.dims(), [2, 3, 64, 64]);
/// assert_eq!(batch.y.to_vec1::<u32>()?, [0, 1]);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct ImageFolder {
    root: PathBuf,
    classes: Vec<String>,
    /// The files with their classes.
    files: Vec<(PathBuf, u32)>,
    transform: Arc<dyn Transform>,
}

impl ImageFolder {
    /// Finds the pictures below `root`; reads none yet.
    ///
    /// # Errors
    /// If the folder cannot be read, has no folders in it, or one of those has no pictures.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = ImageFolder::new("no/such/folder").unwrap_err().to_string();
    /// assert!(error.starts_with("cannot read the folder no/such/folder: "));
    /// ```
    pub fn new(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let folders: Vec<PathBuf> = entries(root)?.into_iter().filter(|p| p.is_dir()).collect();
        if folders.is_empty() {
            return Err(error::file(
                "find class folders in",
                root,
                "it has none",
                "Put the images of each class into a folder with its name",
            ));
        }
        let mut found = ImageFolder {
            root: root.to_owned(),
            classes: Vec::new(),
            files: Vec::new(),
            transform: Arc::new(ToTensor),
        };
        for (class, folder) in folders.iter().enumerate() {
            let before = found.files.len();
            found.add_pictures(folder, class as u32)?;
            if found.files.len() == before {
                return Err(error::file(
                    "find images in",
                    folder,
                    "it has none",
                    "Put .png, .jpg or .jpeg files there, or delete the folder",
                ));
            }
            let name = folder.file_name().unwrap_or_default();
            found.classes.push(name.to_string_lossy().into_owned());
        }
        Ok(found)
    }

    fn add_pictures(&mut self, folder: &Path, class: u32) -> Result<()> {
        for path in entries(folder)? {
            if path.is_dir() {
                self.add_pictures(&path, class)?;
            } else if is_picture(&path) {
                self.files.push((path, class));
            }
        }
        Ok(())
    }

    /// What happens to each picture, which begins as `(height, width, 3)` of `u8`. At first it is
    /// [`ToTensor`] alone.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let data = ImageFolder::new("datasets/train")?
    ///     .transform(compose![Resize::new(224), CenterCrop::new(128), ToTensor]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn transform(mut self, transform: impl Transform + 'static) -> Self {
        self.transform = Arc::new(transform);
        self
    }

    /// The names of the classes; their positions are the targets.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let data = ImageFolder::new("datasets/train")?;
    /// println!("{:?}", data.classes());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The file of an example; none if there is no such example.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let data = ImageFolder::new("datasets/train")?;
    /// println!("{:?}", data.file(0));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn file(&self, index: usize) -> Option<&Path> {
        self.files.get(index).map(|(path, _)| path.as_path())
    }

    /// The picture of an example as it is in its file: `(height, width, 3)` of `u8`.
    ///
    /// # Errors
    /// If there is no such example, or its file cannot be read.
    ///
    /// ```no_run
    /// use taper::prelude::*;
    ///
    /// let data = ImageFolder::new("datasets/train")?;
    /// println!("{:?}", data.image(0)?.dims());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn image(&self, index: usize) -> Result<Tensor> {
        check_indices(&[index], self.files.len())?;
        let (path, _) = &self.files[index];
        let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error))?;
        let pixels = Pixels::decode(&bytes).map_err(|error| unreadable(path, &error))?;
        pixels.to_tensor()
    }
}

impl Dataset for ImageFolder {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn get(&self, indices: &[usize]) -> Result<Batch> {
        // Reading is spread over the cores. What is random comes after it, in the order of the batch.
        let images: Vec<_> = indices.par_iter().map(|&i| self.image(i)).collect();
        let images: Vec<Tensor> = images
            .into_iter()
            .map(|image| self.transform.apply(&image?))
            .collect::<Result<_>>()?;
        let labels: Vec<u32> = indices.iter().map(|&i| self.files[i].1).collect();
        if let Some(odd) = images.iter().position(|i| i.dims() != images[0].dims()) {
            let [first, other] = [0, odd].map(|i| self.files[indices[i]].0.display());
            return Err(error::shape(
                format_args!("ImageFolder, {other}"),
                format_args!("the shape {:?}, as of {first}", images[0].dims()),
                images[odd].dims(),
                "Bring them to one size: Resize::new(n) and CenterCrop::new(n), or Resize::exact(h, w)",
            ));
        }
        let labels = Tensor::from_vec(labels, indices.len(), &Device::Cpu)?;
        Ok(Batch {
            x: Tensor::stack(&images, 0)?,
            y: labels,
        })
    }
}

impl fmt::Debug for ImageFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.show_text())
    }
}

impl Show for ImageFolder {
    fn show_text(&self) -> String {
        format!(
            "ImageFolder({}, {} pictures, classes {:?})",
            self.root.display(),
            self.files.len(),
            self.classes
        )
    }
}

/// What is in a folder, by name; nothing hidden.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |reason: std::io::Error| {
        error::file(
            "read the folder",
            folder,
            reason,
            "Check its name; a path that does not begin with / starts at the current folder",
        )
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if !entry.file_name().to_string_lossy().starts_with('.') {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok(paths)
}

fn is_picture(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ["png", "jpg", "jpeg"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
}

fn unreadable(path: &Path, reason: &dyn fmt::Display) -> candle_core::Error {
    error::file(
        "read the image",
        path,
        reason,
        "Delete the file, or replace it by an intact PNG or JPEG",
    )
}

#[cfg(test)]
mod tests;
