"""The models in PyTorch: `python torch_models.py MODEL BATCH DEVICE [WORKERS]`, with the protocol of `training.rs`.

An epoch is loaded by so many workers of PyTorch's DataLoader, which live from epoch to epoch.
"""

import sys
import time

import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        conv = lambda: nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        norm = lambda: nn.BatchNorm2d(channels)
        self.body = nn.Sequential(conv(), norm(), nn.ReLU(), conv(), norm())

    def forward(self, x):
        return torch.relu(self.body(x) + x)


def lenet(activation, pool):
    return nn.Sequential(
        nn.LazyConv2d(6, 5, padding=2), activation(), pool(2), nn.LazyConv2d(16, 5), activation(), pool(2), nn.Flatten(),
        nn.LazyLinear(120), activation(), nn.LazyLinear(84), activation(), nn.LazyLinear(10),
    )  # fmt: skip


def leaf():
    block = lambda filters: [nn.LazyConv2d(filters, 2), nn.ReLU(), nn.MaxPool2d(4, 2), nn.LazyBatchNorm2d()]
    return nn.Sequential(
        *block(32), *block(64), *block(128), nn.Flatten(),
        nn.LazyLinear(100), nn.ReLU(), nn.Dropout(0.2), nn.LazyLinear(10), nn.ReLU(), nn.Dropout(0.2), nn.LazyLinear(2),
    )  # fmt: skip


def cifar():
    return nn.Sequential(
        nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 16, 5, padding=3), nn.ReLU(),
        nn.Conv2d(16, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        nn.Linear(64, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip


MODELS = {
    "mlp": ((784,), 10, lambda: nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))),
    "mlp-norm": (
        (784,), 10, lambda: nn.Sequential(nn.Linear(784, 256), nn.LayerNorm(256), nn.GELU(), nn.Linear(256, 10))
    ),
    "lenet": ((1, 28, 28), 10, lambda: lenet(nn.Sigmoid, nn.AvgPool2d)),
    "lenet-relu": ((1, 28, 28), 10, lambda: lenet(nn.ReLU, nn.MaxPool2d)),
    "leaf": ((3, 128, 128), 2, leaf),
    "cifar": ((3, 32, 32), 10, cifar),
    "resnet": ((64, 32, 32), 10, lambda: nn.Sequential(Residual(64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))),
}


def epochs(batch, workers):
    """Returns a function that trains LeNet for an epoch of 60,000 images."""
    data = torch.utils.data.TensorDataset(torch.randn(60_000, 1, 28, 28), torch.arange(60_000) % 10)
    loader = torch.utils.data.DataLoader(
        data, batch, shuffle=True, num_workers=workers, persistent_workers=workers > 0
    )  # fmt: skip
    net = lenet(nn.Sigmoid, nn.AvgPool2d)
    net(data[:1][0])
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)

    def epoch():
        losses = []
        for x, y in loader:
            losses.append(step(net, optimizer, x, y).detach())
        torch.stack(losses).mean().item()

    return epoch


def steps(model, batch, device):
    """Returns a function that trains a model for one step, always on the same batch."""
    shape, classes, build = MODELS[model]
    x = torch.randn(batch, *shape, device=device)
    y = torch.arange(batch, device=device) % classes
    net = build().to(device)
    net(x)
    if model == "mlp-norm":
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.001)
    else:
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    return lambda: step(net, optimizer, x, y).item()


def step(net, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def main():
    model, batch, device, *workers = sys.argv[1:]
    work = epochs(int(batch), int(*workers)) if model == "epoch" else steps(model, int(batch), torch.device(device))
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            began, processors = time.perf_counter(), time.process_time()
            work()
            times += [time.perf_counter() - began, time.process_time() - processors]
        print(" ".join(f"{t * 1e3:.4f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
