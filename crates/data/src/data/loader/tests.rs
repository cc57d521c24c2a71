use super::*;
use crate::data::TensorDataset;
use crate::error::Error;
use crate::tensor::Tensor;
use crate::tensor::{arange, rand, with_seed, zeros};
use std::sync::atomic::{AtomicUsize, Ordering};

fn numbers(n: i64) -> TensorDataset {
    let numbers = arange(0, n);
    TensorDataset::new(numbers.clone(), numbers).unwrap()
}

fn read(loader: &DataLoader) -> Vec<Vec<i64>> {
    let batches = loader.into_iter().map(|batch| batch.unwrap().x);
    batches.map(|x| x.to_vec1()).collect()
}

/// Counts the requested batches, returns random values, and fails at the example `fails_at`.
struct Noisy {
    asked: Arc<AtomicUsize>,
    fails_at: usize,
}

impl Noisy {
    fn new() -> Self {
        Noisy {
            asked: Arc::default(),
            fails_at: usize::MAX,
        }
    }
}

impl Dataset for Noisy {
    fn len(&self) -> usize {
        100
    }

    fn get(&self, indices: &[usize]) -> Result<Batch> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if indices.contains(&self.fails_at) {
            return Err(Error::msg(format_args!(
                "example {} is torn",
                self.fails_at
            )));
        }
        let x = rand((indices.len(), 2));
        Ok(Batch { y: x.clone(), x })
    }
}

#[test]
fn batches_come_in_order_and_the_last_is_smaller() {
    let loader = DataLoader::new(numbers(5)).batch_size(2);
    for prefetch in [0, 1, 2, 10] {
        let loader = loader.clone().prefetch(prefetch);
        assert_eq!(read(&loader), [vec![0, 1], vec![2, 3], vec![4]]);
        assert_eq!(read(&loader.drop_last(true)), [[0, 1], [2, 3]]);
    }
}

#[test]
fn a_seed_fixes_order_and_noise_for_every_prefetch() {
    let run = |prefetch| -> (Vec<Vec<i64>>, Vec<Vec<f32>>, f32) {
        let shuffled = DataLoader::new(numbers(20)).batch_size(8).shuffle(true);
        let noisy = DataLoader::new(Noisy::new()).prefetch(prefetch);
        let order = read(&shuffled.prefetch(prefetch));
        let noise = noisy.into_iter().map(|batch| {
            let x: Tensor = batch.unwrap().x;
            // Random values drawn in the loop must not change those drawn on the thread.
            rand(3);
            x.to_vec()
        });
        let noise = noise.collect();
        let after: f32 = rand(()).to_scalar();
        (order, noise, after)
    };
    // A seeded generator: tests on other threads draw from the program's generator.
    let run = |prefetch| with_seed(7, || run(prefetch));
    let expected = run(0);
    assert_ne!(expected.0[0], [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_ne!(expected.1[0], expected.1[1]);
    for prefetch in [1, 3] {
        assert_eq!(run(prefetch), expected);
    }
}

#[test]
fn each_loop_shuffles_the_same_examples_differently() {
    let loader = DataLoader::new(numbers(50)).batch_size(50).shuffle(true);
    let (first, second) = (read(&loader), read(&loader));
    assert_ne!(first, second);
    let mut sorted = second[0].clone();
    sorted.sort_unstable();
    assert_eq!(sorted, (0..50).collect::<Vec<i64>>());
}

#[test]
fn an_error_replaces_its_batch_and_ends_the_loop() {
    for prefetch in [0, 2] {
        let data = Noisy {
            fails_at: 25,
            ..Noisy::new()
        };
        let loader = DataLoader::new(data).batch_size(10).prefetch(prefetch);
        let batches: Vec<_> = loader.into_iter().collect();
        assert_eq!(batches.len(), 3);
        assert!(batches[0].is_ok() && batches[1].is_ok());
        let message = batches[2].as_ref().unwrap_err().to_string();
        assert!(message.contains("example 25 is torn"), "{message}");
    }
}

#[test]
fn leaving_a_loop_early_stops_its_thread() {
    let data = Noisy::new();
    let asked = data.asked.clone();
    let loader = DataLoader::new(data).batch_size(1).prefetch(3);
    let mut batches = loader.into_iter();
    batches.next().unwrap().unwrap();
    drop(batches);
    let after = asked.load(Ordering::SeqCst);
    assert!(after <= 5, "{after}");
    // The thread has ended and dropped the data set, which held the other reference to the counter.
    assert_eq!(Arc::strong_count(&asked), 1);
}

#[test]
fn a_panic_in_the_data_set_becomes_an_error() {
    struct Broken;
    impl Dataset for Broken {
        fn len(&self) -> usize {
            3
        }

        fn get(&self, _: &[usize]) -> Result<Batch> {
            panic!("this test panics on purpose")
        }
    }
    let mut batches = DataLoader::new(Broken).into_iter();
    let message = batches.next().unwrap().unwrap_err().to_string();
    assert!(
        message.starts_with("DataLoader: the data set panicked"),
        "{message}"
    );
    assert!(batches.next().is_none());
}

/// The error is the loop's, whichever thread makes the batches.
#[test]
fn a_wrong_shape_in_the_data_set_becomes_its_error() {
    struct Wrong;
    impl Dataset for Wrong {
        fn len(&self) -> usize {
            3
        }

        fn get(&self, _: &[usize]) -> Result<Batch> {
            let x = zeros(2) + zeros(3);
            Ok(Batch { y: x.clone(), x })
        }
    }
    for prefetch in [0, 2] {
        let mut batches = DataLoader::new(Wrong).prefetch(prefetch).into_iter();
        let message = batches.next().unwrap().unwrap_err().to_string();
        assert!(message.starts_with("+: "), "{message}");
        assert!(batches.next().is_none());
    }
}

#[test]
fn a_loop_without_batches_says_why() {
    let message = |loader: DataLoader| {
        let mut batches = loader.into_iter();
        let message = batches.next().unwrap().unwrap_err().to_string();
        assert!(batches.next().is_none());
        message
    };
    let loader = DataLoader::new(numbers(5));
    assert_eq!(
        message(loader.clone().batch_size(0)),
        "DataLoader: expected a batch size of at least 1, found 0\n\
         Set the number of examples in a batch: .batch_size(32)"
    );
    assert_eq!(
        message(loader.batch_size(8).drop_last(true)),
        "DataLoader with drop_last: expected a batch size of at most 5, the number of examples, found 8\n\
         Choose a smaller batch size, or .drop_last(false)"
    );
    let nothing = zeros((0, 1));
    let empty = TensorDataset::new(nothing.clone(), nothing).unwrap();
    assert_eq!(
        message(DataLoader::new(empty)),
        "DataLoader: the data set is empty\nGive it at least one example"
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_loop() {
    use crate::notebook::testing::records;
    records("data::loader::tests::an_interrupt_ends_a_loop", || {
        for prefetch in [0, 2] {
            let loader = DataLoader::new(numbers(50))
                .batch_size(5)
                .prefetch(prefetch);
            let mut batches = loader.into_iter();
            assert!(batches.next().unwrap().is_ok());
            // SAFETY: plain system call; the signal has a handler.
            unsafe { libc::raise(libc::SIGINT) };
            let message = batches.next().unwrap().unwrap_err().to_string();
            assert!(message.starts_with("interrupted: "), "{message}");
            assert!(batches.next().is_none());
            crate::notebook::testing::begin_cell();
        }
    });
}

#[test]
fn a_loader_describes_itself() {
    let loader = DataLoader::new(numbers(50)).batch_size(8).shuffle(true);
    assert_eq!(
        loader.show_text(),
        "DataLoader(50 examples, batch_size=8, 7 batches, shuffle)"
    );
}

/// Tests all pairs of devices; without a GPU, there is only the CPU.
#[test]
fn batches_are_on_the_requested_device() {
    let devices = taper_tensor::testing::devices();
    for from in &devices {
        let x = zeros((4, 2)).to_device(from);
        let data = || TensorDataset::new(x.clone(), x.clone()).unwrap();
        for to in &devices {
            for prefetch in [0, 2] {
                let loader = DataLoader::new(data()).prefetch(prefetch).to_device(to);
                for batch in &loader {
                    let Batch { x, y } = batch.unwrap();
                    assert!(x.device().same_device(to) && y.device().same_device(to));
                }
            }
        }
    }
}
