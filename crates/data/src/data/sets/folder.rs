//! Images on disk, in one folder per class or by a list of files.

use crate::data::dataset::{check_indices, stack};
use crate::data::transforms::{ToTensor, Transform};
use crate::data::{Batch, Dataset};
use crate::erased::{Erased, outlined};
use crate::error::{Result, problem, refuse};
use crate::image::RgbImage;
use crate::notebook::{Show, debug_as_shown};
use crate::tensor::Tensor;
use candle_core::Device;
use rayon::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Images in one folder per class, in the layout of PyTorch's `ImageFolder`, or by a list of [files](Self::from_files).
///
/// ```text
/// train/healthy/01.png     the class is the folder's name;
/// train/healthy/02.jpg     classes are numbered in the order of their names
/// train/diseased/01.png
/// ```
///
/// Reads the files that end in `.png`, `.jpg` or `.jpeg`, also in folders within a class folder. An image
/// is read when its batch is made. Inputs are the stacked outputs of the transform, such as
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
/// assert_eq!(batch.y.to_vec1::<u32>(), [0, 1]);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Error>(())
/// ```
pub struct ImageFolder {
    root: PathBuf,
    classes: Erased<Vec<String>>,
    /// The files with their classes.
    files: Erased<Vec<(PathBuf, u32)>>,
    transform: Arc<dyn Transform>,
}

outlined!(Clone for ImageFolder { root, classes, files, transform });

impl ImageFolder {
    /// Lists the images in `root`, without reading them.
    ///
    /// # Errors
    /// If the folder cannot be read, contains no folders, or one of these has no images.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let error = ImageFolder::new("no/such/folder").unwrap_err().to_string();
    /// assert!(error.starts_with("cannot read the folder no/such/folder: "));
    /// ```
    pub fn new(root: impl AsRef<Path>) -> Result<Self> {
        Self::in_folder(root.as_ref())
    }

    fn in_folder(root: &Path) -> Result<Self> {
        let folders: Vec<PathBuf> = entries(root)?.into_iter().filter(|p| p.is_dir()).collect();
        refuse!(if folders.is_empty(); file("find class folders in", root, "it has none");
            "Put the images of each class into a folder with its name");
        let mut found = ImageFolder {
            root: root.to_owned(),
            classes: Erased::default(),
            files: Erased::default(),
            transform: Arc::new(ToTensor),
        };
        for (class, folder) in folders.iter().enumerate() {
            let before = found.files.len();
            found.add_images(folder, class as u32, &mut HashSet::new())?;
            refuse!(if found.files.len() == before; file("find images in", folder, "it has none");
                "Put .png, .jpg or .jpeg files there, or delete the folder");
            let name = folder.file_name().unwrap_or_default();
            found.classes.push(name.to_string_lossy().into_owned());
        }
        Ok(found)
    }

    /// Lists images by their files and the name of the class of each; classes are numbered in the order of their names. The
    /// files are not read.
    ///
    /// # Errors
    /// If there are no files, or there are not as many classes.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let table = DataFrame::from_csv("file,tree\na/1.png,oak\nb/7.png,elm\n")?;
    /// let data = ImageFolder::from_files(&table.texts("file")?, &table.texts("tree")?)?;
    /// assert_eq!(data.classes(), ["elm", "oak"]);
    /// assert_eq!(data.len(), 2);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_files(files: &[impl AsRef<Path>], classes: &[impl AsRef<str>]) -> Result<Self> {
        let mut files = files.iter().map(AsRef::as_ref);
        Self::of_files(&mut files, &mut classes.iter().map(AsRef::as_ref))
    }

    fn of_files(
        files: &mut dyn Iterator<Item = &Path>,
        classes: &mut dyn Iterator<Item = &str>,
    ) -> Result<Self> {
        let files: Vec<PathBuf> = files.map(Path::to_owned).collect();
        let own: Vec<&str> = classes.collect();
        refuse!(if files.is_empty() || files.len() != own.len();
            argument("ImageFolder::from_files", format_args!("{} files and {} classes", files.len(), own.len()));
            "files, and a class for each", "Pass two lists of the same length");
        let classes = Vec::from_iter(BTreeSet::from_iter(own.iter().copied()));
        let number = |class| classes.binary_search(&class).unwrap_or_default() as u32;
        let numbers = own.into_iter().map(number);
        let files: Vec<(PathBuf, u32)> = files.into_iter().zip(numbers).collect();
        let classes: Vec<String> = classes.iter().map(|&class| class.to_owned()).collect();
        Ok(ImageFolder {
            root: PathBuf::from("a list"),
            classes: classes.into(),
            files: files.into(),
            transform: Arc::new(ToTensor),
        })
    }

    /// Adds the images of a folder and of the folders in it; only once if symbolic links lead to it again.
    fn add_images(
        &mut self,
        folder: &Path,
        class: u32,
        visited: &mut HashSet<PathBuf>,
    ) -> Result<()> {
        let place = folder.canonicalize();
        if !visited.insert(place.unwrap_or_else(|_| folder.to_owned())) {
            return Ok(());
        }
        for path in entries(folder)? {
            if path.is_dir() {
                self.add_images(&path, class, visited)?;
            } else if is_image(&path) {
                self.files.push((path, class));
            }
        }
        Ok(())
    }

    setters! {
        /// Sets the transform of each image, which begins as `(height, width, 3)` of `u8`. The default
        /// is [`ToTensor`] alone.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// # let folder = std::env::temp_dir().join(format!("taper_folder_transform_{}", std::process::id()));
        /// let root = Leaves::new().folder(&folder).num_train(1).num_val(1).num_test(1).path()?;
        /// let data = ImageFolder::new(root.join("train"))?
        ///     .transform(compose![Resize::new(128), CenterCrop::new(64), ToTensor]);
        /// assert_eq!(data.get(&[0])?.x.dims(), [1, 3, 64, 64]);
        /// # std::fs::remove_dir_all(folder)?;
        /// # Ok::<(), Error>(())
        /// ```
        pub fn transform(self, transform: impl Transform + 'static): self.transform = Arc::new(transform);
    }

    /// Returns the names of the classes; their positions are the targets.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_folder_classes_{}", std::process::id()));
    /// let root = Leaves::new().folder(&folder).num_train(1).num_val(1).num_test(1).path()?;
    /// assert_eq!(ImageFolder::new(root.join("train"))?.classes(), ["diseased", "healthy"]);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// Returns the file of an example; `None` if there is no such example.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_folder_file_{}", std::process::id()));
    /// let root = Leaves::new().folder(&folder).num_train(1).num_val(1).num_test(1).path()?;
    /// let data = ImageFolder::new(root.join("train"))?;
    /// assert!(data.file(0).is_some_and(|path| path.ends_with("diseased/000.png")));
    /// assert_eq!(data.file(2), None);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn file(&self, index: usize) -> Option<&Path> {
        self.files.get(index).map(|(path, _)| path.as_path())
    }

    /// Reads the image of an example as it is in its file: `(height, width, 3)` of `u8`.
    ///
    /// # Errors
    /// If there is no such example, or its file cannot be read.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// # let folder = std::env::temp_dir().join(format!("taper_folder_image_{}", std::process::id()));
    /// let root = Leaves::new().folder(&folder).num_train(1).num_val(1).num_test(1).path()?;
    /// assert_eq!(ImageFolder::new(root.join("train"))?.image(0)?.dims(), [224, 256, 3]);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn image(&self, index: usize) -> Result<Tensor> {
        check_indices(&[index], self.files.len())?;
        let (path, _) = &self.files[index];
        // Reading a pipe would wait indefinitely.
        if !path.is_file() {
            return Err(unreadable(path, &"it is not a file"));
        }
        let bytes = crate::input::read(path).map_err(|error| unreadable(path, &error))?;
        let pixels = RgbImage::decode(&bytes).map_err(|error| unreadable(path, &error))?;
        Ok(pixels.to_tensor())
    }
}

impl Dataset for ImageFolder {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn get(&self, indices: &[usize]) -> Result<Batch> {
        // Files are read in parallel. Random transforms run afterwards, in the order of the batch.
        let images: Vec<_> = indices.par_iter().map(|&i| self.image(i)).collect();
        let images: Vec<Tensor> = images
            .into_iter()
            .map(|image| self.transform.apply(&image?))
            .collect::<Result<_>>()?;
        let labels: Vec<u32> = indices.iter().map(|&i| self.files[i].1).collect();
        if let Some(odd) = images.iter().position(|i| i.dims() != images[0].dims()) {
            let [first, other] = [0, odd].map(|i| self.files[indices[i]].0.display());
            refuse!(shape(format_args!("ImageFolder, {other}"), images[odd].dims());
                ("the shape {:?}, as of {first}", images[0].dims()),
                "Bring them to one size: Resize::new(n) and CenterCrop::new(n), or Resize::exact(h, w)");
        }
        let labels = Tensor::from_vec_on(labels, indices.len(), &Device::Cpu);
        Ok(Batch {
            x: stack(&images)?,
            y: labels,
        })
    }
}

debug_as_shown!(ImageFolder);

impl Show for ImageFolder {
    fn show_text(&self) -> String {
        format!(
            "ImageFolder({}, {} images, classes {:?})",
            self.root.display(),
            self.files.len(),
            self.classes
        )
    }
}

/// Lists the entries of a folder, sorted by name, without hidden files.
fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let unreadable = |reason: std::io::Error| {
        problem!(file("read the folder", folder, reason);
            "Check its name; a path that does not begin with / starts at the current folder")
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

/// Returns whether a path is a file with the extension of an image; pipes and devices are not, whatever
/// their names.
fn is_image(path: &Path) -> bool {
    let ending = path.extension().unwrap_or_default();
    ["png", "jpg", "jpeg"]
        .iter()
        .any(|known| ending.eq_ignore_ascii_case(known))
        && path.is_file()
}

fn unreadable(path: &Path, reason: &dyn fmt::Display) -> crate::error::Error {
    problem!(file("read the image", path, reason);
        "Delete the file, or replace it by an intact PNG or JPEG")
}

#[cfg(test)]
mod tests;
