"""The samples of layers and losses."""

import copy
import inspect

import torch
from torch.testing._internal.common_modules import module_db

from samples import Unstorable, gradients, outputs_of, quantized, tensors_in, without_defaults
from tables import MODULES


def export_modules(exporter, modules=MODULES):
    for info in module_db:
        name = info.module_cls.__name__
        if name not in modules:
            continue
        seen = set()
        for training in (True, False) if info.train_and_eval_differ else (True,):
            torch.manual_seed(0)
            for sample in info.module_inputs_func(
                    info, device="cpu", dtype=torch.float64, requires_grad=True, training=training):
                if sample.forward_input is not None:
                    export_module(exporter, name, info.module_cls, sample, training)
        if info.module_error_inputs_func:
            for training in (True, False) if info.train_and_eval_differ else (True,):
                for error in info.module_error_inputs_func(
                        info, device="cpu", dtype=torch.float64, requires_grad=False, training=training):
                    export_refused(exporter, name, info.module_cls, error, seen)


def named(function, given):
    signature = inspect.signature(function)
    arguments = signature.bind(None, *given.args, **{k: v for k, v in given.kwargs.items() if k not in ("device", "dtype")})
    values = dict(list(arguments.arguments.items())[1:])
    values.update(values.pop("kwargs", {}))
    rest = values.pop("args", ())
    names = [name for name in ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional",
                               "proj_size") if name not in values]
    values.update(zip(names, rest))
    defaults = {name: p.default for name, p in signature.parameters.items()}
    defaults |= {"num_layers": 1, "bias": defaults.get("bias", True), "batch_first": False, "bidirectional": False,
                 "proj_size": 0, "dropout": defaults.get("dropout", 0.0), "nonlinearity": "tanh"}
    return without_defaults(values, defaults)


def export_module(exporter, name, cls, sample, training):
    try:
        arguments = quantized(named(cls.__init__, sample.constructor_input), False)
        forward = quantized(named(cls.forward, sample.forward_input), False)
    except Unstorable:
        return
    for x in tensors_in(arguments):
        x.requires_grad_(False)
    module = built(cls, arguments)
    module.train(training)
    with torch.no_grad():
        module(**copy.deepcopy(forward))  # creates lazy parameters
        for x in [*module.parameters(), *module.buffers()]:
            if x.dtype.is_floating_point:
                x.copy_(x.bfloat16())
    # The buffers of a loss are its arguments.
    is_loss = name.endswith("Loss")
    state = {} if is_loss else {k: v.detach().clone().requires_grad_(k in dict(module.named_parameters())) for k, v in module.state_dict().items()}

    def run(inputs):
        args, forward, state = (inputs[part] for part in ("args", "forward", "state"))
        floats = [x for x in tensors_in([forward, state]) if x.dtype.is_floating_point]
        own = built(cls, args, module).to(floats[0].dtype if floats else torch.float64)
        own.train(training)
        if not is_loss:
            own.load_state_dict({k: v.detach() for k, v in state.items()})
        torch.manual_seed(training)
        outputs = outputs_of(own(**forward))
        sources = [x for x in tensors_in(forward) if x.requires_grad] + list(own.parameters())
        buffers = [] if is_loss else own.buffers()
        return [*outputs, *gradients(outputs, sources), *buffers], len(outputs)

    inputs = {"args": arguments, "forward": forward, "state": state}
    if training and is_random(module):
        return
    record = {"op": "nn." + name, "dtype": "f64"}
    if not training:
        record["eval"] = 1
    exporter.add(record, inputs, run, halves=True)


def is_random(module):
    rates = [m.p for m in module.modules() if isinstance(m, torch.nn.Dropout)]
    rates += [m.dropout for m in module.modules() if isinstance(getattr(m, "dropout", None), float)
              and getattr(m, "num_layers", 2) > 1]
    return any(rate > 0 for rate in rates)


def built(cls, arguments, like=None):
    if "Lazy" in cls.__name__ and like is not None:
        return copy.deepcopy(like)
    arguments = {k: copy.deepcopy(v) for k, v in arguments.items()}
    return cls(**arguments).double()


def export_refused(exporter, name, cls, error, seen):
    sample = error.module_error_input
    if "dtype" in str(error.error_regex):
        return  # All inputs of a sample have one type.
    try:
        arguments = quantized(named(cls.__init__, sample.constructor_input), False)
        forward = {}
        if sample.forward_input is not None:
            forward = quantized(named(cls.forward, sample.forward_input), False)
    except (Unstorable, TypeError) as problem:
        print(name, "error input", repr(problem)[:100])
        return
    record = {"op": "nn." + name, "error": str(error.error_regex)[:80]}
    if str(record) + str(arguments) + str({k: getattr(v, "shape", v) for k, v in forward.items()}) not in seen:
        seen.add(str(record) + str(arguments) + str({k: getattr(v, "shape", v) for k, v in forward.items()}))
        exporter.refused(record, {"args": arguments, "forward": forward, "state": {}})
