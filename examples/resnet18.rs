//! ResNet-18 for small images. Its parameters have torchvision's names, so that it can load the parameters of
//! torchvision's `resnet18` from a file, if `conv1` and `fc` have the sizes of that model.
//!
//!     cargo run --release --example resnet18

#[cfg(test)]
mod pytorch;

use taper::prelude::*;

/// Two convolutions whose result is added to the input.
#[derive(Parameters)]
struct BasicBlock {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    conv2: Conv2d,
    bn2: BatchNorm2d,
    /// Maps the input to the shape of the result, if they differ.
    downsample: Option<Sequential>,
}

impl BasicBlock {
    fn new(inputs: usize, outputs: usize, stride: usize) -> Self {
        let conv = |inputs, stride| {
            let conv = Conv2d::new(inputs, outputs, 3).stride(stride).padding(1);
            conv.bias(false)
        };
        let downsample = match inputs == outputs && stride == 1 {
            true => None,
            false => {
                let conv = Conv2d::new(inputs, outputs, 1).stride(stride);
                Some(seq![conv.bias(false), BatchNorm2d::new(outputs)])
            }
        };
        Self {
            conv1: conv(inputs, stride),
            bn1: BatchNorm2d::new(outputs),
            conv2: conv(outputs, 1),
            bn2: BatchNorm2d::new(outputs),
            downsample,
        }
    }
}

impl Layer for BasicBlock {
    fn forward(&self, x: &Tensor) -> Tensor {
        let y = self.bn1.forward(&self.conv1.forward(x)).relu();
        let y = self.bn2.forward(&self.conv2.forward(&y));
        let shortcut = match &self.downsample {
            Some(downsample) => downsample.forward(x),
            None => x.clone(),
        };
        (y + shortcut).relu()
    }
}

#[derive(Parameters)]
struct ResNet18 {
    conv1: Conv2d,
    bn1: BatchNorm2d,
    layer1: Sequential,
    layer2: Sequential,
    layer3: Sequential,
    layer4: Sequential,
    fc: Linear,
}

impl ResNet18 {
    fn new(channels: usize, classes: usize) -> Self {
        let layer = |inputs, outputs, stride| {
            let first = BasicBlock::new(inputs, outputs, stride);
            seq![first, BasicBlock::new(outputs, outputs, 1)]
        };
        Self {
            conv1: Conv2d::new(channels, 64, 3).padding(1).bias(false),
            bn1: BatchNorm2d::new(64),
            layer1: layer(64, 64, 1),
            layer2: layer(64, 128, 2),
            layer3: layer(128, 256, 2),
            layer4: layer(256, 512, 2),
            fc: Linear::new(512, classes),
        }
    }
}

impl Layer for ResNet18 {
    fn forward(&self, x: &Tensor) -> Tensor {
        let mut x = self.bn1.forward(&self.conv1.forward(x)).relu();
        for layer in [&self.layer1, &self.layer2, &self.layer3, &self.layer4] {
            x = layer.forward(&x);
        }
        let x = AdaptiveAvgPool2d::new(1).forward(&x); // (batch, 512, 1, 1)
        self.fc.forward(&x.flatten_from(1)) // (batch, classes)
    }
}

fn classifier() -> Classifier<ResNet18> {
    let model = Classifier::new(ResNet18::new(1, 10), 0.001);
    model.optimizer(Adam::new)
}

fn train(mut trainer: Trainer) -> Result<(Classifier<ResNet18>, History)> {
    let mut model = classifier();
    let data = Digits::new().batch_size(32);
    let history = trainer.fit(&mut model, &data)?;
    Ok((model, history))
}

fn main() -> Result<()> {
    manual_seed(0);
    let (_, history) = train(Trainer::new(5))?;
    println!("{}", history.show_text());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[ignore = "slow: run by .ci/nightly"]
    fn it_learns_and_has_the_parameters_of_torchvision() -> Result<()> {
        let (model, history) = with_seed(0, || train(Trainer::new(1)))?;
        assert!(history.last("val_accuracy") > Some(0.8), "{history:?}");
        // Torchvision's model has 11,689,512, with 1,000 classes and 64 kernels of 3 × 7 × 7 in `conv1`.
        let expected = 11_689_512 - 990 * 513 - 64 * (3 * 7 * 7 - 3 * 3);
        assert_eq!(model.num_parameters(), expected);
        let name = "layer4.0.downsample.0.weight";
        assert_eq!(model.parameter(name).shape().dims(), [512, 256, 1, 1]);
        Ok(())
    }

    #[test]
    fn it_learns_as_in_pytorch() -> Result<()> {
        pytorch::compare("resnet18", |trainer| {
            let Batch { x, y } = Digits::new().train()?.all()?;
            let x = Upsample::new(2.0).forward(&x); // (examples, 1, 16, 16)
            let data = DataLoader::new(TensorDataset::new(x, y)?).batch_size(16);
            pytorch::slowly(trainer, 1000.0).fit(&mut classifier(), &data)
        })
    }

    #[test]
    fn it_learns_as_in_pytorch_with_its_learning_rate() -> Result<()> {
        pytorch::compare("resnet18_f64", |mut trainer| {
            let data = pytorch::doubles(&Digits::new().batch_size(8))?;
            let mut model = classifier();
            model.to_dtype(DType::F64);
            trainer.fit(&mut model, &data)
        })
    }
}
