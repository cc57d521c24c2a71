//! The two image classifiers of the course, trained in a notebook as a student trains them: both must
//! reach a minimal accuracy on a validation set.
//!
//! Each should take less than a minute on two idle cores. The times are printed
//! (`cargo test -p taper-cli --test slow accuracy -- --nocapture --test-threads 1`).

use crate::common::{notebook_of, run_within, taper};
use std::time::Duration;

/// The limit includes building the warm image, which the first run does.
const TO_RUN: Duration = Duration::from_secs(1200);

/// Runs cells that define the variables `accuracy` and `seconds`, prints both and returns the accuracy.
fn trained(name: &str, cells: &[&str]) -> f64 {
    let folder = tempfile::tempdir().expect("a folder");
    let notebook = folder.path().join("training.ipynb");
    let last = format!(
        "std::fs::write({:?}, format!(\"{{accuracy}} {{seconds}}\"))?;",
        folder.path().join("result")
    );
    let cells = [cells, &[last.as_str()]].concat();
    std::fs::write(&notebook, notebook_of(&cells).to_string()).expect("a file");
    let said = run_within(
        TO_RUN,
        taper(&["run", notebook.to_str().expect("a plain path")]),
    );
    assert!(said.status.success(), "{}", said.all());
    let result = std::fs::read_to_string(folder.path().join("result")).expect("the last cell ran");
    let values: Vec<f64> = result
        .split(' ')
        .filter_map(|value| value.parse().ok())
        .collect();
    println!(
        "{name}: {:.1} % right, after {:.1} s of training",
        values[0] * 100.0,
        values[1]
    );
    values[0]
}

#[test]
fn lenet_reads_digits() {
    let model = "
        manual_seed(1);
        let net = seq![
            LazyConv2d::new(16, 5).padding(2), ReLU, MaxPool2d::new(2),
            LazyConv2d::new(32, 5).padding(2), ReLU, MaxPool2d::new(2),
            Flatten, LazyLinear::new(120), ReLU, LazyLinear::new(84), ReLU, LazyLinear::new(10),
        ];
        let mut lenet = Classifier::new(net, 0.003).optimizer(Adam::new);";
    let train = "
        let data = Digits::new().batch_size(32);
        let watch = Stopwatch::start(&cpu())?;
        let history = Trainer::new(30).schedule(Schedule::cosine(30)).fit(&mut lenet, &data)?;
        let seconds = watch.elapsed()?.as_secs_f64();
        let accuracy = history.last(\"val_accuracy\").unwrap();";
    let accuracy = trained("LeNet on Digits", &[model, train]);
    assert!(accuracy >= 0.98, "{accuracy}");
}

#[test]
fn leaf_network_classifies_healthy_and_diseased_leaves() {
    let blocks = "
        fn conv_block(filters: usize) -> Sequential {
            let pool = MaxPool2d::new(4).stride(2);
            seq![LazyConv2d::new(filters, 2), ReLU, pool, LazyBatchNorm2d::new()]
        }
        fn dense_block(neurons: usize) -> Sequential {
            seq![LazyLinear::new(neurons), ReLU, Dropout::new(0.2)]
        }";
    let model = "
        manual_seed(1);
        let net = seq![
            conv_block(32), conv_block(64), conv_block(128), Flatten,
            dense_block(100), dense_block(10), LazyLinear::new(2),
        ];
        let mut leaf_network = Classifier::new(net, 0.001).optimizer(Adam::new);
        let data = Leaves::new().batch_size(8);
        let made = data.path()?; // the images are drawn here";
    let train = "
        let watch = Stopwatch::start(&cpu())?;
        let history = Trainer::new(6).fit(&mut leaf_network, &data)?;
        let seconds = watch.elapsed()?.as_secs_f64();";
    let test = "
        let mut test = Accuracy::new();
        for batch in data.test_dataloader()? {
            let Batch { x, y } = batch?;
            test.update(&[leaf_network.forward(&x)], &[y]);
        }
        let accuracy = test.get();
        println!(\"{}\", history.show_text());";
    let accuracy = trained("LeafNetwork on Leaves", &[blocks, model, train, test]);
    assert!(accuracy >= 0.95, "{accuracy}");
}
