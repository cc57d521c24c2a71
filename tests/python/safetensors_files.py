"""Writes parameters with PyTorch's names and layout, and compares the results of Taper with them.

    python tests/python/safetensors_files.py write FOLDER      from_python.safetensors
    python tests/python/safetensors_files.py compare FOLDER    with from_taper.safetensors

Needs the packages safetensors and numpy.
"""

import sys
from pathlib import Path

import numpy
from safetensors.numpy import load_file, save_file

what, folder = sys.argv[1], Path(sys.argv[2])
tensors = {
    "0.weight": numpy.array([[1, 2, 3], [4, 5, 6]], dtype=numpy.float32),
    "0.bias": numpy.array([0.5, -0.5], dtype=numpy.float32),
    "1.weight": numpy.array([1, 2], dtype=numpy.float32),
    "1.bias": numpy.array([0, 1], dtype=numpy.float32),
    "1.running_mean": numpy.array([1, 2], dtype=numpy.float32),
    "1.running_var": numpy.array([4, 9], dtype=numpy.float32),
    "1.num_batches_tracked": numpy.array(17, dtype=numpy.int64),
}
if what == "write":
    save_file(tensors, folder / "from_python.safetensors")
else:
    written = load_file(folder / "from_taper.safetensors")
    assert sorted(written) == sorted(tensors), sorted(written)
    for name, wanted in tensors.items():
        got = written[name]
        assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape), (name, got.dtype, got.shape)
        numpy.testing.assert_array_equal(got, wanted, name)
