"""Graph attention (Veličković et al., 2018)."""

import torch
import torch.nn.functional as F
from torch import nn


class GatLayer(nn.Module):
    def __init__(self, inputs, heads, width):
        super().__init__()
        self.linear, self.heads, self.width = nn.Linear(inputs, heads * width, bias=False), heads, width
        self.source = nn.Parameter(torch.randn(1, heads, width) * 0.1)
        self.target = nn.Parameter(torch.randn(1, heads, width) * 0.1)

    def forward(self, x, start, to):
        h = self.linear(x).view(len(x), self.heads, self.width)
        source, target = (h * self.source).sum(-1), (h * self.target).sum(-1)
        scores = F.leaky_relu(source.index_select(0, start) + target.index_select(0, to), 0.2)
        exps = (scores - scores.max().detach()).exp()
        sums = torch.zeros_like(source).scatter_add(0, to.unsqueeze(1).expand_as(exps), exps)
        weights = exps / (sums.index_select(0, to) + 1e-16)
        messages = h.index_select(0, start) * weights.unsqueeze(-1)
        return torch.zeros_like(h).scatter_add(0, to.view(-1, 1, 1).expand_as(messages), messages)


class Gat(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GatLayer(128, 4, 16), GatLayer(64, 4, 7)
        self.register_buffer("origin", torch.randint(0, 1000, (5000,)))
        self.register_buffer("goal", torch.randint(0, 1000, (5000,)))

    def forward(self, x):
        h = F.elu(self.first(x, self.origin, self.goal).flatten(1))
        return self.second(h, self.origin, self.goal).mean(1)
