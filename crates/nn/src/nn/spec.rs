//! Shape and type of a parameter's values, as far as they are known.

use crate::tensor::Tensor;
use candle_core::DType;

/// Shape and type of a parameter's values. A size that depends on the first input is `None`.
#[derive(Clone, Debug, PartialEq)]
#[doc(hidden)]
pub struct Spec {
    sizes: Vec<Option<usize>>,
    dtype: DType,
}

impl Spec {
    pub(super) fn new(sizes: &[Option<usize>], dtype: DType) -> Self {
        let sizes = sizes.to_vec();
        Self { sizes, dtype }
    }

    /// Creates the spec of `f32` values, the default type of layers.
    pub(super) fn f32(sizes: &[Option<usize>]) -> Self {
        Self::new(sizes, DType::F32)
    }

    pub(super) fn of(values: &Tensor) -> Self {
        let sizes = values.dims().iter().copied().map(Some).collect();
        let dtype = values.dtype();
        Self { sizes, dtype }
    }

    /// Returns how the values differ from the spec, as `[2, 3] instead of [2, 4]`; `None` if they fit.
    pub(crate) fn refusal(&self, values: &Tensor) -> Option<String> {
        let (dims, dtype) = (values.dims(), values.dtype());
        let fits = |(known, size): (&Option<usize>, &usize)| known.is_none_or(|k| k == *size);
        if dims.len() != self.sizes.len() || !self.sizes.iter().zip(dims).all(fits) {
            return Some(format!("{dims:?} instead of {}", self.shape()));
        }
        (dtype != self.dtype)
            .then(|| format!("{} instead of {}", dtype.as_str(), self.dtype.as_str()))
    }

    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the spec of the same sizes with another type.
    pub(super) fn with_dtype(&self, dtype: DType) -> Self {
        let sizes = self.sizes.clone();
        Self { sizes, dtype }
    }

    /// Returns the size of a dimension, if it is known.
    pub(super) fn size(&self, dim: usize) -> Option<usize> {
        self.sizes.get(dim).copied().flatten()
    }

    fn shape(&self) -> String {
        let size = |size: &Option<usize>| size.map_or("_".to_owned(), |size| size.to_string());
        let sizes: Vec<String> = self.sizes.iter().map(size).collect();
        format!("[{}]", sizes.join(", "))
    }
}

impl std::fmt::Display for Spec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.shape(), self.dtype.as_str())
    }
}
