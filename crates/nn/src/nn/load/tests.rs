use super::*;
use crate::nn::*;
use crate::tensor::{ones, zeros};
use candle_core::{DType, Device};
use std::path::PathBuf;

const CPU: Device = Device::Cpu;

#[derive(taper_macros::Parameters)]
struct Tied {
    embedding: Parameter,
    head: Parameter,
}

fn tied() -> Tied {
    let embedding = Parameter::new(&zeros((3, 2)));
    let head = embedding.clone();
    Tied { embedding, head }
}

fn file(name: &str, tensors: &[(&str, Tensor)]) -> PathBuf {
    let name = format!("taper_load_{}_{name}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let tensors = tensors
        .iter()
        .map(|(name, t)| (name.to_string(), t.clone()));
    files::save(&path, &tensors.collect::<Vec<_>>()).unwrap();
    path
}

/// PyTorch lists a tied tensor under both names.
#[test]
fn a_tied_tensor_may_have_any_of_its_names() {
    let (one, zero) = (ones((3, 2)), zeros((3, 2)));
    for names in [&["embedding", "head"][..], &["embedding"], &["head"]] {
        let tensors: Vec<_> = names.iter().map(|name| (*name, one.clone())).collect();
        let path = file("tied", &tensors);
        let mut model = tied();
        model.load_parameters(&path, &CPU).unwrap();
        assert_eq!(model.head.tensor().to_vec2::<f32>(), [[1.0; 2]; 3]);
        assert_eq!(model.num_parameters(), 6);
        std::fs::remove_file(path).unwrap();
    }
    let path = file("untied", &[("embedding", one), ("head", zero)]);
    let message = tied().load_parameters(&path, &CPU).unwrap_err().to_string();
    assert!(
        message.starts_with("embedding and head are one tensor in this model"),
        "{message}"
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn other_types_are_converted_when_asked() {
    for dtype in [DType::BF16, DType::F16, DType::F64] {
        let weight = ones((2, 3)).to_dtype(dtype);
        let path = file("types", &[("weight", weight)]);
        let mut net = Linear::new(3, 2).bias(false);
        assert!(net.load_parameters(&path, &CPU).is_err());
        let options = LoadOptions::new().convert();
        net.load_parameters_with(&path, &CPU, options).unwrap();
        let weight = net.parameter("weight").tensor();
        assert_eq!(weight.to_vec2::<f32>(), [[1.0; 3]; 2]);
        std::fs::remove_file(path).unwrap();
    }
}

#[derive(taper_macros::Parameters)]
struct Wrapped {
    model: Sequential,
}

fn bare() -> Sequential {
    crate::seq![Linear::new(3, 4), ReLU, Linear::new(4, 2)]
}

#[test]
fn a_prefix_is_named_in_both_directions() {
    let wrapped = || Wrapped { model: bare() };
    let (strict, partial) = (LoadOptions::new(), LoadOptions::new().partial());
    for (options, end) in [
        (strict.clone(), ""),
        (partial, ".partial()"),
        (strict.convert(), ".convert()"),
    ] {
        let state = |net: &dyn Parameters| -> Vec<(String, Tensor)> {
            state_of(net)
                .into_iter()
                .map(|it| (it.name, it.parameter.tensor()))
                .collect()
        };
        let named = |net: &dyn Parameters| {
            let tensors = state(net);
            let tensors = tensors.iter().map(|(name, x)| (name.as_str(), x.clone()));
            file("prefix", &tensors.collect::<Vec<_>>())
        };
        let path = named(&wrapped());
        let message = bare()
            .load_parameters_with(&path, &CPU, options.clone())
            .unwrap_err();
        let lines = format!(
            "{} does not fit this model: its names begin with \"model.\", those of the model do not\n\
             Load it with load_parameters_with(path, &device, LoadOptions::new().strip_prefix(\"model.\"){end}); \
             nothing was changed",
            path.display()
        );
        assert_eq!(message.to_string(), lines);
        let mut net = bare();
        let report = net
            .load_parameters_with(&path, &CPU, options.clone().strip_prefix("model."))
            .unwrap();
        assert!(report.is_complete() && report.loaded.len() == 4);
        let path = named(&bare());
        let message = wrapped()
            .load_parameters_with(&path, &CPU, options.clone())
            .unwrap_err();
        assert!(message.to_string().contains(&format!(
            "the names of the model begin with \"model.\", its own do not\n\
             Load it with load_parameters_with(path, &device, LoadOptions::new().add_prefix(\"model.\"){end});"
        )), "{message}");
        let report = wrapped().load_parameters_with(&path, &CPU, options.add_prefix("model."));
        assert_eq!(report.unwrap().loaded.len(), 4);
        std::fs::remove_file(path).unwrap();
    }
}

#[test]
fn a_prefix_with_other_heads_needs_partial() {
    let x = |shape: &[usize]| ones(shape);
    let path = file(
        "heads",
        &[
            ("module.0.weight", x(&[4, 3])),
            ("module.0.bias", x(&[4])),
            ("module.fc.weight", x(&[5, 4])),
        ],
    );
    let message = bare().load_parameters(&path, &CPU).unwrap_err().to_string();
    assert!(
        message.contains("its names begin with \"module.\" (PyTorch's DataParallel adds it), those of the model do not")
            && message.contains("LoadOptions::new().strip_prefix(\"module.\").partial()"),
        "{message}"
    );
    let options = LoadOptions::new().partial();
    let report = bare().load_parameters_with(&path, &CPU, options.clone().strip_prefix("module."));
    assert_eq!(report.unwrap().loaded, ["0.weight", "0.bias"]);
    // A wrong prefix, and a prefix without which two names are equal.
    let message = bare().load_parameters_with(&path, &CPU, options.strip_prefix("modul_."));
    assert_eq!(
        message.unwrap_err().to_string(),
        "strip_prefix: expected the beginning of a name in the file, found \"modul_.\"\n\
         One of its names is \"module.0.bias\""
    );
    std::fs::remove_file(path).unwrap();
    let path = file("twice", &[("a.bias", x(&[2])), ("bias", x(&[2]))]);
    let options = LoadOptions::new().strip_prefix("a.");
    let message = Linear::new(3, 2)
        .load_parameters_with(&path, &CPU, options)
        .unwrap_err();
    assert!(
        message
            .to_string()
            .contains("two tensors of the file are named \"bias\""),
        "{message}"
    );
    std::fs::remove_file(path).unwrap();
}

#[test]
fn the_report_of_a_partial_load_and_a_state_name_a_prefix_too() {
    let path = file(
        "report",
        &[
            ("2.bias", ones(2)),
            ("m.0.weight", ones((4, 3))),
            ("m.0.bias", ones(4)),
        ],
    );
    let report = bare()
        .load_parameters_with(&path, &CPU, LoadOptions::new().partial())
        .unwrap();
    let text = report.show_text();
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        "the file: its names begin with \"m.\", those of the model do not; load it with .strip_prefix(\"m.\")"
    );
    std::fs::remove_file(path).unwrap();
    let state = Wrapped { model: bare() }.state_dict();
    let message = bare().load_state_dict(&state).unwrap_err().to_string();
    assert!(
        message.starts_with("the state does not fit this model: its names begin with \"model.\""),
        "{message}"
    );
}

#[test]
fn a_file_of_which_nothing_fits_is_refused() {
    let path = file("nothing", &[("other", ones(2))]);
    let options = LoadOptions::new().partial();
    let mut net = Linear::new(3, 2);
    let message = net.load_parameters_with(&path, &CPU, options).unwrap_err();
    assert!(
        message
            .to_string()
            .contains("missing weight, missing bias, extra other")
    );
    std::fs::remove_file(path).unwrap();
}
