use super::*;
use crate::tensor::{rand, tensor, zeros};
use roxmltree::Document;

#[test]
fn every_shape_of_image_is_converted_to_bytes() {
    let grey = tensor(&[[0.0, 0.5], [1.0, 1.0]]);
    let expected = [0, 0, 0, 128, 128, 128, 255, 255, 255, 255, 255, 255];
    assert_eq!(pixels(&grey).unwrap().rgb, expected);
    assert_eq!(pixels(&grey.unsqueeze(0)).unwrap().rgb, expected);
    let stacked = Tensor::stack(&[&grey, &grey, &grey], 0);
    assert_eq!(pixels(&stacked).unwrap().rgb, expected);
    let bytes = Tensor::from_slice(&expected, (2, 2, 3));
    assert_eq!(pixels(&bytes.to_dtype(DType::U8)).unwrap().rgb, expected);
    // A normalised image: its lowest value becomes black, its highest white.
    let normalised = (&grey - 0.5) * 6.0;
    assert_eq!(pixels(&normalised).unwrap().rgb, expected);
}

#[test]
fn a_grid_has_columns_and_titles() {
    let grid = show_images(&rand((5, 3, 4, 6))).columns(2).titles(0..5);
    let svg = grid.svg();
    let document = Document::parse(&svg).unwrap();
    let images: Vec<_> = document
        .descendants()
        .filter(|n| n.has_tag_name("image"))
        .collect();
    assert_eq!(images.len(), 5);
    let mut lefts: Vec<_> = images.iter().map(|image| image.attribute("x")).collect();
    lefts.sort();
    lefts.dedup();
    assert_eq!(lefts.len(), 2);
    assert_eq!(grid.show_text(), "5 images of 4 by 6 pixels: 0, 1, 2, 3, 4");
}

#[test]
fn of_many_images_the_first_are_shown() {
    let grid = show_images(&zeros((500, 2, 2)));
    assert_eq!(
        grid.show_text(),
        "500 images of 2 by 2 pixels, of which the first 100 are shown"
    );
    assert_eq!(grid.svg().matches("<image").count(), 100);
}

#[test]
fn a_grid_is_saved_as_svg_or_without_titles_as_png() {
    let grid = show_images(&zeros((1, 2, 2)));
    let message = |grid: &ImageGrid, name| grid.save(name).unwrap_err().to_string();
    assert_eq!(
        message(&grid, "a.jpg"),
        "cannot save a.jpg: images without titles are saved as SVG or PNG\n\
         Name the file a.svg or a.png"
    );
    let titled = grid.titles(["a"]);
    let only_svg = "cannot save a.jpg: figures are saved as SVG\nName the file a.svg";
    assert_eq!(message(&titled, "a.jpg"), only_svg);
}

#[test]
fn tensors_that_are_not_images_are_explained() {
    let message = |shape: &[usize]| {
        let grid = show_images(&zeros(shape));
        grid.save("x.svg").unwrap_err().to_string()
    };
    let batch = "show_images: expected a batch of images, found a tensor of shape [4]\n";
    assert!(message(&[4]).starts_with(batch));
    let image = "show_images: expected an image, found a tensor of shape [2, 8, 8]\n";
    assert!(message(&[1, 2, 8, 8]).starts_with(image));
    assert!(show_images(&Vec::<Tensor>::new()).svg().starts_with("<svg"));
}
