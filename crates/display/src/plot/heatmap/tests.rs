use super::*;
use crate::notebook::Show;
use crate::plot::testing::texts;
use crate::tensor::{tensor, zeros};
use roxmltree::Document;

#[test]
fn a_confusion_matrix_counts_pairs_of_classes() {
    let map = confusion_matrix(&[0, 1, 1, 2], &[0, 1, 2, 2], ["a", "b", "c"]);
    assert_eq!(map.values, [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    let texts = texts(&map.svg());
    assert_eq!(texts.iter().filter(|text| *text == "a").count(), 2);
    for text in ["predicted", "true", "0", "1"] {
        assert!(texts.contains(&text.to_owned()), "{text}: {texts:?}");
    }
}

#[test]
fn invalid_classes_are_named() {
    let message = |truth: &[i32], predicted: &[i32]| {
        let map = confusion_matrix(&truth, &predicted, ["a", "b"]);
        map.save("x.svg").unwrap_err().to_string()
    };
    assert!(
        message(&[0], &[2]).starts_with("confusion_matrix: expected a class below 2, found 2\n")
    );
    assert!(message(&[-1], &[1]).contains("found -1"));
    assert!(message(&[0, 1], &[1]).contains("truth has 2 values, but predicted has 1\n"));
    assert!(message(&[0], &[1, 0]).contains("truth has 1 value, but predicted has 2\n"));
}

#[test]
fn large_and_odd_matrices_are_drawn() {
    for shape in [(1, 1), (1, 300), (500, 2), (400, 400)] {
        let map = heatmap(&zeros(shape));
        let texts = texts(&map.svg());
        assert!(texts.len() < 60, "{shape:?}: {texts:?}");
    }
    let odd = tensor(&[[f64::NAN, f64::INFINITY], [1.0, 2.0]]);
    let map = heatmap(&odd).annotate(true);
    assert_eq!(map.show_text(), "a heat map of 2 by 2, from 1 to 2");
    assert!(texts(&map.svg()).contains(&"NaN".to_owned()));
}

#[test]
fn a_problem_is_drawn_as_text() {
    let vector = zeros(3);
    let nothing: &[u32] = &[];
    let none = confusion_matrix(&nothing, &nothing, Vec::<String>::new());
    for (map, problem) in [
        (
            heatmap(&vector),
            "heatmap: expected a matrix, found a tensor of shape [3]",
        ),
        (
            confusion_matrix(&[0], &[2], ["a"]),
            "confusion_matrix: expected a class below 1, found 2",
        ),
        (none, "confusion_matrix: the list of classes is empty"),
    ] {
        let texts = texts(&map.svg());
        assert_eq!(texts.first().map(String::as_str), Some(problem));
        assert_eq!(texts.len(), 2, "{texts:?}");
        assert!(map.show_text().starts_with(problem));
    }
}

fn annotated(size: usize, scale: f64) -> Vec<String> {
    let values = (0..size * size).map(|i| (i * 7919 % 10_007) as f64 / 10_007.0 * scale);
    let values = tensor(&*values.collect::<Vec<_>>());
    let matrix = values.reshape((size, size));
    texts(&heatmap(&matrix).annotate(true).svg())
}

#[test]
fn all_values_are_written_or_none() {
    // There are also the names of rows and columns, and the labels of the colour bar.
    for (size, number) in [(6, "0.7913"), (10, "0.791"), (20, "0.79")] {
        let texts = annotated(size, 1.0);
        assert!(texts.len() > size * (size + 2), "{size}: {texts:?}");
        assert!(texts.contains(&number.to_owned()), "{size}: {texts:?}");
    }
    for texts in [annotated(10, 1e-8), annotated(21, 1.0)] {
        assert!(texts.len() < 60, "{texts:?}");
        assert!(texts.contains(&"no room for the values".to_owned()));
    }
}

#[test]
fn empty_names_need_no_room() {
    let names = (0..20).map(|i| if i % 5 == 2 { "a class" } else { "" });
    let svg = heatmap(&crate::tensor::rand((20, 20)))
        .row_names(names)
        .svg();
    assert_eq!(svg.matches(">a class</text>").count(), 4);
}

#[test]
fn long_names_of_rows_begin_inside_the_figure() {
    let name = "MAMMAL, WOMBAT";
    let svg = confusion_matrix(&[0, 1], &[0, 1], [name, "b"]).svg();
    let document = Document::parse(&svg).unwrap();
    let mut texts = document.descendants().filter(|n| n.has_tag_name("text"));
    let named = texts.find(|node| node.text() == Some(name)).unwrap();
    let end: f64 = named.attribute("x").unwrap().parse().unwrap();
    // In DejaVu Sans, the name is 9.77 times as wide as the font size, 11 pixels. At its left is "true".
    assert!(end >= 9.77 * 11.0 + 15.0, "{end}");
}

#[test]
fn many_classes_give_a_figure_of_the_usual_size() {
    let (truth, names) = (
        0..300,
        (0..300).map(|i| format!("a rather long class name, this one, {i}")),
    );
    let svg = confusion_matrix(&truth, &truth, names).svg();
    let document = Document::parse(&svg).unwrap();
    let width: u32 = document
        .root_element()
        .attribute("width")
        .unwrap()
        .parse()
        .unwrap();
    assert!(width < 700 && svg.len() < 20_000, "{width}, {}", svg.len());
}
