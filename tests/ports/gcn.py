import torch
from torch import nn
from torch.nn import functional as F


# begin
class GraphConv(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x, adjacency):
        return adjacency @ self.linear(x)


class Gcn(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.first = GraphConv(features, hidden)
        self.second = GraphConv(hidden, classes)

    def forward(self, x, adjacency):
        return self.second(self.first(x, adjacency).relu(), adjacency)


# Adds loops, and divides by the roots of the degrees.
def normalized(adjacency):
    looped = adjacency + torch.eye(len(adjacency))
    root = looped.sum(1).sqrt()
    return looped / root[None] / root[:, None]
# end


def train(run):
    model = run.model(Gcn(8, 16, 3))
    optimizer = torch.optim.Adam(model.parameters(), 0.01, weight_decay=5e-4)
    for batch in run:
        logits = model(batch.x, normalized(batch.adjacency))
        run.step(optimizer, F.cross_entropy(logits[batch.known], batch.y[batch.known]))
