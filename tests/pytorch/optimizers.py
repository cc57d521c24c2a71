"""The samples of optimisers: settings, and what five steps make of two parameters."""

import inspect
import itertools

import torch
from torch.testing._internal.common_optimizers import optim_db

from samples import without_defaults
from tables import OPTIMIZERS

STEPS = 5

# Two values of each argument that Taper has, besides PyTorch's own samples; all combinations are run.
ADAM = {"lr": [1e-3, 0.05], "betas": [(0.9, 0.999), (0.5, 0.8)], "eps": [1e-8, 1e-3], "weight_decay": [0.0, 0.2],
        "amsgrad": [False, True], "maximize": [False, True]}
SETTINGS = {
    "Adadelta": {"lr": [1.0, 0.1], "rho": [0.9, 0.5], "eps": [1e-6, 1e-2], "weight_decay": [0.0, 0.2], "maximize": [False, True]},
    "Adagrad": {"lr": [0.01, 0.3], "lr_decay": [0.0, 0.2], "initial_accumulator_value": [0.0, 0.5], "eps": [1e-10, 1e-2],
                "weight_decay": [0.0, 0.2], "maximize": [False, True]},
    "Adam": ADAM,
    "AdamW": ADAM,
    "RMSprop": {"lr": [0.01], "alpha": [0.99, 0.5], "eps": [1e-8, 1e-2], "weight_decay": [0.0, 0.2], "momentum": [0.0, 0.7],
                "centered": [False, True], "maximize": [False, True]},
    "SGD": {"lr": [0.1], "momentum": [0.0, 0.7], "dampening": [0.0, 0.3], "weight_decay": [0.0, 0.2], "nesterov": [False, True],
            "maximize": [False, True]},
}


def export_optimizers(exporter):
    for info in optim_db:
        cls = info.optim_cls
        if cls.__name__ not in OPTIMIZERS:
            continue
        for sample in info.optim_inputs_func("cpu"):
            export_optimizer(exporter, cls, sample.kwargs)
        for values_of in itertools.product(*SETTINGS[cls.__name__].values()):
            args = dict(zip(SETTINGS[cls.__name__], values_of))
            if not args.get("nesterov") or args["momentum"] > 0 and args["dampening"] == 0:
                export_optimizer(exporter, cls, args)
        for error in info.optim_error_inputs_func("cpu", torch.float64):
            sample = error.optimizer_error_input
            # Others are about Python's types and names of parameters.
            if str(error.error_regex).startswith("Invalid"):
                args = dict(sample.kwargs)
                record = {"op": "optim." + cls.__name__, "error": str(error.error_regex)[:80]}
                exporter.refused(record, {"args": args, "forward": gradients(), "state": values()})


def values():
    torch.manual_seed(1)
    return {name: torch.randn(shape).bfloat16().double() for name, shape in [("a", (3, 2)), ("b", (4,))]}


def gradients():
    torch.manual_seed(2)
    return {f"{name}{step}": torch.randn(x.shape).bfloat16().double()
            for step in range(STEPS) for name, x in values().items()}


def export_optimizer(exporter, cls, kwargs):
    defaults = {name: p.default for name, p in inspect.signature(cls.__init__).parameters.items()}
    args = without_defaults(kwargs, defaults)
    args = {k: v.item() if k == "lr" and isinstance(v, torch.Tensor) else v for k, v in args.items()}
    # How PyTorch computes the step, not which.
    args = {k: v for k, v in args.items() if k not in ("foreach", "fused", "capturable", "differentiable")}

    def run(inputs):
        parameters = {name: x.detach().clone().requires_grad_() for name, x in inputs["state"].items()}
        optimizer = cls(parameters.values(), **args)
        for step in range(STEPS):
            for name, x in parameters.items():
                x.grad = inputs["forward"][f"{name}{step}"].detach().clone()
            optimizer.step()
        return [x.detach() for x in parameters.values()], 2

    exporter.add({"op": "optim." + cls.__name__, "dtype": "f64"},
                 {"args": args, "forward": gradients(), "state": values()}, run, halves=False)
