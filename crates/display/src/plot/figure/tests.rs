use super::*;
use crate::notebook::Show;
use crate::tensor::tensor;
use roxmltree::Document;

fn count(svg: &str, tag: &str) -> usize {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}:\n{svg}"));
    let found = document.descendants().filter(|node| node.has_tag_name(tag));
    found.count()
}

#[test]
fn every_type_of_values_gives_the_same_figure() {
    let xs = tensor(&[0.0, 1.0, 2.0]);
    let expected = plot(&vec![0.0, 1.0, 2.0], &[&[1_u8, 4, 9]]).svg();
    let slice: &[f32] = &[1.0, 4.0, 9.0];
    assert_eq!(plot(&xs, &[&slice]).svg(), expected);
    assert_eq!(plot(&(0..3), &[&vec![1_i64, 4, 9]]).svg(), expected);
    let column = tensor(&[[1.0], [4.0], [9.0]]);
    assert_eq!(plot(&[0, 1, 2], &[&column]).svg(), expected);
}

#[test]
fn titles_and_names_are_in_the_svg_and_in_the_text() {
    let figure = plot(&(0..2), &[&[1, 2], &[2, 1]])
        .title("two <lines>")
        .legend(["up", "down"])
        .xlabel("x axis");
    let svg = figure.svg();
    for text in ["two &lt;lines&gt;", ">up<", ">down<", ">x axis<"] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    assert_eq!(
        figure.show_text(),
        "two <lines>: y over x axis\nup: 2 at 1 (2 points)\ndown: 1 at 1 (2 points)"
    );
    let bundle = figure.show_bundle();
    assert_eq!(bundle.get("image/svg+xml"), Some(&*svg));
}

#[test]
fn markers_on_one_pixel_are_drawn_once() {
    let ones = vec![1.0; 10_000];
    let svg = scatter(&ones, &[&ones]).svg();
    assert!(svg.len() < 10_000, "{}", svg.len());
    let marked = plot(&(0..3), &[&[1, 2, 3]]).markers().svg();
    assert_eq!(
        count(&marked, "path"),
        count(&plot(&(0..3), &[&[1, 2, 3]]).svg(), "path") + 1
    );
}

#[test]
fn each_label_has_a_bar_of_each_series() {
    let figure = bar(["a", "b", "c"], &[&[1.0, 2.0, 3.0], &[3.0, f64::NAN, 1.0]]);
    let svg = figure.svg();
    // One rectangle is the clip's; a NaN has no bar.
    assert_eq!(count(&svg, "rect"), 1 + 5);
    assert!(figure.show_text().ends_with("series 2: a 3, b NaN, c 1"));
    for label in [">a<", ">b<", ">c<", ">0.0<"] {
        assert!(svg.contains(label), "{label}");
    }
    let names: Vec<String> = (0..200).map(|i| format!("class {i}")).collect();
    let svg = bar(names, &[&(0..200)]).svg();
    assert!(svg.matches("class ").count() < 30);
}

#[test]
fn a_histogram_counts_all_finite_values() {
    let figure = histogram(&[0.0, 0.1, 0.9, 1.0, 1.0, f64::NAN, f64::INFINITY], 2);
    assert_eq!(figure.show_text(), "count over x\nseries 1: 0.25 2, 0.75 3");
    assert_eq!(
        histogram(&[3, 3], 1).show_text(),
        "count over x\nseries 1: 3 2"
    );
    let nothing: [f64; 0] = [];
    assert!(histogram(&nothing, 3).show_text().contains("0.1667 0"));
}

#[test]
fn a_problem_is_shown_in_place_of_the_figure() {
    let figure = bar(["a"], &[&[1.0, 2.0]]);
    let message = "bar: x has 1 value, but series 1 has 2\n\
                   Pass one y value for each x value";
    assert_eq!(figure.show_text(), message);
    assert_eq!(figure.show_bundle().get("image/svg+xml"), None);
    assert_eq!(figure.save("x.svg").unwrap_err().to_string(), message);
    assert!(histogram(&[1.0], 0).save("x.svg").is_err());
}

#[test]
fn only_svg_is_saved() {
    let figure = plot(&(0..3), &[&[1, 4, 9]]);
    for (name, message) in [
        (
            "x.png",
            "cannot save x.png: lines and text are saved as SVG, not as PNG\nSave x.svg; ",
        ),
        (
            "x.gif",
            "cannot save x.gif: figures are saved as SVG\nName the file x.svg",
        ),
        (
            "x",
            "cannot save x: figures are saved as SVG\nName the file x.svg",
        ),
    ] {
        let error = figure.save(name).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn a_problem_is_drawn_as_text() {
    let svg = bar(["a"], &[&[1.0, 2.0]]).svg();
    assert!(
        svg.contains(">bar: x has 1 value, but series 1 has 2</text>"),
        "{svg}"
    );
    assert_eq!(count(&svg, "text"), 2);
}

fn mixed(n: usize, factor: usize) -> Vec<f64> {
    (0..n).map(|i| (i * factor % 100_003) as f64).collect()
}

#[test]
fn a_figure_of_many_values_is_small() {
    let (x, y) = (mixed(100_000, 7919), mixed(100_000, 104_729));
    let both: &[&dyn Values] = &[&y, &x];
    for (what, figure) in [
        ("scatter", scatter(&x, &[&y])),
        ("scatter of two", scatter(&x, both)),
        ("plot", plot(&x, &[&y])),
        ("plot with markers", plot(&(0..100_000), &[&y]).markers()),
        ("histogram", histogram(&x, 10_000)),
        ("bar", bar(["a"; 5000], &[&x[..5000].to_vec()])),
    ] {
        let length = figure.svg().len();
        assert!(length < 350_000, "{what}: {length}");
    }
}

#[test]
fn bars_narrower_than_a_pixel_are_merged() {
    let svg = histogram(&[0.0, 0.0, 0.01, 5.0, 10.0], 10_000).svg();
    // One rectangle is the clip's.
    assert_eq!(count(&svg, "rect"), 1 + 3);
    assert!(!svg.contains("width=\"0\""), "{svg}");
}

#[test]
fn a_histogram_of_extreme_values_shows_them() {
    let largest = [f64::MIN, f64::MAX];
    for values in [[1e17, 1e17], [-1e308, 1e308], largest, [0.0, 5e-324]] {
        let figure = histogram(&values, 4);
        let counts = &figure.chart.series[0].points;
        let all: f64 = counts.iter().map(|(_, count)| count).sum();
        assert_eq!(all, 2.0, "{values:?}: {counts:?}");
        assert!(
            counts.windows(2).all(|two| two[0].0 < two[1].0),
            "{counts:?}"
        );
        assert!(counts.iter().all(|(x, _)| x.is_finite()), "{counts:?}");
    }
}

#[test]
fn long_labels_are_shortened_so_that_all_are_shown() {
    let names = (0..6).map(|i| format!("{i} matrices of some size on a gpu"));
    let svg = bar(names, &[&(0..6)]).svg();
    for i in 0..6 {
        assert!(svg.contains(&format!(">{i} matrices")), "{i}: {svg}");
    }
}
