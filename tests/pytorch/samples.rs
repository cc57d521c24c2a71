//! The file of the samples, which export.py writes: an index, and the values of all tensors.

use crate::arguments::{Args, Value, dtype_named};
use flate2::read::GzDecoder;
use serde_json::Value as Json;
use std::io::Read;
use std::path::PathBuf;
use taper::Tensor;
use taper::candle_core::DType;
use taper::nn::Parameter;

/// Of a tensor with more than `ALL` elements, the file has `SOME`, and a weighted sum of all.
const ALL: usize = 24;
const SOME: usize = 14;

/// All samples.
pub(crate) struct Samples {
    pub(crate) list: Vec<Json>,
    pub(crate) torch: String,
    rounded: Vec<f32>,
    singles: Vec<f32>,
    integers: Vec<i64>,
    results: Vec<f64>,
}

/// Where a sample's values begin.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    rounded: usize,
    singles: usize,
    integers: usize,
    results: usize,
}

/// A sample in one type of its floating-point numbers.
pub(crate) struct Sample {
    pub(crate) args: Args,
    pub(crate) forward: Args,
    /// The values of the parameters and buffers of a layer, and whether they are trained.
    pub(crate) state: Vec<(String, Tensor, bool)>,
    /// The tensors whose gradients are compared.
    pub(crate) sources: Vec<Source>,
}

/// A tensor whose gradient is compared.
pub(crate) struct Source {
    pub(crate) leaf: Tensor,
    /// Whether the input is its transposed view.
    transposed: bool,
}

/// What PyTorch computed.
pub(crate) struct Wanted {
    pub(crate) shape: Vec<usize>,
    pub(crate) kind: String,
    values: Vec<f64>,
}

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

impl Samples {
    /// Reads the stored samples, or the files that `TAPER_SAMPLES` names, with `:` between them.
    pub(crate) fn all() -> Vec<Self> {
        match std::env::var_os("TAPER_SAMPLES") {
            Some(files) => std::env::split_paths(&files).map(Self::read).collect(),
            None => ["samples.gz", "tensors.gz", "further.gz"]
                .map(|name| Self::read(path("tests/pytorch").join(name)))
                .into(),
        }
    }

    fn read(file: PathBuf) -> Self {
        let mut content = vec![];
        let mut reader = GzDecoder::new(std::fs::File::open(file).expect("the samples"));
        reader.read_to_end(&mut content).unwrap();
        let mut rest = &content[..];
        let mut part = || {
            let (length, after) = rest.split_at(8);
            let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
            let (part, after) = after.split_at(length);
            rest = after;
            part
        };
        let index: Json = serde_json::from_slice(part()).unwrap();
        let upper = |b: &[u8; 2]| f32::from_bits(u32::from(u16::from_le_bytes(*b)) << 16);
        Self {
            list: index["samples"].as_array().unwrap().clone(),
            torch: index["torch"].as_str().unwrap().to_owned(),
            rounded: { part().as_chunks().0.iter() }.map(upper).collect(),
            singles: { part().as_chunks().0.iter() }
                .map(|b| f32::from_le_bytes(*b))
                .collect(),
            integers: { part().as_chunks().0.iter() }
                .map(|b| i64::from_le_bytes(*b))
                .collect(),
            results: { part().as_chunks().0.iter() }
                .map(|b| f64::from_le_bytes(*b))
                .collect(),
        }
    }

    /// Returns the inputs of a sample, in a type for its floating-point numbers, and where the next sample begins.
    pub(crate) fn inputs(&self, sample: &Json, place: Place, dtype: DType) -> (Sample, Place) {
        let mut reader = Reader {
            samples: self,
            place,
            dtype,
            sources: vec![],
        };
        let pairs = |name: &str| sample[name].as_array().cloned().unwrap_or_default();
        let mut args = |name: &str| Args::new(reader.pairs(&pairs(name)));
        let (args, forward) = (args("args"), args("forward"));
        let state = reader.state(&pairs("state"));
        let Reader { sources, place, .. } = reader;
        (
            Sample {
                args,
                forward,
                state,
                sources,
            },
            place,
        )
    }

    /// Returns what PyTorch computed for a sample, and where the next sample begins.
    pub(crate) fn wanted(&self, sample: &Json, mut place: Place) -> (Vec<Wanted>, Place) {
        let list = sample["want"].as_array().into_iter().flatten();
        let wanted = list.map(|entry| {
            let shape = sizes(&entry["s"]);
            let stored = match shape.iter().product() {
                count if count <= ALL => count,
                _ => SOME + 1,
            };
            let values = self.results[place.results..][..stored].to_vec();
            place.results += stored;
            Wanted {
                shape,
                kind: entry["k"].as_str().unwrap().to_owned(),
                values,
            }
        });
        (wanted.collect(), place)
    }
}

fn sizes(shape: &Json) -> Vec<usize> {
    let sizes = shape.as_array().unwrap().iter();
    sizes.map(|size| size.as_u64().unwrap() as usize).collect()
}

/// Reads the values of one sample.
struct Reader<'a> {
    samples: &'a Samples,
    place: Place,
    dtype: DType,
    sources: Vec<Source>,
}

impl Reader<'_> {
    fn pairs(&mut self, pairs: &[Json]) -> Vec<(String, Value)> {
        let pair = |pair: &Json| (pair[0].as_str().unwrap().to_owned(), self.value(&pair[1]));
        pairs.iter().map(pair).collect()
    }

    fn state(&mut self, pairs: &[Json]) -> Vec<(String, Tensor, bool)> {
        let inputs = self.sources.len();
        let mut state = vec![];
        for pair in pairs {
            let (name, x) = (pair[0].as_str().unwrap(), self.tensor(&pair[1]));
            let trained = pair[1]["k"].as_str().unwrap().ends_with('g');
            state.push((name.to_owned(), x.detach(), trained));
        }
        // The layer has parameters of its own.
        self.sources.truncate(inputs);
        state
    }

    fn value(&mut self, value: &Json) -> Value {
        match value {
            Json::Null => Value::None,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(value) => Value::Int(value.as_i64().unwrap()),
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(list) => Value::List(list.iter().map(|value| self.value(value)).collect()),
            Json::Object(entry) => match entry.iter().next().unwrap() {
                (name, value) if name == "float" => Value::Float(match value {
                    Json::String(text) => text.parse().unwrap(),
                    value => value.as_f64().unwrap(),
                }),
                (name, value) if name == "dtype" => {
                    Value::DType(value.as_str().unwrap().to_owned())
                }
                (name, value) if name == "slice" => {
                    Value::Slice([0, 1, 2].map(|i| value[i].as_i64()))
                }
                (name, _) if name == "ellipsis" => Value::Ellipsis,
                (name, value) if name == "layer" => {
                    Value::Layer(Args::new(self.pairs(value.as_array().unwrap())))
                }
                _ => Value::Tensor(self.tensor(value)),
            },
        }
    }

    fn tensor(&mut self, entry: &Json) -> Tensor {
        let shape = sizes(&entry["s"]);
        let count = shape.iter().product();
        let kind = entry["k"].as_str().unwrap();
        let x = match kind.as_bytes()[0] {
            b'f' => {
                let at = advance(&mut self.place.rounded, count);
                Tensor::from_slice(&self.samples.rounded[at..][..count], &shape[..])
            }
            b'F' => {
                let at = advance(&mut self.place.singles, count);
                Tensor::from_slice(&self.samples.singles[at..][..count], &shape[..])
            }
            _ => {
                let at = advance(&mut self.place.integers, count);
                Tensor::from_slice(&self.samples.integers[at..][..count], &shape[..])
            }
        };
        let x = match kind.as_bytes()[0] {
            b'f' | b'F' => x.to_dtype(self.dtype),
            b'b' => x.to_dtype(DType::U8),
            _ => x,
        };
        let transposed = !entry["t"].is_null();
        let x = match transposed {
            true => x.transpose(0, -1).contiguous(),
            false => x,
        };
        let x = match kind.ends_with('g') {
            true => {
                let leaf = Parameter::new(&x).tensor();
                self.sources.push(Source {
                    leaf: leaf.clone(),
                    transposed,
                });
                leaf
            }
            false => x,
        };
        match transposed {
            true => x.transpose(0, -1),
            false => x,
        }
    }
}

fn advance(place: &mut usize, count: usize) -> usize {
    let at = *place;
    *place += count;
    at
}

impl Source {
    /// Brings a gradient into the order of the input.
    pub(crate) fn gradient(&self, gradient: &Tensor) -> Tensor {
        match self.transposed {
            true => gradient.transpose(0, -1),
            false => gradient.clone(),
        }
    }
}

/// The weight of an element in the sum whose gradients are compared.
pub(crate) fn weight(i: usize) -> f64 {
    0.6 + (0.7 * i as f64).sin()
}

impl Wanted {
    fn is_whole(&self) -> bool {
        self.shape.iter().product::<usize>() <= ALL
    }

    /// Returns the largest finite value.
    pub(crate) fn largest(&self) -> f64 {
        let elements = if self.is_whole() {
            self.values.len()
        } else {
            SOME
        };
        let finite = self.values[..elements].iter().filter(|x| x.is_finite());
        finite.fold(0.0, |largest, x| largest.max(x.abs()))
    }

    /// Returns how a result differs, with a tolerance relative to the largest value, which is at least `terms`.
    pub(crate) fn difference(&self, got: &Tensor, tolerance: f64, terms: f64) -> Option<String> {
        if got.dims() != self.shape {
            return Some(format!("shape {:?}, not {:?}", got.dims(), self.shape));
        }
        let dtype = got.dtype();
        if dtype.is_float() != (self.kind == "f") {
            return Some(format!("type {dtype:?}, not {}", self.kind));
        }
        // Integers become f32, as in PyTorch.
        let tolerance = if dtype == DType::F32 {
            tolerance.max(2e-5)
        } else {
            tolerance
        };
        let all = got.to_dtype(DType::F64).to_vec::<f64>();
        let finite = all.iter().filter(|x| x.is_finite());
        let largest = finite.fold(self.largest().max(terms), |largest, x| largest.max(x.abs()));
        let place = |i: usize| {
            if self.is_whole() {
                i
            } else {
                i * (all.len() - 1) / (SOME - 1)
            }
        };
        for (i, want) in self.values.iter().enumerate() {
            let is_sum = !self.is_whole() && i == SOME;
            let (got, want, scale) = match is_sum {
                true => (
                    all.iter().enumerate().map(|(i, x)| x * weight(i)).sum(),
                    *want,
                    all.len() as f64,
                ),
                false => (all[place(i)], in_type(*want, dtype), 1.0),
            };
            let same = got == want || got.is_nan() && want.is_nan();
            let close = (got - want).abs() <= tolerance * largest * scale;
            if !same && !close {
                return Some(format!("[{i}] is {got:e}, not {want:e}"));
            }
        }
        None
    }
}

/// Rounds a value to a type: beyond its range, it is infinite.
fn in_type(x: f64, dtype: DType) -> f64 {
    match dtype {
        DType::F32 | DType::BF16 => f64::from(x as f32),
        DType::F16 if x.abs() >= 65520.0 => x.signum() * f64::INFINITY,
        _ => x,
    }
}

/// Returns the types in which a sample is run, with the tolerance of each.
pub(crate) fn runs(sample: &Json) -> Vec<(DType, f64)> {
    if sample["dtype"] != "f64" {
        return vec![(DType::F64, 1e-9)];
    }
    let types = [("f64", 1e-9), ("f32", 2e-5), ("bf16", 2e-2), ("f16", 3e-3)];
    let run = |(name, usual): (&str, f64)| {
        let tolerance = match &sample["loose"][name] {
            Json::String(_) => return None,
            tolerance => tolerance.as_f64().unwrap_or(usual),
        };
        Some((dtype_named(name).unwrap(), tolerance.max(usual)))
    };
    types.into_iter().filter_map(run).collect()
}
