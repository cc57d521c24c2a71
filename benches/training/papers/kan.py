"""Kolmogorov–Arnold networks (Liu et al., 2024), with the recursion of Cox and de Boor for the splines."""

import torch
import torch.nn.functional as F
from torch import nn

GRID, ORDER = 5, 3


class KanLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.register_buffer("grid", torch.arange(-ORDER, GRID + ORDER + 1) * (2 / GRID) - 1)
        self.base = nn.Linear(inputs, outputs, bias=False)
        self.splines = nn.Parameter(torch.randn(outputs, inputs, GRID + ORDER) * 0.1)

    def bases(self, x):
        """Returns the values of the splines' bases: (batch, inputs, bases)."""
        grid, x = self.grid, x.unsqueeze(-1)
        bases = ((x >= grid[:-1]) & (x < grid[1:])).to(x.dtype)
        for k in range(1, ORDER + 1):
            start, end = grid[: -k - 1], grid[k + 1 :]
            left = (x - start) / (grid[k:-1] - start)
            right = (end - x) / (end - grid[1:-k])
            bases = left * bases[..., :-1] + right * bases[..., 1:]
        return bases

    def forward(self, x):
        return self.base(F.silu(x)) + F.linear(self.bases(x).flatten(1), self.splines.flatten(1))
