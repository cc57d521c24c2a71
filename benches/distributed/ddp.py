"""Trains with PyTorch's DistributedDataParallel and Gloo: the networks and sizes of examples/distributed.rs."""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def net(name, hidden):
    if name == "lenet":
        return nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2),
            nn.Conv2d(6, 16, 5), nn.Sigmoid(), nn.AvgPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.Sigmoid(), nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10),
        )
    return nn.Sequential(nn.Flatten(), nn.Linear(784, hidden), nn.ReLU(), nn.Linear(hidden, 10))


def train(rank, ranks, threads, name, hidden, examples, batch, epochs, port):
    torch.set_num_threads(threads)
    torch.manual_seed(rank)
    model = net(name, hidden)
    if ranks > 1:
        dist.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
        model = nn.parallel.DistributedDataParallel(model)
    x, y = torch.randn(examples, 1, 28, 28), torch.arange(examples) % 10
    data = torch.utils.data.TensorDataset(x, y)
    sampler = torch.utils.data.DistributedSampler(data, ranks, rank) if ranks > 1 else None
    loader = torch.utils.data.DataLoader(data, batch // ranks, shuffle=sampler is None, sampler=sampler)
    optimizer = torch.optim.SGD(model.parameters(), 0.05)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        if sampler:
            sampler.set_epoch(epoch)
        began = time.perf_counter()
        for inputs, classes in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), classes)
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"speed {examples / (time.perf_counter() - began):.1f}", flush=True)
    if ranks > 1:
        dist.barrier()
        # Without this, Gloo's threads now and then abort the process at its end.
        os._exit(0)


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    ranks, threads, hidden, examples, batch, epochs, port = map(int, numbers)
    arguments = (ranks, threads, name, hidden, examples, batch, epochs, port)
    if ranks == 1:
        train(0, *arguments)
    else:
        mp.spawn(train, arguments, ranks)
