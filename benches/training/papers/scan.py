"""Mamba (Gu and Dao, 2023), with the scan as a loop over the steps."""

import torch
import torch.nn.functional as F
from torch import nn

STATE, RANK = 16, 4


class MambaBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        inner = 2 * width
        self.norm, self.inputs = nn.RMSNorm(width), nn.Linear(width, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.selection, self.steps = nn.Linear(inner, RANK + 2 * STATE, bias=False), nn.Linear(RANK, inner)
        self.a_log = nn.Parameter(torch.arange(1.0, STATE + 1).log().repeat(inner, 1))
        self.d, self.output = nn.Parameter(torch.ones(inner)), nn.Linear(inner, width, bias=False)

    def scan(self, u):
        a = -self.a_log.exp()
        delta, b, c = self.selection(u).split([RANK, STATE, STATE], -1)
        delta = F.softplus(self.steps(delta))
        decay = (delta.unsqueeze(-1) * a).exp()
        inputs = (delta * u).unsqueeze(-1) * b.unsqueeze(2)
        h, outputs = torch.zeros_like(inputs[:, 0]), []
        for t in range(u.shape[1]):
            h = decay[:, t] * h + inputs[:, t]
            outputs.append((h * c[:, t].unsqueeze(1)).sum(-1))
        return torch.stack(outputs, 1) + u * self.d

    def forward(self, x):
        u, gate = self.inputs(self.norm(x)).chunk(2, -1)
        u = F.silu(self.conv(u.transpose(1, 2))[:, :, : x.shape[1]].transpose(1, 2))
        return x + self.output(self.scan(u) * F.silu(gate))


class Mamba(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.blocks = nn.Embedding(256, 64), nn.Sequential(MambaBlock(64), MambaBlock(64))
        self.norm, self.head = nn.RMSNorm(64), nn.Linear(64, 256, bias=False)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.tokens(x)))).flatten(0, 1)
