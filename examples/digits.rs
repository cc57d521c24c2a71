//! Taper in a plain program: trains a small network on handwritten digits, prints its accuracy, and
//! saves the curves as a figure and the parameters in a file.
//!
//!     cargo run --release --example digits

use std::path::Path;
use taper::prelude::*;

fn main() -> Result<()> {
    manual_seed(0);
    let history = train(10, Path::new("."))?;
    println!("{}", history.show_text());
    Ok(())
}

fn train(epochs: usize, folder: &Path) -> Result<History> {
    let data = Digits::new().batch_size(64);
    let net = seq![Flatten, LazyLinear::new(64), ReLU, LazyLinear::new(10)];
    let mut model = Classifier::new(net, 0.003).optimizer(Adam::new);

    let mut trainer = Trainer::new(epochs);
    let history = trainer.fit(&mut model, &data)?;
    trainer.board().save(folder.join("digits.svg"))?;
    model.save_parameters(folder.join("digits.safetensors"))?;
    Ok(history)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_learns_and_leaves_its_files() -> Result<()> {
        manual_seed(0);
        let folder = std::env::temp_dir().join(format!("taper_example_{}", std::process::id()));
        std::fs::create_dir_all(&folder)?;
        let history = train(3, &folder)?;
        assert!(history.last("val_accuracy").unwrap() > 0.8, "{history:?}");

        let mut net = seq![Flatten, LazyLinear::new(64), ReLU, LazyLinear::new(10)];
        net.load_parameters(folder.join("digits.safetensors"), &cpu())?;
        assert!(folder.join("digits.svg").exists());
        std::fs::remove_dir_all(folder)?;
        Ok(())
    }
}
