import torch
from torch import nn
from torch.nn import functional as F


# begin
class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(144, 32), nn.ReLU(), nn.Linear(32, 1))

    def loss(self, a, b, y):
        features = [self.features(x) for x in (a, b)]
        return F.binary_cross_entropy_with_logits(self.head(torch.cat(features, 1)), y)
# end


def train(run):
    model = run.model(Siamese())
    optimizer = torch.optim.Adadelta(model.parameters(), 1.0)
    for batch in run:
        run.step(optimizer, model.loss(batch.a, batch.b, batch.y))
