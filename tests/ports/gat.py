import torch
from torch import nn
from torch.nn import functional as F


# begin
class GraphAttention(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.source = nn.Linear(outputs, 1, bias=False)
        self.target = nn.Linear(outputs, 1, bias=False)

    def forward(self, x, adjacency):
        h = self.linear(x)
        scores = F.leaky_relu(self.source(h) + self.target(h).T, 0.2)
        weights = scores.masked_fill(adjacency == 0, float("-inf")).softmax(1)
        return weights @ h


class Gat(nn.Module):
    def __init__(self, features, hidden, heads, classes):
        super().__init__()
        self.heads = nn.ModuleList(GraphAttention(features, hidden) for _ in range(heads))
        self.output = GraphAttention(hidden * heads, classes)

    def forward(self, x, adjacency):
        heads = [head(x, adjacency) for head in self.heads]
        return self.output(F.elu(torch.cat(heads, 1)), adjacency)
# end


def train(run):
    model = run.model(Gat(8, 8, 4, 3))
    optimizer = torch.optim.Adam(model.parameters(), 0.005)
    for batch in run:
        logits = model(batch.x, batch.adjacency)
        run.step(optimizer, F.cross_entropy(logits[batch.known], batch.y[batch.known]))
