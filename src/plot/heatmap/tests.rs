use super::*;
use crate::tensor::{tensor, zeros};
use candle_core::Device;
use roxmltree::Document;

fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}:\n{svg}"));
    let texts = document.descendants().filter(|n| n.has_tag_name("text"));
    texts.filter_map(|n| n.text()).map(str::to_owned).collect()
}

#[test]
fn a_confusion_matrix_counts_pairs_and_writes_them() {
    let map = confusion_matrix(&[0, 1, 1, 2], &[0, 1, 2, 2], ["a", "b", "c"]);
    assert_eq!(map.values, [1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0]);
    let texts = texts(&map.svg());
    assert_eq!(texts.iter().filter(|text| *text == "a").count(), 2);
    for text in ["predicted", "true", "0", "1"] {
        assert!(texts.contains(&text.to_owned()), "{text}: {texts:?}");
    }
}

#[test]
fn classes_that_do_not_fit_are_named() {
    let message = |truth: &[i32], predicted: &[i32]| {
        let map = confusion_matrix(&truth, &predicted, ["a", "b"]);
        map.save("x.svg").unwrap_err().to_string()
    };
    assert!(message(&[0], &[2]).starts_with("confusion_matrix: there is no class 2 among 2\n"));
    assert!(message(&[-1], &[1]).contains("no class -1"));
    assert!(message(&[0, 1], &[1]).contains("2 true classes, but 1 predicted ones"));
}

#[test]
fn large_and_strange_matrices_are_drawn() {
    for shape in [(1, 1), (1, 300), (500, 2), (400, 400)] {
        let map = heatmap(&zeros(shape, &Device::Cpu).unwrap());
        let texts = texts(&map.svg());
        assert!(texts.len() < 60, "{shape:?}: {texts:?}");
    }
    let odd = tensor(&[[f64::NAN, f64::INFINITY], [1.0, 2.0]], &Device::Cpu).unwrap();
    let map = heatmap(&odd).annotate(true);
    assert_eq!(map.show_text(), "a heat map of 2 by 2, from 1 to 2");
    assert!(texts(&map.svg()).contains(&"NaN".to_owned()));
}
