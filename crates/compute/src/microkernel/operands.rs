//! The operands of [`weighted_sums`](super::weighted_sums): the size of a tile, what it reads, and where its sums go.

use crate::simd::{Float, Level};

/// Returns the rows of a full tile of [`weighted_sums`](super::weighted_sums), the vectors in each, and the bytes of a vector.
///
/// The sums, the vectors of a row of `x` and a weight need one register each. With 4 rows of 3 vectors, which
/// need all 16 registers of AVX2, LLVM keeps a sum in memory, and a product takes twice as long.
#[inline]
fn full_tile() -> (usize, usize, usize) {
    match Level::get() {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => (8, 3, 64),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => (6, 2, 32),
        Level::Baseline => (4, 3, 16),
    }
}

/// Returns the size of a full tile of [`weighted_sums`](super::weighted_sums): rows and columns, in elements.
pub fn tile_shape<T: Float>() -> (usize, usize) {
    let (rows, vectors, _) = full_tile();
    (rows, vectors * lanes::<T>())
}

/// Returns the elements in a vector of [`weighted_sums`](super::weighted_sums).
pub fn lanes<T: Float>() -> usize {
    let (.., bytes) = full_tile();
    bytes / size_of::<T>()
}

/// The part of a tile that is computed.
#[derive(Clone, Copy)]
pub struct TileSize {
    pub(super) rows: usize,
    /// Vectors in a row.
    pub(super) vectors: usize,
}

impl TileSize {
    /// Returns `rows` rows of as many whole vectors as `columns` elements need, at most a full tile's.
    pub fn of<T: Float>(rows: usize, columns: usize) -> Self {
        let (_, most, _) = full_tile();
        let vectors = columns.div_ceil(lanes::<T>()).clamp(1, most);
        TileSize { rows, vectors }
    }
}

/// Strided weights: the weight of row `m` at step `k` is `start[m * row_step + k * step]`.
#[derive(Clone, Copy)]
pub struct Weights<T> {
    /// The weight of the first row at the first step.
    pub start: *const T,
    /// The distance from one row to the next.
    pub row_step: usize,
    /// The distance from one step to the next.
    pub step: usize,
}

impl<T> Weights<T> {
    /// Returns the weights with the element type `U`, which must be the type `T`.
    pub(super) fn cast<U>(self) -> Weights<U> {
        Weights {
            start: self.start.cast(),
            row_step: self.row_step,
            step: self.step,
        }
    }
}

/// The memory for the sums of a tile: row `m` begins at `start[m * pitch]`.
#[derive(Clone, Copy)]
pub struct Sums<T> {
    /// The first sum.
    pub start: *mut T,
    /// The distance from one row to the next.
    pub pitch: usize,
    /// The values that are added to the sums: a pointer to their first row, and the distance from one row to the
    /// next.
    pub added: Option<(*const T, usize)>,
}

impl<T: Float> Sums<T> {
    /// Returns the memory of a full tile, whose rows are one after the other.
    pub fn of_tile(tile: &mut [T]) -> Self {
        Sums {
            start: tile.as_mut_ptr(),
            pitch: tile_shape::<T>().1,
            added: None,
        }
    }

    /// Returns the same rows with the element type `U`, which must be the type `T`.
    pub(super) fn cast<U>(self) -> Sums<U> {
        Sums {
            start: self.start.cast(),
            pitch: self.pitch,
            added: self.added.map(|(start, pitch)| (start.cast(), pitch)),
        }
    }
}
