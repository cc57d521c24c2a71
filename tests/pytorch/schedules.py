"""The samples of schedules: settings, and the learning rates of 60 steps."""

import inspect
import warnings

import torch
from torch.optim import lr_scheduler

from samples import without_defaults

STEPS = 60

# Arguments of each schedule; `lr` is that of the optimiser.
SETTINGS = {
    "StepLR": [{"step_size": 7}, {"step_size": 1, "gamma": 0.9}, {"step_size": 100, "gamma": 0.5}],
    "MultiStepLR": [{"milestones": [3, 20, 21]}, {"milestones": [5, 5, 59], "gamma": 0.5}, {"milestones": []}],
    "ExponentialLR": [{"gamma": 0.9}, {"gamma": 1.05}],
    "CosineAnnealingLR": [{"T_max": 60}, {"T_max": 25, "eta_min": 0.01}, {"T_max": 200}],
    "LinearLR": [{}, {"start_factor": 0.1, "total_iters": 30}, {"start_factor": 1.0, "end_factor": 0.0, "total_iters": 59},
                 {"start_factor": 0.5, "end_factor": 0.2, "total_iters": 1}],
    "PolynomialLR": [{}, {"total_iters": 40, "power": 2.0}, {"total_iters": 80, "power": 0.5}],
    "CosineAnnealingWarmRestarts": [{"T_0": 10}, {"T_0": 5, "T_mult": 2}, {"T_0": 1, "T_mult": 3, "eta_min": 0.02}],
    "OneCycleLR": [{"total_steps": 60}, {"total_steps": 60, "anneal_strategy": "linear"}, {"total_steps": 61, "three_phase": True},
                   {"total_steps": 60, "three_phase": True, "anneal_strategy": "linear", "pct_start": 0.4},
                   {"total_steps": 75, "pct_start": 0.1, "div_factor": 10.0, "final_div_factor": 100.0}],
    "ReduceLROnPlateau": [{}, {"mode": "max", "patience": 3}, {"patience": 0, "factor": 0.5, "min_lr": 0.01},
                          {"patience": 2, "cooldown": 4}, {"patience": 2, "threshold": 0.1},
                          {"patience": 2, "threshold": 0.05, "threshold_mode": "abs"},
                          {"mode": "max", "patience": 1, "threshold": 0.2, "threshold_mode": "abs", "cooldown": 1},
                          {"patience": 1, "factor": 0.9, "eps": 0.02}],
    # A linear warm-up, followed by another schedule.
    "SequentialLR": [{"start_factor": 0.1, "total_iters": 10, "T_max": 50},
                     {"start_factor": 1.0, "total_iters": 1, "T_max": 20},
                     {"start_factor": 0.25, "total_iters": 30, "gamma": 0.95}],
}
REFUSED = {
    "LinearLR": [{"start_factor": 0.0}, {"start_factor": 1.5}, {"end_factor": -0.5}, {"end_factor": 1.5}],
    "CosineAnnealingWarmRestarts": [{"T_0": 0}, {"T_0": 5, "T_mult": 0}],
    "OneCycleLR": [{"total_steps": 60, "pct_start": 1.5}, {"total_steps": 0}],
    "ReduceLROnPlateau": [{"factor": 1.0}],
}


def export_schedules(exporter):
    warnings.simplefilter("ignore")
    for name, all_settings in SETTINGS.items():
        for settings in all_settings:
            for lr in (0.5, 3e-4):
                inputs = {"args": {**settings, "lr": lr}}
                if name == "ReduceLROnPlateau":
                    inputs["forward"] = {"values": metrics(settings)}
                cls = getattr(lr_scheduler, name)
                defaults = {k: p.default for k, p in inspect.signature(cls.__init__).parameters.items()}
                inputs["args"] = without_defaults(inputs["args"], defaults)
                run = lambda inputs: ([torch.tensor(rates(name, inputs), dtype=torch.float64)], 1)
                exporter.add({"op": "lr_scheduler." + name, "dtype": "f64"}, inputs, run, halves=False)
    for name, all_settings in REFUSED.items():
        for settings in all_settings:
            try:
                rates(name, {"args": {**settings, "lr": 0.5}, "forward": {"values": metrics(settings)}})
            except (ValueError, ZeroDivisionError) as error:
                record = {"op": "lr_scheduler." + name, "error": str(error)[:80]}
                exporter.refused(record, {"args": {**settings, "lr": 0.5}})
            else:
                raise AssertionError(f"PyTorch takes {name}({settings})")


def metrics(settings):
    """Returns a metric that improves, stands still and becomes worse."""
    torch.manual_seed(3)
    steps = torch.arange(STEPS)
    values = 1.0 / (1.0 + 0.1 * steps) + 0.05 * torch.randn(STEPS) + 0.004 * (steps - 30).clamp(min=0)
    return (1.0 - values if settings.get("mode") == "max" else values).bfloat16().double()


def rates(name, inputs):
    args = dict(inputs["args"])
    lr = args.pop("lr")
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=lr)
    if name == "SequentialLR":
        warmup = lr_scheduler.LinearLR(optimizer, args["start_factor"], total_iters=args["total_iters"])
        then = (lr_scheduler.CosineAnnealingLR(optimizer, args["T_max"]) if "T_max" in args
                else lr_scheduler.ExponentialLR(optimizer, args["gamma"]))
        schedule = lr_scheduler.SequentialLR(optimizer, [warmup, then], [args["total_iters"]])
    elif name == "OneCycleLR":
        schedule = lr_scheduler.OneCycleLR(optimizer, max_lr=lr, cycle_momentum=False, **args)
    else:
        schedule = getattr(lr_scheduler, name)(optimizer, **args)
    found = []
    for step in range(STEPS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if name == "ReduceLROnPlateau":
            schedule.step(inputs["forward"]["values"][step].item())
        elif step < STEPS - 1:
            schedule.step()
    return found
