use super::*;

#[test]
fn elements_are_copied_and_added_where_the_strides_say() {
    let values: Vec<i32> = (0..6).collect();
    assert_eq!(copied(&values, &[3, 2], &[1, 3], &[]), [0, 3, 1, 4, 2, 5]);
    assert_eq!(copied(&values, &[2, 3], &[3, 1], &[1]), [2, 1, 0, 5, 4, 3]);
    let mut out = vec![10; 6];
    add(&values, &[3, 2], &[1, 3], &mut out, &[2, 1]);
    assert_eq!(out, [10, 13, 11, 14, 12, 15]);
}

#[test]
fn places_that_overlap_or_are_outside_panic() {
    let add = |sizes: &[usize], strides: &[usize]| {
        let mut out = vec![0; 6];
        add(&[1; 6], sizes, &[0, 0], &mut out, strides);
    };
    for (sizes, strides) in [([2, 3], [2, 1]), ([6, 2], [1, 0]), ([2, 4], [4, 1])] {
        let added = std::panic::catch_unwind(|| add(&sizes, &strides));
        assert!(added.is_err(), "{sizes:?} {strides:?}");
    }
    add(&[2, 3], &[1, 2]);
}

/// Returns the index of each element, in the order of the sizes.
fn indices(sizes: &[usize]) -> impl Iterator<Item = Vec<usize>> {
    let steps = in_order_of(sizes);
    (0..sizes.iter().product()).map(move |i| {
        let of_dim = steps.iter().zip(sizes).map(|(step, size)| i / step % size);
        of_dim.collect()
    })
}

fn place(index: &[usize], strides: &[usize]) -> usize {
    index.iter().zip(strides).map(|(i, step)| i * step).sum()
}

/// Sizes near the sizes of squares, tiles and blocks, in all orders of the dimensions, one of them broadcast or not.
#[test]
fn copies_follow_the_definition() {
    let cases: &[[usize; 3]] = match cfg!(miri) {
        true => &[[2, 5, 18]],
        false => &[
            [3, 5, 18],
            [2, 17, 9],
            [1, 40, 33],
            [3, 130, 40],
            [1, 2, 8300],
        ],
    };
    let orders = [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
    ];
    for sizes in cases {
        for order in orders {
            let mut strides = [0; 3];
            let ordered = in_order_of(&order.map(|dim| sizes[dim]));
            order
                .iter()
                .zip(ordered)
                .for_each(|(dim, step)| strides[*dim] = step);
            for broadcast in [None, Some(0), Some(1), Some(2)] {
                let mut strides = strides;
                if let Some(dim) = broadcast {
                    strides[dim] = 0;
                }
                let values: Vec<u32> = (0..sizes.iter().product::<usize>() as u32).collect();
                for reversed in [&[][..], &[2], &[1], &[0, 2], &[0, 1, 2]] {
                    let want = indices(sizes).map(|mut index| {
                        reversed
                            .iter()
                            .for_each(|dim| index[*dim] = sizes[*dim] - 1 - index[*dim]);
                        values[place(&index, &strides)]
                    });
                    let got = copied(&values, sizes, &strides, reversed);
                    assert!(
                        got.into_iter().eq(want),
                        "{sizes:?} {strides:?} {reversed:?}"
                    );
                }
                let out_strides = [2 * sizes[1] * sizes[2] + 5, sizes[2] + 1, 1];
                let mut want = vec![1; sizes[0] * out_strides[0] + sizes[1] * out_strides[1]];
                let mut got = want.clone();
                add(&values, sizes, &strides, &mut got, &out_strides);
                for index in indices(sizes) {
                    want[place(&index, &out_strides)] += values[place(&index, &strides)];
                }
                assert!(got == want, "{sizes:?} {strides:?}");
            }
        }
    }
}

#[test]
fn an_even_step_leads_from_each_element_to_the_next() {
    assert_eq!(even_step(&[2, 3, 4], &[24, 8, 2]), Some(2));
    assert_eq!(even_step(&[2, 1, 4], &[4, 9, 1]), Some(1));
    assert_eq!(even_step(&[2, 3, 4], &[8, 8, 2]), None);
    assert_eq!(even_step(&[3, 4], &[1, 3]), None);
    assert_eq!(even_step(&[], &[]), Some(1));
}
