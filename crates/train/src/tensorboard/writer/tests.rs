use super::*;
use crate::tensor::{full, rand};

/// A file with scalars and a histogram at fixed times. TensorBoard's reader has accepted exactly these
/// bytes; tests/files.rs passes it a file that a notebook writes.
#[test]
fn the_bytes_are_those_that_tensorboard_has_accepted() {
    let mut bytes = Vec::new();
    let mut put = |event: Message| write_record(&mut bytes, event.as_bytes()).unwrap();
    put(first_event(1.5));
    for (step, loss) in [(0, 1.0), (1, 0.5), (300, -0.25)] {
        let value = Message::new().float(2, loss);
        put(event(1.5, step, "Train/Loss", value));
    }
    let spread = histogram(&[0.0, 1.0, 1.0, f64::NAN]);
    put(event(1.5, 1, "weights", Message::new().message(5, &spread)));
    let accepted =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tensorboard/writer/accepted.tfevents");
    if std::env::var_os("TAPER_BLESS").is_some() {
        std::fs::write(&accepted, &bytes).unwrap();
    }
    assert_eq!(bytes, std::fs::read(accepted).unwrap());
}

#[test]
fn each_writer_creates_a_new_file() {
    let folder = std::env::temp_dir().join(format!("taper_summary_{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    for _ in 0..2 {
        let mut writer = SummaryWriter::new(&folder).unwrap();
        writer.add_scalar("loss", 1, 0).unwrap();
        let losses = rand(2);
        let message = writer.add_scalar("loss", &losses, 0).unwrap_err();
        assert!(
            message
                .to_string()
                .starts_with("add_scalar: expected one element, found a tensor of shape [2]\n")
        );
        writer.add_histogram("noise", &rand(10), 0).unwrap();
        writer.add_image("grey", &full((4, 4), 0.5), 0).unwrap();
        assert!(writer.add_image("x", &rand(3), 0).is_err());
        writer.flush().unwrap();
        assert!(std::fs::metadata(writer.path()).unwrap().len() > 500);
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 2);
    let file = folder.join("file");
    std::fs::write(&file, "").unwrap();
    let message = SummaryWriter::new(&file).unwrap_err().to_string();
    assert!(message.starts_with("cannot write "), "{message}");
    std::fs::remove_dir_all(folder).unwrap();
}
