"""The operations in PyTorch: `python torch_ops.py eager|compiled`, with the protocol of `ops.rs`."""

import json
import sys
import time

import torch
from torch.nn import functional as F

FUNCTIONS = {
    "matmul": lambda case: torch.matmul,
    "linear": lambda case: F.linear,
    "conv2d": lambda case: lambda x, w: F.conv2d(
        x, w, None, case.get("stride", 1), case.get("padding", 0), 1, case.get("groups", 1)
    ),
    "softmax": lambda case: lambda x: torch.softmax(x, case.get("dim", 0)),
    "log_softmax": lambda case: lambda x: torch.log_softmax(x, case.get("dim", 0)),
    "layer_norm": lambda case: lambda x, w, b: F.layer_norm(x, w.shape, w, b),
    "rms_norm": lambda case: lambda x, w: F.rms_norm(x, w.shape, w, 1e-5),
    "batch_norm": lambda case: torch.nn.BatchNorm1d(case["shapes"][0][1]),
    "group_norm": lambda case: lambda x, w, b: F.group_norm(x, case["groups"], w, b),
    "conv_transpose2d": lambda case: torch.nn.ConvTranspose2d(case["shapes"][0][1], 8, 4, 2, 1),
    "upsample": lambda case: torch.nn.Upsample(scale_factor=2),
    "upsample bilinear": lambda case: torch.nn.Upsample(scale_factor=2, mode="bilinear"),
    "pad reflect": lambda case: lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "cross_entropy": lambda case: F.cross_entropy,
    "embedding": lambda case: lambda w, i: F.embedding(i, w),
    "max_pool2d": lambda case: lambda x: F.max_pool2d(x, 2),
    "attention": lambda case: lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
    "gelu": lambda case: F.gelu,
    "sum": lambda case: lambda x: x.sum(case.get("dim", 0)),
    "max": lambda case: lambda x: x.amax(case.get("dim", 0)),
    "transpose": lambda case: lambda x: x.t().contiguous(),
    "copy": lambda case: torch.clone,
    "affine": lambda case: lambda x: x * 3.7 + 0.5,
}

# The expressions of `methods.rs`, where PyTorch has no function of the case's name.
METHODS = {
    "x * y": torch.mul,
    "x + y": torch.add,
    "x - y": torch.sub,
    "x / y": torch.div,
    "x * x": lambda x: x * x,
    "x * s": lambda x: x * 1.7,
    "x + 3": lambda x: x + 3,
    "1 - x": lambda x: 1 - x,
    "1 / x": lambda x: 1 / x,
    "x * 1.7 + 0.5": lambda x: x * 1.7 + 0.5,
    "x + row": torch.add,
    "x * row": torch.mul,
    "x - column": torch.sub,
    "x * column": torch.mul,
    "x + channel": torch.add,
    "x * scalar": torch.mul,
    "clamp": lambda x: x.clamp(0.3, 1.2),
    "powf": lambda x: x**2.5,
    "powf 3": lambda x: x**3,
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(1),
    "sum 0": lambda x: x.sum(0),
    "sum -1": lambda x: x.sum(-1),
    "sum_all": lambda x: x.sum(),
    "mean (2, 3)": lambda x: x.mean((2, 3)),
    "var 1": lambda x: x.var(1),
    "norm -1": lambda x: x.norm(dim=-1),
    "max -1": lambda x: x.max(-1).values,
    "max_all": lambda x: x.max(),
    "argmax 1": lambda x: x.argmax(1),
    "cumsum 1": lambda x: x.cumsum(1),
    "flip -1": lambda x: x.flip(-1),
    "cat": lambda x, y: torch.cat((x, y), 1),
    "transposed copy": lambda x: x.transpose(-1, -2).contiguous(),
    "x[:, 1:3] + 1": lambda x: x[:, 1:3] + 1,
    "x > y": torch.gt,
    "x > 0.5": lambda x: x > 0.5,
    "where": lambda x: torch.where(x > 0.5, x, 0.0),
    "gather": lambda x, i: x.gather(-1, i.view(x.shape)),
    "index_select": lambda x, i: x.index_select(1, i),
    "one_hot": lambda i: F.one_hot(i, 10),
}


def build(case, compiled):
    dtype = torch.float64 if case.get("dtype") == "f64" else torch.float32
    inputs = [torch.randn(shape, dtype=dtype).abs() + 0.1 for shape in case["shapes"]]
    if case["op"] in ("sgd", "adamw"):
        return optimizer(case["op"], inputs[0], compiled)
    gradient = case.get("gradient", False)
    for x in inputs:
        x.requires_grad_(gradient)
    variables = list(inputs)
    if "classes" in case:
        inputs.append(torch.randint(0, case["classes"], (case["count"],)))
    op = case["op"]
    is_method = case.get("method") and op in METHODS
    function = METHODS[op] if is_method else FUNCTIONS[op](case) if op in FUNCTIONS else getattr(torch, op)
    if isinstance(function, torch.nn.Module):
        variables += function.parameters()
    if compiled:
        function = torch.compile(function, dynamic=False)
    if not gradient:
        def forward():
            with torch.inference_mode():
                function(*inputs)

        return forward

    def backward():
        for x in variables:
            x.grad = None
        function(*inputs).sum().backward()

    return backward


def optimizer(op, x, compiled):
    x.requires_grad_()
    x.grad = 2 * x.detach()
    kinds = {"sgd": torch.optim.SGD, "adamw": torch.optim.AdamW}
    step = kinds[op]([x], lr=1e-6).step
    return torch.compile(step) if compiled else step


def main():
    cases = {}
    for line in sys.stdin:
        milliseconds, text = line.split(" ", 1)
        if text not in cases:
            torch._dynamo.reset()
            cases[text] = build(json.loads(text), sys.argv[1] == "compiled")
            cases[text]()
        work, times, began = cases[text], [], time.perf_counter()
        while len(times) < 3 or (time.perf_counter() - began) * 1e3 < float(milliseconds):
            start = time.perf_counter()
            work()
            times.append((time.perf_counter() - start) * 1e3)
        print(" ".join(f"{t:.5f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
