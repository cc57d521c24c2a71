//! Random values that a seed makes repeatable, on every machine and device.
//!
//! One ChaCha generator serves all threads of the program; [`with_seed`] runs work with a generator of its
//! own. Values are drawn on the CPU and then moved, so the tensors of a seed are the same on the CPU
//! and on a GPU; for dropout, a GPU computes the generator's values itself. Without a seed, the values
//! differ in each run.

use super::context::{self, Field, Scope};
use crate::error::{OrRaise, problem, refuse};
use crate::tensor::{Integer, Raw, Tensor, check_size, default_device, moved};
use candle_core::{Device, Result, Shape, WithDType};
use rand::distr::{Distribution, StandardUniform, Uniform};
use rand::seq::SliceRandom;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha12Rng;
use rand_distr::{Beta, Normal, StandardNormal};
#[cfg(not(any(feature = "testing", test)))]
use std::sync::LazyLock;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sets the seed of all random values: with the same seed, they are the same.
///
/// It fixes all random values of Taper: those of this module and the initial weights of layers.
/// If several threads draw at the same time, which of them gets which values differs in each run; with
/// [`with_seed`], each thread has a generator of its own.
///
/// ```
/// use taper::prelude::*;
///
/// manual_seed(42);
/// let x = rand(3).to_vec1::<f32>();
/// assert_eq!(x, [0.13340974, 0.5265574, 0.24873835]);
/// manual_seed(42);
/// assert_eq!(rand(3).to_vec1::<f32>(), x);
/// ```
pub fn manual_seed(seed: u64) {
    *generator() = ChaCha12Rng::seed_from_u64(seed);
}

functions! {
    /// Draws uniform `f32` values from `[0, 1)`.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let x = rand((2, 3)); // (2, 3)
    /// assert!(x.flatten_all().to_vec1::<f32>().iter().all(|x| (0.0..1.0).contains(x)));
    /// ```
    pub fn rand(shape: impl Into<Shape>) => drawn(Rule::Unit, shape.into());

    /// Draws `f32` values from the standard normal distribution: mean 0, standard deviation 1.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// manual_seed(1);
    /// let x = randn((100, 100)); // (100, 100)
    /// assert!(x.mean_all().item().abs() < 0.05);
    /// ```
    pub fn randn(shape: impl Into<Shape>) => drawn(Rule::StandardNormal, shape.into());

    /// Returns the integers `0` to `n - 1` in random order, as `i64`; for shuffling with
    /// `index_select`.
    ///
    /// # Panics
    /// If the device does not have enough memory.
    ///
    /// ```
    /// use taper::prelude::*;
    ///
    /// let order = randperm(5); // (5,)
    /// let rows = eye(5).index_select(&order, 0); // (5, 5)
    /// assert_eq!(rows.sum_all().item(), 5.0);
    /// ```
    pub fn randperm(n: usize) = random_order(n);
}

/// Draws `f32` values from the normal distribution with this mean and standard deviation.
///
/// # Panics
/// If `std` is negative or not finite.
///
/// ```
/// use taper::prelude::*;
///
/// manual_seed(1);
/// let x = normal(5.0, 0.01, 1000); // (1000,)
/// assert!((x.mean_all().item() - 5.0).abs() < 0.01);
/// ```
#[inline]
#[track_caller]
pub fn normal(mean: f64, std: f64, shape: impl Into<Shape>) -> Tensor {
    drawn(Rule::Normal { mean, std }, shape.into())
        .or_raise()
        .into()
}

/// Draws uniform `f32` values from `[low, high)`.
///
/// # Panics
/// If `low` is not below `high`, or one of them is not finite.
///
/// ```
/// use taper::prelude::*;
///
/// let x = uniform(-1.0, 1.0, (2, 3)); // (2, 3)
/// assert!(x.abs().max_all().item() <= 1.0);
/// ```
#[inline]
#[track_caller]
pub fn uniform(low: f64, high: f64, shape: impl Into<Shape>) -> Tensor {
    drawn(Rule::Uniform { low, high }, shape.into())
        .or_raise()
        .into()
}

/// Draws integers from `low` to `high - 1`, with equal probability, as `i64`.
///
/// # Panics
/// If `low` is not below `high`.
///
/// ```
/// use taper::prelude::*;
///
/// let dice = randint(1, 7, 10); // (10,)
/// assert!(dice.to_vec1::<i64>().iter().all(|n| (1..=6).contains(n)));
/// ```
#[inline]
#[track_caller]
pub fn randint(
    low: impl Into<Integer>,
    high: impl Into<Integer>,
    shape: impl Into<Shape>,
) -> Tensor {
    let (low, high) = (low.into().to_i64(), high.into().to_i64());
    drawn(Rule::Integer { low, high }, shape.into())
        .or_raise()
        .into()
}

#[track_caller]
fn random_order(n: usize) -> Tensor {
    check_size("randperm", &[n], size_of::<i64>(), &Device::Cpu).or_raise();
    let order = permutation(n).into_iter().map(|i| i as i64).collect();
    Tensor::from_vec(order, n)
}

/// Returns the indices below `n` in random order.
#[doc(hidden)]
pub fn permutation(n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    with_generator(|rng| order.shuffle(rng));
    order
}

/// Draws a value from `[0, 1)`.
#[doc(hidden)]
pub fn random_unit() -> f64 {
    with_generator(|rng| StandardUniform.sample(rng))
}

/// Draws a value from the beta distribution whose parameters are both `alpha`, which is above 0 and finite.
#[doc(hidden)]
pub fn random_beta(alpha: f64) -> f64 {
    let distribution = Beta::new(alpha, alpha).ok();
    distribution.map_or(0.5, |beta| with_generator(|rng| beta.sample(rng)))
}

/// Draws a seed for [`with_seed`].
#[doc(hidden)]
pub fn draw_seed() -> u64 {
    with_generator(|rng| rng.next_u64())
}

/// Runs `work` with a random generator of its own on this thread: its random values are the same
/// wherever and whenever it runs, and those of other work do not change. So trainings on several threads
/// have the same results in each run.
///
/// ```
/// use taper::prelude::*;
/// use std::thread;
///
/// let train = |seed| {
///     with_seed(seed, || -> Result<f64> {
///         let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10), Dropout::new(0.1)], 0.1);
///         let history = Trainer::new(1).fit(&mut model, &Digits::new())?;
///         Ok(history.epochs[0].metrics["val_loss"])
///     })
/// };
/// let [first, second] = [thread::spawn(move || train(1)), thread::spawn(move || train(2))];
/// let losses = [first.join().unwrap()?, second.join().unwrap()?];
/// assert_eq!(losses, [train(1)?, train(2)?]);
/// # Ok::<(), Error>(())
/// ```
pub fn with_seed<T>(seed: u64, work: impl FnOnce() -> T) -> T {
    let _scope = seeded(seed);
    work()
}

/// Sets a generator for this thread until the scope is dropped.
#[inline(never)]
fn seeded(seed: u64) -> Scope {
    let generator = ChaCha12Rng::seed_from_u64(seed);
    Scope::new(Field::Generator(Some(Box::new(generator))))
}

/// The state of a generator: the seed, the stream, and the position in it.
type GeneratorState = ([u8; 32], u64, u128);

/// Returns the state of the generator that this thread draws from.
#[doc(hidden)]
pub fn generator_state() -> GeneratorState {
    with_generator(|rng| state_of(rng))
}

fn state_of(rng: &ChaCha12Rng) -> GeneratorState {
    (rng.get_seed(), rng.get_stream(), rng.get_word_pos())
}

/// Sets the generator that this thread draws from to a state that [`generator_state`] returned.
#[doc(hidden)]
pub fn restore_generator((seed, stream, position): GeneratorState) {
    with_generator(|rng| {
        *rng = ChaCha12Rng::from_seed(seed);
        rng.set_stream(stream);
        rng.set_word_pos(position);
    });
}

/// Skips as many values as [`rand`] draws for `n` elements. Returns the state before that.
pub(super) fn skip(n: usize) -> GeneratorState {
    with_generator(|rng| {
        let state = state_of(rng);
        rng.set_word_pos(state.2 + n as u128);
        state
    })
}

/// Calls `draw` with the generator of this thread's [`with_seed`], or else with the program's.
fn with_generator<T>(draw: impl FnOnce(&mut ChaCha12Rng) -> T) -> T {
    context::with_generator(|scoped| match scoped {
        Some(rng) => draw(rng),
        None => draw(&mut generator()),
    })
}

/// The distribution of a public function. The public functions are generic in the shape, so each cell
/// compiles those that it calls: to keep this fast, they only call [`drawn`].
enum Rule {
    Unit,
    StandardNormal,
    Normal { mean: f64, std: f64 },
    Uniform { low: f64, high: f64 },
    Integer { low: i64, high: i64 },
}

#[inline(never)]
fn drawn(rule: Rule, shape: Shape) -> Result<Raw> {
    let tensor = match rule {
        Rule::Unit => draw::<f32>(StandardUniform, shape)?,
        Rule::StandardNormal => draw::<f32>(StandardNormal, shape)?,
        Rule::Normal { mean, std } => {
            let distribution = Normal::new(mean as f32, std as f32).ok();
            let Some(distribution) = distribution.filter(|_| std >= 0.0) else {
                refuse!(argument("normal", std);
                    "a standard deviation of at least 0",
                    "Give a finite value that is not negative");
            };
            draw::<f32>(distribution, shape)?
        }
        Rule::Uniform { low, high } => {
            let distribution = Uniform::new(low as f32, high as f32);
            draw::<f32>(
                distribution.map_err(|_| empty_range("uniform", &low, &high))?,
                shape,
            )?
        }
        Rule::Integer { low, high } => {
            let distribution = Uniform::new(low, high);
            draw::<i64>(
                distribution.map_err(|_| empty_range("randint", &low, &high))?,
                shape,
            )?
        }
    };
    moved(&tensor, &default_device())
}

fn draw<N: WithDType>(distribution: impl Distribution<N>, shape: Shape) -> Result<Raw> {
    check_size(
        "a random tensor",
        shape.dims(),
        size_of::<N>(),
        &Device::Cpu,
    )?;
    let numbers = with_generator(|rng| sample(distribution, shape.elem_count(), rng));
    Raw::from_vec(numbers, shape, &Device::Cpu)
}

fn sample<N>(distribution: impl Distribution<N>, n: usize, rng: &mut ChaCha12Rng) -> Vec<N> {
    distribution.sample_iter(rng).take(n).collect()
}

/// Returns the generator of this thread. Tests run in parallel in one process, each on its own thread,
/// and no test may change the random values of another.
#[cfg(any(feature = "testing", test))]
fn generator() -> MutexGuard<'static, ChaCha12Rng> {
    thread_local! {
        static GENERATOR: &'static Mutex<ChaCha12Rng> =
            Box::leak(Box::new(Mutex::new(ChaCha12Rng::from_os_rng())));
    }
    let generator = GENERATOR.with(|generator| *generator);
    generator.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(not(any(feature = "testing", test)))]
fn generator() -> MutexGuard<'static, ChaCha12Rng> {
    static GENERATOR: LazyLock<Mutex<ChaCha12Rng>> =
        LazyLock::new(|| Mutex::new(ChaCha12Rng::from_os_rng()));
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

fn empty_range(
    function: &str,
    low: &dyn std::fmt::Display,
    high: &dyn std::fmt::Display,
) -> candle_core::Error {
    problem!(argument(function, format_args!("{low} and {high}"));
        "a lower bound below the upper one, both finite", "Give the lower bound first")
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::attempt;

    fn values<N>(distribution: impl Distribution<N>, n: usize) -> Vec<N> {
        sample(distribution, n, &mut ChaCha12Rng::seed_from_u64(0))
    }

    fn mean_and_std(numbers: &[f32]) -> (f64, f64) {
        let n = numbers.len() as f64;
        let mean = numbers.iter().map(|&x| x as f64).sum::<f64>() / n;
        let variance = numbers
            .iter()
            .map(|&x| (x as f64 - mean).powi(2))
            .sum::<f64>()
            / n;
        (mean, variance.sqrt())
    }

    /// These must never change: outputs stored in notebooks depend on them.
    #[test]
    fn the_first_values_of_seed_0_are_fixed() {
        assert_eq!(
            values::<f32>(StandardUniform, 3),
            [0.80145925, 0.7311134, 0.55528885]
        );
        assert_eq!(
            values::<f32>(StandardNormal, 3),
            [0.712813, 0.85833144, -2.4362438]
        );
        let dice = Uniform::new(1i64, 7).unwrap();
        assert_eq!(values(dice, 6), [5, 5, 1, 4, 2, 5]);
        let mut order: Vec<i64> = (0..6).collect();
        order.shuffle(&mut ChaCha12Rng::seed_from_u64(0));
        assert_eq!(order, [1, 0, 2, 3, 5, 4]);
    }

    #[test]
    fn mean_and_standard_deviation_are_as_requested() {
        let n = 100_000;
        let close = |(mean, std): (f64, f64), want: (f64, f64)| {
            assert!((mean - want.0).abs() < 0.01 * want.1.max(1.0), "{mean}");
            assert!((std - want.1).abs() < 0.01 * want.1, "{std}");
        };
        let twelfth = (1.0f64 / 12.0).sqrt();
        close(mean_and_std(&values(StandardUniform, n)), (0.5, twelfth));
        close(mean_and_std(&values(StandardNormal, n)), (0.0, 1.0));
        let x = normal(3.0, 2.0, n).to_vec1();
        let (mean, std) = mean_and_std(&x);
        assert!((mean - 3.0).abs() < 0.05 && (std - 2.0).abs() < 0.05);
        let x = uniform(-2.0, 4.0, n).to_vec1();
        let (mean, std) = mean_and_std(&x);
        assert!((mean - 1.0).abs() < 0.05 && (std - 6.0 * twelfth).abs() < 0.05);
    }

    #[test]
    fn a_permutation_has_every_index_once() {
        let mut order = randperm(100).to_vec1::<i64>();
        order.sort();
        assert_eq!(order, (0..100).collect::<Vec<i64>>());
    }

    #[test]
    fn invalid_ranges_are_refused() {
        assert!(attempt(|| uniform(1.0, 1.0, 1)).is_err());
        assert!(attempt(|| uniform(0.0, f64::INFINITY, 1)).is_err());
        assert!(attempt(|| normal(0.0, -1.0, 1)).is_err());
        assert!(attempt(|| normal(0.0, f64::NAN, 1)).is_err());
        let message = attempt(|| randint(3, 3, 1)).unwrap_err().to_string();
        assert!(message.starts_with(
            "randint: expected a lower bound below the upper one, both finite, found 3 and 3\n"
        ));
    }
}
