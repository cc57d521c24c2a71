//! Trainings that cannot start or continue.

use super::*;

#[test]
fn a_loss_that_is_not_finite_stops_training_and_names_the_step() -> Result<()> {
    let mut data = Quarters::new(40);
    data.batch_size = 10;
    let broken = rand((1, 2)) * f64::NAN;
    data.x = Tensor::cat(&[data.x.narrow(0, 0, 39), broken], 0);
    struct Ordered(Quarters);
    impl DataModule for Ordered {
        fn train_dataloader(&self) -> Result<DataLoader> {
            Ok(self.0.train_dataloader()?.shuffle(false))
        }
    }
    let mut trainer = Trainer::new(2);
    let message = trainer
        .fit(&mut mlp(0.0), &Ordered(data))
        .unwrap_err()
        .to_string();
    let first = message.lines().next();
    assert_eq!(
        first,
        Some(
            "the loss is NaN at step 4, in epoch 1, batch 4: x has NaN or infinite values, first in example 9 of the batch (counted from 0)"
        ),
        "{message}"
    );
    assert!(!message.contains("clip"), "{message}");
    assert_eq!(trainer.history().intervals.len(), 2);
    Ok(())
}

#[test]
fn invalid_trainings_are_explained() -> Result<()> {
    let data = Quarters::new(8);
    let n = crate::device::num_gpus() + 4;
    let message = Trainer::new(1).num_gpus(n).fit(&mut mlp(0.0), &data);
    let message = message.unwrap_err().to_string();
    assert!(
        message.starts_with(&format!("num_gpus({n}): this machine has ")),
        "{message}"
    );

    let mut without = Quarters::new(8);
    without.batch_size = 0;
    let message = Trainer::new(1).fit(&mut mlp(0.0), &without).unwrap_err();
    assert!(
        message
            .to_string()
            .starts_with("DataLoader: expected a batch size of at least 1, found 0\n"),
        "{message}"
    );
    let message = Trainer::new(1)
        .fit(&mut mlp(0.0), &Quarters::new(0))
        .unwrap_err();
    assert!(
        message
            .to_string()
            .starts_with("Trainer: the training set is empty\n"),
        "{message}"
    );
    let message = Trainer::new(1).prepare_batch(&data.batch()).unwrap_err();
    assert!(
        message
            .to_string()
            .ends_with("\nCall .prepare_model(&mut model) first"),
        "{message}"
    );

    let lazy = DataParallel::new(mlp(0.0), &[CPU])
        .err()
        .unwrap()
        .to_string();
    assert!(lazy.contains("no values yet"), "{lazy}");
    let none = DataParallel::new(Classifier::new(Linear::new(2, 2), 0.1), &[]);
    assert!(
        none.err()
            .unwrap()
            .to_string()
            .contains("at least one device")
    );

    let normalised = seq![
        LazyLinear::new(4),
        LazyBatchNorm1d::new(),
        LazyLinear::new(4)
    ];
    let mut trainer = Trainer::new(1).devices(&[CPU, CPU, CPU]);
    let mut model = Classifier::new(normalised, 0.1);
    let message = trainer.fit(&mut model, &Quarters::new(50)).unwrap_err();
    let message = message.to_string();
    assert!(message.ends_with("(.drop_last(true))"), "{message}");

    let mut narrow = Classifier::new(LazyLinear::new(2), 0.1);
    let message = attempt(|| Trainer::new(1).fit(&mut narrow, &data)).unwrap_err();
    let message = message.to_string();
    assert!(
        message.contains("is out of range: there are 2"),
        "{message}"
    );

    let stop = EarlyStopping::new("val_los", 1);
    let message = Trainer::new(1).callback(stop).fit(&mut mlp(0.0), &data);
    let message = message.unwrap_err().to_string();
    assert!(
        message.contains("Choose one of: train_accuracy, train_loss, val_"),
        "{message}"
    );
    Ok(())
}
