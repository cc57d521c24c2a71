use super::*;

/// Returns values whose mean is not 0: the two values of a mean then differ in their digits.
fn values(count: usize, by: usize) -> Vec<f32> {
    let value = |i: usize| (i * by % 17) as f32 * 0.25 + 1.3;
    (0..count).map(value).collect()
}

fn assert_near(got: impl IntoIterator<Item = f32>, want: &[f64], what: &str) {
    let got: Vec<f32> = got.into_iter().collect();
    assert_eq!(got.len(), want.len(), "{what}");
    for (got, want) in got.iter().zip(want) {
        let off = (f64::from(*got) - want).abs();
        assert!(
            off <= 2e-5 * want.abs().max(1.0),
            "{what}: {got} is not {want}"
        );
    }
}

/// Batches that are matrices, planes, and of one example, compared with loops in `f64`.
#[test]
fn the_kernels_follow_the_definition() {
    let sizes = [
        [6, 3, 5],
        [2, 3, 10],
        [1, 4, 3],
        [7, 5, 3],
        [64, 2, 1],
        [3, 1, 40],
        [150, 130, 1],
    ];
    for [batch, channels, area] in sizes.into_iter().take(if cfg!(miri) { 3 } else { 7 }) {
        let layout = Layout {
            batch,
            channels,
            area,
        };
        let what = format!("{batch} {channels} {area}");
        let count = batch * channels * area;
        let (x, g) = (values(count, 5), values(count, 7));
        let channel = |i: usize| i / area % channels;
        let per_channel = (batch * area) as f64;
        let sums = |term: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let mut sums = vec![0.0; channels];
            (0..count).for_each(|i| sums[channel(i)] += term(i));
            sums
        };
        let at = |values: &[f32], i: usize| f64::from(values[i]);
        let mut mean = sums(&|i| at(&x, i));
        mean.iter_mut().for_each(|mean| *mean /= per_channel);
        let mut variance = sums(&|i| (at(&x, i) - mean[channel(i)]).powi(2));
        variance
            .iter_mut()
            .for_each(|variance| *variance /= per_channel);
        let (means, variances) = layout.statistics(&x);
        let parts = means.iter().map(|[near, rest]| near + rest);
        assert_near(parts, &mean, &what);
        assert_near(variances, &variance, &what);

        // A mean of two parts far apart: both have to be subtracted.
        let near: Vec<[f32; 2]> = (0..channels)
            .map(|c| [1.0 + c as f32 * 0.5, 0.75])
            .collect();
        let factors: Vec<[f32; 2]> = (0..channels).map(|c| [1.0 - c as f32, 0.4]).collect();
        let passes = |i: usize| {
            let ([near, _], [factor, offset]) = (near[channel(i)], factors[channel(i)]);
            scaled(x[i], [near, factor, offset]) > 0.0
        };
        let deviation = |i: usize| at(&x, i) - near[channel(i)].map(f64::from).iter().sum::<f64>();
        for with_relu in [false, true] {
            let g_of = |i: usize| {
                if !with_relu || passes(i) {
                    at(&g, i)
                } else {
                    0.0
                }
            };
            let got = layout.gradient_sums(&g, &x, &near, with_relu.then_some(&factors));
            assert_near(got.iter().map(|sums| sums[0]), &sums(&g_of), &what);
            let products = sums(&|i| g_of(i) * deviation(i));
            assert_near(got.iter().map(|sums| sums[1]), &products, &what);

            let of_channel = |c: usize| [near[c][0], factors[c][0], factors[c][1]];
            let want = |i: usize| {
                let [near, factor, offset] = of_channel(channel(i)).map(f64::from);
                let y = (at(&x, i) - near) * factor + offset;
                if with_relu { y.max(0.0) } else { y }
            };
            let want: Vec<f64> = (0..count).map(want).collect();
            assert_near(layout.scaled(&x, with_relu, of_channel), &want, &what);

            let of_channel = |c: usize| {
                let [near, factor, shift] = of_channel(c);
                [near, factor, 0.3 + c as f32, -0.7, shift]
            };
            let want = |i: usize| {
                let [near, factor, slope, offset, _] = of_channel(channel(i)).map(f64::from);
                g_of(i) * factor + (at(&x, i) - near) * slope + offset
            };
            let want: Vec<f64> = (0..count).map(want).collect();
            assert_near(layout.combined(&g, &x, with_relu, of_channel), &want, &what);
        }
    }
}
