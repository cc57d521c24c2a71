import torch
from torch import nn
from torch.nn import functional as F


# begin
def encoder():
    return nn.Sequential(nn.Linear(10, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 8))


def info_nce(a, b, temperature):
    z = F.normalize(torch.cat([a, b]), dim=1)
    n, count = len(a), len(z)
    similar = z @ z.T / temperature
    logits = similar.masked_fill(torch.eye(count) > 0, float("-inf"))
    return F.cross_entropy(logits, torch.arange(count).roll(n))
# end


def train(run):
    net = run.model(encoder())
    optimizer = torch.optim.Adam(net.parameters(), 0.003)
    for batch in run:
        run.step(optimizer, info_nce(net(batch.a), net(batch.b), 0.2))
