"""The examples' networks in PyTorch, with the parameter names of the networks in Taper."""

import math
import sys
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

sys.path.append(str(Path(__file__).resolve().parents[2] / "tests/reference"))

import language  # noqa: E402  (the models of the comparisons with PyTorch)


class Positions(nn.Module):
    def __init__(self, max_len, width):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(max_len, width))

    def forward(self, x):
        return x + self.weight[: x.shape[1]]


class Gpt(nn.Module):
    def __init__(self, vocabulary, context, width=64, heads=4, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = Positions(context, width)
        layer = nn.TransformerEncoderLayer(
            width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, layers, norm=nn.LayerNorm(width), enable_nested_tensor=False)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def loss(self, x, y):
        mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=self.head.weight.dtype)
        y_hat = self.head(self.blocks(self.positions(self.tokens(x)), mask, is_causal=True))
        return F.cross_entropy(y_hat.flatten(0, 1), y.flatten())


class Writer(language.Llama):
    def __init__(self, vocabulary):
        super().__init__(vocabulary, width=64, layers=2, heads=4, kv_heads=2, hidden=176)

    def loss(self, x, y):
        return F.cross_entropy(self(x).flatten(0, 1), y.flatten())


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def loss(self, x, y):
        return F.mse_loss(self.head(self.lstm(x)[0]), y)


def sines(x):
    """Adds the positional encoding of Vaswani et al."""
    steps, width = x.shape[1:]
    position = torch.arange(steps, dtype=torch.float64)[:, None]
    angle = position * torch.exp(torch.arange(0, width, 2, dtype=torch.float64) * (-math.log(10000.0) / width))
    return x + torch.stack([angle.sin(), angle.cos()], dim=2).flatten(1).to(x.dtype)


class Translator(nn.Module):
    def __init__(self, words=30, tokens=12, width=32, heads=4, layers=1):
        super().__init__()
        settings = dict(dim_feedforward=2 * width, dropout=0.0, batch_first=True)
        self.words = nn.Embedding(words, width)
        self.digits = nn.Embedding(tokens, width)
        encoder = nn.TransformerEncoderLayer(width, heads, **settings)
        self.encoder = nn.TransformerEncoder(encoder, layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(width, heads, **settings), layers)
        self.head = nn.Linear(width, tokens)

    def loss(self, x, y):
        padding = x == 0
        memory = self.encoder(sines(self.words(x)), src_key_padding_mask=padding)
        target = sines(self.digits(y[:, :-1]))
        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        y_hat = self.decoder(target, memory, tgt_mask=causal, memory_key_padding_mask=padding)
        return F.cross_entropy(self.head(y_hat).flatten(0, 1), y[:, 1:].flatten())


def block(inputs, channels):
    conv = lambda inputs: nn.Conv2d(inputs, channels, 3, padding=1)
    norm = lambda: nn.BatchNorm2d(channels)
    return nn.Sequential(conv(inputs), norm(), nn.ReLU(), conv(channels), norm(), nn.ReLU())


class UNet(nn.Module):
    def __init__(self, channels=(8, 16)):
        super().__init__()
        inputs = [1, *channels]
        self.down = nn.ModuleList([block(*pair) for pair in zip(inputs, channels)])
        self.bottom = block(channels[-1], 2 * channels[-1])
        self.up = nn.ModuleList()
        below = 2 * channels[-1]
        for size in reversed(channels):
            larger = nn.ConvTranspose2d(below, size, 2, stride=2)
            self.up.append(nn.ModuleList([larger, block(2 * size, size)]))
            below = size
        self.head = nn.Conv2d(below, 1, 1)

    def loss(self, x, y):
        levels = []
        for block in self.down:
            levels.append(block(x))
            x = F.max_pool2d(levels[-1], 2)
        x = self.bottom(x)
        for (larger, block), level in zip(self.up, reversed(levels)):
            x = block(torch.cat([level, larger(x)], 1))
        return F.binary_cross_entropy_with_logits(self.head(x), y)


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None
        if inputs != outputs or stride != 1:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet18(nn.Module):
    def __init__(self, channels=1, classes=10):
        super().__init__()
        layer = lambda inputs, outputs, stride: nn.Sequential(
            BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1)
        )
        self.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.layer1, self.layer2 = layer(64, 64, 1), layer(64, 128, 2)
        self.layer3, self.layer4 = layer(128, 256, 2), layer(256, 512, 2)
        self.fc = nn.Linear(512, classes)

    def loss(self, x, y):
        x = F.relu(self.bn1(self.conv1(x)))
        for layer in [self.layer1, self.layer2, self.layer3, self.layer4]:
            x = layer(x)
        return F.cross_entropy(self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1)), y)
