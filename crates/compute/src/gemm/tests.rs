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
    ]
    .iter()
    .enumerate()
    {
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
    let sizes = [11, 37, 60];
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
