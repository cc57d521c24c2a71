"""Perceiver (Jaegle et al., 2021)."""

import torch
from torch import nn


class Attention(nn.Module):
    """Attention of `x` to `context`, after a normalisation, as a residual."""

    def __init__(self, width, context, heads):
        super().__init__()
        self.norm, self.norm_context = nn.LayerNorm(width), nn.LayerNorm(context) if context else None
        self.query, self.key_value = nn.Linear(width, width, bias=False), nn.Linear(context or width, 2 * width, bias=False)
        self.output, self.heads = nn.Linear(width, width), heads

    def forward(self, x, context):
        y = self.norm(x)
        context = self.norm_context(context) if self.norm_context else y
        split = lambda x: x.reshape(*x.shape[:2], self.heads, -1).transpose(1, 2)
        query, (key, value) = split(self.query(y)), map(split, self.key_value(context).chunk(2, -1))
        weights = (query @ key.mT * query.shape[-1] ** -0.5).softmax(-1)
        return x + self.output((weights @ value).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    """A network for each position, with a gated GELU."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.first, self.second = nn.LayerNorm(width), nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        values, gate = self.first(self.norm(x)).chunk(2, -1)
        return x + self.second(values * nn.functional.gelu(gate))


class Perceiver(nn.Module):
    def __init__(self):
        super().__init__()
        layer = lambda context, heads: nn.ModuleList([Attention(128, context, heads), FeedForward(128)])
        self.latents = nn.Parameter(torch.randn(16, 128) * 0.02)
        self.positions = nn.Parameter(torch.randn(512, 64) * 0.02)
        self.cross = nn.ModuleList(layer(64, 1) for _ in range(3))
        self.within = nn.ModuleList(layer(None, 8) for _ in range(3))
        self.norm, self.head = nn.LayerNorm(128), nn.Linear(128, 10)

    def forward(self, x):
        x, z = x + self.positions, self.latents.expand(len(x), -1, -1)
        for cross, within in zip(self.cross, self.within, strict=True):
            z = cross[1](cross[0](z, x))
            z = within[1](within[0](z, z))
        return self.head(self.norm(z.mean(1)))
