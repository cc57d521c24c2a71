use super::*;

/// Small integers, so that the sums are exact in any order.
fn integers(count: usize, factor: usize) -> Vec<f32> {
    let value = |i: usize| (i * factor % 7) as f32 - 3.0;
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
fn check(geometry: &Geometry) {
    let Geometry { from, to, .. } = *geometry;
    let planes = geometry.batch * geometry.groups;
    let channels = geometry.groups * to.channels;
    let x = integers(planes * from.elements(), 3);
    let g = integers(planes * to.elements(), 5);
    let kernel = geometry.kernel[0] * geometry.kernel[1];
    let weight = integers(channels * from.channels * kernel, 4);
    let bias = integers(channels, 2);
    let plane = to.height * to.width;
    let mut y: Vec<f32> = (0..g.len()).map(|i| bias[i / plane % channels]).collect();
    let mut of_bias = vec![0.0; channels];
    for (i, g) in g.iter().enumerate() {
        of_bias[i / plane % channels] += g;
    }
    let (mut of_x, mut of_weight) = (vec![0.0; x.len()], vec![0.0; weight.len()]);
    products(geometry, |i, j, k| {
        y[i] += x[j] * weight[k];
        of_x[j] += g[i] * weight[k];
        of_weight[k] += g[i] * x[j];
    });
    assert_eq!(
        convolve(geometry, &x, &weight, Epilogue::plus(Some(&bias))),
        y,
        "{geometry:?}"
    );
    assert_eq!(
        transposed(geometry, &g, &weight, None),
        of_x,
        "{geometry:?}"
    );
    let gradients = weight_gradient(geometry, &x, &g);
    assert_eq!(gradients, (of_weight, of_bias), "{geometry:?}");
}

/// Each of these settings is computed by another method, or with another length of vectors.
#[test]
fn convolutions_and_their_gradients_follow_the_definition() {
    for (images, weight, groups, settings) in [
        ([2, 3, 7, 9], [4, 3, 3, 3], 1, [[1, 1], [1, 1], [1, 1]]),
        ([1, 2, 9, 20], [3, 2, 3, 2], 1, [[2, 3], [1, 1], [1, 0]]),
        ([1, 4, 8, 6], [6, 2, 2, 3], 2, [[1, 2], [2, 1], [2, 1]]),
        ([2, 3, 9, 18], [3, 1, 3, 3], 3, [[1, 1], [1, 1], [1, 1]]),
        ([1, 2, 3, 3], [2, 1, 3, 3], 2, [[1, 1], [1, 1], [1, 1]]),
        ([5, 16, 4, 4], [33, 16, 3, 3], 1, [[1, 1], [1, 1], [1, 1]]),
        ([2, 3, 5, 5], [20, 3, 1, 1], 1, [[1, 1], [1, 1], [0, 0]]),
    ] {
        let geometry = Geometry::new(images, weight, groups, settings);
        // Miri interprets a thousand times slower.
        if !cfg!(miri) || geometry.multiply_adds() < 20_000 {
            check(&geometry);
        }
    }
}

#[test]
#[should_panic(expected = "at most as large as the padded images")]
fn a_kernel_larger_than_the_images_is_refused() {
    Geometry::new([1, 1, 2, 2], [1, 1, 3, 3], 1, [[1; 2], [1; 2], [0; 2]]);
}
