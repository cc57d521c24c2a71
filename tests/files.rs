//! Files that Rust writes and Python reads, and the reverse: with TensorBoard's own reader, and the
//! package safetensors. Taper runs in a notebook.

mod common;

use common::{Said, notebook_of, python::python, root, run_within, taper};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The limit includes building the warm image, which the first run does.
const TO_RUN: Duration = Duration::from_secs(900);

/// Runs cells in a notebook whose variable `folder` is the path of this folder.
fn run_cells(folder: &Path, cells: &[&str]) {
    let named = format!("let folder = std::path::PathBuf::from({folder:?});");
    let notebook = folder.join("files.ipynb");
    let cells = [&[named.as_str()], cells].concat();
    std::fs::write(&notebook, notebook_of(&cells).to_string()).expect("a file");
    let said = run_within(
        TO_RUN,
        taper(&["run", notebook.to_str().expect("a plain path")]),
    );
    assert!(said.status.success(), "{}", said.all());
}

fn run_python(script: &str, arguments: &[&str], folder: &Path) -> Said {
    let mut command = Command::new(python());
    command
        .arg(script)
        .args(arguments)
        .arg(folder)
        .current_dir(root());
    let said = run_within(TO_RUN, command);
    assert!(said.status.success(), "{}", said.all());
    said
}

#[test]
fn tensorboard_lists_every_value_that_a_notebook_wrote() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = r#"
        let mut writer = SummaryWriter::new(folder.join("runs"))?;
        for step in 0..500 {
            writer.add_scalar("Train/Loss", step as f64 / 4.0, step)?;
        }
        writer.add_scalar("Test/Accuracy ñ", 0.5, 1_000_000)?;
        writer.add_histogram("weights", &[1.0, 2.0, 4.0], 7)?;
        writer.add_image("grey", &full((4, 6), 0.5), 8)?;
        writer.add_scalar("Train/Mean", &tensor(&[1.0, 2.0]).mean_all(), 3)?;
        let hparams: [(&str, HParam); 3] =
            [("lr", 0.5.into()), ("nesterov", true.into()), ("optimizer", "sgd".into())];
        writer.add_hparams(&hparams, &[("accuracy", 0.75)])?;
        writer.flush()?;"#;
    let train = r#"
        let rows = TensorDataset::new(ones((6, 2)), tensor(&[0, 1, 1, 0, 1, 0]))?;
        struct Rows(TensorDataset);
        impl DataModule for Rows {
            fn train_dataloader(&self) -> Result<DataLoader> {
                Ok(DataLoader::new(self.0.clone()).batch_size(2))
            }
            fn val_dataloader(&self) -> Result<Option<DataLoader>> {
                Ok(Some(DataLoader::new(self.0.clone())))
            }
        }
        let writer = SummaryWriter::new(folder.join("training"))?;
        let mut trainer = Trainer::new(2).log_every(1).callback(writer);
        trainer.fit(&mut Classifier::new(Linear::new(2, 2), 0.1), &Rows(rows))?;"#;
    run_cells(folder.path(), &[write, train]);
    let scalars =
        (0..500).map(|step| format!("scalar Train/Loss {step} {:?}\n", step as f64 / 4.0));
    let expected = scalars.collect::<String>()
        + "scalar Test/Accuracy ñ 1000000 0.5\n\
           scalar Train/Mean 3 1.5\n\
           scalar accuracy 0 0.75\n\
           histogram weights 7 3.0 1.0 4.0 7.0\n\
           image grey 8 6 4\n\
           hparam lr 0.5\n\
           hparam nesterov True\n\
           hparam optimizer sgd\n";
    let script = "tests/python/tensorboard_scalars.py";
    let said = run_python(script, &[], &folder.path().join("runs"));
    assert_eq!(said.stdout, expected, "{}", said.stderr);

    let said = run_python(script, &[], &folder.path().join("training"));
    let lines = said.stdout.lines();
    let mut listed: Vec<&str> = lines
        .map(|line| &line[..line.rfind(' ').unwrap_or(0)])
        .collect();
    let mut wanted = Vec::new();
    for name in ["lr", "samples_per_second", "train_accuracy", "train_loss"] {
        wanted.extend((1..=6).map(|step| format!("scalar {name} {step}")));
    }
    for name in ["val_accuracy", "val_loss"] {
        wanted.extend([3, 6].map(|step| format!("scalar {name} {step}")));
    }
    listed.sort();
    assert_eq!(listed, wanted, "{}", said.all());
}

#[test]
fn parameters_are_exchanged_with_python() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "tests/python/safetensors_files.py";
    run_python(script, &["write"], folder.path());
    let read_and_write = r#"
        let mut net = seq![LazyLinear::new(2), LazyBatchNorm1d::new()];
        net.load_parameters(folder.join("from_python.safetensors"), &cpu())?;
        net.eval();
        let y = net.forward(&tensor(&[[1.0, 2.0, 3.0]])); // (1, 2)
        // Computed by hand: ((x · wᵀ + b) - mean) / √var · weight + bias
        let wanted = [(14.0 + 0.5 - 1.0) / 2.0 * 1.0 + 0.0, (32.0 - 0.5 - 2.0) / 3.0 * 2.0 + 1.0];
        for (got, wanted) in y.squeeze(0).to_vec1::<f32>().into_iter().zip(wanted) {
            assert!((got - wanted).abs() < 1e-3, "{got} is not {wanted}");
        }
        net.save_parameters(folder.join("from_taper.safetensors"))?;"#;
    run_cells(folder.path(), &[read_and_write]);
    run_python(script, &["compare"], folder.path());
}
