import torch
from torch import nn
from torch.nn import functional as F


# begin
def velocity():
    return nn.Sequential(nn.Linear(3, 64), nn.Mish(), nn.Linear(64, 64), nn.Mish(), nn.Linear(64, 2))


def loss_of(net, x, noise, t):
    between = (1 - t) * noise + t * x
    return F.mse_loss(net(torch.cat([between, t], 1)), x - noise)


@torch.no_grad()
def sample(net, noise, steps):
    x = noise
    for i in range(steps):
        t = torch.full((len(x), 1), i / steps)
        x = x + net(torch.cat([x, t], 1)) / steps
    return x
# end


def train(run):
    net = run.model(velocity())
    optimizer = torch.optim.Adam(net.parameters(), 0.002)
    for batch in run:
        run.step(optimizer, loss_of(net, batch.x, batch.noise, batch.t))
        run.losses.append(sample(net, batch.noise, 4).mean().item())
