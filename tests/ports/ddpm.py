import torch
from torch import nn
from torch.nn import functional as F


# begin
class Residual(nn.Module):
    def __init__(self, body):
        super().__init__()
        self.body = body

    def forward(self, x):
        return x + self.body(x)


class Denoiser(nn.Module):
    def __init__(self, steps, width):
        super().__init__()
        block = lambda: Residual(nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.SiLU()))
        self.times = nn.Embedding(steps, width)
        self.input = nn.Linear(2, width)
        self.blocks = nn.Sequential(block(), block())
        self.output = nn.Linear(width, 2)

    def forward(self, x, t):
        h = self.input(x) + self.times(t)
        return self.output(self.blocks(h))

    def loss(self, x, t, noise, kept):
        kept = kept[t, None]
        noisy = kept.sqrt() * x + (1 - kept).sqrt() * noise
        return F.mse_loss(self(noisy, t), noise)


# Returns how much of the variance of the data each step keeps.
def schedule(steps):
    betas = torch.linspace(1e-4, 0.2, steps)
    return (1 - betas).cumprod(0)
# end


def train(run):
    model, kept = run.model(Denoiser(20, 32)), schedule(20)
    optimizer = torch.optim.AdamW(model.parameters(), 0.002)
    for batch in run:
        run.step(optimizer, model.loss(batch.x, batch.t, batch.noise, kept))
