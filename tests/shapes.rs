//! `check_shapes` on the networks of the chapters: it accepts each, and says the same shape as a run.

mod common;

use common::{notebook_of, root, run_within, taper};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;

/// The limit includes building the warm image, which the first run does.
const TO_RUN: Duration = Duration::from_secs(900);

/// Networks that need other cells of their chapter: the chapter, the ids of these cells, and networks with the shape of
/// an input. An id can be followed by `UNTIL` and a text: then the cell ends before this text.
type Networks = (
    &'static str,
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
);

const UNTIL: &str = " until ";

#[rustfmt::skip]
const NETWORKS: [Networks; 21] = [
    ("18-where", &["one-net until /// The boxes", "detector until /// The answers", "segmenter until check_shapes("], &[
        ("one_box()", "(4, 1, 48, 48)"), ("detector()", "(4, 1, 48, 48)"),
        ("Segmenter::new(true)", "(4, 1, 48, 48)"), ("Segmenter::new(false)", "(4, 1, 48, 48)"),
    ]),
    ("04-linear-regression", &["struct-code", "layer"], &[("LinearRegression { net: Linear::new(2, 1), lr: 0.03 }", "(10, 2)")]),
    ("08-training", &["regression"], &[("LinearRegression { net: LazyLinear::new(1), lr: 0.03 }", "(10, 2)")]),
    ("10-stability", &["deep-code"], &[("deep(Init::KaimingNormal, true)", "(64, 1, 28, 28)"), ("deep(Init::XavierUniform, false)", "(64, 1, 28, 28)")]),
    ("12-convolutions", &["lenet-net until manual_seed", "compare-train until let nets"], &[
        ("lenet_net()", "(16, 1, 28, 28)"), ("small_mlp()", "(16, 1, 28, 28)"),
    ]),
    ("13-models", &["residual", "own-layer", "counter"], &[
        ("seq![Residual { inner: seq![Linear::new(8, 8), ReLU, Linear::new(8, 8)] }, Linear::new(8, 1)]", "(5, 8)"),
        ("Leaky { slope: Parameter::new(&full(1, 0.1)) }", "(5, 8)"),
        ("seq![Counter { mode: Mode::new(), batches: Buffer::new(&zeros(1)) }]", "(3, 2)"),
    ]),
    ("16-modern-cnns", &["lenet-code"], &[("lenet()", "(16, 3, 32, 32)")]),
    ("16-modern-cnns", &["vgg"], &[("vgg(true)", "(16, 3, 32, 32)"), ("vgg(false)", "(16, 3, 32, 32)")]),
    ("16-modern-cnns", &["pair"], &[("stack(3, true, true)", "(16, 3, 32, 32)"), ("stack(3, false, false)", "(16, 3, 32, 32)")]),
    ("16-modern-cnns", &["pair", "resnet"], &[("resnet(true)", "(16, 3, 32, 32)"), ("resnet(false)", "(16, 3, 32, 32)")]),
    ("17-fine-tuning", &["net"], &[("Net::new(6)", "(16, 1, 28, 28)")]),
    ("19-recurrent-networks", &["model-code"], &[
        ("LanguageModel { net: seq![Embedding::new(60, 32), RNN::new(32, 128).batch_first(true), Linear::new(128, 60)] }", "(4, 35)"),
        ("seq![Embedding::new(60, 32), LSTM::new(32, 128).batch_first(true), Linear::new(128, 60)]", "(4, 35)"),
    ]),
    ("22-gpt", &["block", "model-code"], &[("Gpt::new(50, 64, 4, 2)", "(4, 96)")]),
    ("23-tokenizers", &["model-code"], &[("Gpt::new(50, 64, 4, 2)", "(4, 64)")]),
    ("24-modern-block", &["attention", "model", "gpt"], &[("Gpt::new(50, 32, 4, 2, &OLD)", "(4, 64)"), ("Gpt::new(50, 32, 4, 2, &MODERN)", "(4, 64)")]),
    ("27-instructions", &["lora-layer"], &[("LowRank::new(Linear::new(8, 4), 2)", "(5, 8)")]),
    ("31-autoencoders", &["networks"], &[("autoencoder(2)", "(5, 784)"), ("linear_autoencoder(2)", "(5, 784)")]),
    ("34-leaf-network", &["conv-block", "network-struct", "network-forward", "pooled"], &[
        ("LeafNetwork::new()", "(4, 3, 128, 128)"), ("pooled()", "(4, 3, 128, 128)"),
    ]),
    ("35-ai-on-a-gpu", &["cnn-struct", "cnn-new"], &[("cnn()", "(4, 3, 32, 32)")]),
    ("39-ship-it", &["net-code"], &[("network()", "(64, 1, 8, 8)")]),
    ("44-rust-glossary", &["structs-code"], &[("seq![Times::doubled(), Times::doubled()]", "(2, 3)")]),
];

/// The beginnings of networks that need no other cell, each with the shape of an input.
const INPUTS: [(&str, &str); 21] = [
    ("Flatten, Linear::new(784,", "(5, 1, 28, 28)"),
    ("Flatten", "(5, 1, 8, 8)"),
    ("LazyConv2d", "(5, 1, 28, 28)"),
    ("Conv2d::new(1, 16, 5)", "(5, 1, 28, 28)"),
    ("Conv2d::new(1, 16,", "(5, 1, 8, 8)"),
    ("Conv2d::new(1,", "(5, 1, 28, 28)"),
    ("LazyLinear", "(5, 7)"),
    ("Linear::new(2,", "(5, 2)"),
    ("Linear::new(3,", "(5, 3)"),
    ("Linear::new(4,", "(5, 4)"),
    ("Linear::new(16 + 1 + 10,", "(5, 27)"),
    ("Linear::new(16,", "(5, 16)"),
    ("Linear::new(784,", "(5, 784)"),
    ("Linear::new(12,", "(5, 12)"),
    ("Linear::new(20,", "(5, 20)"),
    ("Linear::new(26,", "(5, 26)"),
    ("Linear::new(256,", "(5, 256)"),
    ("Linear::new(64,", "(5, 64)"),
    ("Linear::new(8,", "(5, 8)"),
    ("Conv2d::new(3,", "(5, 3, 32, 32)"),
    ("Embedding::new(14,", "(5, 7)"),
];

#[test]
fn the_networks_of_all_chapters_are_accepted() {
    let mut cells: Vec<String> = Vec::new();
    for (chapter, ids, networks) in NETWORKS {
        cells.push(":clear".to_owned());
        cells.extend(ids.iter().map(|id| source(chapter, id)));
        cells.push(checks(networks.iter().copied()));
    }
    let alone = networks_alone();
    assert!(alone.len() > 15, "{alone:#?}");
    let alone = alone
        .iter()
        .map(|network| (network.as_str(), input_of(network)));
    cells.push(":clear".to_owned());
    cells.push(checks(alone));
    let cells: Vec<&str> = cells.iter().map(String::as_str).collect();
    let file = root().join("tests/output/shapes.ipynb");
    std::fs::create_dir_all(file.with_file_name("")).expect("a folder");
    std::fs::write(&file, notebook_of(&cells).to_string()).expect("the notebook is written");
    let said = run_within(TO_RUN, taper(&["run", "tests/output/shapes.ipynb"]));
    assert!(said.status.success(), "{}", said.all());
}

#[test]
fn no_layer_of_a_chapter_is_left_out() {
    for chapter_name in chapters() {
        for (id, source) in sources(&chapter(&chapter_name)) {
            let is_checked = NETWORKS.iter().any(|(name, ids, _)| {
                let mut ids = ids.iter().filter_map(|id| id.split(UNTIL).next());
                *name == chapter_name && ids.any(|checked| checked == id)
            });
            assert!(
                is_checked || !source.contains("impl Layer for "),
                "add the cell {id} of {chapter_name} to NETWORKS"
            );
        }
    }
}

/// Returns a cell that checks networks, and runs them for comparison.
fn checks<'n>(networks: impl Iterator<Item = (&'n str, &'n str)>) -> String {
    let check = |(network, shape): (&str, &str)| {
        format!(
            "{{\n    let net = {network};\n    let shape = check_shapes(&net, {shape}).output_shape().to_vec();\n    \
             net.set_training(false);\n    let x = if {} {{ zeros({shape}).to_dtype(DType::U32) }} else {{ zeros({shape}) }};\n    \
             assert_eq!(shape, net.forward(&x).dims(), \"{{net:?}}\");\n}}",
            network.contains("Embedding") || network.contains("Gpt"),
        )
    };
    networks.map(check).collect::<Vec<_>>().join("\n")
}

fn chapter(name: &str) -> Value {
    let path = root().join("notebooks").join(name).with_extension("ipynb");
    serde_json::from_slice(&std::fs::read(path).expect(name)).expect("a notebook")
}

fn sources(chapter: &Value) -> impl Iterator<Item = (&str, String)> {
    let cells = chapter["cells"].as_array().into_iter().flatten();
    cells
        .filter(|cell| cell["cell_type"] == "code")
        .map(|cell| {
            let lines = cell["source"].as_array().into_iter().flatten();
            (
                cell["id"].as_str().unwrap_or_default(),
                lines.filter_map(Value::as_str).collect(),
            )
        })
}

fn source(name: &str, id: &str) -> String {
    let (id, end) = id.split_once(UNTIL).unwrap_or((id, ""));
    let chapter = chapter(name);
    let mut sources = sources(&chapter);
    let (_, mut source) = sources
        .find(|(other, _)| *other == id)
        .unwrap_or_else(|| panic!("{name} has no cell {id}"));
    if !end.is_empty() {
        let at = source.find(end);
        source.truncate(at.unwrap_or_else(|| panic!("{id} of {name} has no {end}")));
    }
    source
}

/// Returns the names of the chapters.
fn chapters() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("notebooks")).expect("a folder");
    let names = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.strip_suffix(".ipynb").map(str::to_owned)
    });
    names.collect()
}

/// Returns the chains of all chapters that use no names of their chapter.
fn networks_alone() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for name in chapters() {
        for (_, source) in sources(&chapter(&name)) {
            found.extend(
                source
                    .match_indices("seq![")
                    .filter_map(|(at, _)| alone(&source[at..])),
            );
        }
    }
    found
}

/// Returns the chain at the beginning of a text without comments, if its words are types, methods and sizes.
fn alone(text: &str) -> Option<String> {
    let mut depth = 0;
    let end = text.find(|letter| {
        depth += i32::from(letter == '[') - i32::from(letter == ']');
        letter == ']' && depth == 0
    })?;
    let lines = text[..=end]
        .lines()
        .map(|line| line.split(" //").next().unwrap_or_default().trim());
    let text = lines.collect::<Vec<_>>().join(" ");
    let is_outer = text.matches("seq![").count() == 1;
    let words =
        text["seq![".len()..].split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let own = ["Centred", "Residual", "Counter", "Times"];
    let methods = [
        "new",
        "padding",
        "stride",
        "bias",
        "true",
        "false",
        "batch_first",
        "",
    ];
    let is_known = |word: &str| {
        methods.contains(&word)
            || word.starts_with(|first: char| first.is_ascii_digit() || first.is_uppercase())
                && !own.contains(&word)
    };
    (is_outer && words.into_iter().all(is_known)).then_some(text)
}

fn input_of(network: &str) -> &'static str {
    let first = network["seq![".len()..].trim_start();
    let input = INPUTS.iter().find(|(start, _)| first.starts_with(start));
    input
        .unwrap_or_else(|| panic!("add the shape of an input for {network}"))
        .1
}
