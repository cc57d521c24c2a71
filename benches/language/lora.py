"""Measures training of all parameters and of low-rank adapters with Taper and PyTorch in turn, and prints a table."""

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import torch
from torch.nn import functional as F

from measure import SIZES, forward, new_model, save, save_tensors, with_taper

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Adapted(torch.nn.Module):
    """A frozen linear layer with an adapter beside it, whose strength is twice its rank."""

    def __init__(self, linear, rank):
        super().__init__()
        self.linear = linear
        self.lora_A = torch.nn.Linear(linear.in_features, rank, bias=False)
        self.lora_B = torch.nn.Linear(rank, linear.out_features, bias=False)
        torch.nn.init.zeros_(self.lora_B.weight)

    def forward(self, x):
        return self.linear(x) + self.lora_B(self.lora_A(x)) * 2


def adapted(model, rank):
    """Freezes the model, and adds adapters with the values that each call draws again."""
    torch.manual_seed(2)
    model.requires_grad_(False)
    for module in list(model.modules()):
        for name, linear in list(module.named_children()):
            if name in TARGETS:
                setattr(module, name, Adapted(linear, rank))
    return model


def adapters(model):
    """Returns the values of the adapters with the names of Hugging Face's library."""
    return {f"base_model.model.{name}": x.detach() for name, x in model.named_parameters() if "lora_" in name}


def batches(count, examples, steps):
    """Draws texts that a model can learn: each token follows from the one before, within 256 of them."""
    torch.manual_seed(0)
    following = torch.randperm(256)
    all_batches = []
    for _ in range(count):
        tokens = [torch.randint(0, 256, (examples,))]
        for _ in range(steps):
            tokens.append(following[tokens[-1]])
        all_batches.append(torch.stack(tokens, 1).tolist())
    return all_batches


def with_torch(way, rank, all_batches):
    model = adapted(new_model(), rank) if way == "lora" else new_model()
    parameters = [x for x in model.parameters() if x.requires_grad]
    optimizer = torch.optim.AdamW(parameters, 1e-3)
    times, losses = [], []
    for batch in map(torch.tensor, all_batches):
        began = time.perf_counter()
        loss = F.cross_entropy(forward(model, batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        times.append((time.perf_counter() - began) * 1e3)
    return dict(milliseconds=times, losses=losses, parameters=sum(x.numel() for x in parameters))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    all_batches = batches(arguments.steps, arguments.batch, arguments.length)
    print("| trained | parameters | Taper, step (ms) | PyTorch, step (ms) | × PyTorch | first loss | last loss: Taper | PyTorch |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        save(new_model(), Path(folder))
        save_tensors(Path(folder) / "adapters.safetensors", adapters(adapted(new_model(), arguments.rank)))
        request = dict(rank=arguments.rank, batches=all_batches)
        (Path(folder) / "training.json").write_text(json.dumps(request))
        for way in ("full", "lora"):
            ours, theirs = [], []
            for _ in range(arguments.turns):
                ours.append(with_taper(way, folder, arguments.threads))
                theirs.append(with_torch(way, arguments.rank, all_batches))
            print(row(way, ours, theirs), flush=True)


def row(way, ours, theirs):
    # The first step also allocates.
    step = lambda runs: min(statistics.median(run["milliseconds"][1:]) for run in runs)
    (our, their), losses = (runs[0] for runs in (ours, theirs)), theirs[0]["losses"]
    assert our["parameters"] == their["parameters"], (our["parameters"], their["parameters"])
    assert abs(our["losses"][0] - losses[0]) < 1e-3, (our["losses"][0], losses[0])
    cells = [f"{their['parameters']:,}", f"{step(ours):.0f}", f"{step(theirs):.0f}", f"{step(ours) / step(theirs):.2f}"]
    cells += [f"{losses[0]:.4f}", f"{our['losses'][-1]:.4f}", f"{losses[-1]:.4f}"]
    return f"| {way} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
