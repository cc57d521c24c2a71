//! A trained model, encoded for the page that runs it: its description and its parameters become a list of layers.

use super::runtime::Network;
use safetensors::{Dtype, SafeTensors};

/// What a run of the notebook has written of a model.
pub(super) struct Saved<'a> {
    /// The model as text, as `{:?}` prints it.
    pub(super) description: &'a str,
    /// A safetensors file with its parameters and buffers.
    pub(super) tensors: &'a [u8],
    /// The shape of an input, without the batch.
    pub(super) input: &'a [usize],
    /// The outputs for values that go from -1 to 1 in equal steps.
    pub(super) outputs: &'a [f32],
}

/// The largest difference from the notebook's outputs, relative to the largest output.
const TOLERANCE: f32 = 1e-3;

/// Encodes a model; the error says which part of it a page cannot run.
pub(super) fn encode(saved: &Saved) -> Result<Vec<u8>, String> {
    let tensors = SafeTensors::deserialize(saved.tensors);
    let tensors = tensors.map_err(|_| "its parameters cannot be read")?;
    let mut encoder = Encoder {
        tensors,
        bytes: Vec::new(),
    };
    encoder.sizes(&[saved.input.len()]);
    encoder.sizes(saved.input);
    let lines: Vec<&str> = saved.description.lines().collect();
    encoder.layers(&lines, "")?;
    check(&encoder.bytes, saved)?;
    Ok(encoder.bytes)
}

/// Checks that the page computes what the notebook does.
fn check(bytes: &[u8], saved: &Saved) -> Result<(), String> {
    let count: usize = saved.input.iter().product();
    let step = 2.0 / count.saturating_sub(1).max(1) as f32;
    let input: Vec<f32> = (0..count).map(|i| -1.0 + step * i as f32).collect();
    let outputs = Network::read(bytes).and_then(|network| network.run(&input));
    let outputs = outputs.ok_or("its layers do not fit the input; check the line `// Input:`")?;
    let largest = saved
        .outputs
        .iter()
        .fold(1.0f32, |largest, y| largest.max(y.abs()));
    let is_close = |(a, b): (&f32, &f32)| (a - b).abs() <= TOLERANCE * largest;
    match outputs.len() == saved.outputs.len() && outputs.iter().zip(saved.outputs).all(is_close) {
        true => Ok(()),
        false => Err("it does more than call its layers one after the other".into()),
    }
}

struct Encoder<'a> {
    tensors: SafeTensors<'a>,
    bytes: Vec<u8>,
}

impl Encoder<'_> {
    /// Encodes a part of a description: a layer, or the layers of a model one after the other.
    fn layers(&mut self, lines: &[&str], path: &str) -> Result<(), String> {
        let (Some(first), rest) = (lines.first(), lines.get(1..).unwrap_or_default()) else {
            return Err("it has no layers".into());
        };
        let (name, settings) = first.split_once('(').unwrap_or((first, ""));
        if rest.is_empty() {
            return self.layer(name, settings.trim_end_matches(')'), path);
        }
        // A part begins with its field in parentheses, and its further lines are indented.
        let is_start = |line: &&&str| line.starts_with("  (");
        let starts: Vec<usize> = { rest.iter().enumerate() }
            .filter(|(_, line)| is_start(line))
            .map(|(at, _)| at)
            .collect();
        for (i, start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).copied().unwrap_or(rest.len() - 1);
            let part: Vec<&str> = rest[*start..end].iter().map(|line| &line[2..]).collect();
            let (field, layer) = { part[0].trim_start_matches('(') }
                .split_once("): ")
                .ok_or("its description cannot be read")?;
            let part = [&[layer], &part[1..]].concat();
            self.layers(&part, &format!("{path}{field}."))?;
        }
        Ok(())
    }

    fn layer(&mut self, name: &str, settings: &str, path: &str) -> Result<(), String> {
        let settings = Settings(settings);
        match name {
            "Linear" => {
                self.sizes(&[0]);
                self.weights(path, settings.pair("out_features", 0)[0])
            }
            "Conv2d" if settings.get("padding_mode").is_none() && settings.padding().is_some() => {
                self.sizes(&[1]);
                self.window(&settings, 1);
                self.sizes(&settings.pair("dilation", 1));
                self.sizes(&[settings.pair("groups", 1)[0]]);
                self.weights(path, settings.position(1))
            }
            "MaxPool2d" | "AvgPool2d" => {
                self.sizes(&[if name == "MaxPool2d" { 2 } else { 3 }]);
                self.window(&settings, settings.pair("kernel_size", 1)[0]);
                Ok(())
            }
            // A page does not know the size of its input, which None refers to.
            "AdaptiveAvgPool2d"
                if !settings
                    .get("output_size")
                    .is_some_and(|size| size.contains("None")) =>
            {
                self.sizes(&[4]);
                self.sizes(&settings.pair("output_size", 1));
                Ok(())
            }
            "BatchNorm1d" | "BatchNorm2d" => self.batch_norm(path),
            "Flatten" => {
                self.sizes(&[7]);
                Ok(())
            }
            "Softmax" => {
                self.sizes(&[8]);
                Ok(())
            }
            "Dropout" | "Identity" => Ok(()),
            _ => self.activation(name, &settings),
        }
    }

    fn activation(&mut self, name: &str, settings: &Settings) -> Result<(), String> {
        const KINDS: [&str; 7] = [
            "ReLU",
            "Sigmoid",
            "Tanh",
            "GELU",
            "SiLU",
            "LeakyReLU",
            "ELU",
        ];
        let Some(kind) = KINDS.iter().position(|kind| *kind == name) else {
            return Err(format!(
                "a page cannot run {name}; it can run Linear, Conv2d, BatchNorm1d, BatchNorm2d, MaxPool2d, AvgPool2d, \
                 AdaptiveAvgPool2d, Flatten, Dropout, Softmax and activations"
            ));
        };
        let slope = settings.get("negative_slope").or(settings.get("alpha"));
        self.sizes(&[6, kind]);
        self.number(slope.and_then(|slope| slope.parse().ok()).unwrap_or(1.0));
        Ok(())
    }

    /// In evaluation, a batch normalisation is a scale and a shift.
    fn batch_norm(&mut self, path: &str) -> Result<(), String> {
        const EPS: f32 = 1e-5;
        let of = |name: &str| self.tensor(path, name);
        let (weight, bias) = (of("weight")?, of("bias")?);
        let (mean, var) = (of("running_mean")?, of("running_var")?);
        let scale: Vec<f32> = weight
            .iter()
            .zip(&var)
            .map(|(w, v)| w / (v + EPS).sqrt())
            .collect();
        let shifts = bias.iter().zip(&mean).zip(&scale);
        let shift: Vec<f32> = shifts
            .map(|((bias, mean), scale)| bias - mean * scale)
            .collect();
        self.sizes(&[5]);
        self.numbers(&scale);
        self.numbers(&shift);
        Ok(())
    }

    fn tensor(&self, path: &str, name: &str) -> Result<Vec<f32>, String> {
        let name = format!("{path}{name}");
        let found = self.tensors.tensor(&name).ok();
        let found = found.filter(|it| it.dtype() == Dtype::F32);
        let found = found.ok_or_else(|| format!("its parameter {name} is not one of f32"))?;
        let numbers = found.data().as_chunks::<4>().0.iter();
        Ok(numbers.map(|b| f32::from_le_bytes(*b)).collect())
    }

    /// Writes a weight and a bias, zeros if the layer has none.
    fn weights(&mut self, path: &str, outputs: usize) -> Result<(), String> {
        let weight = self.tensor(path, "weight")?;
        let bias = self
            .tensor(path, "bias")
            .unwrap_or_else(|_| vec![0.0; outputs]);
        self.numbers(&weight);
        self.numbers(&bias);
        Ok(())
    }

    fn window(&mut self, settings: &Settings, stride: usize) {
        self.sizes(&settings.pair("kernel_size", 1));
        self.sizes(&settings.pair("stride", stride));
        self.sizes(&settings.padding().unwrap_or_default());
    }

    fn sizes(&mut self, sizes: &[usize]) {
        let words = sizes.iter().map(|&size| (size as u32).to_le_bytes());
        self.bytes.extend(words.flatten());
    }

    fn number(&mut self, number: f32) {
        self.bytes.extend(number.to_le_bytes());
    }

    fn numbers(&mut self, numbers: &[f32]) {
        self.sizes(&[numbers.len()]);
        numbers.iter().for_each(|number| self.number(*number));
    }
}

/// The settings in a description: `1, 6, kernel_size=(3, 5), stride=1`.
struct Settings<'a>(&'a str);

impl<'a> Settings<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        let (_, value) = self.0.split_once(&format!("{name}="))?;
        let end = match value.starts_with('(') {
            true => value.find(')').map_or(value.len(), |at| at + 1),
            false => value.find(", ").unwrap_or(value.len()),
        };
        Some(&value[..end])
    }

    /// Returns a setting of two sizes; a single size counts for both.
    fn pair(&self, name: &str, default: usize) -> [usize; 2] {
        let value = self.get(name).unwrap_or_default();
        let mut sizes =
            { value.trim_matches(['(', ')']).split(", ") }.map(|size| size.parse().ok());
        let first = sizes.next().flatten().unwrap_or(default);
        [first, sizes.next().flatten().unwrap_or(first)]
    }

    /// Returns the padding on each side; `None` if both sides differ, as after `padding_same` with an even kernel.
    fn padding(&self) -> Option<[usize; 2]> {
        if self.get("padding") != Some("\"same\"") {
            return Some(self.pair("padding", 0));
        }
        let (kernel, dilation) = (self.pair("kernel_size", 1), self.pair("dilation", 1));
        let added = [0, 1].map(|i| dilation[i] * (kernel[i] - 1));
        let is_even = added.iter().all(|added| added % 2 == 0);
        is_even.then(|| added.map(|added| added / 2))
    }

    /// Returns a setting without a name.
    fn position(&self, at: usize) -> usize {
        let value = self.0.split(", ").nth(at);
        value.and_then(|value| value.parse().ok()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn file(tensors: &[(&str, &[f32])]) -> Vec<u8> {
        let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
        for (name, values) in tensors {
            let start = data.len();
            data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            let entry = json!({"dtype": "F32", "shape": [values.len()], "data_offsets": [start, data.len()]});
            header.insert((*name).to_owned(), entry);
        }
        let header = serde_json::to_vec(&header).expect("JSON");
        [&(header.len() as u64).to_le_bytes()[..], &header, &data].concat()
    }

    const NET: &str = "Sequential(
  (0): Conv2d(1, 1, kernel_size=(1, 2), stride=1, bias=false)
  (1): Sequential(
    (0): ReLU()
    (1): Flatten(start_dim=1, end_dim=-1)
  )
  (2): Linear(in_features=2, out_features=1, bias=true)
)";

    #[test]
    fn a_network_in_a_network_is_one_chain() {
        let tensors = file(&[
            ("0.weight", &[2.0, 1.0]),
            ("2.weight", &[1.0, 10.0]),
            ("2.bias", &[0.5]),
        ]);
        // The input is -1, 0, 1: the convolution returns -2 and 1.
        let saved = |outputs| Saved {
            description: NET,
            tensors: &tensors,
            input: &[1, 1, 3],
            outputs,
        };
        let bytes = encode(&saved(&[10.5])).expect("it is encoded");
        let network = Network::read(&bytes).expect("a network");
        assert_eq!(network.run(&[1.0, 1.0, 1.0]), Some(vec![33.5]));
        let error = encode(&saved(&[10.0])).expect_err("another output");
        assert!(error.contains("more than call its layers"), "{error}");
        assert!(Network::read(&bytes[..bytes.len() - 1]).is_none());
    }

    #[test]
    fn a_layer_that_a_page_cannot_run_is_named() {
        let saved = Saved {
            description: "LSTM(3, 4)",
            tensors: &file(&[]),
            input: &[3],
            outputs: &[],
        };
        let error = encode(&saved).expect_err("it cannot be run");
        assert!(
            error.starts_with("a page cannot run LSTM; it can run Linear"),
            "{error}"
        );
    }

    #[test]
    fn settings_are_read() {
        let settings = Settings("4, 6, kernel_size=(3, 5), stride=2, padding=(1, 2)");
        assert_eq!(settings.pair("kernel_size", 1), [3, 5]);
        assert_eq!(settings.pair("stride", 1), [2, 2]);
        assert_eq!(settings.pair("dilation", 1), [1, 1]);
        assert_eq!(settings.position(1), 6);
        assert_eq!(settings.padding(), Some([1, 2]));
        let same = |kernel: &str| {
            let settings =
                format!("1, 1, kernel_size={kernel}, stride=1, padding=\"same\", dilation=(1, 3)");
            Settings(&settings).padding()
        };
        assert_eq!(same("(5, 2)"), None);
        assert_eq!(same("(5, 3)"), Some([2, 3]));
    }
}
