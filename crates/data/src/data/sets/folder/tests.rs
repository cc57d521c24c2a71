use super::*;
use crate::data::DataLoader;
use crate::data::transforms::Resize;

/// A temporary folder for one test, which is removed when the value is dropped.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str) -> Self {
        let folder = format!("taper_{name}_{}", std::process::id());
        let path = std::env::temp_dir().join(folder);
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Temporary(path)
    }

    fn write(&self, file: &str, contents: &[u8]) {
        let path = self.0.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, contents).unwrap();
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn png(width: usize, height: usize, grey: u8) -> Vec<u8> {
    RgbImage::filled(width, height, [grey; 3]).encode_png()
}

#[test]
fn classes_are_folders_in_the_order_of_their_names() {
    let folder = Temporary::new("classes");
    folder.write("b/2.PNG", &png(4, 4, 2));
    folder.write("b/1.png", &png(4, 4, 1));
    folder.write(
        "a/deeper/3.jpg",
        include_bytes!("../../../../../display/src/image/orange.jpg"),
    );
    folder.write("a/notes.txt", b"not an image");
    folder.write(".hidden/4.png", &png(4, 4, 4));
    folder.write("top.png", &png(4, 4, 4));
    let data = ImageFolder::new(&folder.0).unwrap();
    assert_eq!(data.classes(), ["a", "b"]);
    assert_eq!(data.len(), 3);
    let batch = data.get(&[2, 1]).unwrap();
    assert_eq!(batch.y.to_vec1::<u32>(), [1, 1]);
    let values = (batch.x * 255.0).flatten_from(1);
    let values = values.to_vec2::<f32>();
    assert_eq!((values[0][0], values[1][0]), (2.0, 1.0));
    assert_eq!(data.image(0).unwrap().dims(), [12, 20, 3]);
    assert!(data.file(0).unwrap().ends_with("a/deeper/3.jpg"));
}

#[test]
fn a_corrupt_file_is_named_in_the_error_of_its_batch() {
    let folder = Temporary::new("corrupt");
    let sound = png(30, 30, 9);
    for name in ["a/1.png", "a/2.png", "a/3.png"] {
        folder.write(name, &sound);
    }
    folder.write("a/4.png", &sound[..sound.len() / 2]);
    let loader = DataLoader::new(ImageFolder::new(&folder.0).unwrap()).batch_size(2);
    let batches: Vec<_> = loader.into_iter().collect();
    assert!(batches[0].is_ok());
    let message = batches[1].as_ref().unwrap_err().to_string();
    assert!(message.starts_with("cannot read the image "), "{message}");
    assert!(message.contains("4.png: "), "{message}");
    assert_eq!(message.lines().count(), 2);
}

#[test]
fn images_of_two_sizes_need_a_transform() {
    let folder = Temporary::new("sizes");
    folder.write("a/1.png", &png(4, 4, 1));
    folder.write("a/2.png", &png(6, 5, 1));
    let data = ImageFolder::new(&folder.0).unwrap();
    let message = data.get(&[0, 1]).unwrap_err().to_string();
    assert!(
        message.contains("1.png, found shape [3, 5, 6]\n"),
        "{message}"
    );
    assert!(
        message.contains("2.png: expected the shape [3, 4, 4]"),
        "{message}"
    );
    let data = data.transform(crate::compose![Resize::exact(4, 4), ToTensor]);
    assert_eq!(data.get(&[0, 1]).unwrap().x.dims(), [2, 3, 4, 4]);
}

#[test]
fn a_folder_without_images_says_what_is_missing() {
    let folder = Temporary::new("empty");
    let message = |folder: &Path| ImageFolder::new(folder).unwrap_err().to_string();
    assert!(message(&folder.0).starts_with("cannot find class folders in "));
    folder.write("a/notes.txt", b"");
    assert!(message(&folder.0).starts_with("cannot find images in "));
}

#[cfg(unix)]
#[test]
fn cyclic_links_and_pipes_are_not_images() {
    let folder = Temporary::new("special");
    folder.write("a/1.png", &png(4, 4, 1));
    folder.write("b/2.png", &png(4, 4, 2));
    let link = |to: &str, at: &str| std::os::unix::fs::symlink(to, folder.0.join(at)).unwrap();
    link(".", "a/loop");
    link("../b", "a/other");
    link("../a", "b/back");
    let pipe = folder.0.join("a/pipe.png");
    let path = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: mkfifo reads a path that ends with a zero byte.
    assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    let data = ImageFolder::new(&folder.0).unwrap();
    // Each class has its own image and, through the links, once that of the other.
    assert_eq!(data.len(), 4);
    assert_eq!(data.image(0).unwrap().dims(), [4, 4, 3]);

    let file = folder.0.join("a/1.png");
    std::fs::remove_file(&file).unwrap();
    std::fs::rename(pipe, &file).unwrap();
    let message = (0..4)
        .find_map(|i| data.image(i).err())
        .unwrap()
        .to_string();
    assert!(message.contains("it is not a file"), "{message}");
}

#[test]
fn a_batch_without_images_is_refused() {
    let folder = Temporary::new("no_images");
    folder.write("a/1.png", &png(4, 4, 1));
    let error = ImageFolder::new(&folder.0).unwrap().get(&[]).unwrap_err();
    let message = error.to_string();
    let first = "get: expected at least one index, found none\n";
    assert!(message.starts_with(first), "{message}");
}

#[test]
fn a_list_of_files_has_its_own_order() {
    let folder = Temporary::new("list");
    folder.write("x/2.png", &png(4, 4, 2));
    folder.write("x/1.png", &png(4, 4, 1));
    let file = |name: &str| folder.0.join("x").join(name);
    let files = [file("2.png"), file("1.png"), file("gone.png")];
    let data = ImageFolder::from_files(&files, &["oak", "elm", "oak"]).unwrap();
    assert_eq!(
        data.show_text(),
        "ImageFolder(a list, 3 images, classes [\"elm\", \"oak\"])"
    );
    let batch = data.get(&[0, 1]).unwrap();
    assert_eq!(batch.y.to_vec1::<u32>(), [1, 0]);
    assert_eq!((batch.x.i((0, 0, 0, 0)) * 255.0).item(), 2.0);
    let error = data.get(&[2]).unwrap_err().to_string();
    assert!(error.contains("gone.png"), "{error}");
    let none: [&str; 0] = [];
    for refused in [
        ImageFolder::from_files(&none, &none),
        ImageFolder::from_files(&files, &["oak"]),
    ] {
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("a class for each, found "), "{message}");
    }
}
