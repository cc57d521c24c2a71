"""EfficientNet-B0 (Tan and Le, 2019)."""

from torch import nn


def conv(inputs, outputs, size, stride=1, groups=1):
    """A convolution with a normalisation."""
    conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))


class SqueezeExcite(nn.Sequential):
    def __init__(self, channels, squeezed):
        super().__init__(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, squeezed, 1), nn.SiLU(), nn.Conv2d(squeezed, channels, 1), nn.Sigmoid()
        )  # fmt: skip

    def forward(self, x):
        return x * super().forward(x)


class MbConv(nn.Module):
    def __init__(self, inputs, outputs, size, stride, factor):
        super().__init__()
        wide = factor * inputs
        self.body = nn.Sequential(
            *([conv(inputs, wide, 1), nn.SiLU()] if factor > 1 else []),
            conv(wide, wide, size, stride, wide), nn.SiLU(), SqueezeExcite(wide, inputs // 4), conv(wide, outputs, 1),
        )  # fmt: skip
        self.same = stride == 1 and inputs == outputs

    def forward(self, x):
        y = self.body(x)
        return x + y if self.same else y


def efficient_net():
    blocks, inputs = [conv(3, 32, 3, 2), nn.SiLU()], 32
    # The factor, the outputs, the number of blocks, the first stride, the size of the kernels.
    for factor, outputs, count, stride, size in (
        (1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)
    ):  # fmt: skip
        for i in range(count):
            blocks.append(MbConv(inputs, outputs, size, 1 if i else stride, factor))
            inputs = outputs
    return nn.Sequential(
        *blocks, conv(320, 1280, 1), nn.SiLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(1280, 10)
    )  # fmt: skip
