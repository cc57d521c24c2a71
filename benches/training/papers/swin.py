"""Swin Transformer (Liu et al., 2021)."""

import torch
from torch import nn

WINDOW = 4


def windows(x):
    """Returns the windows of feature maps: (batch · windows, 16, channels)."""
    batch, height, width, channels = x.shape
    x = x.view(batch, height // WINDOW, WINDOW, width // WINDOW, WINDOW, channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, WINDOW * WINDOW, channels)


def joined(x, height, width):
    """Returns the feature maps of such windows."""
    x = x.view(-1, height // WINDOW, width // WINDOW, WINDOW, WINDOW, x.shape[-1])
    return x.permute(0, 1, 3, 2, 4, 5).reshape(len(x), height, width, -1)


def distances():
    """Returns for each pair of pixels in a window the row of their distance in the table of biases."""
    at = torch.cartesian_prod(torch.arange(WINDOW), torch.arange(WINDOW))
    apart = at[:, None] - at[None] + WINDOW - 1
    return (apart[..., 0] * (2 * WINDOW - 1) + apart[..., 1]).flatten()


def shift_mask(side, shift):
    """Returns what is added to the scores of shifted windows: −100 between pixels that were not neighbours."""
    at = torch.arange(side)
    part = (at >= side - WINDOW).long() + (at >= side - shift).long()
    parts = windows((3 * part[:, None] + part).view(1, side, side, 1)).squeeze(-1)
    return (parts.unsqueeze(1) != parts.unsqueeze(2)).float() * -100


class SwinBlock(nn.Module):
    def __init__(self, side, width, heads, shift):
        super().__init__()
        self.norm, self.qkv, self.output = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.biases, self.heads, self.shift = nn.Parameter(torch.randn((2 * WINDOW - 1) ** 2, heads) * 0.02), heads, shift
        self.register_buffer("distances", distances())
        self.register_buffer("mask", shift_mask(side, shift) if shift else None)
        self.pixels = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attention(self, x):
        """Attention within windows."""
        count, pixels, width = x.shape
        query, key, value = self.qkv(x).view(count, pixels, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        biases = self.biases[self.distances].view(pixels, pixels, -1).permute(2, 0, 1)
        scores = (query * query.shape[-1] ** -0.5) @ key.mT + biases
        if self.mask is not None:
            scores = scores.view(-1, len(self.mask), self.heads, pixels, pixels) + self.mask.unsqueeze(1).unsqueeze(0)
            scores = scores.flatten(0, 1)
        return self.output((scores.softmax(-1) @ value).transpose(1, 2).reshape(count, pixels, width))

    def forward(self, x):
        y = self.norm(x)
        if self.shift:
            y = y.roll((-self.shift, -self.shift), (1, 2))
        y = joined(self.attention(windows(y)), *x.shape[1:3])
        if self.shift:
            y = y.roll((self.shift, self.shift), (1, 2))
        x = x + y
        return x + self.pixels(x)


class Merging(nn.Module):
    """Joins each four neighbours."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        batch, height, width, channels = x.shape
        x = x.view(batch, height // 2, 2, width // 2, 2, channels).permute(0, 1, 3, 4, 2, 5).flatten(3)
        return self.linear(self.norm(x))


class Swin(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.norm, self.head = nn.Conv2d(3, 64, 2, 2), nn.LayerNorm(128), nn.Linear(128, 10)
        self.body = nn.Sequential(
            SwinBlock(16, 64, 2, 0), SwinBlock(16, 64, 2, WINDOW // 2), Merging(64),
            SwinBlock(8, 128, 4, 0), SwinBlock(8, 128, 4, WINDOW // 2),
        )  # fmt: skip

    def forward(self, x):
        x = self.body(self.patches(x).permute(0, 2, 3, 1))
        return self.head(self.norm(x).mean((1, 2)))
