use super::*;

fn notebook(cells: &[(&str, &str)]) -> Notebook {
    let cells: Vec<Value> = { cells.iter().enumerate() }
        .map(|(i, (tag, source))| {
            json!({"cell_type": "code", "execution_count": null, "id": format!("c{i}"), "metadata": {"tags": [tag]},
                   "outputs": [], "source": source})
        })
        .collect();
    let document = json!({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5});
    Notebook::read("n.ipynb", document.to_string().into_bytes()).expect("a notebook")
}

/// Returns the cell that sets parameters of a cell.
fn set(source: &str, parameters: &[(&str, &str)]) -> Result<String> {
    let owned: Vec<(String, String)> = { parameters.iter() }
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    let notebook = notebook(&[("", "1"), (DEFAULTS, source), ("", "lr")]);
    let set = with_parameters(notebook, &owned)?;
    let ids: Vec<&str> = set.cells.iter().map(|cell| cell.id.as_str()).collect();
    assert_eq!(ids, ["c0", "c1", SET, "c2"]);
    let again = with_parameters(set, &owned)?;
    assert_eq!(
        again.cells.len(),
        4,
        "the cell of an earlier run is replaced"
    );
    let source = &again.cells[2].source;
    Ok(source
        .strip_prefix("// Parameters\n")
        .expect("a comment")
        .to_owned())
}

/// Asserts what a value becomes: `(the default's line, the value as text, the line that sets it)`.
#[track_caller]
fn becomes(cases: &[(&str, &str, &str)]) {
    for (default, given, expected) in cases {
        let name = defaults::read(default).pop().expect("a default").name;
        let line = set(default, &[(&name, given)]);
        assert_eq!(
            line.map_err(|e| e.to_string()).as_deref(),
            Ok(*expected),
            "{default} {given}"
        );
    }
}

#[track_caller]
fn refused(cases: &[(&str, &str, &str)]) {
    for (default, given, expected) in cases {
        let name = defaults::read(default).pop().expect("a default").name;
        let message = set(default, &[(&name, given)])
            .expect_err(given)
            .to_string();
        let start = format!(
            "the parameter `{name}` cannot be `{given}`: its default is `{default}`, so it must be "
        );
        let rest = message.strip_prefix(&start).expect(&message);
        assert_eq!(rest, *expected, "{default} {given}");
    }
}

#[test]
fn numbers_have_the_type_of_their_default() {
    becomes(&[
        ("let mut lr: f64 = 0.1;", "1", "let mut lr: f64 = 1.0;"),
        ("let rate = 0.5;", "2", "let rate: f64 = 2.0;"),
        ("let rate = 0.5f32;", "1e-3", "let rate: f32 = 1e-3;"),
        ("let rate = 0.5;", ".25", "let rate: f64 = 0.25;"),
        ("let rate = 0.5;", "-inf", "let rate: f64 = -f64::INFINITY;"),
        ("let rate = f64::INFINITY;", "3", "let rate: f64 = 3.0;"),
        ("let n = 5usize;", "7", "let n: usize = 7;"),
        ("let n = 5;", "1_000", "let n: i32 = 1000;"),
        ("let n = 60 * 60;", "7", "let n: i32 = 7;"),
        ("let n = 5 as u8;", "7", "let n: u8 = 7;"),
        ("let n = -1;", "-7", "let n: i32 = -7;"),
        (
            "let n: u64 = 5;",
            "18446744073709551615",
            "let n: u64 = 18446744073709551615;",
        ),
        ("let n: i8 = 5;", "-128", "let n: i8 = -128;"),
        ("const N: usize = 5;", "7", "const N: usize = 7;"),
        ("pub static N: f32 = 5.;", "7", "pub static N: f32 = 7.0;"),
    ]);
}

#[test]
fn texts_switches_and_options() {
    becomes(&[
        (
            "let name = \"é\".to_owned();",
            "a \"b\"",
            "let name: String = \"a \\\"b\\\"\".to_string();",
        ),
        (
            "let name = String::from(\"x\");",
            "true",
            "let name: String = \"true\".to_string();",
        ),
        (
            "let name = String::new();",
            "",
            "let name: String = \"\".to_string();",
        ),
        (
            "let name: String = \"x\".into();",
            "007",
            "let name: String = \"007\".to_string();",
        ),
        ("let name = \"x\";", "null", "let name: &str = \"null\";"),
        ("let sign = 'a';", "é", "let sign: char = 'é';"),
        ("let sign = 'a';", "'b'", "let sign: char = 'b';"),
        ("let on = true;", "false", "let on: bool = false;"),
        ("let on = true;", "False", "let on: bool = false;"),
        ("let on = !true;", "false", "let on: bool = false;"),
        ("let on = 1 < 2;", "false", "let on: bool = false;"),
        (
            "let top: Option<u8> = None;",
            "3",
            "let top: Option<u8> = Some(3);",
        ),
        (
            "let top: Option<u8> = Some(1);",
            "null",
            "let top: Option<u8> = None;",
        ),
        ("let top = Some(1);", "None", "let top: Option<i32> = None;"),
        (
            "let top = None::<String>;",
            "a b",
            "let top: Option<String> = Some(\"a b\".to_string());",
        ),
        (
            "let top: Option<f64> = None;",
            "Some(2)",
            "let top: Option<f64> = Some(2.0);",
        ),
        (
            "let top: Option<Vec<u8>> = None;",
            "[1]",
            "let top: Option<Vec<u8>> = Some(vec![1]);",
        ),
    ]);
}

#[test]
fn a_list_has_the_elements_of_its_default() {
    becomes(&[
        (
            "let sizes = vec![1, 2];",
            "[4, 5, 6]",
            "let sizes: Vec<i32> = vec![4, 5, 6];",
        ),
        (
            "let sizes = vec![1, 2];",
            "vec![3]",
            "let sizes: Vec<i32> = vec![3];",
        ),
        (
            "let sizes = vec![1, 2];",
            "[]",
            "let sizes: Vec<i32> = vec![];",
        ),
        (
            "let sizes = vec![0.5; 3];",
            "[1,2]",
            "let sizes: Vec<f64> = vec![1.0, 2.0];",
        ),
        (
            "let sizes: Vec<_> = vec![1u8];",
            "[1,2]",
            "let sizes: Vec<_> = vec![1, 2];",
        ),
        (
            "let sizes: Vec<f32> = Vec::new();",
            "[1]",
            "let sizes: Vec<f32> = vec![1.0];",
        ),
        (
            "let sizes = [1.0, 2.0];",
            "[3, 4]",
            "let sizes: [f64; 2] = [3.0, 4.0];",
        ),
        ("let sizes = &[1, 2];", "[]", "let sizes: &[i32] = &[];"),
        (
            "let sizes: &[usize] = &[];",
            "[7]",
            "let sizes: &[usize] = &[7];",
        ),
        (
            "let names = [\"a\"].to_vec();",
            "[\"b\", \"c d\"]",
            "let names: Vec<&str> = vec![\"b\", \"c d\"];",
        ),
        (
            "let names = vec![\"a\".to_string()];",
            "[b, c d]",
            "let names: Vec<String> = vec![\"b\".to_string(), \"c d\".to_string()];",
        ),
        (
            "let rows = vec![vec![1.0]];",
            "[[1],[2,3]]",
            "let rows: Vec<Vec<f64>> = vec![vec![1.0], vec![2.0, 3.0]];",
        ),
        (
            "let size = (1, 2.5, true);",
            "[3, 4, false]",
            "let size: (i32, f64, bool) = (3, 4.0, false);",
        ),
        (
            "let ages = HashMap::from([(\"a\", 1u8)]);",
            "{\"b\": 2}",
            "let ages: HashMap<&str, u8> = HashMap::from([(\"b\", 2)]);",
        ),
    ]);
}

/// The types of these follow from more than the line.
#[test]
fn the_type_of_the_variable_is_kept_where_the_line_does_not_state_it() {
    let kept = |name: &str, value: &str| {
        format!(
            "#[allow(unused_assignments)]\nlet {name} = {{ let mut value = {name}; value = {value}; value }};"
        )
    };
    let cell = "let n = 3;\nlet all = vec![0u64; n];\nlet mut seen = vec![];\nseen.push(1u8);";
    assert_eq!(set(cell, &[("n", "4")]).expect("it fits"), kept("n", "4"));
    assert_eq!(
        set(cell, &[("seen", "[4]")]).expect("it fits"),
        kept("seen", "vec![4]").replacen("let seen", "let mut seen", 1)
    );
    becomes(&[
        (
            "let wait = Duration::from_secs(5);",
            "7",
            "let wait = Duration::from_secs(7);",
        ),
        (
            "let model = Model::Small;",
            "Model::Large",
            "let model = Model::Large;",
        ),
    ]);
    let pair = "let (width, rate) = (3u8, 0.5);";
    assert_eq!(
        set(pair, &[("width", "4"), ("rate", "2")]).expect("they fit"),
        "let width: u8 = 4;\nlet rate: f64 = 2.0;"
    );
}

#[test]
fn what_does_not_fit_is_refused() {
    refused(&[
        (
            "let n = 5usize;",
            "0.5",
            "a usize, from 0 to 18446744073709551615\nWrite it as n=5usize",
        ),
        (
            "let n = 5;",
            "99999999999",
            "an i32, from -2147483648 to 2147483647\nWrite it as n=5",
        ),
        (
            "let n: u8 = 5;",
            "-1",
            "a u8, from 0 to 255\nWrite it as n=5",
        ),
        (
            "let n = 5;",
            "x",
            "an i32, from -2147483648 to 2147483647\nWrite it as n=5",
        ),
        (
            "let rate = 0.5;",
            "x",
            "a floating-point number (f64)\nWrite it as rate=0.5",
        ),
        (
            "let rate = 0.5f32;",
            "1e50",
            "a floating-point number (f32)\nWrite it as rate=0.5f32",
        ),
        (
            "let on = true;",
            "yes",
            "true or false\nWrite it as on=true",
        ),
        (
            "let sign = 'a';",
            "ab",
            "one character\nWrite a value of the same type, or change the default",
        ),
        (
            "let a = [1, 2];",
            "[1]",
            "a list of 2 in which each element is an i32, from -2147483648 to 2147483647\nWrite a value of the same type, or change the default",
        ),
        (
            "let a = vec![1.0];",
            "3",
            "a list in which each element is a floating-point number (f64)\nWrite it as a=vec![1.0]",
        ),
        (
            "let top: Option<u8> = None;",
            "300",
            "None, or a u8, from 0 to 255\nWrite it as top=None",
        ),
        (
            "let wait = Duration::from_secs(5);",
            "soon",
            "an integer\nWrite it as wait=5",
        ),
        (
            "let model = Model::Small;",
            "a b",
            "an expression of Rust\nWrite it as model=Model::Small",
        ),
    ]);
}

#[test]
fn what_is_no_parameter_is_an_error() {
    let cell = "let lr = 1; // the rate\nconst N: u8 = 2;";
    let message = set(cell, &[("rate", "1")])
        .expect_err("an error")
        .to_string();
    assert_eq!(
        message,
        "there is no parameter named `rate`\nThe cell with the tag `parameters` has: lr, N"
    );
    let untagged = with_parameters(notebook(&[("", "1")]), &[("a".into(), "1".into())]);
    let message = untagged.expect_err("no such cell").to_string();
    assert!(
        message.starts_with("n.ipynb has no cell with the tag `parameters`\n"),
        "{message}"
    );
}

/// papermill passes values of Python, in which `true`, `null` and lists on its command line are texts.
#[test]
fn values_of_papermill_are_converted() {
    let source = "let rate = 0.5; // how fast\nlet on = false;\nlet name: Option<String> = None;\nlet n = vec![1];\nlet text = \"a\";\nlet free = Model::Small;";
    let answer = |values: Value| {
        let request: ParameterRequest = serde_json::from_value(
            json!({"source": source, "values": values, "comment": "Parameters"}),
        )
        .expect("a request");
        request.answer().map_err(|error| error.to_string())
    };
    for (values, expected) in [
        (json!({"rate": 2}), "let rate: f64 = 2.0;"),
        (json!({"on": "true"}), "let on: bool = true;"),
        (json!({"on": true}), "let on: bool = true;"),
        (json!({"name": "null"}), "let name: Option<String> = None;"),
        (json!({"name": null}), "let name: Option<String> = None;"),
        (
            json!({"name": "a"}),
            "let name: Option<String> = Some(\"a\".to_string());",
        ),
        (json!({"n": []}), "let n: Vec<i32> = vec![];"),
        (json!({"n": "[4, 5]"}), "let n: Vec<i32> = vec![4, 5];"),
        (json!({"text": 5}), "let text: &str = \"5\";"),
        (json!({"free": "Model::Large"}), "let free = Model::Large;"),
    ] {
        let cell = answer(values).expect("it fits")["cell"].clone();
        assert_eq!(cell, format!("// Parameters\n{expected}"));
    }
    assert_eq!(
        answer(json!({"unknown": 1}))
            .expect_err("no such parameter")
            .lines()
            .next(),
        Some("there is no parameter named `unknown`")
    );
    assert!(answer(json!({"text": null})).is_err() && answer(json!({"n": [1.5]})).is_err());
    let first = answer(json!({})).expect("an answer")["parameters"][0].clone();
    assert_eq!(
        first,
        json!({"name": "rate", "type": "f64", "default": "0.5", "help": "how fast"})
    );
}
