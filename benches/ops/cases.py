"""The operations that are measured: name, case, multiply-adds, and the least number of bytes read and written."""

from math import prod


def case(name: str, op: str, *shapes: list[int], work: float = 0, out: int | None = None, **settings) -> dict:
    size = 8 if settings.get("dtype") == "f64" else 4
    elements = sum(prod(shape) for shape in shapes) + (prod(shapes[0]) if out is None else out)
    times = 3 if settings.get("gradient") else 1  # forward, and the gradients of both inputs
    return {
        "name": name, "work": work * times * size / 4, "bytes": elements * size * (2 if times == 3 else 1),
        "case": {"op": op, "shapes": shapes, **settings},
    }  # fmt: skip


def product(rows: int, depth: int, columns: int, batch: list[int] | None = None, **settings) -> dict:
    batch = batch or []
    name = f"matmul {'×'.join(map(str, batch))}{' × ' if batch else ''}{rows}×{depth}×{columns}"
    name += " f64" * ("dtype" in settings) + " + gradients" * ("gradient" in settings)
    work = prod(batch) * rows * depth * columns
    out = prod(batch) * rows * columns
    return case(name, "matmul", [*batch, rows, depth], [*batch, depth, columns], work=work, out=out, **settings)


def transposed(rows: int, depth: int, columns: int, **settings) -> dict:
    name = f"linear {rows}×{depth}×{columns}" + " + gradients" * ("gradient" in settings)
    return case(
        name, "linear", [rows, depth], [columns, depth], work=rows * depth * columns, out=rows * columns, **settings
    )  # fmt: skip


def convolution(batch: int, ins: int, outs: int, size: int, kernel: int, **settings) -> dict:
    groups, stride = settings.get("groups", 1), settings.get("stride", 1)
    settings["padding"] = kernel // 2
    to = (size - 1) // stride + 1
    text = " ".join(f"{key} {value}" for key, value in settings.items() if key in ("groups", "stride") and value > 1)
    name = f"conv2d {batch}×{ins}→{outs} {size}² {kernel}×{kernel} {text}".strip() + " + gradients" * ("gradient" in settings)
    out = batch * outs * to * to
    weight = [outs, ins // groups, kernel, kernel]
    work = out * ins // groups * kernel * kernel
    return case(name, "conv2d", [batch, ins, size, size], weight, work=work, out=out, **settings)


def elementwise(op: str, *shapes: list[int], **settings) -> dict:
    name = f"{op} {' '.join('×'.join(map(str, shape)) for shape in shapes)}"
    name += f" along {settings.get('dim')}" * ("dim" in settings) + f" groups {settings.get('groups')}" * ("groups" in settings)
    name += " + gradients" * ("gradient" in settings)
    return case(name, op, *shapes, **settings)


def methods(x: list[int]) -> list[dict]:
    """Operators and methods as one writes them in a notebook (`methods.rs`), for `x` of this shape."""
    batch, channels, _, width = x
    one = ("x * x", "x * s", "x + 3", "1 - x", "1 / x", "x * 1.7 + 0.5", "clamp", "powf", "powf 3", "exp", "log", "tanh", "sigmoid", "relu",
           "abs", "sqrt", "sin", "softmax", "log_softmax", "sum 0", "sum -1", "sum_all", "mean (2, 3)", "var 1", "norm -1", "max -1",
           "max_all", "cumsum 1", "flip -1", "transposed copy", "x[:, 1:3] + 1", "where")  # fmt: skip
    two = {op: x for op in ("x * y", "x + y", "x - y", "x / y", "maximum", "cat")}
    two |= {"x + row": [width], "x * row": [width], "x - column": [*x[:3], 1], "x * column": [*x[:3], 1], "x + channel": [channels, 1, 1]}
    two |= {"x * scalar": []}
    chosen = {"gather": {"classes": width, "count": prod(x)}, "index_select": {"classes": channels, "count": channels}}
    inputs = {op: ([x], {}) for op in one} | {op: ([x, y], {}) for op, y in two.items()}
    inputs |= {op: ([x], indices) for op, indices in chosen.items()}
    cases = [(op, inputs[op], gradient) for gradient in (False, True) for op in inputs]
    masks = {"x > y": ([x, x], {}), "x > 0.5": ([x], {}), "argmax 1": ([x], {}), "one_hot": ([], {"classes": 10, "count": prod(x) // 10})}
    cases += [(op, found, False) for op, found in masks.items()]
    settings = lambda gradient: {"method": True} | ({"gradient": True} if gradient else {})
    return [
        case(f"{op} of {'×'.join(map(str, x))}" + " + gradients" * gradient, op, *shapes, out=prod(x), **indices, **settings(gradient))
        for op, (shapes, indices), gradient in cases
    ]


BIG = [2000, 2000]
GRADIENT = {"gradient": True}
CASES = [
    product(1024, 1024, 1024), product(257, 129, 513), product(1, 1024, 1024), product(2048, 64, 64), product(64, 2048, 64),
    product(512, 512, 512, dtype="f64"), product(64, 32, 64, [48]), product(64, 32, 64, [48], **GRADIENT),
    product(128, 64, 128, [8, 4]), transposed(256, 784, 256), transposed(256, 784, 256, **GRADIENT), transposed(1, 784, 256),
    convolution(32, 3, 64, 32, 3), convolution(8, 64, 64, 32, 3, **GRADIENT), convolution(8, 256, 256, 8, 3, **GRADIENT),
    convolution(8, 512, 512, 4, 3, **GRADIENT), convolution(8, 64, 128, 32, 3, stride=2), convolution(32, 64, 128, 16, 1, **GRADIENT),
    convolution(8, 48, 40, 17, 5), convolution(32, 64, 64, 32, 3, groups=64, **GRADIENT), convolution(128, 1, 6, 28, 5),
    convolution(8, 64, 64, 16, 3, groups=4),
    elementwise("softmax", BIG, dim=1), elementwise("softmax", BIG, dim=0), elementwise("softmax", [8192, 512], dim=1, **GRADIENT),
    elementwise("softmax", [256, 10], dim=1), elementwise("log_softmax", BIG, dim=1),
    *(elementwise(op, [256, 1024], dim=1) for op in ("softmax", "log_softmax")),
    elementwise("layer_norm", [8192, 512], [512], [512]), elementwise("layer_norm", [8192, 512], [512], [512], **GRADIENT),
    elementwise("rms_norm", [8192, 512], [512]),
    *(elementwise("batch_norm", [1024, 512], **settings) for settings in ({}, GRADIENT)),
    *(elementwise("batch_norm", [256, 64], **settings) for settings in ({}, GRADIENT)),
    *(elementwise("group_norm", [8, 64, 32, 32], [64], [64], groups=groups, **settings) for groups in (8, 64) for settings in ({}, GRADIENT)),
    *(elementwise(op, [16, 32, 32, 32], out=4 * 16 * 32 * 32 * 32, **settings)
      for op in ("upsample", "upsample bilinear") for settings in ({}, GRADIENT)),
    *(elementwise("pad reflect", [32, 64, 32, 32], **settings) for settings in ({}, GRADIENT)),
    convolution(32, 64, 64, 16, 7, groups=64, **GRADIENT),
    *(elementwise("conv_transpose2d", [32, 16, 16, 16], out=32 * 8 * 32 * 32, **settings) for settings in ({}, GRADIENT)),
    elementwise("relu", [1024, 512], **GRADIENT),
    *(elementwise(op, BIG) for op in ("relu", "gelu", "sigmoid", "tanh", "exp", "log")), elementwise("gelu", [256, 256]),
    elementwise("gelu", BIG, **GRADIENT), elementwise("exp", [256, 256]),
    *(elementwise("sum", BIG, dim=dim, out=2000) for dim in (0, 1)), elementwise("max", BIG, dim=1, out=2000),
    elementwise("add", BIG, BIG), elementwise("add", BIG, [2000]), elementwise("mul", BIG, [2000, 1]),
    elementwise("transpose", BIG), elementwise("copy", BIG),
    # In the caches, where the loops' instructions take the time, not the memory.
    *(elementwise(op, [100, 100]) for op in ("affine", "relu")), *(elementwise(op, [100, 100], [100, 100]) for op in ("add", "mul")),
    case("embedding 4096 of 10000×256", "embedding", [10000, 256], classes=10000, count=4096, out=0),
    case("embedding 4096 of 10000×256 + gradients", "embedding", [10000, 256], classes=10000, count=4096, **GRADIENT),
    case("embedding 768 of 20000×100 + gradients", "embedding", [20000, 100], classes=20000, count=768, **GRADIENT),
    case("cross_entropy 512×10000 + gradients", "cross_entropy", [512, 10000], classes=10000, count=512, **GRADIENT),
    case("max_pool2d 32×64 32²", "max_pool2d", [32, 64, 32, 32], out=32 * 64 * 16 * 16),
    case("attention 8×4×128×64", "attention", *[[8, 4, 128, 64]] * 3, work=32 * 128 * 128 * 64),
    case("attention 8×4×128×64 + gradients", "attention", *[[8, 4, 128, 64]] * 3, work=32 * 128 * 128 * 64, **GRADIENT),
    elementwise("sgd", [1000, 1000]), elementwise("adamw", [1000, 1000]),
    *methods([8, 4, 4, 8]), *methods([8, 64, 14, 14]), *methods([32, 64, 32, 32]),
]  # fmt: skip
