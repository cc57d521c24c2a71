//! Why Taper does not have what some samples need, for the table in the book.

/// The reason for each argument or value, as the outcomes of samples name it.
pub(crate) const REASONS: &[(&str, &str)] = &[
    (
        "integers are not converted",
        "Functions of floating-point numbers and products of matrices take no integers: `x.to_dtype(DType::F32)` says where \
         they become floating-point numbers.",
    ),
    (
        "`interpolation`",
        "`quantile` interpolates between the two nearest elements; `sort` and `i` return one of them.",
    ),
    (
        "`return_indices`",
        "`max_pool2d_with_indices` returns indices; layers and adaptive pooling return one tensor.",
    ),
    (
        "targets are not broadcast",
        "A loss takes targets of the shape of the input, since broadcasting there hides errors: `broadcast_as` says it.",
    ),
    (
        "the indices of `median`",
        "`median` returns the values; PyTorch does not say which of equal elements it returns.",
    ),
    (
        "`q` with a gradient",
        "The share is a number, which no program learns.",
    ),
    (
        "the order of equal integers",
        "PyTorch does not say which of equal elements come first; Taper keeps their order.",
    ),
    (
        "`out`",
        "A tensor is never changed: functions return their result.",
    ),
    (
        "`mode`: bicubic",
        "No program resizes with cubic polynomials.",
    ),
    (
        "sequences and volumes",
        "`Upsample` is for images; `unsqueeze` makes an image of a sequence.",
    ),
    (
        "an empty tensor of another rank",
        "PyTorch keeps an exception for empty tensors of one dimension; in Taper all tensors of `cat` have the same rank.",
    ),
    (
        "two scalars",
        "Rust adds two scalars; a tensor is not part of it.",
    ),
    (
        "`track_running_stats`",
        "`InstanceNorm1d` and `InstanceNorm2d` normalise each example by itself, in training and evaluation alike.",
    ),
    (
        "`padding_mode`: reflection",
        "No program samples images mirrored at their edges; `Tensor::pad` mirrors before it.",
    ),
    ("volumes", "`grid_sample` is for images."),
    (
        "`divisor_override`",
        "Pooling of volumes is plain: multiply the mean by another factor.",
    ),
    (
        "`repeats`: a tensor",
        "The result's size would depend on values: `index_select` with the indices, each as often as needed.",
    ),
    ("`accumulate`", "`index_add` and `scatter_add` add."),
    (
        "an empty batch in training",
        "An empty batch has no mean; PyTorch returns NaN statistics or none.",
    ),
    ("`eps`", "`cosine_similarity` has PyTorch's default, 1e-8."),
    (
        "`x`: a number",
        "The operator `%` has a tensor on its left side.",
    ),
    (
        "`x`: an integer",
        "A number to the power of a tensor is `exp` of the tensor times its logarithm.",
    ),
    (
        "negative exponents of integers",
        "An integer to a negative power is not an integer.",
    ),
    (
        "a step below 1 for integers",
        "PyTorch repeats the start, since the step becomes 0.",
    ),
    (
        "`stride`: of another rank",
        "An empty stride means the default, which is left out here; these samples also divide by a negative number.",
    ),
    ("`src`: a float", "`scatter_add` takes a tensor: `full`."),
];
