import torch
from torch import nn
from torch.nn import functional as F


# begin
class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 32), nn.ReLU())
        self.mean = nn.Linear(32, 4)
        self.log_var = nn.Linear(32, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid())

    def loss(self, x, noise):
        h = self.encoder(x)
        mean, log_var = self.mean(h), self.log_var(h)
        z = mean + noise * torch.exp(0.5 * log_var)
        bce = F.binary_cross_entropy(self.decoder(z), x, reduction="sum")
        kl = -0.5 * torch.sum(1 + log_var - mean.pow(2) - log_var.exp())
        return bce + kl
# end


def train(run):
    model = run.model(Vae())
    optimizer = torch.optim.Adam(model.parameters(), 0.001)
    for batch in run:
        run.step(optimizer, model.loss(batch.x, batch.noise))
