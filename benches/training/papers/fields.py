"""Networks of coordinates: a physics-informed one (Raissi et al., 2019) and NeRF (Mildenhall et al., 2020)."""

import math

import torch
import torch.nn.functional as F
from torch import nn


class Pinn(nn.Module):
    """Burgers' equation; the input is (x, t) for each point."""

    def __init__(self):
        super().__init__()
        layer = lambda inputs: (nn.Linear(inputs, 32), nn.Tanh())
        self.net = nn.Sequential(*layer(2), *layer(32), *layer(32), *layer(32), nn.Linear(32, 1))

    def forward(self, points):
        x, t = (points[:, i : i + 1].clone().requires_grad_() for i in range(2))
        u = self.net(torch.cat([x, t], 1))
        u_x, u_t = torch.autograd.grad(u.sum(), [x, t], create_graph=True)
        (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
        residual = u_t + u * u_x - u_xx * (0.01 / math.pi)
        start = self.net(torch.cat([x, torch.zeros_like(t)], 1))
        return residual.square().mean() + F.mse_loss(start, -(x * math.pi).sin())


SAMPLES = 64


def encoded(x, frequencies):
    """Returns `x` with the sines and cosines of its multiples."""
    return torch.cat([x, *(f(x * 2**k) for k in range(frequencies) for f in (torch.sin, torch.cos))], -1)


class Nerf(nn.Module):
    """The input is a position and a direction for each sample of the rays."""

    def __init__(self):
        super().__init__()
        layer = lambda inputs: nn.Sequential(nn.Linear(inputs, 128), nn.ReLU())
        self.first = nn.Sequential(layer(63), layer(128), layer(128), layer(128))
        self.second = nn.Sequential(layer(128 + 63), layer(128), layer(128))
        self.density, self.features = nn.Linear(128, 1), nn.Linear(128, 128)
        self.color = nn.Sequential(nn.Linear(128 + 27, 64), nn.ReLU(), nn.Linear(64, 3), nn.Sigmoid())

    def forward(self, x):
        position, direction = encoded(x[:, :3], 10), encoded(x[:, 3:], 4)
        h = self.second(torch.cat([self.first(position), position], -1))
        density = F.softplus(self.density(h)).view(-1, SAMPLES)
        color = self.color(torch.cat([self.features(h), direction], -1)).view(-1, SAMPLES, 3)
        alpha = 1 - (-density * (4 / SAMPLES)).exp()
        passed = (1 - alpha + 1e-10).cumprod(1)
        passed = torch.cat([torch.ones_like(passed[:, :1]), passed[:, :-1]], 1)
        pixels = ((alpha * passed).unsqueeze(-1) * color).sum(1)
        return F.mse_loss(pixels, torch.full_like(pixels, 0.5))
