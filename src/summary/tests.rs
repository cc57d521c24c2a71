use super::*;
use crate::tensor::{full, rand};
use candle_core::Device;

/// A file with every kind of value at fixed times. TensorBoard's reader has read these very bytes;
/// tests/python/tensorboard_scalars.py lists what is in a file.
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
    let accepted = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/summary/accepted.tfevents");
    if std::env::var_os("TAPER_BLESS").is_some() {
        std::fs::write(&accepted, &bytes).unwrap();
    }
    assert_eq!(bytes, std::fs::read(accepted).unwrap());
}

/// With the `python3` on the path, or the one that `$PYTHON` names.
#[test]
fn tensorboard_lists_every_value_that_was_written() {
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| "python3".into());
    let has_tensorboard = std::process::Command::new(&python)
        .args(["-c", "import tensorboard"])
        .output();
    if !has_tensorboard.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: {} has no tensorboard", python.display());
        return;
    }
    let folder = std::env::temp_dir().join(format!("taper_tensorboard_{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let mut writer = SummaryWriter::new(&folder).unwrap();
    for step in 0..500 {
        writer
            .add_scalar("Train/Loss", step as f64 / 4.0, step)
            .unwrap();
    }
    writer.add_histogram("w", &[1.0, 2.0, 4.0], 7).unwrap();
    writer
        .add_image("grey", &full((4, 6), 0.5, &Device::Cpu).unwrap(), 8)
        .unwrap();
    let settings = [("batch_size", 64.0), ("lr", 0.5)];
    writer
        .add_hparams(&settings, &[("accuracy", 0.75)])
        .unwrap();
    drop(writer);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/tensorboard_scalars.py");
    let read = std::process::Command::new(&python)
        .arg(script)
        .arg(&folder)
        .output()
        .unwrap();
    let mut expected = String::new();
    for step in 0..500 {
        expected += &format!("scalar Train/Loss {step} {:?}\n", step as f64 / 4.0);
    }
    expected += "scalar accuracy 0 0.75\n";
    expected +=
        "histogram w 7 3.0 1.0 4.0 7.0\nimage grey 8 6 4\nhparam batch_size 64.0\nhparam lr 0.5\n";
    let error = String::from_utf8_lossy(&read.stderr);
    assert_eq!(String::from_utf8_lossy(&read.stdout), expected, "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_writer_makes_a_new_file_each_time() {
    let folder = std::env::temp_dir().join(format!("taper_summary_{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    for _ in 0..2 {
        let mut writer = SummaryWriter::new(&folder).unwrap();
        writer.add_scalar("loss", 1, 0).unwrap();
        writer
            .add_histogram("noise", &rand(10, &Device::Cpu).unwrap(), 0)
            .unwrap();
        writer
            .add_image("grey", &full((4, 4), 0.5, &Device::Cpu).unwrap(), 0)
            .unwrap();
        assert!(
            writer
                .add_image("x", &rand(3, &Device::Cpu).unwrap(), 0)
                .is_err()
        );
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
