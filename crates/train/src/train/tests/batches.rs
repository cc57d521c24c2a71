//! Trainings on batches of other types: masks, lists, pairs, several outputs.

use super::*;
use crate::data::{BatchData, Dataset, ListDataset, pad_sequences};
use crate::tensor::{Tensor, ones, zeros};
use std::sync::Arc;

/// Sequences of unequal lengths; the targets are their sums.
#[derive(taper_macros::BatchData)]
struct Sequences {
    x: Tensor,           // (batch, longest)
    lengths: Vec<usize>, // of each
    y: (Tensor, Tensor), // (batch, 1): the sum, and its negative
    #[batch(shared)]
    scale: Tensor, // (1,)
}

fn sequences(n: usize) -> ListDataset<Tensor, Sequences> {
    let items = (1..=n).map(|i| with_seed(i as u64, || randn(1 + i % 4)));
    ListDataset::new(items, |items: &[&Tensor]| {
        let list: Vec<Tensor> = items.iter().map(|&item| item.clone()).collect();
        let x = pad_sequences(&list, 0.0)?;
        let x = x.pad_with_zeros(1, 0, 4 - x.dims()[1]);
        let sum = x.sum_keepdim(1);
        Ok(Sequences {
            lengths: list.iter().map(Tensor::elem_count).collect(),
            y: (sum.clone(), sum.neg()),
            scale: ones(1),
            x,
        })
    })
}

/// A model with two outputs: the sum of a sequence, and its negative.
#[derive(taper_macros::Parameters)]
struct TwoHeads {
    sum: Linear,
    negative: Linear,
    dropout: Dropout,
}

impl TwoHeads {
    fn new() -> Self {
        Self {
            sum: LazyLinear::new(1),
            negative: LazyLinear::new(1),
            dropout: Dropout::new(0.0),
        }
    }
}

impl Layer<Sequences, (Tensor, Tensor)> for TwoHeads {
    fn forward(&self, batch: &Sequences) -> (Tensor, Tensor) {
        assert_eq!(batch.lengths.len(), batch.x.dims()[0]);
        let x = self.dropout.forward(&(&batch.x * &batch.scale));
        (self.sum.forward(&x), self.negative.forward(&x))
    }
}

impl Module<Sequences, (Tensor, Tensor)> for TwoHeads {
    fn loss(&self, (a, b): &(Tensor, Tensor), batch: &Sequences) -> Tensor {
        let losses = [mse_loss(a, &batch.y.0), mse_loss(b, &batch.y.1)];
        self.plot("sum", &losses[0], true);
        &losses[0] + &losses[1]
    }

    fn configure_optimizers(&self) -> Box<dyn crate::optim::Optimizer> {
        Box::new(Adam::new(self.parameters(), 0.05))
    }
}

struct Sums;

impl DataModule<Sequences> for Sums {
    fn train_dataloader(&self) -> Result<DataLoader<Sequences>> {
        Ok(DataLoader::new(sequences(120)).batch_size(16).shuffle(true))
    }

    fn val_dataloader(&self) -> Result<Option<DataLoader<Sequences>>> {
        Ok(Some(DataLoader::new(sequences(30))))
    }
}

#[test]
fn lists_masks_and_several_outputs_go_through_a_training() -> Result<()> {
    let run = |devices: &[Device], callback: Option<Checkpoint>, resume: Option<&PathBuf>| {
        with_seed(1, || -> Result<_> {
            let mut model = TwoHeads::new();
            let mut trainer = Trainer::new(20).devices(devices);
            if let Some(checkpoint) = callback {
                trainer = trainer.callback(checkpoint);
            }
            if let Some(path) = resume {
                trainer = trainer.resume_from(path);
            }
            let history = trainer.fit(&mut model, &Sums)?;
            Ok((losses(&history), history, model))
        })
    };
    let path = temporary("sequences");
    let (one, history, model) = run(&[CPU], Some(Checkpoint::new(&path).every(7)), None)?;
    assert!(history.last("val_loss") < Some(0.01), "{history:?}");
    assert!(history.last("train_sum").is_some());
    // The checkpoint is that of epoch 14.
    let (resumed, ..) = run(&[CPU], None, Some(&path))?;
    std::fs::remove_file(path)?;
    assert_eq!(one, resumed);

    let (two, ..) = run(&[CPU, CPU, CPU], None, None)?;
    for (one, two) in one.iter().zip(two) {
        assert!((one - two).abs() < 1e-4, "{one} {two}");
    }

    let loader = DataLoader::new(sequences(30)).batch_size(7);
    let (sums, negatives) = Trainer::new(1).predict(&model, &loader)?;
    assert_eq!(
        (sums.dims(), negatives.dims()),
        (&[30, 1][..], &[30, 1][..])
    );
    let y = sequences(30).all()?.y.0;
    assert!(mse_loss(&sums, &y).item() < 0.01);
    Ok(())
}

/// An autoencoder: batches are tensors, inputs and targets at once.
#[derive(taper_macros::Parameters)]
struct Autoencoder {
    net: Sequential,
}

impl Layer for Autoencoder {
    fn forward(&self, x: &Tensor) -> Tensor {
        self.net.forward(x)
    }
}

impl Module<Tensor> for Autoencoder {
    fn loss(&self, y_hat: &Tensor, x: &Tensor) -> Tensor {
        mse_loss(y_hat, x)
    }
}

#[test]
fn a_batch_can_be_a_tensor_or_a_pair() -> Result<()> {
    let items = (0..40).map(|i| i as f32 / 40.0);
    let data = ListDataset::new(items, |items: &[&f32]| {
        let items: Vec<f32> = items.iter().map(|x| **x).collect();
        Ok(Tensor::from_vec(items, (8, 1)))
    });
    let mut model = Autoencoder {
        net: seq![LazyLinear::new(4), Tanh, LazyLinear::new(1)],
    };
    let loader = DataLoader::new(Arc::new(data)).batch_size(8);
    let history = with_seed(1, || Trainer::new(30).fit(&mut model, &loader))?;
    assert!(history.last("train_loss") < Some(0.05));

    let parallel = DataParallel::new(model, &[CPU, CPU])?;
    let gradients = parallel.backward(&rand((5, 1)))?;
    assert_eq!(gradients.loss.dims(), [0; 0]);
    Ok(())
}

#[test]
fn batches_that_do_not_fit_are_explained() -> Result<()> {
    let batch = |examples: usize| -> Result<Sequences> {
        Ok(Sequences {
            x: zeros((3, 4)),
            lengths: vec![1; examples],
            y: (zeros((3, 1)), zeros((3, 1))),
            scale: ones(1),
        })
    };
    let message = batch(2)?.num_examples().unwrap_err().to_string();
    assert!(
        message.starts_with("batch: expected 3 examples in `x`, as in `lengths`, found 2")
            || message.starts_with("batch: expected 3 examples in `lengths`, as in `x`, found 2\n"),
        "{message}"
    );
    assert!(batch(2)?.part(0, 1, &CPU).is_err());
    assert!(split_and_load(&batch(2)?, &[CPU, CPU]).is_err());
    let whole = batch(3)?;
    for (start, len) in [(0, 4), (3, 1), (usize::MAX, 2)] {
        let message = whole.part(start, len, &CPU).err().unwrap().to_string();
        assert_eq!(message.lines().count(), 2, "{message}");
    }
    let joined = Sequences::collate(&[&whole, &whole.part(1, 1, &CPU)?])?;
    assert_eq!((joined.num_examples()?, joined.scale.dims()), (4, &[1][..]));
    assert!(Sequences::collate(&[]).is_err());
    for other in [ones((2, 4)), ones((1, 3)).to_dtype(DType::F64)] {
        let message = Tensor::collate(&[&ones((1, 3)), &other]);
        let message = message.unwrap_err().to_string();
        assert_eq!(message.lines().count(), 2, "{message}");
    }
    Ok(())
}

#[test]
fn a_classifier_takes_a_class_for_each_position() {
    let logits = randn((2, 3, 4, 5));
    let y = zeros((2, 4, 5)).to_dtype(DType::U32);
    let model = Classifier::new(seq![ReLU], 0.1);
    let loss = model.loss(&logits, &y).item();
    let rows = logits.permute((0, 2, 3, 1)).reshape((40, 3));
    let expected = cross_entropy(&rows, &y.flatten_all()).item();
    assert!((loss - expected).abs() < 1e-6);
    let of_rows = accuracy(&rows, &y.flatten_all());
    assert_eq!(accuracy(&logits, &y).item(), of_rows.item());
    for other in [zeros((2, 4)), zeros((2, 5, 4)), zeros(2)] {
        let message = attempt(|| model.loss(&logits, &other)).unwrap_err();
        let message = message.to_string();
        assert!(
            message.contains("Expected a class index for each example: [2, 4, 5]"),
            "{message}"
        );
    }
}
