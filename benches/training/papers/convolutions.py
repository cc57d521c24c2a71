"""Convolutions: a temporal network (Bai et al., 2018), U-Net (Ronneberger et al., 2015), and odd sizes."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Causal(nn.Module):
    """A convolution that sees only the steps before, with the weight normalised."""

    def __init__(self, inputs, outputs, dilation):
        super().__init__()
        self.padding = 2 * dilation
        self.conv = weight_norm(nn.Conv1d(inputs, outputs, 3, padding=self.padding, dilation=dilation))

    def forward(self, x):
        return self.conv(x)[:, :, : -self.padding].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, inputs, outputs, dilation):
        super().__init__()
        layer = lambda inputs: (Causal(inputs, outputs, dilation), nn.ReLU(), nn.Dropout(0.1))
        self.body = nn.Sequential(*layer(inputs), *layer(outputs))
        self.shortcut = nn.Identity() if inputs == outputs else nn.Conv1d(inputs, outputs, 1)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class LastStep(nn.Module):
    def forward(self, x):
        return x[:, :, -1]


def tcn():
    blocks = (TemporalBlock(32 if level else 16, 32, 2**level) for level in range(6))
    return nn.Sequential(*blocks, LastStep(), nn.Linear(32, 10))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        conv = lambda inputs, outputs: (nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU())
        block = lambda inputs, outputs: nn.Sequential(*conv(inputs, outputs), *conv(outputs, outputs))
        self.down = nn.ModuleList([block(1, 16), block(16, 32), block(32, 64), block(64, 128)])
        self.larger = nn.ModuleList(nn.ConvTranspose2d(2 * n, n, 2, 2) for n in (64, 32, 16))
        self.up = nn.ModuleList(block(2 * n, n) for n in (64, 32, 16))
        self.head = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        levels = []
        for i, block in enumerate(self.down):
            if i:
                levels.append(x)
                x = F.max_pool2d(x, 2)
            x = block(x)
        for larger, block in zip(self.larger, self.up, strict=True):
            x = block(torch.cat([levels.pop(), larger(x)], 1))
        y = self.head(x)
        return F.binary_cross_entropy_with_logits(y, torch.zeros_like(y))


def odd_sizes():
    block = lambda inputs, outputs, stride: (
        nn.Conv2d(inputs, outputs, 3, stride, 1), nn.BatchNorm2d(outputs), nn.ReLU()
    )  # fmt: skip
    return nn.Sequential(
        *block(3, 13, 1), *block(13, 27, 2), *block(27, 51, 2), *block(51, 51, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(51, 7),
    )  # fmt: skip
