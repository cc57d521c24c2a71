//! Trainings with weights and data of 16 bits.

use super::*;
use crate::distributed::testing as threads;
use crate::tensor::ones;

/// Returns data and a network of a type; all networks begin with the same values.
fn begin(dtype: DType) -> (Quarters, Classifier<Sequential>) {
    let mut data = Quarters::new(64);
    data.x = data.x.to_dtype(dtype);
    let mut model = with_seed(1, || {
        let net = seq![Linear::new(2, 16), ReLU, Linear::new(16, 4)];
        Classifier::new(net, 0.02).optimizer(Adam::new)
    });
    model.to_dtype(dtype);
    (data, model)
}

fn trainer(devices: usize) -> Trainer {
    manual_seed(2);
    Trainer::new(8).log_every(1).devices(&vec![CPU; devices])
}

fn assert_near(losses: &[f64], want: &[f64], near: f64, what: &str) {
    assert_eq!(losses.len(), want.len(), "{what}");
    for (step, (loss, want)) in losses.iter().zip(want).enumerate() {
        assert!(
            (loss - want).abs() < near,
            "{what}, step {step}: {loss}, {want}"
        );
    }
}

#[test]
fn training_in_16_bits_is_near_that_in_32_also_on_devices_and_ranks() -> Result<()> {
    let (data, mut model) = begin(DType::F32);
    let want = losses(&trainer(1).fit(&mut model, &data)?);
    for (dtype, near) in [(DType::F16, 0.01), (DType::BF16, 0.05)] {
        for devices in [1, 2] {
            let what = format!("{dtype:?} on {devices}");
            let (data, mut model) = begin(dtype);
            let history = trainer(devices).fit(&mut model, &data)?;
            assert_near(&losses(&history), &want, near, &what);
            assert!(history.last("train_accuracy").unwrap() > 0.8, "{what}");
            assert_eq!(model.parameters()[0].tensor().dtype(), dtype);
            let ranks = threads::run(2, |ranks| {
                let (data, mut model) = begin(dtype);
                let mut trainer = trainer(devices);
                trainer.ranks = Some(ranks);
                let history = trainer.fit(&mut model, &data).unwrap();
                (losses(&history), values(&model))
            });
            for (found, values) in &ranks {
                assert_near(found, &want, near, &format!("{what}, 2 ranks"));
                assert_eq!(values, &ranks[0].1, "all ranks have the same bits");
            }
        }
    }
    Ok(())
}

#[test]
fn data_of_another_type_than_the_weights_is_explained() {
    let (_, mut model) = begin(DType::F16);
    let fit = || trainer(1).fit(&mut model, &Quarters::new(64));
    let message = attempt(fit).unwrap_err().to_string();
    assert!(
        message.contains("f16") && message.contains("f32"),
        "{message}"
    );
    assert_eq!(message.lines().count(), 2, "{message}");
}

/// The weight is 1, and each step adds a thousandth, which a weight of 16 bits would lose.
#[test]
fn in_mixed_precision_small_updates_are_not_lost() -> Result<()> {
    let data = Quarters::new(64);
    let fit = |dtype: DType, precision: DType| -> Result<f32> {
        let mut model = with_seed(1, || Classifier::new(Linear::new(2, 4), 1e-3));
        model.parameter("weight").set(&ones((4, 2)));
        let mut data = data.clone();
        if dtype != DType::F32 {
            model.to_dtype(dtype);
            data.x = data.x.to_dtype(dtype);
        }
        trainer(1).precision(precision).fit(&mut model, &data)?;
        let change = model.parameter("weight").tensor().to_dtype(DType::F32) - 1.0;
        Ok(change.abs().max_all().item() as f32)
    };
    let single = fit(DType::F32, DType::F32)?;
    let mixed = fit(DType::F32, DType::BF16)?;
    assert!(single > 1e-3, "{single}");
    assert!((mixed - single).abs() < 0.05 * single, "{mixed}, {single}");
    assert!(fit(DType::BF16, DType::F32)? < 0.5 * single);
    Ok(())
}

#[test]
fn losses_in_mixed_precision_are_near_those_in_32_bits_also_on_devices_and_ranks() -> Result<()> {
    let (data, mut model) = begin(DType::F32);
    let want = losses(&trainer(1).fit(&mut model, &data)?);
    let mixed = |devices: usize| trainer(devices).precision(DType::BF16);
    for devices in [1, 2] {
        let (_, mut model) = begin(DType::F32);
        let history = mixed(devices).fit(&mut model, &data)?;
        let found = losses(&history);
        assert_near(&found, &want, 0.01, &format!("on {devices}"));
        assert_ne!(found, want);
        assert!(
            model
                .parameters()
                .iter()
                .all(|p| p.tensor().dtype() == DType::F32)
        );
    }
    let refused = mixed(1).precision(DType::F16).fit(&mut model, &data);
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("f16") && message.contains("DType::BF16"),
        "{message}"
    );
    Ok(())
}
