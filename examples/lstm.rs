//! An LSTM that predicts the next value of a wave, then continues a wave on its own: its state is carried
//! on from step to step.
//!
//!     cargo run --release --example lstm

#[cfg(test)]
mod pytorch;

use std::f64::consts::TAU;
use taper::prelude::*;

const STEPS: usize = 40;

/// Returns waves of random frequency and phase: `(waves, steps, 1)`.
fn waves(count: usize, steps: usize) -> Tensor {
    let frequency = uniform(0.04, 0.12, (count, 1, 1));
    let phase = uniform(0.0, 1.0, (count, 1, 1));
    let time = arange(0.0, steps as f64).unsqueeze(1); // (steps, 1)
    ((frequency * time + phase) * TAU).sin()
}

struct Waves;

impl Waves {
    /// Returns waves and their next values.
    fn loader(&self, count: usize) -> Result<DataLoader> {
        let wave = waves(count, STEPS + 1);
        let data = TensorDataset::new(wave.i((.., ..STEPS)), wave.i((.., 1..)))?;
        Ok(DataLoader::new(data).batch_size(32))
    }
}

impl DataModule for Waves {
    fn train_dataloader(&self) -> Result<DataLoader> {
        Ok(self.loader(512)?.shuffle(true))
    }

    fn val_dataloader(&self) -> Result<Option<DataLoader>> {
        self.loader(64).map(Some)
    }
}

#[derive(Parameters)]
struct Forecaster {
    lstm: LSTM,
    head: Linear,
}

impl Forecaster {
    fn new(hidden: usize) -> Self {
        Self {
            lstm: LSTM::new(1, hidden).batch_first(true),
            head: Linear::new(hidden, 1),
        }
    }

    /// Returns how the waves `(waves, steps, 1)` go on: `(waves, count, 1)`.
    fn forecast(&self, x: &Tensor, count: usize) -> Tensor {
        let (y, mut state) = self.lstm.forward(x, None);
        let last = y.i((.., -1..)); // (waves, 1, hidden)
        let mut values = vec![self.head.forward(&last)];
        while values.len() < count {
            let (y, next) = self.lstm.forward(&values[values.len() - 1], Some(&state));
            state = next;
            values.push(self.head.forward(&y));
        }
        cat(&values, 1)
    }
}

impl Layer for Forecaster {
    fn forward(&self, x: &Tensor) -> Tensor {
        let (y, _) = self.lstm.forward(x, None); // (batch, steps, hidden)
        self.head.forward(&y) // (batch, steps, 1)
    }
}

impl Module for Forecaster {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        mse_loss(y_hat, y)
    }

    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        Box::new(Adam::new(self.parameters(), 0.01))
    }
}

fn train(trainer: Trainer) -> Result<(Forecaster, History)> {
    let mut model = Forecaster::new(32);
    let history = trainer.gradient_clip_val(1.0).fit(&mut model, &Waves)?;
    Ok((model, history))
}

fn main() -> Result<()> {
    manual_seed(0);
    let (model, history) = train(Trainer::new(20))?;
    println!("{}", history.show_text());
    let wave = waves(1, STEPS + 20);
    let forecast = model.forecast(&wave.i((.., ..STEPS)), 20);
    plot(&(0..20), &[&wave.i((.., STEPS..)), &forecast])
        .legend(["truth", "forecast"])
        .save("lstm.svg")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_continues_waves() -> Result<()> {
        let (model, history) = with_seed(0, || train(Trainer::new(8)))?;
        assert!(history.last("val_loss") < Some(0.01), "{history:?}");
        let wave = with_seed(1, || waves(64, STEPS + 5));
        let forecast = model.forecast(&wave.i((.., ..STEPS)), 5);
        let error = mse_loss(&forecast, &wave.i((.., STEPS..))).item();
        assert!(error < 0.1, "{error}"); // the error of predicting the mean is 0.5
        Ok(())
    }

    #[test]
    fn it_learns_as_in_pytorch() -> Result<()> {
        pytorch::compare("lstm", train)
    }
}
