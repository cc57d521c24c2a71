import torch
from torch import nn
from torch.nn import functional as F


# begin
class Swap(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


# Each convolution joins two neighbours, so that three of them read eight letters.
def wavenet(letters, width, hidden):
    join = lambda inputs: nn.Sequential(
        nn.Conv1d(inputs, hidden, 2, stride=2, bias=False), nn.BatchNorm1d(hidden), nn.Tanh()
    )
    return nn.Sequential(
        nn.Embedding(letters, width),
        Swap(),
        join(width),
        join(hidden),
        join(hidden),
        nn.Flatten(),
        nn.Linear(hidden, letters),
    )


def loss_of(net, x, y):
    return F.cross_entropy(net(x), y)
# end


def train(run):
    model = run.model(wavenet(12, 6, 24))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for batch in run:
        run.step(optimizer, loss_of(model, batch.x, batch.y))
