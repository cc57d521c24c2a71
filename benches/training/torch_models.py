"""The models in PyTorch: `python torch_models.py eager|compiled MODEL BATCH DEVICE train|infer [WORKERS]`, with the protocol of `training.rs`.

WORKERS is the number of workers of PyTorch's DataLoader for the model `epoch`; they live from epoch to epoch.
"""

import sys
import time

import torch
from torch import nn

import larger
import papers
import written


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
    **larger.MODELS,
}
WITH_ADAM = ("mlp-norm", "mlp-wide", "gpt-128", "gpt-256", *papers.MODELS)


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
            losses.append(step(lambda x, y: nn.functional.cross_entropy(net(x), y), optimizer, x, y).detach())
        torch.stack(losses).mean().item()

    return epoch


def steps(model, batch, device, compiled, inference):
    """Returns a function that trains or applies a model once, always on the same batch."""
    loss, rate = nn.functional.cross_entropy, 0.01
    if model in written.MODELS:
        shape, tokens, build = written.MODELS[model]
    else:
        shape, classes, build = MODELS[model]
        tokens = None
    size = (batch, *shape)
    x = torch.randint(0, tokens, size, device=device) if tokens else torch.randn(size, device=device)
    if model in written.MODELS:
        y = None
    elif model.startswith("gpt"):
        x = torch.randint(0, classes, (batch, *shape), device=device)
        y = x.flatten()
    elif model == "unet":
        y = torch.zeros(batch, 1, 48, 48, device=device)
        loss = nn.functional.binary_cross_entropy_with_logits
    else:
        y = torch.arange(batch, device=device) % classes
    net = build().to(device)
    output = net(x)
    if y is None:
        loss, y, rate = written.task(output)
    if inference:
        net.eval()
        call = torch.compile(net) if compiled else net

        def infer():
            with torch.inference_mode():
                call(x)

        return infer
    if model in WITH_ADAM:
        optimizer = torch.optim.AdamW(net.parameters(), lr=0.001)
    else:
        optimizer = torch.optim.SGD(net.parameters(), lr=rate)
    whole = lambda x, y: loss(net(x), y)
    if compiled:
        whole = torch.compile(whole)
    return lambda: step(whole, optimizer, x, y).item()


def step(loss, optimizer, x, y):
    optimizer.zero_grad()
    loss = loss(x, y)
    loss.backward()
    optimizer.step()
    return loss


def main():
    mode, model, batch, device, work, *workers = sys.argv[1:]
    if model == "epoch":
        work = epochs(int(batch), int(*workers))
    else:
        work = steps(model, int(batch), torch.device(device), mode == "compiled", work == "infer")
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            began, processors = time.perf_counter(), time.process_time()
            work()
            times += [time.perf_counter() - began, time.process_time() - processors]
        print(" ".join(f"{t * 1e3:.4f}" for t in times), flush=True)


if __name__ == "__main__":
    main()
