"""SimCLR (Chen et al., 2020)."""

import torch
import torch.nn.functional as F
from torch import nn


def augmented(x):
    """Returns images with another brightness and noise, half of them mirrored."""
    scale = torch.rand(len(x), 1, 1, 1) * 0.8 + 0.6
    x = torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.flip(-1), x)
    return x * scale + torch.randn_like(x) * 0.1


def nt_xent(z, temperature):
    """Returns the normalised temperature-scaled cross-entropy; image `i` belongs to `i + n / 2`."""
    cosines = F.cosine_similarity(z.unsqueeze(1), z.unsqueeze(0), dim=-1)
    same = torch.eye(len(z), dtype=torch.bool)
    logits = cosines.masked_fill(same, -9e15) / temperature
    return (logits.logsumexp(-1) - logits[same.roll(len(z) // 2, 0)]).mean()


class SimClr(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda inputs, outputs, stride: nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
        )
        self.encoder = nn.Sequential(block(3, 32, 1), block(32, 64, 2), block(64, 128, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 64))

    def forward(self, x):
        views = torch.cat([augmented(x), augmented(x)])
        return nt_xent(self.head(self.encoder(views)), 0.07)
