use super::*;
use crate::tensor::{tensor, with_seed};

/// Returns an image whose red increases to the right, and whose green increases downwards.
fn ramp(height: usize, width: usize) -> Tensor {
    let mut bytes = Vec::new();
    for y in 0..height {
        for x in 0..width {
            bytes.extend([(x * 10) as u8, (y * 10) as u8, 7]);
        }
    }
    Tensor::from_vec(bytes, (height, width, 3))
}

fn channel(image: &Tensor, number: usize) -> Vec<Vec<u8>> {
    image.narrow(2, number, 1).squeeze(2).to_vec2()
}

/// The expected values come from Pillow 13: `Image.resize((3, 2), BILINEAR)` of the same image.
#[test]
fn a_smaller_image_is_smoothed_as_pillow_does() {
    let small = Resize::exact(2, 3).apply(&ramp(4, 6)).unwrap();
    assert_eq!(channel(&small, 0), [[7, 25, 43]; 2]);
    assert_eq!(channel(&small, 1), [[7; 3], [23; 3]]);
    assert_eq!(channel(&small, 2), [[7; 3]; 2]);
}

/// As above: `Image.resize((4, 4), BILINEAR)` of 2 by 2.
#[test]
fn a_larger_image_is_interpolated_as_pillow_does() {
    let large = Resize::new(4).apply(&ramp(2, 2)).unwrap();
    assert_eq!(channel(&large, 0), [[0, 3, 8, 10]; 4]);
}

#[test]
fn the_aspect_ratio_is_kept() {
    let dims = |height, width, size| {
        let image = Resize::new(size).apply(&ramp(height, width)).unwrap();
        (image.dims()[0], image.dims()[1])
    };
    assert_eq!(dims(10, 25, 4), (4, 10));
    assert_eq!(dims(25, 10, 4), (10, 4));
    assert_eq!(dims(20, 1, 2), (40, 2));
    assert_eq!(dims(7, 7, 7), (7, 7));
}

#[test]
fn the_centre_is_cropped() {
    let nothing = CenterCrop::new(0).apply(&ramp(5, 6)).unwrap_err();
    let message = "CenterCrop: expected a size of at least 1 pixel, found 0\nChoose a size above 0";
    assert_eq!(nothing.to_string(), message);
    let middle = CenterCrop::new(2).apply(&ramp(5, 6)).unwrap();
    assert_eq!(channel(&middle, 0), [[20, 30]; 2]);
    assert_eq!(channel(&middle, 1), [[20, 20], [30, 30]]);
}

/// torchvision rounds half of the margin to the even number: 0, 2, 2 and 4 for 1, 3, 5 and 7.
#[test]
fn an_odd_margin_is_halved_as_torchvision_does() {
    for (margin, first) in [
        (0, 0),
        (1, 0),
        (2, 1),
        (3, 2),
        (4, 2),
        (5, 2),
        (6, 3),
        (7, 4),
    ] {
        let crop = CenterCrop::new(1).apply(&ramp(1 + margin, 1 + margin));
        let crop = crop.unwrap();
        let want = [[10 * first as u8]];
        assert_eq!(
            (channel(&crop, 0), channel(&crop, 1)),
            (vec![want[0].to_vec()], vec![want[0].to_vec()]),
            "{margin}"
        );
    }
}

#[test]
fn a_size_that_no_memory_holds_is_an_error() {
    for resize in [
        Resize::exact(1 << 40, 1 << 40),
        Resize::exact(usize::MAX, 1),
        Resize::new(usize::MAX),
        Resize::new(1 << 40),
    ] {
        let message = resize.apply(&ramp(2, 3)).unwrap_err().to_string();
        assert!(message.contains("fits into the memory"), "{message}");
    }
}

#[test]
fn about_half_of_the_images_are_mirrored_as_the_seed_determines() {
    let flips = || -> Vec<bool> {
        let flip = RandomHorizontalFlip::new();
        let mirrored = |_| channel(&flip.apply(&ramp(1, 2)).unwrap(), 0) == [[10, 0]];
        (0..100).map(mirrored).collect()
    };
    let (first, again) = (with_seed(1, flips), with_seed(1, flips));
    assert_eq!(first, again);
    let count = first.iter().filter(|&&mirrored| mirrored).count();
    assert!((35..65).contains(&count), "{count}");
}

#[test]
fn jitter_changes_only_its_own_property_within_its_bounds() {
    with_seed(2, || {
        let grey = Tensor::from_vec(vec![100u8; 12], (2, 2, 3));
        let same = ColorJitter::new().contrast(0.5).saturation(0.5);
        assert_eq!(channel(&same.apply(&grey).unwrap(), 0), [[100; 2]; 2]);
        let values = |step: ColorJitter, image: &Tensor| -> Vec<u8> {
            let first = |_| channel(&step.apply(image).unwrap(), 0)[0][0];
            (0..50).map(first).collect()
        };
        let bright = values(ColorJitter::new().brightness(0.2), &grey);
        assert!(bright.iter().all(|value| (80..=120).contains(value)));
        assert!(bright.iter().any(|&v| v < 90) && bright.iter().any(|&v| v > 110));
        let red = tensor(&[[[200u8, 0, 0]]]);
        let pale = values(ColorJitter::new().saturation(1.0), &red);
        assert!(
            pale.iter().any(|&v| v < 120) && pale.iter().any(|&v| v > 240),
            "{pale:?}"
        );
    });
}

#[test]
fn steps_in_the_wrong_order_are_explained() {
    let x = ToTensor.apply(&ramp(3, 4)).unwrap();
    let steps: [(&str, Box<dyn Transform>); 4] = [
        ("Resize", Box::new(Resize::new(2))),
        ("CenterCrop", Box::new(CenterCrop::new(2))),
        (
            "RandomHorizontalFlip",
            Box::new(RandomHorizontalFlip::new()),
        ),
        ("ColorJitter", Box::new(ColorJitter::new())),
    ];
    for (name, step) in steps {
        assert_eq!(
            step.apply(&x).unwrap_err().to_string(),
            format!(
                "{name}: expected an image (height, width, 3) of u8, found f32\n\
                 Put {name} before ToTensor, which changes shape and type"
            )
        );
    }
    assert_eq!(
        ToTensor.apply(&x).unwrap_err().to_string(),
        "ToTensor: expected an image (height, width, 3) of u8, found f32\n\
         Use ToTensor once, or convert the image first: image.to_dtype(DType::U8)"
    );
    for step in [&ToTensor as &dyn Transform, &Resize::new(2)] {
        for shape in [(3, 4, 4), (3, 4, 5)] {
            let image = crate::tensor::zeros(shape).to_dtype(DType::U8);
            let message = step.apply(&image).unwrap_err().to_string();
            assert!(message.contains("image.narrow(2, 0, 3)"), "{message}");
        }
    }
    let message = |step: Normalize, x: &Tensor| step.apply(x).unwrap_err().to_string();
    let text = message(Normalize::new([0.5], [0.5]), &x);
    assert!(
        text.starts_with("Normalize: expected 3 means, one for each channel, found 1\n"),
        "{text}"
    );
    assert!(
        message(Normalize::new([0.5; 3], [0.0; 3]), &x)
            .contains("expected standard deviations above 0, found 0")
    );
    assert!(message(Normalize::new([0.5; 3], [1.0; 3]), &ramp(3, 3)).contains("after ToTensor"));
    assert!(Resize::new(0).apply(&ramp(2, 2)).is_err());
}

/// Boxes and classes of pixels that mark the same rectangle go on marking it.
#[test]
fn boxes_and_masks_move_with_the_pixels() {
    let image = ramp(20, 24);
    let marked = |y: usize, x: usize| (6..12).contains(&y) && (4..14).contains(&x);
    let mask: Vec<u8> = (0..20 * 24)
        .map(|i| marked(i / 24, i % 24).into())
        .collect();
    let mask = Tensor::from_vec(mask, (20, 24));
    let steps: [Box<dyn Transform>; 7] = [
        Box::new(RandomHorizontalFlip::new().p(1.0)),
        Box::new(RandomHorizontalFlip::new()),
        Box::new(CenterCrop::new(10)),
        Box::new(RandomCrop::new(16).padding(3)),
        Box::new(Resize::exact(40, 12)),
        Box::new(crate::compose![
            RandomCrop::new(14),
            RandomHorizontalFlip::new(),
            Resize::new(28),
            ToTensor
        ]),
        Box::new(ColorJitter::new().brightness(0.5)),
    ];
    for (number, step) in steps.iter().enumerate() {
        for seed in 0..20 {
            let boxes = tensor(&[[4.0, 6.0, 14.0, 12.0], [0.0, 0.0, 24.0, 20.0]]);
            let mut targets = Targets {
                boxes: Some(boxes),
                mask: Some(mask.clone()),
            };
            let new = with_seed(seed, || step.apply_with(&image, &mut targets)).unwrap();
            let alone = with_seed(seed, || step.apply(&image)).unwrap();
            assert_eq!(
                new.to_dtype(DType::F32).to_vec::<f32>(),
                alone.to_dtype(DType::F32).to_vec::<f32>()
            );
            let boxes: Vec<Vec<f32>> = targets.boxes.unwrap().to_vec2();
            let expected = |y: usize, x: usize| {
                let inside =
                    |at: usize, low: f32, high: f32| (low..high).contains(&(at as f32 + 0.25));
                u8::from(inside(x, boxes[0][0], boxes[0][2]) && inside(y, boxes[0][1], boxes[0][3]))
            };
            let mask: Vec<Vec<u8>> = targets.mask.unwrap().to_vec2();
            for (y, row) in mask.iter().enumerate() {
                for (x, value) in row.iter().enumerate() {
                    assert_eq!(
                        *value,
                        expected(y, x),
                        "step {number}, seed {seed}, {y} {x}, {boxes:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_box_outside_of_the_crop_is_empty() {
    let mut targets = Targets {
        boxes: Some(tensor(&[[0.0, 0.0, 2.0, 3.0], [1.0, 1.0, 9.0, 20.0]])),
        mask: None,
    };
    CenterCrop::new(10)
        .apply_with(&ramp(20, 20), &mut targets)
        .unwrap();
    let boxes = targets.boxes.unwrap().to_vec2::<f32>();
    assert_eq!(boxes, [[0.0; 4], [0.0, 0.0, 4.0, 10.0]]);
}

#[test]
fn targets_that_do_not_fit_the_image_are_refused() {
    let flip = RandomHorizontalFlip::new().p(1.0);
    for (boxes, mask, expected) in [
        (Some(tensor(&[1.0, 2.0, 3.0, 4.0])), None, "boxes (n, 4)"),
        (Some(tensor(&[[1i64, 2, 3, 4]])), None, "floating-point"),
        (
            None,
            Some(crate::tensor::zeros((20, 4))),
            "height and width, [4, 20], found shape [20, 4]",
        ),
    ] {
        let error = flip
            .apply_with(&ramp(4, 20), &mut Targets { boxes, mask })
            .unwrap_err();
        let error = error.to_string();
        assert!(error.contains(expected), "{error}");
        assert_eq!(error.lines().count(), 2, "{error}");
    }
}
