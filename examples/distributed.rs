//! Trains in several processes, with the faults that its tests need.
//!
//!     mpirun -n 2 target/release/examples/distributed net=lenet examples=256 batch=32 epochs=3
//!
//! Rank 0 prints the loss of each step, and each rank a digest of its weights. `tests/distributed/run.py`
//! compares both with those of one process.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;
use taper::distributed::{World, all_reduce, world};
use taper::prelude::*;

/// The settings `name=value` from the command line.
struct Settings(HashMap<String, String>);

impl Settings {
    fn read() -> Self {
        let pairs = std::env::args().skip(1);
        let pairs = pairs.filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        });
        Self(pairs.collect())
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    fn number(&self, name: &str, default: usize) -> usize {
        let value = self.text(name).map(str::parse);
        value.map_or(default, |value| value.expect("an integer"))
    }
}

/// Random images of ten classes, which differ in their brightness.
struct Images {
    x: Tensor,
    y: Tensor,
    batch_size: usize,
}

impl Images {
    fn new(examples: usize, batch_size: usize) -> Self {
        let x = with_seed(1, || randn((examples, 1, 28, 28))); // (examples, 1, 28, 28)
        let y = arange(0.0, examples as f64) * 7;
        let y = &y - (&y / 10).floor() * 10; // (examples,)
        let x = x + (&y / 10).reshape((examples, 1, 1, 1));
        let y = y.to_dtype(DType::U32);
        Self { x, y, batch_size }
    }

    fn loader(&self) -> Result<DataLoader> {
        let data = TensorDataset::new(self.x.clone(), self.y.clone())?;
        Ok(DataLoader::new(data).batch_size(self.batch_size))
    }
}

impl DataModule for Images {
    fn train_dataloader(&self) -> Result<DataLoader> {
        Ok(self.loader()?.shuffle(true))
    }

    fn val_dataloader(&self) -> Result<Option<DataLoader>> {
        self.loader().map(Some)
    }
}

fn net(name: &str, hidden: usize) -> Sequential {
    match name {
        "lenet" => seq![
            LazyConv2d::new(6, 5).padding(2),
            Sigmoid,
            AvgPool2d::new(2),
            LazyConv2d::new(16, 5),
            Sigmoid,
            AvgPool2d::new(2),
            Flatten,
            LazyLinear::new(120),
            Sigmoid,
            LazyLinear::new(84),
            Sigmoid,
            LazyLinear::new(10),
        ],
        "dropout" => seq![
            Flatten,
            LazyLinear::new(hidden),
            ReLU,
            Dropout::new(0.5),
            LazyLinear::new(10)
        ],
        "norm" => seq![
            Flatten,
            LazyLinear::new(hidden),
            LazyBatchNorm1d::new(),
            ReLU,
            LazyLinear::new(10)
        ],
        _ => seq![Flatten, LazyLinear::new(hidden), ReLU, LazyLinear::new(10)],
    }
}

/// A fault of one rank in one step, to test how the other ranks react.
struct Fault {
    kind: String,
    rank: usize,
    step: usize,
}

impl Callback for Fault {
    fn on_step(&mut self, step: &mut Step<'_>) -> Result<Flow> {
        if (step.step, world()?.rank) == (self.step, self.rank) {
            match self.kind.as_str() {
                "hang" => std::thread::sleep(Duration::from_secs(3600)),
                "panic" => panic!("as planned"),
                "error" => device("abacus").map(drop)?,
                "shape" => drop(zeros(2) + zeros(3)),
                // A signal to this process, such as 9, STOP or USR1.
                signal => {
                    let process = std::process::id().to_string();
                    let mut kill = std::process::Command::new("kill");
                    kill.args([format!("-{signal}"), process]).status()?;
                }
            }
        }
        Ok(Flow::Continue)
    }
}

fn main() -> Result<()> {
    let settings = Settings::read();
    if settings.text("net") == Some("all_reduce") {
        return measure_all_reduce(
            settings.number("repeats", 50),
            settings.number("elements", 0),
        );
    }
    let examples = settings.number("examples", 128);
    for examples in examples..=settings.number("upto", examples) {
        train(&settings, examples)?;
    }
    Ok(())
}

fn train(settings: &Settings, examples: usize) -> Result<()> {
    let rank = world()?.rank;
    manual_seed(rank as u64); // the seed of rank 0 is used
    let data = Images::new(examples, settings.number("batch", 32));
    let differs = settings.text("differs") == Some(rank.to_string().as_str());
    let hidden = settings.number("hidden", 64) + usize::from(differs);
    let net = net(settings.text("net").unwrap_or("mlp"), hidden);
    let mut model = Classifier::new(net, 0.05);
    let history = trainer(settings)?.fit(&mut model, &data)?;
    if rank == 0 {
        for interval in &history.intervals {
            println!("loss {:.9e}", interval.metrics["train_loss"]);
        }
        for epoch in &history.epochs {
            println!("loss {:.9e}", epoch.metrics["val_loss"]);
            println!("speed {:.1}", epoch.samples_per_second);
        }
    }
    let mut digest = DefaultHasher::new();
    for (_, value) in model.state_dict() {
        let values: Vec<f32> = value.to_dtype(DType::F32).to_vec();
        values
            .iter()
            .for_each(|value| value.to_bits().hash(&mut digest));
    }
    println!("weights {:016x}", digest.finish());
    Ok(())
}

/// Prints the shortest time of an all-reduce in some repeats, in seconds, for several sizes or for one.
fn measure_all_reduce(repeats: usize, elements: usize) -> Result<()> {
    let sizes = match elements {
        0 => vec![1, 1 << 10, 1 << 14, 1 << 18, 1 << 20, 1 << 22],
        _ => vec![elements],
    };
    for elements in sizes {
        let mut values = vec![1.0; elements];
        let mut best = f64::INFINITY;
        for _ in 0..repeats {
            values.fill(1.0);
            let began = std::time::Instant::now();
            all_reduce(&mut values)?;
            best = best.min(began.elapsed().as_secs_f64());
        }
        let World { rank, size, .. } = world()?;
        assert!(values.iter().all(|sum| *sum == size as f32));
        if rank == 0 {
            println!("all_reduce {elements} {best:.9}");
        }
    }
    Ok(())
}

fn trainer(settings: &Settings) -> Result<Trainer> {
    let trainer = Trainer::new(settings.number("epochs", 3)).distributed()?;
    let mut trainer = trainer
        .log_every(settings.number("log", 1))
        .sync_batch_norm(settings.number("sync", 0) > 0);
    if let devices @ 1.. = settings.number("devices", 0) {
        trainer = trainer.devices(&vec![cpu(); devices]);
    }
    if let Some(path) = settings.text("checkpoint") {
        trainer = trainer.callback(Checkpoint::new(path));
    }
    if let Some(path) = settings.text("resume") {
        trainer = trainer.resume_from(path);
    }
    if let Some(kind) = settings.text("fault") {
        trainer = trainer.callback(Fault {
            kind: kind.to_owned(),
            rank: settings.number("rank", 1),
            step: settings.number("step", 1),
        });
    }
    Ok(trainer)
}
