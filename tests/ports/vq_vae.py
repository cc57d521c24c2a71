import torch
from torch import nn
from torch.nn import functional as F


# begin
class VqVae(nn.Module):
    def __init__(self, codes, width):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 16, 4, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, width, 3, padding=1)
        )
        self.codes = nn.Embedding(codes, width)
        self.decoder = nn.Sequential(
            nn.Conv2d(width, 16, 3, padding=1), nn.ReLU(), nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1)
        )

    # Returns the nearest code of each place.
    def quantize(self, z):
        places = z.movedim(1, -1)
        nearest = torch.cdist(places.flatten(0, 2), self.codes.weight).argmin(1)
        return self.codes(nearest).reshape(places.shape).movedim(-1, 1)

    def loss(self, x):
        z = self.encoder(x)
        q = self.quantize(z)
        straight = z + (q - z).detach()
        committed = F.mse_loss(q, z.detach()) + 0.25 * F.mse_loss(z, q.detach())
        return F.mse_loss(self.decoder(straight), x) + committed
# end


def train(run):
    model = run.model(VqVae(16, 4))
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    for batch in run:
        run.step(optimizer, model.loss(batch.x))
