//! Runs a network in a published page, with nothing but Rust's library.
//!
//! `book/model-wasm.py` compiles this file to WebAssembly; the tests run it as it is. The page writes the layers, as
//! `model.rs` encodes them, to `reserve`, calls `load`, writes an input to `input`, calls `run`, and reads `output`.

/// A layer with its parameters.
enum Layer {
    Linear {
        weight: Vec<f32>,
        bias: Vec<f32>,
    },
    Conv(Conv),
    Pool {
        window: Window,
        is_max: bool,
    },
    AdaptivePool([usize; 2]),
    /// A scale and a shift for each channel.
    Affine {
        scale: Vec<f32>,
        shift: Vec<f32>,
    },
    Activation {
        kind: usize,
        slope: f32,
    },
    Flatten,
    Softmax,
}

struct Conv {
    window: Window,
    dilation: [usize; 2],
    groups: usize,
    weight: Vec<f32>,
    bias: Vec<f32>,
}

struct Window {
    kernel: [usize; 2],
    stride: [usize; 2],
    padding: [usize; 2],
}

/// A chain of layers.
pub(crate) struct Network {
    layers: Vec<Layer>,
    /// The shape of the input: `(features)` or `(channels, height, width)`.
    pub(crate) input: Vec<usize>,
}

/// The bytes that are not read yet.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn word(&mut self) -> Option<[u8; 4]> {
        let (word, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(*word)
    }

    fn size(&mut self) -> Option<usize> {
        Some(u32::from_le_bytes(self.word()?) as usize)
    }

    fn pair(&mut self) -> Option<[usize; 2]> {
        Some([self.size()?, self.size()?])
    }

    fn number(&mut self) -> Option<f32> {
        Some(f32::from_le_bytes(self.word()?))
    }

    fn numbers(&mut self) -> Option<Vec<f32>> {
        let count = self.size()?;
        (0..count).map(|_| self.number()).collect()
    }

    fn window(&mut self) -> Option<Window> {
        let (kernel, stride, padding) = (self.pair()?, self.pair()?, self.pair()?);
        let is_usable = kernel.iter().chain(&stride).all(|&size| size > 0);
        is_usable.then_some(Window {
            kernel,
            stride,
            padding,
        })
    }

    fn layer(&mut self) -> Option<Layer> {
        Some(match self.size()? {
            0 => Layer::Linear {
                weight: self.numbers()?,
                bias: self.numbers()?,
            },
            1 => Layer::Conv(Conv {
                window: self.window()?,
                dilation: self.pair()?,
                groups: self.size()?.max(1),
                weight: self.numbers()?,
                bias: self.numbers()?,
            }),
            kind @ (2 | 3) => Layer::Pool {
                window: self.window()?,
                is_max: kind == 2,
            },
            4 => Layer::AdaptivePool(self.pair()?),
            5 => Layer::Affine {
                scale: self.numbers()?,
                shift: self.numbers()?,
            },
            6 => Layer::Activation {
                kind: self.size()?,
                slope: self.number()?,
            },
            7 => Layer::Flatten,
            8 => Layer::Softmax,
            _ => return None,
        })
    }
}

impl Network {
    /// Reads a network; returns `None` if the bytes are not a network.
    pub(crate) fn read(bytes: &[u8]) -> Option<Network> {
        let mut reader = Reader(bytes);
        let rank = reader.size()?;
        let input = (0..rank).map(|_| reader.size()).collect::<Option<_>>()?;
        let mut layers = Vec::new();
        while !reader.0.is_empty() {
            layers.push(reader.layer()?);
        }
        Some(Network { layers, input })
    }

    /// Returns the output for an input; `None` if a layer cannot take its input.
    pub(crate) fn run(&self, input: &[f32]) -> Option<Vec<f32>> {
        let (mut shape, mut x) = (self.input.clone(), input.to_vec());
        for layer in &self.layers {
            x = layer.run(x, &mut shape)?;
        }
        Some(x)
    }
}

impl Layer {
    /// Returns the output, and sets its shape.
    fn run(&self, mut x: Vec<f32>, shape: &mut Vec<usize>) -> Option<Vec<f32>> {
        match self {
            Layer::Linear { weight, bias } => linear(&x, shape, weight, bias),
            Layer::Conv(conv) => conv.run(&x, shape),
            Layer::Pool { window, is_max } => window.pool(&x, shape, *is_max),
            Layer::AdaptivePool(size) => adaptive_pool(&x, shape, *size),
            Layer::Affine { scale, shift } => {
                let area = x.len().checked_div(*shape.first()?)?;
                for (i, x) in x.iter_mut().enumerate() {
                    *x = *x * scale.get(i / area)? + shift.get(i / area)?;
                }
                Some(x)
            }
            Layer::Activation { kind, slope } => {
                x.iter_mut()
                    .for_each(|x| *x = activation(*kind, *slope, *x));
                Some(x)
            }
            Layer::Flatten => {
                *shape = vec![x.len()];
                Some(x)
            }
            Layer::Softmax => {
                let largest = x.iter().copied().fold(f32::MIN, f32::max);
                x.iter_mut().for_each(|x| *x = (*x - largest).exp());
                let sum: f32 = x.iter().sum();
                x.iter_mut().for_each(|x| *x /= sum);
                Some(x)
            }
        }
    }
}

fn linear(x: &[f32], shape: &mut Vec<usize>, weight: &[f32], bias: &[f32]) -> Option<Vec<f32>> {
    if shape.len() != 1 || x.is_empty() || weight.len() != bias.len() * x.len() {
        return None;
    }
    *shape = vec![bias.len()];
    let dot = |row: &[f32]| row.iter().zip(x).map(|(w, x)| w * x).sum::<f32>();
    let rows = weight.chunks(x.len()).zip(bias);
    Some(rows.map(|(row, bias)| dot(row) + bias).collect())
}

impl Window {
    /// Returns the size of the output along an axis.
    fn size(&self, axis: usize, length: usize, dilation: usize) -> Option<usize> {
        let reach = dilation * (self.kernel[axis] - 1) + 1;
        Some((length + 2 * self.padding[axis]).checked_sub(reach)? / self.stride[axis] + 1)
    }

    /// Calls `each` with the position in the kernel and in the image for each pixel below the kernel.
    fn below(
        &self,
        [row, column]: [usize; 2],
        [height, width]: [usize; 2],
        dilation: [usize; 2],
        mut each: impl FnMut(usize, usize),
    ) {
        for i in 0..self.kernel[0] {
            for j in 0..self.kernel[1] {
                let r = (row * self.stride[0] + i * dilation[0]).wrapping_sub(self.padding[0]);
                let c = (column * self.stride[1] + j * dilation[1]).wrapping_sub(self.padding[1]);
                if r < height && c < width {
                    each(i * self.kernel[1] + j, r * width + c);
                }
            }
        }
    }

    fn pool(&self, x: &[f32], shape: &mut Vec<usize>, is_max: bool) -> Option<Vec<f32>> {
        let &[channels, height, width] = shape.as_slice() else {
            return None;
        };
        let (rows, columns) = (self.size(0, height, 1)?, self.size(1, width, 1)?);
        *shape = vec![channels, rows, columns];
        let area = (self.kernel[0] * self.kernel[1]) as f32;
        let mut y = Vec::with_capacity(channels * rows * columns);
        for channel in x.chunks((height * width).max(1)) {
            for at in 0..rows * columns {
                let (mut largest, mut sum) = (f32::NEG_INFINITY, 0.0);
                let at = [at / columns, at % columns];
                self.below(at, [height, width], [1, 1], |_, pixel| {
                    largest = f32::max(largest, channel[pixel]);
                    sum += channel[pixel];
                });
                y.push(if is_max { largest } else { sum / area });
            }
        }
        Some(y)
    }
}

impl Conv {
    fn run(&self, x: &[f32], shape: &mut Vec<usize>) -> Option<Vec<f32>> {
        let &[channels, height, width] = shape.as_slice() else {
            return None;
        };
        let window = &self.window;
        let rows = window.size(0, height, self.dilation[0])?;
        let columns = window.size(1, width, self.dilation[1])?;
        let (of_group, area) = (channels / self.groups, window.kernel[0] * window.kernel[1]);
        let outputs = self.bias.len();
        if self.weight.len() != outputs * of_group * area || !outputs.is_multiple_of(self.groups) {
            return None;
        }
        *shape = vec![outputs, rows, columns];
        let mut y = Vec::with_capacity(outputs * rows * columns);
        for (output, bias) in self.bias.iter().enumerate() {
            let kernels = &self.weight[output * of_group * area..][..of_group * area];
            let first = output / (outputs / self.groups) * of_group;
            for at in 0..rows * columns {
                let mut sum = *bias;
                let at = [at / columns, at % columns];
                window.below(at, [height, width], self.dilation, |weight, pixel| {
                    for channel in 0..of_group {
                        let x = x[(first + channel) * height * width + pixel];
                        sum += kernels[channel * area + weight] * x;
                    }
                });
                y.push(sum);
            }
        }
        Some(y)
    }
}

fn adaptive_pool(x: &[f32], shape: &mut Vec<usize>, size: [usize; 2]) -> Option<Vec<f32>> {
    let &[channels, height, width] = shape.as_slice() else {
        return None;
    };
    let [rows, columns] = size;
    *shape = vec![channels, rows, columns];
    let range =
        |i: usize, of: usize, length: usize| i * length / of..((i + 1) * length).div_ceil(of);
    let mut y = Vec::with_capacity(channels * rows * columns);
    for channel in x.chunks((height * width).max(1)) {
        for at in 0..rows * columns {
            let (r, c) = (
                range(at / columns, rows, height),
                range(at % columns, columns, width),
            );
            let area = r.len() * c.len();
            let sum: f32 = r
                .flat_map(|r| c.clone().map(move |c| channel[r * width + c]))
                .sum();
            y.push(sum / area as f32);
        }
    }
    Some(y)
}

fn activation(kind: usize, slope: f32, x: f32) -> f32 {
    match kind {
        0 => x.max(0.0),
        1 => sigmoid(x),
        2 => x.tanh(),
        3 => x * 0.5 * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2)),
        4 => x * sigmoid(x),
        5 => {
            if x < 0.0 {
                slope * x
            } else {
                x
            }
        }
        _ => {
            if x < 0.0 {
                slope * x.exp_m1()
            } else {
                x
            }
        }
    }
}

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

/// The error function, from Abramowitz and Stegun, 7.1.26: the error is below 1.5e-7.
fn erf(x: f32) -> f32 {
    let t = 1.0 / (1.0 + 0.3275911 * x.abs());
    let terms = [
        0.254_829_6,
        -0.284_496_72,
        1.421_413_8,
        -1.453_152_1,
        1.061_405_4,
    ];
    let sum = terms.iter().rev().fold(0.0, |sum, term| (sum + term) * t);
    (1.0 - sum * (-x * x).exp()).copysign(x)
}

/// What the page calls.
#[cfg(target_arch = "wasm32")]
mod page {
    use super::Network;

    /// A module has a single thread.
    static mut BYTES: Vec<u8> = Vec::new();
    static mut NETWORK: Option<Network> = None;
    static mut INPUT: Vec<f32> = Vec::new();
    static mut OUTPUT: Vec<f32> = Vec::new();

    /// Returns the address for this many bytes of a network.
    #[unsafe(no_mangle)]
    pub extern "C" fn reserve(count: usize) -> *mut u8 {
        // SAFETY: no other reference to the static lives, here and below.
        let bytes = unsafe { &mut *(&raw mut BYTES) };
        *bytes = vec![0; count];
        bytes.as_mut_ptr()
    }

    /// Reads the network; returns whether it is one.
    #[unsafe(no_mangle)]
    pub extern "C" fn load() -> bool {
        let (bytes, network) = unsafe { (&*(&raw const BYTES), &mut *(&raw mut NETWORK)) };
        *network = Network::read(bytes);
        network.is_some()
    }

    /// Returns the address for an input.
    #[unsafe(no_mangle)]
    pub extern "C" fn input() -> *mut f32 {
        let (input, network) = unsafe { (&mut *(&raw mut INPUT), &*(&raw const NETWORK)) };
        let count = network
            .as_ref()
            .map_or(0, |network| network.input.iter().product());
        *input = vec![0.0; count];
        input.as_mut_ptr()
    }

    /// Computes; returns the number of outputs.
    #[unsafe(no_mangle)]
    pub extern "C" fn run() -> usize {
        let (input, network) = unsafe { (&*(&raw const INPUT), &*(&raw const NETWORK)) };
        let output = unsafe { &mut *(&raw mut OUTPUT) };
        *output = network
            .as_ref()
            .and_then(|network| network.run(input))
            .unwrap_or_default();
        output.len()
    }

    /// Returns the address of the outputs.
    #[unsafe(no_mangle)]
    pub extern "C" fn output() -> *const f32 {
        unsafe { (*(&raw const OUTPUT)).as_ptr() }
    }
}
