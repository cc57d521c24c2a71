//! A U-Net that marks the discs in noisy images with discs and squares.
//!
//!     cargo run --release --example unet

#[cfg(test)]
mod pytorch;

use taper::prelude::*;

const SIZE: usize = 24;

/// Returns 1 for each pixel of a square or a disc of random place and size, 0 elsewhere.
fn shapes(count: usize, disc: bool) -> Tensor {
    let place = || uniform(5.0, SIZE as f64 - 5.0, (count, 1, 1, 1));
    let pixels = arange(0.0, SIZE as f64);
    let x = (&pixels - place()).abs(); // (count, 1, 1, width)
    let y = (pixels.unsqueeze(1) - place()).abs(); // (count, 1, height, 1)
    let distance = match disc {
        true => (x.sqr() + y.sqr()).sqrt(),
        false => x.maximum(&y),
    }; // (count, 1, height, width)
    let radius = uniform(3.0, 5.0, (count, 1, 1, 1));
    distance.lt(radius).to_dtype(DType::F32)
}

struct Discs;

impl Discs {
    fn loader(&self, count: usize) -> Result<DataLoader> {
        let mask = shapes(count, true);
        let both = mask.maximum(shapes(count, false));
        let images = both + randn((count, 1, SIZE, SIZE)) * 0.2;
        Ok(DataLoader::new(TensorDataset::new(images, mask)?).batch_size(16))
    }
}

impl DataModule for Discs {
    fn train_dataloader(&self) -> Result<DataLoader> {
        Ok(self.loader(256)?.shuffle(true))
    }

    fn val_dataloader(&self) -> Result<Option<DataLoader>> {
        self.loader(64).map(Some)
    }
}

fn block(channels: usize) -> Sequential {
    seq![
        LazyConv2d::new(channels, 3).padding(1),
        LazyBatchNorm2d::new(),
        ReLU,
        LazyConv2d::new(channels, 3).padding(1),
        LazyBatchNorm2d::new(),
        ReLU,
    ]
}

/// The images get smaller on the way down and larger again on the way up. Each level of the way up also receives
/// the features of the same size from the way down.
#[derive(Parameters)]
struct UNet {
    down: Vec<Sequential>,
    bottom: Sequential,
    up: Vec<(ConvTranspose2d, Sequential)>,
    head: Conv2d,
}

impl UNet {
    fn new(channels: &[usize]) -> Self {
        let up = |channels: &usize| {
            let larger = LazyConvTranspose2d::new(*channels, 2).stride(2);
            (larger, block(*channels))
        };
        Self {
            down: channels.iter().map(|channels| block(*channels)).collect(),
            bottom: block(2 * channels[channels.len() - 1]),
            up: channels.iter().rev().map(up).collect(),
            head: LazyConv2d::new(1, 1),
        }
    }
}

impl Layer for UNet {
    fn forward(&self, x: &Tensor) -> Tensor {
        let (mut x, mut levels) = (x.clone(), vec![]);
        for block in &self.down {
            let level = block.forward(&x);
            x = MaxPool2d::new(2).forward(&level); // half as high and wide
            levels.push(level);
        }
        x = self.bottom.forward(&x);
        for ((larger, block), level) in self.up.iter().zip(levels.iter().rev()) {
            x = block.forward(&cat(&[level, &larger.forward(&x)], 1));
        }
        self.head.forward(&x) // (batch, 1, height, width)
    }
}

impl Module for UNet {
    fn loss(&self, y_hat: &Tensor, y: &Tensor) -> Tensor {
        bce_with_logits(y_hat, y)
    }

    fn validation_step(&self, batch: &Batch) {
        let y_hat = self.forward(&batch.x);
        self.plot("loss", &self.loss(&y_hat, &batch.y), false);
        let chosen = y_hat.gt(0.0).to_dtype(DType::F32);
        let intersection = (&chosen * &batch.y).sum_all();
        let union = chosen.maximum(&batch.y).sum_all();
        self.plot("iou", &(intersection / union), false);
    }

    fn configure_optimizers(&self) -> Box<dyn Optimizer> {
        Box::new(Adam::new(self.parameters(), 0.005))
    }
}

fn train(trainer: Trainer) -> Result<(UNet, History)> {
    let mut model = UNet::new(&[8, 16]);
    // The running means of the normalisation follow the weights only if those change slowly at the end.
    let mut trainer = trainer.schedule(Schedule::Exponential { gamma: 0.85 });
    let history = trainer.fit(&mut model, &Discs)?;
    model.eval();
    Ok((model, history))
}

fn main() -> Result<()> {
    manual_seed(0);
    let (model, history) = train(Trainer::new(15))?;
    println!("{}", history.show_text());
    for batch in &Discs.loader(8)? {
        let Batch { x, y } = batch?;
        let marked = model.forward(&x).gt(0.0).to_dtype(DType::F32);
        show_images(&cat(&[x, y, marked], 0)).save("unet.png")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_discs_from_squares() -> Result<()> {
        let (_, history) = with_seed(0, || train(Trainer::new(15)))?;
        let iou = history.values("val_iou");
        let best = iou[10..].iter().copied().fold(0.0, f64::max);
        assert!(best > 0.7, "{iou:?}");
        Ok(())
    }

    #[test]
    fn it_learns_as_in_pytorch() -> Result<()> {
        pytorch::compare("unet", |trainer| {
            let mut model = UNet::new(&[8, 16]);
            pytorch::slowly(trainer, 10.0).fit(&mut model, &Discs)
        })
    }

    #[test]
    fn it_learns_as_in_pytorch_with_its_learning_rate() -> Result<()> {
        pytorch::compare("unet_f64", |mut trainer| {
            let data = pytorch::doubles(&Discs)?;
            let mut model = UNet::new(&[8, 16]);
            for batch in &Discs.loader(1)? {
                model.forward(&batch?.x); // initialises lazy layers
            }
            model.to_dtype(DType::F64);
            trainer.fit(&mut model, &data)
        })
    }
}
