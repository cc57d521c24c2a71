use super::images::CLASSES;
use super::*;
use crate::data::Dataset;

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("taper_{name}_{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn few() -> Leaves {
    Leaves::new().num_train(2).num_val(1).num_test(1)
}

#[test]
fn the_folder_is_complete_and_the_same_for_the_same_seed() {
    let (first, second) = (folder("leaves_first"), folder("leaves_second"));
    let data = few().folder(&first);
    data.path().unwrap();
    few().folder(&second).path().unwrap();
    let mut seen = Vec::new();
    for part in ["train", "validation", "test"] {
        for class in CLASSES {
            let file = format!("{part}/{class}/000.png");
            let bytes = std::fs::read(first.join(&file)).unwrap();
            assert_eq!(bytes, std::fs::read(second.join(&file)).unwrap());
            assert!(!seen.contains(&bytes), "{file} is another image");
            seen.push(bytes);
        }
    }
    assert_eq!(data.train().unwrap().len(), 4);
    assert_eq!(
        data.train().unwrap().image(0).unwrap().dims(),
        [224, 256, 3]
    );
    let batch = data.test().unwrap().get(&[0, 1]).unwrap();
    assert_eq!(batch.x.dims(), [2, 3, 128, 128]);
    assert_eq!(batch.y.to_vec1::<u32>(), [0, 1]);
    for folder in [first, second] {
        std::fs::remove_dir_all(folder).unwrap();
    }
}

#[test]
fn images_are_drawn_once_and_nothing_else_is_overwritten() {
    let folder = folder("leaves_once");
    std::fs::create_dir_all(&folder).unwrap();
    few().folder(&folder).path().unwrap();
    let file = folder.join("test/healthy/000.png");
    std::fs::write(&file, "mine").unwrap();
    few().folder(&folder).path().unwrap();
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    let message = few()
        .seed(1)
        .folder(&folder)
        .path()
        .unwrap_err()
        .to_string();
    assert!(message.contains(": it holds other files\n"), "{message}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let file = folder("leaves_file");
    std::fs::write(&file, "").unwrap();
    let message = few()
        .folder(file.join("leaves"))
        .path()
        .unwrap_err()
        .to_string();
    assert!(
        message.starts_with("cannot write the leaves to "),
        "{message}"
    );
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_test_images_are_those_of_a_data_module() {
    let folder = folder("leaves_module");
    let test = |data: &dyn DataModule| data.test_dataloader().unwrap();
    let loader = test(&few().folder(&folder)).expect("a test set");
    assert_eq!(loader.num_batches(), 1);
    assert!(test(&few().num_test(0).folder(&folder)).is_none());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn several_threads_may_draw_the_same_images() {
    for round in 0..3 {
        let folder = folder(&format!("leaves_threads_{round}"));
        let draw = || {
            let train = few().folder(&folder).train()?;
            (0..train.len()).try_for_each(|i| train.image(i).map(drop))
        };
        std::thread::scope(|scope| {
            let threads = [(); 8].map(|()| scope.spawn(draw));
            for thread in threads {
                thread.join().unwrap().unwrap();
            }
        });
        std::fs::remove_dir_all(folder).unwrap();
    }
}
