"""The models in PyTorch: `python torch_models.py MODEL BATCH`, spoken to as `training.rs`."""

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
    "lenet": ((1, 28, 28), 10, lambda: lenet(nn.Sigmoid, nn.AvgPool2d)),
    "lenet-relu": ((1, 28, 28), 10, lambda: lenet(nn.ReLU, nn.MaxPool2d)),
    "leaf": ((3, 128, 128), 2, leaf),
    "cifar": ((3, 32, 32), 10, cifar),
    "resnet": ((64, 32, 32), 10, lambda: nn.Sequential(Residual(64), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))),
}


def main():
    shape, classes, build = MODELS[sys.argv[1]]
    batch = int(sys.argv[2])
    x = torch.randn(batch, *shape)
    y = torch.arange(batch) % classes
    net = build()
    net(x)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            began, processors = time.perf_counter(), time.process_time()
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            optimizer.step()
            loss.item()
            times += [time.perf_counter() - began, time.process_time() - processors]
        print(" ".join(f"{t * 1e3:.4f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
