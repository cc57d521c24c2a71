use super::*;

#[test]
fn products_follow_the_definition() {
    let values = |count: usize, by: usize| -> Vec<f64> {
        (0..count)
            .map(|i| ((i * by + 3) % 11) as f64 - 5.0)
            .collect()
    };
    for (i, &[rows, depth, columns]) in [
        [1, 1, 1],
        [3, 0, 5],
        [9, 17, 25],
        [8, 16, 48],
        [9, 520, 13],
        [3, 70, 40],
        [40, 33, 60],
        [1, 1100, 1],
        [5, 3, 131],
        [9, 514, 24],
        [2, 40, 131],
        [4, 513, 2],
    ]
    .iter()
    .enumerate()
    {
        // Miri interprets a thousand times slower.
        if cfg!(miri) && rows * depth * columns > 4500 {
            continue;
        }
        let (a, b) = (values(rows * depth, 7), values(depth * columns, 5));
        let bias = values(columns, 3);
        let bias = (i % 2 == 0).then_some(bias.as_slice());
        for transposed in [[false, false], [false, true], [true, false], [true, true]] {
            let matrix = |values, rows, columns, transposed| match transposed {
                false => Matrix::of_rows(values, columns),
                true => Matrix::of_rows(values, rows).transposed(),
            };
            let a = matrix(&a, rows, depth, transposed[0]);
            let b = matrix(&b, depth, columns, transposed[1]);
            let got = product([rows, depth, columns], a, b, bias);
            let at =
                |m: Matrix<f64>, row, column| m.values[row * m.row_step + column * m.column_step];
            for row in 0..rows {
                for column in 0..columns {
                    let sum: f64 = (0..depth).map(|k| at(a, row, k) * at(b, k, column)).sum();
                    let want = sum + bias.map_or(0.0, |bias| bias[column]);
                    assert_eq!(
                        got[row * columns + column],
                        want,
                        "{transposed:?} {row} {column}"
                    );
                }
            }
        }
    }
}

/// `product_to` adds to the present values; the other functions return the same as `product`.
#[test]
fn all_ways_to_multiply_agree() {
    let values = |count: usize| -> Vec<f32> { (0..count).map(|i| (i % 13) as f32 - 6.0).collect() };
    let sizes = if cfg!(miri) { [5, 7, 30] } else { [11, 37, 60] };
    let [rows, depth, columns] = sizes;
    let (a, b) = (values(rows * depth), values(depth * columns));
    let (a, b) = (Matrix::of_rows(&a, depth), Matrix::of_rows(&b, columns));
    let want = product(sizes, a, b, None);
    let mut sums = want.clone();
    product_to(sizes, a, b, &mut sums, true);
    assert!(sums.iter().zip(&want).all(|(sum, want)| *sum == 2.0 * want));
    assert_eq!(products(3, sizes, |_| [a, b]), want.repeat(3));
    let packed_by_closure = product_with(sizes, a, &|column, width, panel| {
        pack(b, column, width, panel);
    });
    assert_eq!(packed_by_closure, want);
    assert_eq!(Packed::new(b, depth, columns).product(rows, a, None), want);
}

/// The end of such a matrix wraps to an index within its values.
#[test]
fn a_matrix_whose_end_overflows_is_refused() {
    let (wide, values) = ((1 << 60) + 1, [1f32; 16]);
    let (a, b) = (Matrix::of_rows(&values, wide), Matrix::of_rows(&values, 16));
    let multiplied = std::panic::catch_unwind(|| product([16, wide, 16], a, b, None));
    assert!(multiplied.is_err());
}

fn integers(count: usize, by: usize) -> Vec<f32> {
    (0..count)
        .map(|i| (((i * by * 40_503) >> 8) % 7) as f32 - 3.0)
        .collect()
}

fn naive(sizes: [usize; 3], a: Matrix<f32>, b: Matrix<f32>) -> Vec<f32> {
    let [rows, depth, columns] = sizes;
    let at = |m: Matrix<f32>, row, column| m.values[row * m.row_step + column * m.column_step];
    let product = |i: usize| {
        let terms = (0..depth).map(|k| at(a, i / columns, k) * at(b, k, i % columns));
        terms.sum()
    };
    (0..rows * columns).map(product).collect()
}

/// Matrices none of whose steps is 1, and different ones for each product.
#[test]
fn strided_matrices_and_different_pairs_are_multiplied() {
    let sizes = [[7, 5, 61], [19, 20, 9]];
    for sizes in sizes.into_iter().take(if cfg!(miri) { 1 } else { 2 }) {
        let [rows, depth, columns] = sizes;
        let (a, b) = (
            integers(6 * rows * depth, 3),
            integers(6 * depth * columns, 5),
        );
        let pair = |i: usize| {
            let a = Matrix {
                values: &a[i..],
                row_step: 3 * depth,
                column_step: 2,
            };
            let b = Matrix {
                values: &b[2 * i..],
                row_step: 2 * columns,
                column_step: 2,
            };
            [a, b]
        };
        let want: Vec<f32> = (0..3)
            .flat_map(|i| {
                let [a, b] = pair(i);
                naive(sizes, a, b)
            })
            .collect();
        assert_eq!(products(3, sizes, pair), want);
    }
}

/// A left matrix of several parts that are copied, because its rows are not contiguous.
#[test]
fn a_matrix_with_many_columns_is_copied_by_all_tasks() {
    let sizes = if cfg!(miri) {
        [70, 2, 13]
    } else {
        [150, 5, 61]
    };
    let [rows, depth, columns] = sizes;
    let (a, b) = (integers(rows * depth, 3), integers(depth * columns, 5));
    let a = Matrix::of_rows(&a, rows).transposed();
    let b = Matrix::of_rows(&b, columns);
    assert_eq!(product(sizes, a, b, None), naive(sizes, a, b));
}

/// A product whose panels are packed in two turns, and one whose depth needs several passes, which add to what is there.
#[test]
fn many_panels_and_passes_follow_the_definition() {
    if cfg!(miri) {
        return;
    }
    for sizes in [[4, 2800, 790], [17, 1100, 50], [17, 1030, 96]] {
        let [rows, depth, columns] = sizes;
        let (a, b) = (integers(rows * depth, 3), integers(depth * columns, 5));
        let (a, b) = (Matrix::of_rows(&a, depth), Matrix::of_rows(&b, columns));
        let want = naive(sizes, a, b);
        assert!(product(sizes, a, b, None) == want, "{sizes:?}");
        let mut sums = integers(rows * columns, 2);
        let all: Vec<f32> = sums.iter().zip(&want).map(|(a, b)| a + b).collect();
        product_to(sizes, a, b, &mut sums, true);
        assert!(sums == all, "{sizes:?}");
    }
}

#[test]
fn a_packed_matrix_is_multiplied_with_a_bias() {
    let sizes = if cfg!(miri) { [5, 6, 61] } else { [9, 20, 131] };
    let [rows, depth, columns] = sizes;
    let (a, b) = (integers(rows * depth, 3), integers(depth * columns, 5));
    let (a, b) = (Matrix::of_rows(&a, depth), Matrix::of_rows(&b, columns));
    let bias = integers(columns, 4);
    let mut want = naive(sizes, a, b);
    want.iter_mut()
        .enumerate()
        .for_each(|(i, sum)| *sum += bias[i % columns]);
    assert_eq!(
        Packed::new(b, depth, columns).product(rows, a, Some(&bias)),
        want
    );
}
