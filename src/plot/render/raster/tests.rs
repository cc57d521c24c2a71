use super::*;
use crate::plot::chart::{Chart, Mark as Shape, Series};
use crate::plot::render::scene::Scene;
use plotters::style::RGBColor;

const BLACK: BackendColor = BackendColor {
    alpha: 1.0,
    rgb: (0, 0, 0),
};

/// The red of each pixel in a row.
fn row(pixels: &Pixels, y: usize) -> Vec<u8> {
    let row = pixels.rgb.chunks(pixels.width * 3).nth(y).unwrap();
    row.chunks(3).map(|pixel| pixel[0]).collect()
}

#[test]
fn pixels_are_covered_by_as_much_as_lies_over_them() {
    let mut scene = Scene::new((4, 2), "");
    // From 0.5 to 3.25 pixels, which are 1 and 6.5 of those in the file.
    scene.items.push(Item::Rect {
        corner: (5, 0),
        size: (28, 10),
        paint: Paint::filled(BLACK),
    });
    let pixels = scene.pixels();
    assert_eq!((pixels.width, pixels.height), (8, 4));
    let covered = row(&pixels, 0);
    assert_eq!(covered[..6], [255, 0, 0, 0, 0, 0]);
    assert!((100..=104).contains(&covered[6]), "{covered:?}");
    assert_eq!(row(&pixels, 2), [255; 8]);
}

#[test]
fn nothing_is_drawn_outside_of_a_clip_or_of_the_page() {
    let mut scene = Scene::new((4, 4), "");
    scene.begin_clip((10, 10), (20, 20));
    scene.items.push(Item::Rect {
        corner: (-50, -50),
        size: (900, 900),
        paint: Paint::filled(BLACK),
    });
    scene.end_clip();
    let pixels = scene.pixels();
    assert_eq!(row(&pixels, 1), [255; 8]);
    assert_eq!(row(&pixels, 2), [255, 255, 0, 0, 255, 255, 255, 255]);
}

#[test]
fn a_line_over_itself_has_no_hole_and_dashes_have_gaps() {
    let there_and_back = [(2.0, 5.0), (18.0, 5.0), (2.0, 5.0)];
    let draw = |dashes: &[f64]| {
        let mut sheet = Sheet::new(20, 10);
        sheet.fill(&stroke::line(&there_and_back, 2.0, dashes), BLACK);
        row(&sheet.into_pixels(), 4)
    };
    assert!(draw(&[])[2..18].iter().all(|red| *red == 0));
    let dashed = draw(&[2.0, 50.0]);
    assert_eq!((dashed[3], dashed[10]), (0, 255));
}

#[test]
fn letters_stand_where_they_are_anchored_and_unknown_ones_are_boxes() {
    let columns = |text: &str, anchor| {
        let mut scene = Scene::new((100, 20), "");
        scene.write(text, (500, 100), anchor, RGBColor(0, 0, 0));
        let pixels = scene.pixels();
        let inked = |x: &usize| (0..40).any(|y| row(&pixels, y)[*x] < 128);
        let inked: Vec<usize> = (0..200).filter(inked).collect();
        (inked[0], inked[inked.len() - 1])
    };
    let (left, right) = columns("loss", Anchor::Start);
    assert!(
        (100..104).contains(&left) && (130..160).contains(&right),
        "{left} {right}"
    );
    assert!(columns("loss", Anchor::End).1 < 101);
    let (left, right) = columns("loss", Anchor::Middle);
    assert!((left + right).abs_diff(200) < 4, "{left} {right}");
    assert_eq!(font::outlines("漢").0.len(), font::outlines("□").0.len());
    assert!(font::outlines("10⁻³ µs × é").0.len() > 8);
}

#[test]
fn a_chart_has_the_same_size_and_colours_as_its_svg() {
    let mut series = Series::new("up", vec![(0.0, 0.0), (1.0, 1.0)]);
    series.mark = Shape::Marked;
    let chart = Chart {
        title: "Growth".to_owned(),
        series: vec![series],
        ..Chart::default()
    };
    let pixels = chart.scene().pixels();
    assert_eq!((pixels.width, pixels.height), (700, 500));
    let has = |color: [u8; 3]| pixels.rgb.chunks(3).any(|pixel| pixel == color);
    assert!(has([0x00, 0x72, 0xb2]), "the line");
    assert!(has([0x77, 0x77, 0x77]), "the axes");
}
