"""Records random cases with PyTorch's results in double precision; see cases.py."""

import copy
import json
import math

import torch
from safetensors.torch import save_file

values, cases = [], []
EPS = torch.finfo(torch.float32).eps


def randn(*shape, scale=1.0, shift=0.0):
    return torch.randn(shape) * scale + shift


def run(f, inputs, kinds, dtype, module=None):
    """Returns the outputs and the gradients of the inputs of kind "g" and of the module's parameters, in double
    precision, and the number of outputs."""
    args = [x if kind == "i" else x.clone().to(dtype).requires_grad_(kind == "g") for x, kind in zip(inputs, kinds)]
    sources = [x for x, kind in zip(args, kinds) if kind == "g"]
    if module is not None:
        module = copy.deepcopy(module).to(dtype)
        sources += module.parameters()
        args = [module, *args]
    outputs = f(*args)
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    total = 0
    for y in outputs:
        if y.requires_grad:
            r = [0.6 + math.sin(0.7 * i) for i in range(y.numel())]
            total = total + (y * torch.tensor(r, dtype=torch.float64).reshape(y.shape).to(dtype)).sum()
    if torch.is_tensor(total):
        total.backward()
    gradients = [x.grad if x.grad is not None else torch.zeros_like(x) for x in sources]
    return [t.detach().double() for t in [*outputs, *gradients]], len(outputs)


def case(op, f, inputs, settings=(), kinds=None, module=None):
    kinds = kinds or "g" * len(inputs)
    want, outputs = run(f, inputs, kinds, torch.float64, module)
    single, _ = run(f, inputs, kinds, torch.float32, module)
    sizes = [(exact.abs().max().item(), (exact - got).abs().max().item()) if exact.numel() else (0.0, 0.0)
             for exact, got in zip(want, single)]
    # PyTorch's largest relative error in this case; and the largest value, on which the rounding error of a gradient
    # depends that would be 0 in exact arithmetic.
    rounding = max([off / largest for largest, off in sizes if largest > 1e-6], default=0.0)
    terms = max([largest for largest, _ in sizes], default=0.0)
    tolerances = [float(f"{max(8 * off, 4 * rounding * largest, 32 * EPS * largest, 2 * EPS * terms, 1e-12):.3g}")
                  for largest, off in sizes]
    if module is not None:
        inputs = [*inputs, *(p.detach() for p in module.parameters())]
        kinds += "g" * (len(inputs) - len(kinds))
    for tensor in [*inputs, *want]:
        values.append(tensor.detach().reshape(-1).to(torch.float32))
    cases.append({
        "op": op, "settings": [float(s) for s in settings], "kinds": kinds, "outputs": outputs,
        "inputs": [list(x.shape) for x in inputs], "wanted": [list(x.shape) for x in want], "tolerances": tolerances,
    })


def save(path):
    metadata = {"cases": json.dumps(cases, separators=(",", ":"))}
    save_file({"values": torch.cat(values)}, path, metadata=metadata)
    print(f"{len(cases)} cases, {sum(v.numel() for v in values)} values")
