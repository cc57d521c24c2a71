import torch
from torch import nn
from torch.nn import functional as F


# begin
class FfLayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, x):
        length = x.norm(2, 1, keepdim=True) + 1e-4
        return self.linear(x / length).relu()

    def loss(self, positive, negative):
        good = lambda x: self(x).pow(2).mean(1)
        margins = torch.cat([2.0 - good(positive), good(negative) - 2.0])
        return F.softplus(margins).mean()
# end


def train(run):
    layers = run.model(nn.ModuleList([FfLayer(16, 32), FfLayer(32, 32)]))
    optimizers = [torch.optim.Adam(layer.parameters(), 0.03) for layer in layers]
    for batch in run:
        positive, negative = batch.positive, batch.negative
        for layer, optimizer in zip(layers, optimizers):
            run.step(optimizer, layer.loss(positive, negative))
            with torch.no_grad():
                positive, negative = layer(positive), layer(negative)
