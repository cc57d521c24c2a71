use super::*;
use crate::prelude::{Layer, LazyLinear, Linear, arange, full};

#[test]
fn each_kind_of_value_is_described() {
    let shown = |described: Description| (described.shape, described.value);
    let pair = |shape: &str, value: &str| (shape.to_owned(), value.to_owned());
    let x = arange(0.0, 12.0).reshape((2, 2, 3));
    assert_eq!(
        shown(crate::describe!(x)),
        pair("(2, 2, 3)", "f32 [0, 1, 2, 3, 4, 5, …]")
    );
    let x = full((), 2.5);
    assert_eq!(shown(crate::describe!(x)), pair("()", "f32 2.5"));
    assert_eq!(shown(crate::describe!(vec![1, 2])), pair("(2,)", "[1, 2]"));
    assert_eq!(shown(crate::describe!("é")), pair("(1,)", "\"é\""));
    assert_eq!(shown(crate::describe!(Some(1.5))), pair("", "Some(1.5)"));
    let layer = Linear::new(4, 8);
    assert_eq!(shown(crate::describe!(layer)), pair("", "40 parameters"));
    assert_eq!(shown(crate::describe!(|x: i32| x + 1)), pair("", ""));
    struct Hidden;
    assert_eq!(crate::describe!(Hidden), Description::default());
}

#[test]
fn a_model_has_its_tensors_as_parts() {
    let net = crate::seq![Linear::new(4, 8), LazyLinear::new(2)];
    assert_eq!(
        crate::describe!(net).content,
        "{0.weight: (8, 4) f32, 0.bias: (8,) f32, 1.weight: no shape yet, 1.bias: no shape yet}"
    );
}

#[test]
fn the_graphs_that_a_value_holds_are_counted() {
    let net = crate::seq![
        Linear::new(512, 512),
        crate::prelude::ReLU,
        Linear::new(512, 1)
    ];
    let (x, y) = (full((256, 512), 0.5), full((256, 1), 0.5));
    let loss = || crate::prelude::mse_loss(&net.forward(&x), &y);
    let losses: Vec<Tensor> = (0..200).map(|_| loss()).collect();
    let graph = crate::describe!(losses).graph;
    // Each keeps what the ReLU returned; all share the input.
    let least = 200 * 256 * 512 * 4;
    assert!(graph.bytes >= least && !graph.is_part, "{graph:?}");
    assert!(graph.bytes < 2 * least + (1 << 20), "{graph:?}");
    assert_eq!(graph.tensors, 200);
    let variables = |of: Description| Variables::default().with("losses", "Vec<Tensor>", of);
    let text = variables(crate::describe!(losses)).show_text();
    assert!(
        text.contains("4.7 KiB + 1") && text.contains(" MiB of graph"),
        "{text}"
    );
    assert!(
        text.contains("\nlosses keeps graphs for backward()."),
        "{text}"
    );
    assert!(text.contains("loss.item()"), "{text}");
    #[derive(Debug)]
    struct Log {
        #[allow(dead_code)]
        entries: Vec<(usize, Option<Tensor>)>,
    }
    let log = Log {
        entries: losses.iter().cloned().map(Some).enumerate().collect(),
    };
    assert_eq!(crate::describe!(log).graph, graph);
    let boxed: Box<[Tensor]> = losses.iter().cloned().collect();
    assert_eq!(crate::describe!(boxed).graph, graph);
    let pair = (losses[0].clone(), "text");
    let one = crate::describe!(losses[0]).graph;
    assert_eq!(crate::describe!(pair).graph, one);
    assert!(one.bytes > 0);
    let values: Vec<f64> = losses.iter().map(Tensor::item).collect();
    let detached: Vec<Tensor> = losses.iter().map(Tensor::detach).collect();
    for of in [
        crate::describe!(values),
        crate::describe!(detached),
        crate::describe!(x),
    ] {
        assert_eq!(of.graph, Graph::default());
        assert!(!variables(of).show_text().contains("graph"));
    }
}

#[test]
fn the_table_has_a_row_for_each_variable() {
    let x = full((2, 3), 0.5);
    let table = Variables::default()
        .with("x", "Tensor", crate::describe!(x))
        .with("n", "i32", crate::describe!(7));
    assert_eq!(
        table.values(),
        r#"{"n":["7 · 4 B","7"],"x":["(2, 3) · 24 B · cpu · f32 [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]","[[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]"]}"#
    );
    let text = table.show_text();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("variable  type    shape   device"),
        "{text}"
    );
    assert!(
        lines[1].ends_with("f32 [0.5, 0.5, 0.5, 0.5, 0.5, 0.5]"),
        "{text}"
    );
    assert!(
        lines[2].contains("4 B") && lines[2].ends_with('7'),
        "{text}"
    );
}
