//! Patches of images and windows of sequences; pixels moved between channels and places.

use super::select::added_parts;
use super::windows::Window;
use super::{Conv2dSpec, Pair, check};
use crate::device::Windows;
use crate::error::refuse;
use crate::tensor::{Axis, Raw, Tensor, moved};
use candle_core::{Device, Result};
use taper_macros::raises;

impl Tensor {
    methods! {
        /// Returns the windows of `size` elements along a dimension, each `step` elements after the one before it. The
        /// elements of a window are the last dimension.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let windows = arange(0, 5).unfold(0, 3, 1); // (3, 3)
        /// assert_eq!(windows.to_vec2::<i64>(), [[0, 1, 2], [1, 2, 3], [2, 3, 4]]);
        /// ```
        ///
        /// # Panics
        /// If `step` is 0, or the dimension has fewer than `size` elements.
        pub fn unfold(&self, dim: impl Into<Axis>, size: usize, step: usize) -> Tensor
            = windows(self, dim.into(), size, step);

        /// Returns images with `factor²` times fewer channels, and `factor` times the height and width: `(…, channels ·
        /// factor², height, width)` to `(…, channels, height · factor, width · factor)`.
        ///
        /// ```
        /// use taper::prelude::*;
        ///
        /// let x = arange(0, 4).reshape((1, 4, 1, 1)); // (1, 4, 1, 1)
        /// assert_eq!(x.pixel_shuffle(2).squeeze(0).to_vec3::<i64>(), [[[0, 1], [2, 3]]]);
        /// ```
        ///
        /// # Panics
        /// If the number of channels cannot be divided by `factor²`.
        pub fn pixel_shuffle(&self, factor: usize) -> Tensor = shuffled(self, factor);

        /// Undoes [`pixel_shuffle`](Self::pixel_shuffle).
        ///
        /// # Panics
        /// If height or width cannot be divided by `factor`.
        pub fn pixel_unshuffle(&self, factor: usize) -> Tensor = unshuffled(self, factor);
    }
}

functions! {
    /// Returns the patches of images over which a convolution with this kernel and these settings moves, one in each
    /// column: `(batch, channels, height, width)` to `(batch, channels · kernel height · kernel width, patches)`.
    ///
    /// # Panics
    /// If the kernel does not fit the images.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = arange(0.0, 9.0).reshape((1, 1, 3, 3)); // (1, 1, 3, 3)
    /// let patches = unfold(&x, 2, Conv2dSpec::new()); // (1, 4, 4)
    /// assert_eq!(patches.i((0, .., 0)).to_vec1::<f32>(), [0.0, 1.0, 3.0, 4.0]);
    /// ```
    pub fn unfold(x: &Tensor, kernel: impl Into<Pair>, settings: Conv2dSpec) = patches(x, kernel.into(), settings);

    /// Returns images of a size to which patches are added at their places: the sum where they overlap. It is the transpose
    /// of [`unfold`]: `(batch, channels · kernel height · kernel width, patches)` to `(batch, channels, height, width)`.
    ///
    /// # Panics
    /// If the number of patches does not fit the size.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let y = fold(&ones((1, 4, 4)), 3, 2, Conv2dSpec::new()); // (1, 1, 3, 3)
    /// assert_eq!(y.i((0, 0)).to_vec2::<f32>(), [[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]);
    /// ```
    pub fn fold(x: &Tensor, size: impl Into<Pair>, kernel: impl Into<Pair>, settings: Conv2dSpec) =
        joined(x, size.into(), kernel.into(), settings);
}

#[raises]
fn windows(x: &Tensor, dim: Axis, size: usize, step: usize) -> Result<Tensor> {
    if x.rank() == 0 {
        return Ok(windows(&x.reshape(1), dim, size, step).squeeze(0));
    }
    let dim = dim.of(&"unfold", x.raw())?;
    check::positive(&"unfold", &[("step", step)])?;
    let length = x.dims()[dim];
    refuse!(if size > length; argument("unfold", size);
        "windows of at most {length} elements, the size of dimension {dim}",
        "Choose a smaller window");
    let count = (length - size) / step + 1;
    let places = (0..count).flat_map(|i| (i * step..i * step + size).map(|place| place as i64));
    let all = x.index_select(&indices(places.collect(), x)?, dim);
    let mut shape = x.dims().to_vec();
    shape[dim] = size;
    shape.insert(dim, count);
    let order = (0..shape.len()).filter(|i| *i != dim + 1).chain([dim + 1]);
    let order = order.collect::<Vec<_>>();
    Ok(all.reshape(shape).permute(order))
}

fn indices(places: Vec<i64>, x: &Tensor) -> Result<Tensor> {
    let count = places.len();
    moved(&Raw::from_vec(places, count, &Device::Cpu)?, x.device()).map(Tensor::from_raw)
}

#[raises]
fn shuffled(x: &Tensor, factor: usize) -> Result<Tensor> {
    let (before, [channels, height, width]) = as_images("pixel_shuffle", x)?;
    let square = factor.saturating_mul(factor);
    refuse!(if square == 0 || !channels.is_multiple_of(square);
        shape("pixel_shuffle", x.dims());
        "a multiple of {square} channels",
        "The factor squared must divide the number of channels");
    let c = channels / square;
    let y = x.reshape([&before[..], &[c, factor, factor, height, width]].concat());
    Ok(reordered(&y, before.len(), [0, 3, 1, 4, 2])
        .reshape([&before[..], &[c, height * factor, width * factor]].concat()))
}

#[raises]
fn unshuffled(x: &Tensor, factor: usize) -> Result<Tensor> {
    let (before, [channels, height, width]) = as_images("pixel_unshuffle", x)?;
    refuse!(if factor == 0 || !height.is_multiple_of(factor) || !width.is_multiple_of(factor);
        shape("pixel_unshuffle", x.dims());
        "a height and width that are multiples of {factor}", "The factor must divide both");
    let (rows, columns) = (height / factor, width / factor);
    let y = x.reshape([&before[..], &[channels, rows, factor, columns, factor]].concat());
    Ok(reordered(&y, before.len(), [0, 2, 4, 1, 3]).reshape(
        [
            &before[..],
            &[
                channels.saturating_mul(factor.saturating_mul(factor)),
                rows,
                columns,
            ],
        ]
        .concat(),
    ))
}

/// Returns the dimensions before the last three, and these.
fn as_images(caller: &str, x: &Tensor) -> Result<(Vec<usize>, [usize; 3])> {
    match x.dims() {
        [before @ .., channels, height, width] => {
            Ok((before.to_vec(), [*channels, *height, *width]))
        }
        dims => refuse!(shape(caller, dims);
            "images (…, channels, height, width)", "Add dimensions of size 1 with unsqueeze(dim)"),
    }
}

/// Returns the dimensions from the first `before` on in another order.
fn reordered(x: &Tensor, before: usize, order: [usize; 5]) -> Tensor {
    let order = (0..before).chain(order.map(|i| before + i));
    x.permute(order.collect::<Vec<_>>())
}

/// Returns the windows over padded images, and how many rows and columns the padding adds before and after them.
fn grid(
    caller: &str,
    image: [usize; 2],
    kernel: Pair,
    settings: &Conv2dSpec,
    x: &Tensor,
) -> Result<(Windows, [[usize; 2]; 2])> {
    let sizes = [
        ("kernel", kernel.least()),
        ("stride", settings.stride.least()),
        ("dilation", settings.dilation.least()),
    ];
    check::positive(&caller, &sizes)?;
    let kernel = kernel.both();
    let added = settings.added(&caller, kernel)?;
    let window = Window {
        padding: [0; 2],
        ..settings.window(kernel)
    };
    let extent = window.extent();
    let padded = [0, 1].map(|i| {
        let [before, after] = added[i];
        before.saturating_add(after).saturating_add(image[i])
    });
    refuse!(if padded[0] < extent[0] || padded[1] < extent[1];
        argument(caller, format_args!("{kernel:?}, dilated to {extent:?}"));
        "a kernel within padded images of {padded:?}",
        "Choose a smaller kernel or dilation, or more padding");
    check::output(&caller, &padded, x.raw())?;
    let windows = window.over(1, padded, false);
    // An index has up to twice the bytes of an element.
    check::output(&caller, &[2, windows.places(), windows.outputs()], x.raw())?;
    Ok((windows, added))
}

/// Returns the indices in its plane of the pixels of all windows, which have no padding.
fn places(windows: &Windows, x: &Tensor) -> Result<Tensor> {
    let places = windows.all_pixels().flatten();
    indices(places.map(|place| place as i64).collect(), x)
}

/// Returns the pixels of each window over images without padding, as (batch, channels, pixels, windows).
pub(super) fn pixels_of(x: &Tensor, windows: &Windows) -> Result<Tensor> {
    let (batch, channels, ..) = x.dims4();
    let pixels = x.flatten(2, 3).index_select(&places(windows, x)?, 2);
    Ok(pixels.reshape((batch, channels, windows.places(), windows.outputs())))
}

#[raises]
fn patches(x: &Tensor, kernel: Pair, settings: Conv2dSpec) -> Result<Tensor> {
    let (.., height, width) = check::images(&"unfold", x.raw())?;
    let (windows, added) = grid("unfold", [height, width], kernel, &settings, x)?;
    let [[top, bottom], [left, right]] = added;
    let padded = x
        .pad_with_zeros(2, top, bottom)
        .pad_with_zeros(3, left, right);
    Ok(pixels_of(&padded, &windows)?.flatten(1, 2))
}

#[raises]
fn joined(x: &Tensor, size: Pair, kernel: Pair, settings: Conv2dSpec) -> Result<Tensor> {
    let (batch, features, count) = check::sequences(&"fold", x.raw())?;
    let (windows, added) = grid("fold", size.both(), kernel, &settings, x)?;
    let (pixels_each, patches) = (windows.places(), windows.outputs());
    refuse!(if patches != count || !features.is_multiple_of(pixels_each);
        shape("fold", x.dims());
        "(batch, channels · {pixels_each}, {patches}) for images of {size} and this kernel",
        "Pass what unfold returns for the same size, kernel and settings");
    let channels = features / pixels_each;
    let ([rows, columns], [height, width]) = (windows.size, size.both());
    let pixels = x.reshape((batch, channels, pixels_each * patches));
    let shape = [batch, channels, rows * columns];
    let images = added_parts(pixels.raw(), places(&windows, x)?.raw(), &shape, 2)?;
    let images = Tensor::from_raw(images).reshape((batch, channels, rows, columns));
    let [[top, _], [left, _]] = added;
    Ok(images.narrow(2, top, height).narrow(3, left, width))
}
