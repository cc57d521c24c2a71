use super::*;

/// Small integers, so that the sums are exact in any order. They do not repeat, so a wrong plane has other values.
fn integers<T: Float>(count: usize, factor: usize) -> Vec<T> {
    let value = |i: usize| T::of((((i * factor * 40_503) >> 8) % 7) as f64 - 3.0);
    (0..count).map(value).collect()
}

/// Calls `visit` with the indices of each product of the definition: of the output, of the input and of the weight.
fn products(geometry: &Geometry, mut visit: impl FnMut(usize, usize, usize)) {
    let Geometry { from, to, .. } = *geometry;
    let [rows, columns] = geometry.kernel;
    let place = |i: usize, at: usize, tap: usize, size: usize| {
        let place = (at * geometry.stride[i] + tap * geometry.dilation[i]) as isize;
        usize::try_from(place - geometry.padding[i])
            .ok()
            .filter(|place| *place < size)
    };
    for y in 0..geometry.batch * geometry.groups * to.elements() {
        let (plane, at) = (y / (to.height * to.width), y % (to.height * to.width));
        let (group, out) = (plane / to.channels, plane % to.channels);
        for tap in 0..from.channels * rows * columns {
            let (channel, row, column) =
                (tap / (rows * columns), tap / columns % rows, tap % columns);
            let row = place(0, at / to.width, row, from.height);
            let column = place(1, at % to.width, column, from.width);
            if let (Some(row), Some(column)) = (row, column) {
                let plane = group * from.channels + channel;
                let x = (plane * from.height + row) * from.width + column;
                let kernel = group % geometry.groups * to.channels + out;
                visit(y, x, kernel * from.channels * rows * columns + tap);
            }
        }
    }
}

/// Compares the convolution, its gradients and its transpose with the definition.
fn check<T: Float>(geometry: &Geometry) {
    let Geometry { from, to, .. } = *geometry;
    let planes = geometry.batch * geometry.groups;
    let channels = geometry.groups * to.channels;
    let x: Vec<T> = integers(planes * from.elements(), 3);
    let g: Vec<T> = integers(planes * to.elements(), 5);
    let kernel = geometry.kernel[0] * geometry.kernel[1];
    let weight: Vec<T> = integers(channels * from.channels * kernel, 4);
    let [bias, bias_of_x] =
        [channels, geometry.groups * from.channels].map(|n| integers::<T>(n, 2));
    let (plane, plane_of_x) = (to.height * to.width, from.height * from.width);
    let channel = |i: usize| i / plane % channels;
    let mut y: Vec<T> = (0..g.len()).map(|i| bias[channel(i)]).collect();
    let mut of_bias = vec![T::ZERO; channels];
    for (i, g) in g.iter().enumerate() {
        of_bias[channel(i)] += *g;
    }
    let (mut of_x, mut of_weight) = (vec![T::ZERO; x.len()], vec![T::ZERO; weight.len()]);
    products(geometry, |i, j, k| {
        y[i] += x[j] * weight[k];
        of_x[j] += g[i] * weight[k];
        of_weight[k] += g[i] * x[j];
    });
    let same = |got: &[T], want: &[T], what: &str| assert!(got == want, "{what} of {geometry:?}");
    let norm: Vec<[T; 3]> = (0..channels)
        .map(|i| [i as f64 - 1.0, 0.5, 2.0].map(T::of))
        .collect();
    let epilogues = [
        (Some(&norm[..]), true),
        (None, false),
        (Some(&norm[..]), false),
        (None, true),
    ];
    for (norm, relu) in epilogues.into_iter().take(if cfg!(miri) { 1 } else { 4 }) {
        let follows = |(i, y): (usize, &T)| {
            let y = norm.map_or(*y, |norm| {
                let [near, factor, offset] = norm[channel(i)];
                (*y - near) * factor + offset
            });
            if relu && y < T::ZERO { T::ZERO } else { y }
        };
        let want: Vec<T> = y.iter().enumerate().map(follows).collect();
        let bias = Some(&bias[..]);
        let got = convolve(geometry, &x, &weight, Epilogue { bias, norm, relu });
        same(&got, &want, "the convolution");
    }
    same(
        &transposed(geometry, &g, &weight, None),
        &of_x,
        "the gradient",
    );
    let transpose = transposed(geometry, &g, &weight, Some(&bias_of_x));
    for (i, of_x) in of_x.iter_mut().enumerate() {
        *of_x += bias_of_x[i / plane_of_x % bias_of_x.len()];
    }
    same(&transpose, &of_x, "the transpose");
    let (weights, sums) = weight_gradient(geometry, &x, &g);
    same(&weights, &of_weight, "the weights' gradient");
    same(&sums, &of_bias, "the bias' gradient");
}

type Setting = ([usize; 4], [usize; 4], usize, [[usize; 2]; 3]);

fn check_all(settings: &[Setting]) {
    for (images, weight, groups, settings) in settings {
        let geometry = Geometry::new(*images, *weight, *groups, *settings);
        // Miri interprets a thousand times slower.
        if !cfg!(miri) || geometry.multiply_adds() < 2_100 {
            check::<f32>(&geometry);
        }
        if !cfg!(miri) {
            check::<f64>(&geometry);
        }
    }
}

/// Each of these settings is computed by another method, or with another length of vectors.
#[test]
fn convolutions_and_their_gradients_follow_the_definition() {
    check_all(&[
        ([1, 3, 4, 5], [4, 3, 3, 3], 1, [[1, 1], [1, 1], [1, 1]]),
        ([1, 4, 3, 4], [5, 4, 2, 2], 1, [[1, 1], [1, 1], [0, 0]]),
        ([1, 4, 3, 3], [32, 4, 2, 2], 1, [[1, 1], [1, 1], [0, 0]]),
        ([2, 3, 7, 9], [4, 3, 3, 3], 1, [[1, 1], [1, 1], [1, 1]]),
        ([1, 2, 9, 20], [3, 2, 3, 2], 1, [[2, 3], [1, 1], [1, 0]]),
        ([1, 4, 8, 6], [6, 2, 2, 3], 2, [[1, 2], [2, 1], [2, 1]]),
        ([2, 3, 9, 18], [3, 1, 3, 3], 3, [[1, 1], [1, 1], [1, 1]]),
        ([1, 2, 3, 3], [2, 1, 3, 3], 2, [[1, 1], [1, 1], [1, 1]]),
        ([5, 16, 4, 4], [33, 16, 3, 3], 1, [[1, 1], [1, 1], [1, 1]]),
        ([2, 3, 5, 5], [20, 3, 1, 1], 1, [[1, 1], [1, 1], [0, 0]]),
    ]);
}

/// Images in several chunks, groups, and settings that differ between rows and columns.
#[test]
fn rows_and_columns_have_settings_of_their_own() {
    check_all(&[
        ([3, 6, 70, 21], [10, 3, 3, 2], 2, [[1, 1], [1, 3], [2, 0]]),
        ([1, 3, 23, 31], [5, 3, 4, 5], 1, [[3, 2], [2, 1], [0, 3]]),
        ([2, 2, 17, 40], [3, 2, 2, 3], 1, [[4, 3], [1, 2], [0, 1]]),
        ([1, 1, 9, 8], [1, 1, 2, 2], 1, [[3, 4], [1, 1], [0, 0]]),
        ([2, 5, 40, 19], [37, 5, 3, 2], 1, [[1, 2], [1, 1], [1, 0]]),
        ([3, 10, 12, 11], [80, 5, 2, 3], 2, [[1, 1], [2, 1], [0, 2]]),
        ([37, 2, 5, 12], [3, 2, 2, 3], 1, [[1, 1], [1, 1], [0, 1]]),
    ]);
}

/// More images than fit into the scratch memory of a task at once: their sums are added.
#[test]
fn the_weights_gradient_adds_all_images() {
    let settings = [[1, 1], [1, 1], [0, 0]];
    let geometry = Geometry::new([40, 2, 160, 170], [2, 2, 1, 2], 1, settings);
    if !cfg!(miri) {
        check::<f32>(&geometry);
    }
}

/// Where each channel has a kernel of its own: wide and small images, and more rows than a tile has.
#[test]
fn single_channels_follow_the_definition() {
    check_all(&[
        ([2, 20, 30, 35], [20, 1, 3, 3], 20, [[1, 1], [1, 1], [1, 1]]),
        ([1, 3, 90, 60], [3, 1, 5, 7], 3, [[1, 1], [1, 2], [2, 0]]),
        ([2, 3, 21, 30], [3, 1, 3, 4], 3, [[2, 3], [1, 1], [1, 0]]),
        ([2, 3, 6, 5], [3, 1, 2, 2], 3, [[1, 1], [2, 1], [0, 1]]),
        ([2, 4, 3, 6], [4, 1, 2, 3], 4, [[2, 1], [1, 1], [0, 1]]),
        ([3, 5, 4, 3], [5, 1, 3, 2], 5, [[1, 2], [1, 1], [1, 0]]),
    ]);
}

/// Narrow images with many channels, whose patches are the columns of a product.
#[test]
fn narrow_images_follow_the_definition() {
    check_all(&[
        ([3, 24, 5, 6], [66, 12, 3, 2], 2, [[1, 1], [1, 2], [2, 1]]),
        ([2, 16, 9, 11], [34, 16, 3, 3], 1, [[2, 2], [1, 1], [1, 0]]),
        ([4, 16, 7, 13], [32, 16, 2, 3], 1, [[1, 3], [2, 1], [0, 1]]),
    ]);
}

/// Kernels of 3×3 with many channels, whose transforms are exact for small integers.
#[test]
fn transformed_kernels_follow_the_definition() {
    check_all(&[
        (
            [2, 96, 15, 14],
            [104, 48, 3, 3],
            2,
            [[1, 1], [1, 1], [1, 0]],
        ),
        (
            [1, 50, 19, 26],
            [140, 50, 3, 3],
            1,
            [[1, 1], [1, 1], [0, 2]],
        ),
    ]);
}

/// The transforms with too few channels for them to be chosen, in groups, forward and rotated.
#[test]
fn small_transformed_kernels_follow_the_definition() {
    let settings = [[1, 1], [1, 1], [1, 0]];
    let geometry = Geometry::new([2, 4, 5, 6], [6, 2, 3, 3], 2, settings);
    let planes = geometry.batch * geometry.groups;
    let x: Vec<f32> = integers(planes * geometry.from.elements(), 3);
    let g: Vec<f32> = integers(planes * geometry.to.elements(), 5);
    let weight: Vec<f32> = integers(6 * 2 * 9, 4);
    let (mut y, mut of_x) = (vec![0.0; g.len()], vec![0.0; x.len()]);
    products(&geometry, |i, j, k| {
        y[i] += x[j] * weight[k];
        of_x[j] += g[i] * weight[k];
    });
    let none = Epilogue::plus(None);
    assert_eq!(winograd::convolve(&geometry, &x, &weight, false, none), y);
    let backward = geometry.backward();
    assert_eq!(winograd::convolve(&backward, &g, &weight, true, none), of_x);
}

/// A pixel that is infinite or far larger than the others reaches only the outputs that it meets.
#[test]
fn a_pixel_reaches_only_the_outputs_that_it_meets() {
    if cfg!(miri) {
        return;
    }
    for (images, weight, groups, settings) in [
        ([1, 48, 20, 20], [48, 48, 3, 3], 1, [[1, 1], [1, 1], [1, 1]]),
        ([1, 3, 9, 20], [4, 3, 3, 2], 1, [[2, 1], [1, 3], [1, 2]]),
    ] {
        let geometry = Geometry::new(images, weight, groups, settings);
        let planes = geometry.batch * geometry.groups;
        let mut x: Vec<f32> = integers(planes * geometry.from.elements(), 3);
        let g: Vec<f32> = integers(planes * geometry.to.elements(), 5);
        let kernels: usize = weight.iter().product();
        let weight: Vec<f32> = integers(kernels, 4)
            .iter()
            .map(|w: &f32| w * 0.37)
            .collect();
        for large in [1e30, f32::INFINITY] {
            x[4] = large;
            let (mut y, mut of_weight) = (vec![0f64; g.len()], vec![0f64; kernels]);
            products(&geometry, |i, j, k| {
                y[i] += f64::from(x[j]) * f64::from(weight[k]);
                of_weight[k] += f64::from(g[i]) * f64::from(x[j]);
            });
            let got = convolve(&geometry, &x, &weight, Epilogue::plus(None));
            assert_near(&got, &y);
            assert_near(&weight_gradient(&geometry, &x, &g).0, &of_weight);
        }
    }
}

fn assert_near(got: &[f32], want: &[f64]) {
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        let off = (f64::from(*got) - want).abs();
        let same = *want == f64::from(*got) || want.is_nan() && got.is_nan();
        assert!(
            same || off <= 1e-4 * want.abs().max(1.0),
            "{i}: {got} is not {want}"
        );
    }
}

#[test]
#[should_panic(expected = "at most as large as the padded images")]
fn a_kernel_larger_than_the_images_is_refused() {
    Geometry::new([1, 1, 2, 2], [1, 1, 3, 3], 1, [[1; 2], [1; 2], [0; 2]]);
}
