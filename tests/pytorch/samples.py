"""Samples: their values and arguments, and the file that holds them."""

import gzip
import inspect
import json
import math
import struct

import torch

# Of a larger tensor, these many elements are stored, and a weighted sum of all.
ALL, SOME = 24, 14
# The tolerance of each type, relative to the largest value.
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}
NAMES = {torch.float64: "f64", torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16",
         torch.int64: "i64", torch.bool: "u8", torch.uint8: "u8"}


class Unstorable(Exception):
    """The sample contains something that Taper does not have, such as complex numbers."""


def weights(n):
    return torch.tensor([0.6 + math.sin(0.7 * i) for i in range(n)], dtype=torch.float64)


class Store:
    """The values of the samples: floats of the inputs, integers, results."""

    def __init__(self):
        self.rounded, self.singles, self.integers, self.results = [], [], [], []

    def add(self, tensor, exact=False):
        x = tensor.detach()
        entry = {"s": list(x.shape)}
        if x.dim() > 1 and not x.is_contiguous() and x.numel() > 1:
            entry["t"] = 1
        if x.dtype.is_floating_point:
            entry["k"] = ("F" if exact else "f") + ("g" if tensor.requires_grad else "")
            (self.singles if exact else self.rounded).append(x.float().reshape(-1))
        else:
            entry["k"] = {torch.bool: "b"}.get(x.dtype, "i")
            self.integers.append(x.long().reshape(-1))
        return entry

    def add_result(self, x):
        x = x.detach()
        kind = "f" if x.dtype.is_floating_point else {torch.bool: "b"}.get(x.dtype, "i")
        flat = x.double().reshape(-1)
        self.results.append(flat if len(flat) <= ALL else torch.cat([
            flat[[i * (len(flat) - 1) // (SOME - 1) for i in range(SOME)]],
            (flat * weights(len(flat))).sum()[None],
        ]))
        return {"s": list(x.shape), "k": kind}

    def mark(self):
        return [len(part) for part in (self.rounded, self.singles, self.integers, self.results)]

    def reset(self, mark):
        for part, length in zip((self.rounded, self.singles, self.integers, self.results), mark):
            del part[length:]

    def write(self, path, samples):
        join = lambda parts: torch.cat(parts) if parts else torch.zeros(0)
        index = json.dumps({"torch": torch.__version__.split("+")[0], "samples": samples}, separators=(",", ":"))
        parts = [index.encode(), join(self.rounded).bfloat16().view(torch.int16).numpy().tobytes(),
                 join(self.singles).float().numpy().tobytes(), join(self.integers).long().numpy().tobytes(),
                 join(self.results).double().numpy().tobytes()]
        content = b"".join(struct.pack("<Q", len(part)) + part for part in parts)
        with open(path, "wb") as file:
            file.write(gzip.compress(content, 9, mtime=0))


def quantized(value, exact):
    """Returns the value with the tensors in double precision, rounded to what also 16-bit types can hold."""
    def tensor(x):
        if x.is_complex() or x.is_sparse or x.dtype in (torch.int8, torch.int16, torch.int32, torch.uint8):
            raise Unstorable
        if not x.dtype.is_floating_point:
            return x.detach()
        rounded = x.detach().to(torch.float32 if exact else torch.bfloat16)
        # Keeps the strides.
        y = torch.empty_like(x, dtype=torch.float64).copy_(rounded)
        return y.requires_grad_(x.requires_grad)
    return mapped(tensor, value)


def mapped(f, value):
    if isinstance(value, torch.Tensor):
        return f(value)
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(f, x) for x in value) if type(value) in (list, tuple) else [mapped(f, x) for x in value]
    if isinstance(value, dict):
        return {name: mapped(f, x) for name, x in value.items()}
    return value


def tensors_in(value):
    found = []
    mapped(lambda x: found.append(x), value)
    return found


def converted(value, dtype):
    """Returns a copy with tensors of another type."""
    def tensor(x):
        if not x.dtype.is_floating_point:
            return x
        y = x.detach().to(dtype)
        return y.clone(memory_format=torch.preserve_format).requires_grad_(x.requires_grad)
    return mapped(tensor, value)


def encoded(value, store, exact):
    """Returns what JSON can hold."""
    if isinstance(value, torch.Tensor):
        return store.add(value, exact)
    if isinstance(value, torch.dtype):
        return {"dtype": NAMES.get(value, str(value).removeprefix("torch."))}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if value is Ellipsis:
        return {"ellipsis": 1}
    if isinstance(value, float):
        return {"float": value if math.isfinite(value) else str(value)}
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple, torch.Size)):
        return [encoded(x, store, exact) for x in value]
    if isinstance(value, torch.nn.TransformerEncoderLayer):
        return {"layer": [[k, encoded(v, store, exact)] for k, v in settings_of_encoder_layer(value).items()]}
    if isinstance(value, torch.nn.LayerNorm):
        return {"layer": [["normalized_shape", list(value.normalized_shape)], ["eps", value.eps]]}
    if inspect.isfunction(value) or inspect.isbuiltin(value) or isinstance(value, torch.nn.Module):
        return getattr(value, "__name__", type(value).__name__)
    raise Unstorable


def settings_of_encoder_layer(layer):
    settings = {
        "d_model": layer.self_attn.embed_dim, "nhead": layer.self_attn.num_heads,
        "dim_feedforward": layer.linear1.out_features, "dropout": layer.dropout.p,
        "activation": layer.activation.__name__, "layer_norm_eps": layer.norm1.eps,
        "batch_first": layer.self_attn.batch_first, "norm_first": layer.norm_first,
        "bias": layer.linear1.bias is not None,
    }
    defaults = inspect.signature(torch.nn.TransformerEncoderLayer.__init__).parameters
    return without_defaults(settings, {name: p.default for name, p in defaults.items()} | {"activation": "relu"})


def without_defaults(values, defaults):
    def is_default(name, value):
        known = defaults.get(name, inspect.Parameter.empty)
        # Where True is expected, PyTorch may refuse 1.
        if isinstance(known, bool) and not isinstance(value, bool):
            return False
        return not isinstance(value, torch.Tensor) and type(value) in (type(known), int, float) and value == known
    return {name: value for name, value in values.items()
            if not is_default(name, value) and not (name in ("device", "memory_format", "requires_grad", "layout"))}


def outputs_of(value):
    found = [x for x in tensors_in(value)]
    return found


def gradients(outputs, sources):
    total = 0
    for y in outputs:
        if y.requires_grad:
            total = total + (y * weights(y.numel()).reshape(y.shape).to(y.dtype)).sum()
    if torch.is_tensor(total) and sources:
        found = torch.autograd.grad(total, sources, allow_unused=True)
        return [torch.zeros_like(x) if g is None else g for g, x in zip(found, sources)]
    return [torch.zeros_like(x) for x in sources]


def looser(exact, got, dtype):
    """Returns the tolerance that PyTorch's own result in this type needs: None if the usual one, inf if it has none."""
    off = 0.0
    for want, have in zip(exact, got):
        want = want.to(dtype).double() if want.dtype.is_floating_point else want.double()
        have = have.double()
        if want.shape != have.shape or not torch.equal(want.isfinite(), have.isfinite()):
            return math.inf
        finite = want.isfinite()
        if finite.any():
            want, have = want[finite], have[finite]
            off = max(off, ((want - have).abs().max() / want.abs().max().clamp(min=1.0)).item())
    return None if off <= TOLERANCES[dtype] / 2 else float(f"{4 * off:.2g}")


class Exporter:
    def __init__(self):
        self.store, self.samples = Store(), []

    def add(self, record, inputs, run, exact=False, halves=True, limit=None):
        """Adds a sample: `run` returns the results for inputs of a type, those that are compared."""
        mark = self.store.mark()
        try:
            record = {**record, **self.encoded(inputs, exact)}
            results, outputs = run(inputs)
            if any(x.is_complex() or x.is_sparse or x.is_nested for x in results):
                raise Unstorable
            record["n"] = outputs
            record["want"] = [self.store.add_result(x) for x in results]
            loose = {}
            for dtype in TOLERANCES if any(x.dtype.is_floating_point for x in tensors_in(inputs)) else []:
                if (dtype != torch.float32 and (exact or not halves)) or any(
                        x.isfinite().any() and x[x.isfinite()].abs().max() > torch.finfo(dtype).max
                        for x in tensors_in(inputs) + results if x.dtype.is_floating_point):
                    loose[NAMES[dtype]] = "skip"
                    continue
                try:
                    factor = looser(results, run(converted(inputs, dtype))[0], dtype)
                except Exception:
                    factor = math.inf
                if factor is not None:
                    loose[NAMES[dtype]] = "skip" if factor > 0.1 or not math.isfinite(factor) else factor
            if loose:
                record["loose"] = loose
        except Unstorable:
            self.store.reset(mark)
            return False
        self.samples.append(record)
        return True

    def encoded(self, inputs, exact):
        pairs = lambda part: [[name, encoded(value, self.store, exact)] for name, value in part.items()]
        return {name: pairs(part) for name, part in inputs.items()}

    def refused(self, record, inputs):
        """Adds inputs that PyTorch refuses."""
        mark = self.store.mark()
        try:
            record = {**record, **self.encoded(inputs, False)}
        except Unstorable:
            self.store.reset(mark)
            return
        self.samples.append(record)
