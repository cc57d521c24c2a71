"""Denoising diffusion (Ho et al., 2020)."""

import math

import torch
import torch.nn.functional as F
from torch import nn

TIMES = 1000


def time_embedding(t, width):
    """Returns sines and cosines of each time: (batch, width)."""
    frequencies = (torch.arange(width // 2) * (-math.log(10_000) / (width // 2 - 1))).exp()
    angles = t.float().unsqueeze(1) * frequencies.unsqueeze(0)
    return torch.cat([angles.sin(), angles.cos()], 1)


class ResBlock(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        layer = lambda inputs: nn.Sequential(nn.GroupNorm(8, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
        self.first, self.second = layer(inputs), layer(outputs)
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(128, outputs))
        self.shortcut = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)

    def forward(self, x, time):
        return self.second(self.first(x) + self.time(time)[:, :, None, None]) + self.shortcut(x)


class PixelAttention(nn.Module):
    """Attention between the pixels."""

    def __init__(self, channels):
        super().__init__()
        self.norm, self.qkv = nn.GroupNorm(8, channels), nn.Conv2d(channels, 3 * channels, 1)
        self.output = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        query, key, value = self.qkv(self.norm(x)).flatten(2).chunk(3, 1)
        weights = (query.mT @ key * x.shape[1] ** -0.5).softmax(-1)
        return x + self.output((value @ weights.mT).view(x.shape))


class Diffusion(nn.Module):
    def __init__(self):
        super().__init__()
        conv = lambda inputs, outputs, stride=1: nn.Conv2d(inputs, outputs, 3, stride, 1)
        self.register_buffer("passed", (1 - torch.linspace(1e-4, 0.02, TIMES)).cumprod(0))
        self.time = nn.Sequential(nn.Linear(32, 128), nn.SiLU(), nn.Linear(128, 128))
        self.first = conv(3, 32)
        down = lambda inputs, outputs: nn.ModuleList([ResBlock(inputs, outputs), conv(outputs, outputs, 2)])
        self.down = nn.ModuleList([down(32, 32), down(32, 64)])
        self.before, self.attention, self.after = ResBlock(64, 128), PixelAttention(128), ResBlock(128, 64)
        larger = lambda channels: nn.Sequential(nn.Upsample(scale_factor=2), conv(channels, channels))
        up = lambda inputs, outputs: nn.ModuleList([larger(inputs), ResBlock(2 * inputs, outputs)])
        self.up = nn.ModuleList([up(64, 32), up(32, 32)])
        self.head = nn.Sequential(nn.GroupNorm(8, 32), nn.SiLU(), conv(32, 3))

    def noise(self, x, t):
        time, x, levels = self.time(time_embedding(t, 32)), self.first(x), []
        for block, smaller in self.down:
            levels.append(block(x, time))
            x = smaller(levels[-1])
        x = self.after(self.attention(self.before(x, time)), time)
        for larger, block in self.up:
            x = block(torch.cat([larger(x), levels.pop()], 1), time)
        return self.head(x)

    def forward(self, x):
        t = torch.randint(0, TIMES, (len(x),))
        passed, noise = self.passed[t].view(-1, 1, 1, 1), torch.randn_like(x)
        return F.mse_loss(self.noise(x * passed.sqrt() + noise * (1 - passed).sqrt(), t), noise)
