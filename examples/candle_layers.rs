//! Candle's own layers in a model that Taper trains.
//!
//! Not every layer supports gradients: Candle's `LayerNorm` does not, Taper's does.
//!
//!     cargo run --release --example candle_layers

use taper::candle_nn::{self, VarBuilder, VarMap};
use taper::prelude::*;

/// Two layers of Candle, followed by a layer of Taper.
#[derive(Parameters)]
struct Net {
    conv: candle_nn::Conv2d,
    hidden: candle_nn::Linear,
    output: Linear,
    lr: f64,
}

impl Net {
    fn new(lr: f64) -> Result<Self> {
        let vars = VarMap::new();
        let builder = VarBuilder::from_varmap(&vars, DType::F32, &cpu());
        Ok(Self {
            conv: candle_nn::conv2d(1, 4, 3, Default::default(), builder.pp("conv"))?,
            hidden: candle_nn::linear(4 * 6 * 6, 32, builder.pp("hidden"))?,
            output: LazyLinear::new(10),
            lr,
        })
    }
}

impl Layer for Net {
    fn forward(&self, x: &Tensor) -> Tensor {
        let x = x.apply(&self.conv).relu().flatten_from(1); // (batch, 4 · 6 · 6)
        let x = x.apply(&self.hidden).relu(); // (batch, 32)
        self.output.forward(&x) // (batch, 10)
    }
}

impl Module for Net {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        cross_entropy(y_hat, y)
    }

    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        Box::new(Adam::new(self.parameters(), self.lr))
    }
}

fn main() -> Result<()> {
    manual_seed(0);
    println!("{}", train(5)?.1.show_text());
    Ok(())
}

fn train(epochs: usize) -> Result<(Net, History)> {
    let mut net = Net::new(0.003)?;
    let history = Trainer::new(epochs).fit(&mut net, &Digits::new().batch_size(64))?;
    Ok((net, history))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_its_layers_are_trained() -> Result<()> {
        // Candle's initial weights differ in each run.
        let (net, history) = train(4)?;
        let batch = Digits::new().train_dataloader()?.into_iter().next();
        let Batch { x, y } = batch.expect("a batch")?;
        let gradients = net.loss(&net.forward(&x), &y).backward();
        for (name, parameter) in net.named_parameters() {
            let gradient = gradients.get(&parameter.tensor());
            assert!(gradient.is_some(), "{name} is trained");
        }
        assert!(history.values("val_loss")[3] < 1.5, "{history:?}");
        assert_eq!(net.num_parameters(), 40 + 144 * 32 + 32 + 32 * 10 + 10);

        // The model works on two devices, and can be saved and loaded.
        let copy = net.replicate(&cpu());
        let x = rand((2, 1, 8, 8));
        let y = |net: &Net| net.forward(&x).to_vec2::<f32>();
        assert_eq!(y(&copy), y(&net));
        let path = std::env::temp_dir().join(format!("taper_candle_{}", std::process::id()));
        net.save_parameters(&path)?;
        let mut other = Net::new(0.1)?;
        other.load_parameters(&path, &cpu())?;
        assert_eq!(y(&other), y(&net));
        std::fs::remove_file(path)?;
        Ok(())
    }
}
