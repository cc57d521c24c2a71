use super::*;
use crate::nn::{Dropout, LazyLinear, ParametersExt, Sequential};
use crate::notebook::Show;
use crate::seq;
use crate::tensor::{ones, zeros};
use crate::train::Classifier;

const CPU: Device = Device::Cpu;

#[test]
fn a_second_device_adds_columns_for_transfer_share_and_speed_up() -> Result<()> {
    let model = Classifier::new(seq![LazyLinear::new(2), Dropout::new(0.5)], 0.1);
    let batch = Batch {
        x: ones((3, 4)),
        y: zeros(3).to_dtype(DType::I64),
    };
    let does = steps::<Classifier<Sequential>, Batch, Tensor>();
    let table = batch_sizes_on(&[CPU, CPU], (&model, does), &batch, &[2, 5])?;
    let text = table.show_text();
    let heads = text.lines().next().unwrap_or_default();
    assert!(heads.contains("to cpu  share of that  speed-up"), "{text}");
    assert_eq!(text.lines().count(), 3);
    let (times, rates) = (table.values("cpu")?, table.values("cpu samples/s")?);
    assert!((rates[1] * times[1] - 5.0).abs() < 1e-9, "5 samples a step");
    assert_eq!(
        model.num_parameters(),
        0,
        "the model itself does not change"
    );
    Ok(())
}

#[test]
fn each_device_measures_every_size() -> Result<()> {
    let mut made = Vec::new();
    let mut exp = |size, device: &Device| {
        made.push(size);
        let x = zeros(size).to_device(device);
        benchmark("", device, || x.exp())
    };
    let table = devices_on(&[CPU, CPU], &[3, 7], &mut exp)?;
    assert_eq!(made, [3, 7, 3, 7]);
    assert_eq!(table.values("speed-up")?.len(), 2);
    Ok(())
}

#[test]
fn without_a_gpu_a_note_says_why() -> Result<()> {
    let texts = [
        compare_devices(&[2], zeros, |x| x.exp())?.show_text(),
        compare_logging(2, 2)?.show_text(),
    ];
    for text in texts {
        assert_eq!(
            text.contains("Only the CPU was measured: "),
            gpu(0).is_err(),
            "{text}"
        );
    }
    let text = compare_transfers(&CPU, &[10, 2_000_000])?.show_text();
    assert!(text.contains("10 B") && text.contains("2.00 MB"), "{text}");
    assert!(
        text.contains("B/s") && text.contains("copies on the CPU"),
        "{text}"
    );
    Ok(())
}

#[test]
fn invalid_arguments_are_explained() {
    let none = compare_devices(&[], zeros, |x| x.exp());
    assert!(
        none.unwrap_err()
            .to_string()
            .starts_with("compare_devices: expected sizes of at least 1, found []\n")
    );
    let copies = compare_copies(&CPU, 3, 4).unwrap_err().to_string();
    assert!(
        copies.starts_with("compare_copies: cannot divide 3 bytes into 4 pieces\n"),
        "{copies}"
    );
    let model = Classifier::new(LazyLinear::new(2), 0.1);
    let empty = Batch {
        x: zeros((0, 2)),
        y: zeros(0),
    };
    let message = compare_batch_sizes(&model, &empty, &[1])
        .unwrap_err()
        .to_string();
    assert!(message.contains("the batch is empty"), "{message}");
}
