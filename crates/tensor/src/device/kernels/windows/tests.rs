use super::*;
use crate::device::kernels::testing::{Memory, Value, run};
use crate::tensor::{randint, with_seed};
use candle_core::WithDType;

impl Windows {
    /// Returns the windows that these arguments of a kernel describe.
    pub(in crate::device::kernels) fn of_arguments(sizes: &[usize]) -> Self {
        let pair = |i: usize| [sizes[1 + 2 * i], sizes[2 + 2 * i]];
        Windows {
            planes: sizes[0],
            size: pair(0),
            kernel: pair(1),
            output: pair(2),
            stride: pair(3),
            dilation: pair(4),
            padding: pair(5),
        }
    }

    /// Returns the pixel at a place of the window of an output; `None` behind the border.
    fn pixel(&self, output: usize, place: usize) -> Option<usize> {
        let output = [output / self.output[1], output % self.output[1]];
        let place = [place / self.kernel[1], place % self.kernel[1]];
        let at = |i: usize| {
            let at = output[i] * self.stride[i] + place[i] * self.dilation[i];
            at.checked_sub(self.padding[i])
                .filter(|at| *at < self.size[i])
        };
        Some(at(0)? * self.size[1] + at(1)?)
    }
}

const ALL: [Kernel; 6] = [
    Kernel::Patches,
    Kernel::OfPatches,
    Kernel::Sums,
    Kernel::OfSums,
    Kernel::Pick,
    Kernel::OfPick,
];

/// Computes what the kernel of this name does.
pub(in crate::device::kernels) fn on_cpu<T: WithDType>(
    name: &str,
    windows: &Windows,
    from: &[T],
    indices: &[u32],
) -> Vec<T> {
    let mut all = ALL.into_iter();
    let kernel = all.find(|kernel| kernel.name() == name);
    kernel.expect("a kernel").on_cpu(windows, from, indices)
}

impl Kernel {
    /// Computes it on the CPU, for the tests.
    fn on_cpu<T: WithDType>(self, windows: &Windows, from: &[T], indices: &[u32]) -> Vec<T> {
        let (pixels, outputs, places) = (windows.pixels(), windows.outputs(), windows.places());
        let mut to = vec![T::zero(); windows.planes * self.elements(windows)];
        for plane in 0..windows.planes {
            let (image, output) = (plane * pixels, plane * outputs);
            for (place, i) in (0..places).flat_map(|place| (0..outputs).map(move |i| (place, i))) {
                let column = (plane * places + place) * outputs + i;
                let Some(pixel) = windows.pixel(i, place) else {
                    continue;
                };
                match self {
                    Self::Patches => to[column] = from[image + pixel],
                    Self::OfPatches => to[image + pixel] += from[column],
                    Self::Sums => to[output + i] += from[image + pixel],
                    Self::OfSums => to[image + pixel] += from[output + i],
                    Self::Pick if indices[output + i] as usize == pixel => {
                        to[output + i] = from[image + pixel];
                    }
                    Self::OfPick if indices[output + i] as usize == pixel => {
                        to[image + pixel] += from[output + i];
                    }
                    Self::Pick | Self::OfPick => {}
                }
            }
        }
        to
    }
}

/// Returns the index in its plane of each window's maximum; the largest `u32` for a window without pixels.
pub(in crate::device::kernels) fn max_indices<T: WithDType>(
    windows: &Windows,
    from: &[T],
) -> Vec<u32> {
    let index = |i: usize| {
        let image = &from[i / windows.outputs() * windows.pixels()..][..windows.pixels()];
        let pixels =
            (0..windows.places()).filter_map(|place| windows.pixel(i % windows.outputs(), place));
        let larger = |best: usize, pixel: usize| {
            let (old, new) = (image[best], image[pixel]);
            if new > old || new.to_f64().is_nan() {
                pixel
            } else {
                best
            }
        };
        pixels.reduce(larger).map_or(u32::MAX, |pixel| pixel as u32)
    };
    (0..windows.planes * windows.outputs()).map(index).collect()
}

fn draw(least: usize, most: usize) -> usize {
    randint(least as i64, most as i64 + 1, ()).item() as usize
}

/// Draws random sizes, which mostly differ, so that a test fails if two of them are swapped.
fn random() -> Windows {
    let pair = |least, most| [draw(least, most), draw(least, most)];
    let (kernel, stride, dilation) = (pair(1, 4), pair(1, 3), pair(1, 3));
    let reach = [0, 1].map(|i| dilation[i] * (kernel[i] - 1) + 1);
    let padding = [0, 1].map(|i| draw(0, reach[i] / 2));
    // Some pixels at the end belong to no window.
    let size = [0, 1].map(|i| {
        (reach[i] + draw(0, 8))
            .saturating_sub(2 * padding[i])
            .max(1)
    });
    let output =
        [0, 1].map(|i| (size[i] + 2 * padding[i]).saturating_sub(reach[i]) / stride[i] + 1);
    let planes = draw(1, 4);
    Windows {
        planes,
        size,
        kernel,
        output,
        stride,
        dilation,
        padding,
    }
}

/// Small integers, many of them equal, and some NaN: their sums are exact in any order.
fn values<T: WithDType>(count: usize, with_nan: bool) -> Vec<T> {
    let value = |_| match draw(0, 9) {
        9 if with_nan => f64::NAN,
        value => value as f64 - 4.0,
    };
    (0..count).map(value).map(T::from_f64).collect()
}

/// Executes a kernel in the emulator.
fn emulated<T: Value, R: Value>(
    name: &str,
    (threads, elements): (usize, usize),
    windows: &Windows,
    from: &[T],
    indices: Option<&[u32]>,
) -> Vec<R> {
    let mut memory = Memory::default();
    let (from, to) = (memory.with(from), memory.empty::<R>(elements));
    let indices = indices.map(|indices| memory.with(indices));
    let addresses = [Some(to), Some(from), indices].into_iter().flatten();
    let arguments: Vec<Argument> = addresses
        .map(Argument::U64)
        .chain(windows.arguments())
        .collect();
    run(name, threads, &arguments, &mut memory);
    memory.written::<R>(to)
}

fn compare<T: Value + WithDType>(is_double: bool) {
    let windows = random();
    let (pixels, outputs) = (
        windows.planes * windows.pixels(),
        windows.planes * windows.outputs(),
    );
    let images = values::<T>(pixels, true);
    let indices = max_indices(&windows, &images);
    let name = if is_double {
        "maxima_f64"
    } else {
        "maxima_f32"
    };
    let found: Vec<u32> = emulated(name, (outputs, outputs), &windows, &images, None);
    assert_eq!(found, indices, "{windows:?}");
    // In pooling, each window has a pixel.
    let pools = !indices.contains(&u32::MAX);
    for kernel in ALL {
        let picks = matches!(kernel, Kernel::Pick | Kernel::OfPick);
        if picks && !pools {
            continue;
        }
        let count = match kernel {
            Kernel::Patches | Kernel::Sums | Kernel::Pick => pixels,
            Kernel::OfPatches => outputs * windows.places(),
            Kernel::OfSums | Kernel::OfPick => outputs,
        };
        let from = values::<T>(count, false);
        let expected = kernel.on_cpu(&windows, &from, &indices);
        let indices = picks.then_some(&indices[..]);
        let sizes = (kernel.threads(&windows), expected.len());
        let found: Vec<T> = emulated(
            &format!(
                "{}_{}",
                kernel.name(),
                if is_double { "f64" } else { "f32" }
            ),
            sizes,
            &windows,
            &from,
            indices,
        );
        assert_eq!(found, expected, "{kernel:?} {windows:?}");
    }
}

#[test]
fn the_kernels_compute_each_element_once_and_as_the_cpu() {
    for seed in 0..60 {
        with_seed(seed, || compare::<f32>(false));
        with_seed(seed, || compare::<f64>(true));
    }
}

#[test]
fn the_first_of_equal_elements_is_the_maximum_and_nan_is_larger() {
    let windows = Windows {
        planes: 1,
        size: [1, 5],
        kernel: [1, 2],
        output: [1, 4],
        stride: [1, 1],
        dilation: [1, 1],
        padding: [0, 0],
    };
    let images = [3.0f32, 3.0, f32::NAN, 1.0, 2.0];
    assert_eq!(max_indices(&windows, &images), [0, 2, 2, 4]);
}
