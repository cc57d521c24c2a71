import torch
from torch import nn
from torch.nn import functional as F


# begin
def generator():
    return nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.ConvTranspose2d(16, 1, 4, stride=2, padding=1, bias=False),
        nn.Tanh(),
    )


def discriminator():
    return nn.Sequential(
        nn.Conv2d(1, 16, 4, stride=2, padding=1, bias=False),
        nn.LeakyReLU(0.2),
        nn.Conv2d(16, 1, 4, bias=False),
        nn.Sigmoid(),
        nn.Flatten(),
    )


def loss_of(probabilities, label):
    return F.binary_cross_entropy(probabilities, torch.full_like(probabilities, label))
# end


def train(run):
    g, d = run.model(generator(), "generator"), run.model(discriminator(), "discriminator")
    of_g = torch.optim.Adam(g.parameters(), 0.0002, betas=(0.5, 0.999))
    of_d = torch.optim.Adam(d.parameters(), 0.0002, betas=(0.5, 0.999))
    for batch in run:
        fake = g(batch.z)
        run.step(of_d, loss_of(d(batch.x), 1.0) + loss_of(d(fake.detach()), 0.0))
        run.step(of_g, loss_of(d(fake), 1.0))
