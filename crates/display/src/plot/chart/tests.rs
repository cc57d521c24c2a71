use super::*;
use crate::plot::Scale;
use crate::plot::testing::texts;
use roxmltree::Document;

const INFINITY: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;

fn chart(series: &[(&str, &[(f64, f64)])]) -> Chart {
    let series = series
        .iter()
        .map(|(label, points)| Series::new(*label, points.to_vec()));
    Chart {
        series: series.collect(),
        size: (350, 250),
        ..Chart::default()
    }
}

/// Returns the `d` of every line, in order: the series, then the legend keys.
fn lines(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}:\n{svg}"));
    let lines = document
        .descendants()
        .filter(|node| node.has_tag_name("path") && node.attribute("stroke-width") == Some("2"));
    lines
        .filter_map(|node| node.attribute("d"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn an_empty_chart_has_axes_and_a_note() {
    let chart = chart(&[]);
    assert_eq!(chart.text(), "y over x (no points yet)");
    let svg = chart.scene().svg();
    assert!(texts(&svg).contains(&"0.4".to_owned()), "{svg}");
    assert!(lines(&svg).is_empty());
}

#[test]
fn labels_are_escaped() {
    let mut chart = chart(&[
        ("a<b & \"c\"", &[(0.0, 1.0), (1.0, 2.0)]),
        ("d", &[(0.0, 2.0)]),
    ]);
    chart.x.label = "epoch".to_owned();
    chart.y.label = "loss > 0".to_owned();
    let svg = chart.scene().svg();
    let shown = texts(&svg);
    for name in ["epoch", "loss > 0", "a<b & \"c\"", "d"] {
        assert!(shown.contains(&name.to_owned()), "{name}: {shown:?}");
    }
    let document = Document::parse(&svg).unwrap();
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"));
    let title = root.first_element_child().and_then(|title| title.text());
    assert_eq!(
        title,
        Some("loss > 0 over epoch; a<b & \"c\": 2 at 1 (2 points); d: 2 at 0 (1 point)")
    );
}

#[test]
fn lines_differ_in_colour_and_dashes() {
    let points: &[_] = &[(0.0, 1.0), (1.0, 2.0)];
    let svg = chart(&[("a", points), ("b", points), ("c", points)])
        .scene()
        .svg();
    let document = Document::parse(&svg).unwrap();
    let mut styles: Vec<_> = document
        .descendants()
        .filter(|node| node.attribute("stroke-width") == Some("2"))
        .map(|node| (node.attribute("stroke"), node.attribute("stroke-dasharray")))
        .collect();
    assert_eq!(styles.len(), 6); // three lines, three legend keys
    styles.truncate(3);
    styles.sort();
    styles.dedup_by_key(|(_, dashes)| *dashes);
    assert_eq!(styles.len(), 3, "{styles:?}");
}

#[test]
fn values_that_are_not_finite_leave_a_gap() {
    let points = [
        (0.0, 1.0),
        (1.0, 2.0),
        (2.0, NAN),
        (3.0, INFINITY),
        (4.0, 1.0),
        (INFINITY, 2.0),
        (5.0, 1.0),
        (6.0, 2.0),
    ];
    let svg = chart(&[("", &points)]).scene().svg();
    let lines = lines(&svg);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0].matches('M').count(), 2, "{}", lines[0]);
    // The point between two gaps.
    assert_eq!(svg.matches("<circle").count(), 1);
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
    let chart = chart(&[("all", &[(NAN, NAN), (0.0, NAN)])]);
    assert_eq!(chart.text(), "y over x\nall: NaN at 0 (2 points)");
    Document::parse(&chart.scene().svg()).unwrap();
}

#[test]
fn a_log_axis_omits_values_that_are_not_positive() {
    let mut chart = chart(&[(
        "",
        &[
            (0.0, 100.0),
            (1.0, 10.0),
            (2.0, 0.0),
            (3.0, -1.0),
            (4.0, 1.0),
        ],
    )]);
    chart.y.scale = Scale::Log;
    let svg = chart.scene().svg();
    assert_eq!(lines(&svg)[0].matches(['M', 'L']).count(), 2);
    assert_eq!(svg.matches("<circle").count(), 1);
    assert!(
        ["1", "10", "100"]
            .iter()
            .all(|&tick| texts(&svg).contains(&tick.to_owned()))
    );
    // Nothing positive at all.
    chart.series[0].points = vec![(0.0, -1.0)];
    assert!(lines(&chart.scene().svg()).is_empty());
}

#[test]
fn a_line_beyond_the_limits_is_clipped() {
    let mut chart = chart(&[("", &[(0.0, 0.0), (1.0, 1e300), (2.0, -1e300)])]);
    chart.y.limits = Some((0.0, 1.0));
    let svg = chart.scene().svg();
    let document = Document::parse(&svg).unwrap();
    let line = document
        .descendants()
        .find(|node| node.attribute("stroke-width") == Some("2"))
        .unwrap();
    let clip = line.parent().and_then(|group| group.attribute("clip-path"));
    assert!(
        clip.is_some_and(|clip| clip.starts_with("url(#clip-")),
        "{svg}"
    );
}

#[test]
fn a_million_points_give_a_small_svg() {
    let points: Vec<_> = (0..1_000_000)
        .map(f64::from)
        .map(|x| (x, (x * 0.01).sin() * x))
        .collect();
    let svg = chart(&[("wave", &points)]).scene().svg();
    assert!(svg.len() < 30_000, "{}", svg.len());
}

#[test]
fn the_legend_is_above_the_plot_area_in_several_rows() {
    let names: Vec<String> = (0..7).map(|i| format!("layer {i}")).collect();
    let points: &[_] = &[(0.0, 1.0), (1.0, 2.0)];
    let series: Vec<_> = names.iter().map(|name| (name.as_str(), points)).collect();
    let svg = chart(&series).scene().svg();
    let document = Document::parse(&svg).unwrap();
    let number =
        |node: roxmltree::Node, name| -> f64 { node.attribute(name).unwrap().parse().unwrap() };
    let names = document.descendants().filter(|node| {
        node.has_tag_name("text") && node.text().is_some_and(|text| text.starts_with("layer"))
    });
    let positions: Vec<_> = names.map(|n| (number(n, "x"), number(n, "y"))).collect();
    assert_eq!(positions.len(), 7);
    assert!(positions.iter().all(|p| p.0 < 310.0), "{positions:?}");
    assert!(positions[0].1 < positions[6].1, "{positions:?}");
    let mut clips = document
        .descendants()
        .filter(|n| n.has_tag_name("clipPath"));
    let top = number(clips.next().unwrap().first_element_child().unwrap(), "y");
    assert!(positions[6].1 + 5.0 < top, "{positions:?} {top}");
}

#[test]
fn a_chart_with_too_many_names_can_be_drawn() {
    let names: Vec<String> = (0..100)
        .map(|i| format!("a rather long name {i}"))
        .collect();
    let points: &[_] = &[(-1e-300, -1.5e300), (2.5e300, 2.5e300)];
    let series: Vec<_> = names.iter().map(|name| (name.as_str(), points)).collect();
    let mut chart = chart(&series);
    chart.y.label = "loss".to_owned();
    for size in [(100, 80), (350, 250), (4000, 80)] {
        chart.size = size;
        Document::parse(&chart.scene().svg()).unwrap();
    }
}

#[test]
fn long_texts_end_within_the_figure() {
    let long = "a name that is so long that no figure of the usual size has room for it";
    let points: &[_] = &[(0.0, 1.0), (1.0, 1.1e17)];
    let mut chart = chart(&[(long, points)]);
    chart.title = long.to_owned();
    chart.x.label = long.to_owned();
    chart.y.label = long.to_owned();
    let shown = texts(&chart.scene().svg());
    let cut = shown.iter().filter(|text| text.starts_with("a name that"));
    let cut: Vec<_> = cut.collect();
    assert_eq!(cut.len(), 4, "{shown:?}");
    assert!(
        cut.iter()
            .all(|text| text.ends_with('…') && text.chars().count() < 55),
        "{cut:?}"
    );
}

#[test]
fn a_legend_without_room_says_how_many_names_are_missing() {
    let names: Vec<String> = (0..40).map(|i| format!("layer {i}")).collect();
    let points: &[_] = &[(0.0, 1.0), (1.0, 2.0)];
    let series: Vec<_> = names.iter().map(|name| (name.as_str(), points)).collect();
    let shown = texts(&chart(&series).scene().svg());
    let named = shown
        .iter()
        .filter(|text| text.starts_with("layer"))
        .count();
    let note = format!("… and {} more", 40 - named);
    assert!(named > 10 && shown.contains(&note), "{shown:?}");
}
