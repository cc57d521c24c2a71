"""The samples of functions, methods and operators."""

import math

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db

from samples import NAMES, Unstorable, gradients, mapped, outputs_of, quantized, tensors_in, without_defaults
from tables import MASKS, ORDERED, SIGNATURES, TAKEN, VARIANTS

# Reference inputs are many: of each function, at most this many of at most this many elements.
MOST, ELEMENTS = 48, 300


def function_of(op):
    return op.name + ("." + op.variant_test_name if op.variant_test_name else "")


def signature_of(name, signatures):
    """Returns the name of the function and its arguments, if Taper has it."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        short = ".".join(parts[:length])
        if short in signatures:
            return short, signatures[short]
    return None


def export_functions(exporter, signatures=SIGNATURES):
    for op in op_db:
        found = signature_of(function_of(op), signatures)
        if found is None or function_of(op) in VARIANTS:
            continue
        name, signature = found
        if not function_of(op).startswith(name) or (op.name != name and function_of(op) != name):
            continue
        for dtype in (torch.float64, torch.int64, torch.bool):
            if dtype not in op.dtypes or (dtype == torch.bool and name not in MASKS):
                continue
            export_function(exporter, op, name, signature, dtype)
        if op.error_inputs_func:
            for error in op.error_inputs("cpu"):
                sample = error.sample_input
                args, _ = named(signature, sample)
                if "self.dtype" in str(error.error_regex):
                    continue  # The types of floats are not stored.
                if args is not None and name not in TAKEN and not isinstance(sample.input, (int, float)):
                    exporter.refused({"op": name, "error": str(error.error_regex)[:80]}, {"args": args})


def named(signature, sample):
    try:
        return bound(signature, [sample.input, *sample.args], sample.kwargs), None
    except AssertionError as error:
        return None, error


def is_comparable(name, sample):
    """Returns whether the results are defined: those of dropout are random, of some conversions not specified."""
    values = tensors_in([sample.input, sample.args])
    return not sample.kwargs.get("dropout_p") and (name != "long" or all(
        x.isfinite().all() and (not x.numel() or x.abs().max() < 2**63) for x in values if x.dtype.is_floating_point))


def chosen(op, dtype, backward):
    torch.manual_seed(0)
    numpy.random.seed(0)
    samples = list(op.sample_inputs("cpu", dtype, requires_grad=backward))
    if len(samples) > 200:
        samples = samples[::12]
    size = lambda sample: sum(x.numel() for x in tensors_in([sample.input, sample.args, sample.kwargs]))
    reference = []
    if op.reference_inputs_func is not None:
        try:
            reference = [s for s in op.reference_inputs("cpu", dtype, requires_grad=backward) if size(s) <= ELEMENTS]
        except ValueError:  # Some require gradients of integers.
            reference = [s for s in op.reference_inputs("cpu", dtype, requires_grad=False) if size(s) <= ELEMENTS]
        reference = reference[len(samples):] if len(reference) > MOST else reference
        step = max(1, math.ceil(len(reference) / (MOST if dtype == torch.float64 else MOST // 2)))
        reference = reference[::step]
    return [s for s in samples if size(s) <= 20 * ELEMENTS] + reference


def export_function(exporter, op, name, signature, dtype):
    backward = dtype == torch.float64 and op.supports_autograd
    for sample in chosen(op, dtype, backward):
        exact = name in ORDERED
        if not is_comparable(name, sample):
            continue
        try:
            raw = quantized({"input": sample.input, "args": sample.args, "kwargs": sample.kwargs}, exact)
        except Unstorable:
            continue
        if name == "__getitem__":
            raw["args"] = tuple(torch.tensor(x) if type(x) is list else x for x in raw["args"])
        args, problem = named(signature, type(sample)(raw["input"], args=raw["args"], kwargs=raw["kwargs"]))
        if args is None:
            print(name, problem)
            continue

        def run(inputs):
            values = inputs["raw"]
            result = op.op(values["input"], *values["args"], **values["kwargs"])
            outputs = outputs_of(result)
            if not outputs:
                raise Unstorable
            sources = [x for x in tensors_in(inputs["args"]) if x.requires_grad]
            return [*outputs, *gradients(outputs, sources)], len(outputs)

        def of_args(inputs):
            # The arguments by name are the tensors of the call.
            values = {"input": raw["input"], "args": raw["args"], "kwargs": raw["kwargs"]}
            old, new = tensors_in(args), tensors_in(inputs["args"])
            swap = {id(a): b for a, b in zip(old, new)}
            values = mapped(lambda x: swap.get(id(x), x), values)
            return run({"raw": values, "args": inputs["args"]})

        try:
            exporter.add({"op": name, "dtype": NAMES[dtype]}, {"args": args}, of_args, exact)
        except Exception as error:
            print(name, dtype, {k: v for k, v in args.items() if not isinstance(v, torch.Tensor)}, repr(error)[:200])


def bound(signature, args, kwargs):
    """Returns the arguments by name, without those that have their default value."""
    names, defaults, values = [], {}, dict(kwargs)
    for part in signature.split():
        name, _, default = part.partition("=")
        names.append(name)
        if default:
            defaults[name] = eval(default)
    args = list(args)
    for name in names:
        if name.startswith("*") and args:
            values[name[1:]] = list(args[0]) if isinstance(args[0], (tuple, list)) and len(args) == 1 else args
            args = []
        elif args:
            values[name] = args.pop(0)
    assert not args, (signature, args)
    return without_defaults(values, defaults)
