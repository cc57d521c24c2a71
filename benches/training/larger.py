"""More kinds of networks in PyTorch, the same as in `larger.rs`."""

import torch
from torch import nn


def vgg():
    block = lambda channels: [
        nn.LazyConv2d(channels, 3, padding=1), nn.ReLU(), nn.LazyConv2d(channels, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    ]  # fmt: skip
    return nn.Sequential(*block(32), *block(64), *block(128), nn.Flatten(), nn.LazyLinear(256), nn.ReLU(), nn.LazyLinear(10))


def conv(channels, size, stride=1):
    return nn.Sequential(
        nn.LazyConv2d(channels, size, stride=stride, padding=size // 2, bias=False), nn.LazyBatchNorm2d()
    )  # fmt: skip


def depthwise():
    def block(inputs, outputs, stride):
        apart = nn.Conv2d(inputs, inputs, 3, stride=stride, padding=1, groups=inputs, bias=False)
        return nn.Sequential(apart, nn.BatchNorm2d(inputs), nn.ReLU(), conv(outputs, 1), nn.ReLU())

    return nn.Sequential(
        conv(32, 3), nn.ReLU(), block(32, 64, 1), block(64, 128, 2), block(128, 128, 1), block(128, 256, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LazyLinear(10),
    )  # fmt: skip


class Sum(nn.Module):
    def __init__(self, channels, stride, same):
        super().__init__()
        self.body = nn.Sequential(conv(channels, 3, stride), nn.ReLU(), conv(channels, 3))
        self.shortcut = nn.Identity() if same else conv(channels, 1, stride)

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


def resnet18(width):
    level = lambda channels, stride: [Sum(channels, stride, stride == 1), Sum(channels, 1, True)]
    return nn.Sequential(
        conv(width, 3), nn.ReLU(), *level(width, 1), *level(2 * width, 2), *level(4 * width, 2), *level(8 * width, 2),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LazyLinear(10),
    )  # fmt: skip


class Joined(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.LazyBatchNorm2d(), nn.ReLU(), nn.LazyConv2d(16, 3, padding=1))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def dense():
    level = lambda channels: [
        *(Joined() for _ in range(4)), nn.LazyBatchNorm2d(), nn.ReLU(), nn.LazyConv2d(channels, 1), nn.AvgPool2d(2),
    ]  # fmt: skip
    return nn.Sequential(
        nn.LazyConv2d(32, 3, padding=1), *level(48), *level(56), nn.LazyBatchNorm2d(), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LazyLinear(10),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        block = lambda channels: nn.Sequential(conv(channels, 3), nn.ReLU(), conv(channels, 3), nn.ReLU())
        self.down = nn.ModuleList(block(channels) for channels in (16, 32, 64))
        self.larger = nn.ModuleList(nn.LazyConvTranspose2d(channels, 2, stride=2) for channels in (32, 16))
        self.up = nn.ModuleList(block(channels) for channels in (32, 16))
        self.head = nn.LazyConv2d(1, 1)

    def forward(self, x):
        levels = []
        for i, block in enumerate(self.down):
            x = block(nn.functional.max_pool2d(x, 2) if i else x)
            levels.append(x)
        for larger, block, level in zip(self.larger, self.up, levels[-2::-1], strict=True):
            x = block(torch.cat([level, larger(x)], 1))
        return self.head(x)


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(64, 256, batch_first=True), nn.Linear(256, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Gpt(nn.Module):
    """A GPT with the blocks of `nn.TransformerEncoder`, but with `is_causal`, so that PyTorch uses its fused attention."""

    def __init__(self, width):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(65, width), nn.Parameter(torch.randn(width // 2, width))
        self.blocks = nn.ModuleList(Block(width) for _ in range(4))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 65, bias=False)

    def forward(self, x):
        x = self.tokens(x) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).flatten(0, 1)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inputs, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.linear1, self.linear2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, steps, width = x.shape
        qkv = self.inputs(self.first(x)).view(batch, steps, 3, 4, width // 4).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(*qkv, is_causal=True)
        x = x + self.output(y.transpose(1, 2).reshape(batch, steps, width))
        return x + self.linear2(nn.functional.gelu(self.linear1(self.second(x))))


def wide_mlp():
    return nn.Sequential(nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10))


MODELS = {
    "mlp-wide": ((784,), 10, wide_mlp),
    "vgg": ((3, 32, 32), 10, vgg),
    "depthwise": ((3, 32, 32), 10, depthwise),
    "resnet18-16": ((3, 32, 32), 10, lambda: resnet18(16)),
    "resnet18-64": ((3, 32, 32), 10, lambda: resnet18(64)),
    "dense": ((3, 32, 32), 10, dense),
    "unet": ((3, 48, 48), 2, UNet),
    "lstm": ((32, 64), 10, Lstm),
    "gpt-128": ((64,), 65, lambda: Gpt(128)),
    "gpt-256": ((128,), 65, lambda: Gpt(256)),
}
