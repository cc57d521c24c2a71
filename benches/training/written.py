"""Networks as their users write them, in PyTorch, the same as in `written.rs`."""

import torch
import torch.nn.functional as F
from torch import nn

import papers

conv = lambda inputs, outputs, size, stride=1, **options: nn.Conv2d(inputs, outputs, size, stride, **options)


class Lambda(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


def task(output):
    """Returns the loss for a network's output, the target, and the learning rate."""
    if output.dim() == 0:  # it is the loss
        return lambda output, y: output, torch.zeros(()), 1e-4
    if output.dim() == 2:
        return F.cross_entropy, torch.arange(len(output)) % output.shape[1], 0.01
    return F.mse_loss, torch.zeros_like(output), 0.01


pixels_mean = lambda: Lambda(lambda x: x.mean((2, 3)))


def encoder(count, width, hidden):
    layer = nn.TransformerEncoderLayer(width, 4, hidden, 0.0, F.gelu, batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, count, enable_nested_tensor=False)


class Vit(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches, self.positions = conv(3, 128, 4, 4), nn.Parameter(torch.randn(1, 64, 128) * 0.02)
        self.encoder, self.head = encoder(4, 128, 512), nn.Linear(128, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2) + self.positions
        return self.head(self.encoder(x).mean(1))


class ConvNext(nn.Module):
    def __init__(self):
        super().__init__()
        self.apart = conv(64, 64, 7, padding=3, groups=64)
        self.pixels = nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 64))

    def forward(self, x):
        return x + self.pixels(self.apart(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.across = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))
        self.within = nn.Sequential(nn.LayerNorm(128), nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 128))

    def forward(self, x):
        x = x + self.across(x.transpose(1, 2)).transpose(1, 2)
        return x + self.within(x)


def hard_sigmoid(x):
    return (x + 3).clamp(0, 6) / 6


class SqueezeExcite(nn.Module):
    def __init__(self, wide, narrow):
        super().__init__()
        self.first, self.second = conv(wide, narrow, 1), conv(narrow, wide, 1)

    def forward(self, x):
        mean = x.mean((2, 3), keepdim=True)
        return x * hard_sigmoid(self.second(self.first(mean).relu()))


class Inverted(nn.Module):
    def __init__(self, channels, size):
        super().__init__()
        wide = 4 * channels
        self.wide = nn.Sequential(conv(channels, wide, 1, bias=False), nn.BatchNorm2d(wide))
        self.apart = nn.Sequential(conv(wide, wide, size, padding=size // 2, groups=wide, bias=False), nn.BatchNorm2d(wide))
        self.weights = SqueezeExcite(wide, channels)
        self.narrow = nn.Sequential(conv(wide, channels, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x):
        hard_swish = lambda x: x * hard_sigmoid(x)
        y = hard_swish(self.wide(x))
        return x + self.narrow(self.weights(hard_swish(self.apart(y))))


class Last(nn.Module):
    """The outputs of a recurrent layer at the last step."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0][:, -1]


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm = nn.Embedding(5000, 64), nn.LSTM(64, 64, bidirectional=True, batch_first=True)

    def forward(self, x):
        return self.lstm(self.words(x))[0].flatten(0, 1)


class Vae(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 400), nn.ReLU())
        self.mean, self.log_variance = nn.Linear(400, 20), nn.Linear(400, 20)
        self.decoder = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784))

    def forward(self, x):
        x, h = x.sigmoid(), self.encoder(x)
        mean, log_variance = self.mean(h), self.log_variance(h)
        z = mean + (log_variance * 0.5).exp() * torch.randn_like(mean)
        divergence = -0.5 * (log_variance + 1 - mean.square() - log_variance.exp()).sum()
        return F.binary_cross_entropy_with_logits(self.decoder(z), x, reduction="sum") + divergence


class Gan(nn.Module):
    def __init__(self):
        super().__init__()
        up = lambda inputs, outputs: nn.ConvTranspose2d(inputs, outputs, 4, 2, 1, bias=False)
        down = lambda inputs, outputs: nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False)
        self.generator = nn.Sequential(
            nn.ConvTranspose2d(64, 128, 4, bias=False), nn.BatchNorm2d(128), nn.ReLU(),
            up(128, 64), nn.BatchNorm2d(64), nn.ReLU(), up(64, 32), nn.BatchNorm2d(32), nn.ReLU(), up(32, 1), nn.Tanh(),
        )  # fmt: skip
        self.critic = nn.Sequential(
            down(1, 32), nn.LeakyReLU(0.2), down(32, 64), nn.BatchNorm2d(64), nn.LeakyReLU(0.2),
            down(64, 128), nn.BatchNorm2d(128), nn.LeakyReLU(0.2), nn.Conv2d(128, 1, 4), nn.Flatten(),
        )  # fmt: skip

    def forward(self, x):
        loss = F.binary_cross_entropy_with_logits
        false_images = self.generator(torch.randn(len(x), 64, 1, 1))
        yes, no = torch.ones(len(x), 1), torch.zeros(len(x), 1)
        critic = loss(self.critic(x), yes) + loss(self.critic(false_images.detach()), no)
        return critic + loss(self.critic(false_images), yes)


class Translation(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerDecoderLayer(128, 4, 512, 0.0, F.gelu, batch_first=True, norm_first=True)
        self.words, self.head = nn.Embedding(1000, 128), nn.Linear(128, 1000)
        self.encoder, self.decoder = encoder(2, 128, 512), nn.TransformerDecoder(layer, 2)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(32))

    def forward(self, x):
        x = self.words(x) * 128**0.5
        y = self.decoder(x, self.encoder(x), tgt_mask=self.mask, tgt_is_causal=True)
        return self.head(y).flatten(0, 1)


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        dilated = lambda step: nn.Conv1d(32, 32, 3, padding=step, dilation=step)
        layer = lambda step: nn.ModuleList([dilated(step), dilated(step), nn.Conv1d(32, 32, 1)])
        self.layers, self.head = nn.ModuleList(layer(2**i) for i in range(6)), nn.Linear(32, 10)

    def forward(self, x):
        skipped = torch.zeros_like(x)
        for values, gate, mix in self.layers:
            y = mix(values(x).tanh() * gate(x).sigmoid())
            skipped = skipped + y
            x = x + y
        return self.head(skipped.relu().mean(2))


def odd():
    return nn.Sequential(
        conv(3, 17, 3, padding=1), nn.ReLU(), conv(17, 50, 3, 2, padding=1), nn.ReLU(), conv(50, 50, 3, padding=1), nn.ReLU(),
        pixels_mean(), nn.Linear(50, 7),
    )  # fmt: skip


class SkipGram(nn.Module):
    def __init__(self):
        super().__init__()
        self.centers, self.words = nn.Embedding(20_000, 100), nn.Embedding(20_000, 100)

    def forward(self, x):
        scores = (self.centers(x[:, :1]) * self.words(x[:, 1:])).sum(2)
        return -F.logsigmoid(scores[:, 0]).mean() - F.logsigmoid(-scores[:, 1:]).sum(1).mean()


class Graph(nn.Module):
    def __init__(self, nodes=2708, features=128):
        super().__init__()
        self.register_buffer("neighbours", torch.rand(nodes, nodes) / nodes)
        self.first, self.second = nn.Linear(features, 64), nn.Linear(64, 7)

    def forward(self, x):
        h = (self.neighbours @ self.first(x)).relu()
        return self.neighbours @ self.second(h)


def style():
    reflected = lambda inputs, outputs, size, stride=1: conv(
        inputs, outputs, size, stride, padding=size // 2, padding_mode="reflect"
    )  # fmt: skip
    norm = lambda channels: nn.InstanceNorm2d(channels, affine=True)
    layer = lambda inputs, outputs, size, stride=1: nn.Sequential(reflected(inputs, outputs, size, stride), norm(outputs), nn.ReLU())
    block = lambda: Residual(layer(64, 64, 3), reflected(64, 64, 3), norm(64))
    up = lambda inputs, outputs: nn.Sequential(nn.Upsample(scale_factor=2), layer(inputs, outputs, 3))
    return nn.Sequential(
        layer(3, 16, 9), layer(16, 32, 3, 2), layer(32, 64, 3, 2), block(), block(), block(), up(64, 32), up(32, 16), reflected(16, 3, 9)
    )  # fmt: skip


def batch_norm_mlp():
    layer = lambda inputs: nn.Sequential(nn.Linear(inputs, 512), nn.BatchNorm1d(512), nn.ReLU(), nn.Dropout(0.2))
    return nn.Sequential(layer(784), layer(512), layer(512), nn.Linear(512, 10))


def super_resolution():
    return nn.Sequential(
        conv(1, 64, 5, padding=2), nn.ReLU(), conv(64, 64, 3, padding=1), nn.ReLU(), conv(64, 32, 3, padding=1), nn.ReLU(),
        conv(32, 9, 3, padding=1), nn.PixelShuffle(3),
    )  # fmt: skip


class TextCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(5000, 128)
        self.convolutions = nn.ModuleList(nn.Conv1d(128, 100, size) for size in (3, 4, 5))
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(300, 10))

    def forward(self, x):
        x = self.words(x).transpose(1, 2)
        return self.head(torch.cat([layer(x).relu().amax(2) for layer in self.convolutions], 1))


class Bottleneck(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            conv(256, 64, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            conv(64, 64, 3, padding=1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            conv(64, 256, 1, bias=False), nn.BatchNorm2d(256),
        )  # fmt: skip

    def forward(self, x):
        return (x + self.body(x)).relu()


class Inception(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.branches = nn.ModuleList([
            nn.Sequential(conv(inputs, 16, 1), nn.ReLU()),
            nn.Sequential(conv(inputs, 16, 1), nn.ReLU(), conv(16, 24, 3, padding=1), nn.ReLU()),
            nn.Sequential(conv(inputs, 8, 1), nn.ReLU(), conv(8, 16, 5, padding=2), nn.ReLU()),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(inputs, 8, 1), nn.ReLU()),
        ])  # fmt: skip

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class Fire(nn.Module):
    def __init__(self, inputs, squeezed, outputs):
        super().__init__()
        self.squeeze = nn.Sequential(conv(inputs, squeezed, 1), nn.ReLU())
        self.one = nn.Sequential(conv(squeezed, outputs // 2, 1), nn.ReLU())
        self.three = nn.Sequential(conv(squeezed, outputs // 2, 3, padding=1), nn.ReLU())

    def forward(self, x):
        x = self.squeeze(x)
        return torch.cat([self.one(x), self.three(x)], 1)


def squeezenet():
    return nn.Sequential(
        conv(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), Fire(32, 16, 64), Fire(64, 16, 64), nn.MaxPool2d(2), Fire(64, 32, 128),
        conv(128, 10, 1), pixels_mean(),
    )  # fmt: skip


def conv_autoencoder():
    up = lambda inputs, outputs: nn.ConvTranspose2d(inputs, outputs, 3, 2, 1, 1)
    return nn.Sequential(
        conv(1, 16, 3, 2, padding=1), nn.ReLU(), conv(16, 32, 3, 2, padding=1), nn.ReLU(), conv(32, 64, 3, 2, padding=1), nn.ReLU(),
        up(64, 32), nn.ReLU(), up(32, 16), nn.ReLU(), up(16, 1), nn.Sigmoid(),
    )  # fmt: skip


def point_net():
    layer = lambda inputs, outputs: nn.Sequential(nn.Conv1d(inputs, outputs, 1), nn.BatchNorm1d(outputs), nn.ReLU())
    return nn.Sequential(
        layer(3, 64), layer(64, 128), layer(128, 256), Lambda(lambda x: x.amax(2)), nn.Linear(256, 128), nn.BatchNorm1d(128), nn.ReLU(),
        nn.Linear(128, 10),
    )  # fmt: skip


def audio():
    layer = lambda inputs, outputs: [nn.Conv1d(inputs, outputs, 3), nn.BatchNorm1d(outputs), nn.ReLU(), nn.MaxPool1d(4)]
    return nn.Sequential(
        nn.Conv1d(1, 32, 80, 16), nn.BatchNorm1d(32), nn.ReLU(), nn.MaxPool1d(4), *layer(32, 32), *layer(32, 64),
        Lambda(lambda x: x.mean(2)), nn.Linear(64, 10),
    )  # fmt: skip


def deep():
    return nn.Sequential(*(nn.Sequential(nn.Linear(128, 128), nn.ELU()) for _ in range(20)), nn.Linear(128, 10))


def segmentation():
    dilated = lambda inputs, step: nn.Conv2d(inputs, 32, 3, padding=step, dilation=step)
    return nn.Sequential(
        conv(3, 32, 3, 2, padding=1), nn.ReLU(), dilated(32, 1), nn.ReLU(), dilated(32, 2), nn.ReLU(), dilated(32, 4), nn.ReLU(),
        conv(32, 5, 1), nn.Upsample(scale_factor=2, mode="bilinear"),
    )  # fmt: skip


class PoolingAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.scores = nn.Sequential(nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))

    def forward(self, x):
        return (x * self.scores(x).softmax(1)).sum(1)


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        expert = lambda: nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 128))
        self.experts, self.gate = nn.ModuleList(expert() for _ in range(4)), nn.Linear(128, 4)

    def forward(self, x):
        weights = self.gate(x).softmax(1).unsqueeze(2)
        return (torch.stack([expert(x) for expert in self.experts], 1) * weights).sum(1)


patches = lambda: Lambda(lambda x: x.flatten(2).transpose(1, 2))
steps_mean = lambda: Lambda(lambda x: x.mean(1))

# The shape of an example, with the number of tokens if it consists of tokens, and the network.
MODELS = {
    "vit": ((3, 32, 32), None, Vit),
    "convnext": (
        (3, 32, 32), None,
        lambda: nn.Sequential(conv(3, 64, 2, 2), ConvNext(), ConvNext(), ConvNext(), pixels_mean(), nn.Linear(64, 10)),
    ),
    "mixer": (
        (3, 32, 32), None,
        lambda: nn.Sequential(
            conv(3, 128, 4, 4), patches(), *(Mixer() for _ in range(4)), nn.LayerNorm(128), steps_mean(), nn.Linear(128, 10)
        ),
    ),
    "mobilenet-v3": (
        (3, 32, 32), None,
        lambda: nn.Sequential(
            conv(3, 32, 3, 2, padding=1), Inverted(32, 3), Inverted(32, 5), Inverted(32, 5), pixels_mean(), nn.Linear(32, 10)
        ),
    ),
    "gru": ((50, 64), None, lambda: nn.Sequential(Last(nn.GRU(64, 128, 2, batch_first=True)), nn.Linear(128, 10))),
    "tagger": ((30,), 5000, lambda: nn.Sequential(Tagger(), nn.Linear(128, 10))),
    "vae": ((784,), None, Vae),
    "dcgan": ((1, 32, 32), None, Gan),
    "translation": ((32,), 1000, Translation),
    "gated": ((32, 256), None, Gated),
    "odd": ((3, 27, 27), None, odd),
    "skip-gram": ((7,), 20_000, SkipGram),
    "graph": ((128,), None, Graph),
    "style": ((3, 64, 64), None, style),
    "mlp-batch-norm": ((784,), None, batch_norm_mlp),
    "super-resolution": ((1, 32, 32), None, super_resolution),
    "text-cnn": ((50,), 5000, TextCnn),
    "policy": ((4,), None, lambda: nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))),
    "encoder": ((64, 256), None, lambda: nn.Sequential(encoder(6, 256, 1024), steps_mean())),
    "bottleneck": ((256, 56, 56), None, Bottleneck),
    "rnn": ((50, 64), None, lambda: nn.Sequential(Last(nn.RNN(64, 128, 2, batch_first=True)), nn.Linear(128, 10))),
    "inception": (
        (3, 32, 32), None,
        lambda: nn.Sequential(conv(3, 32, 3, padding=1), nn.ReLU(), Inception(32), Inception(64), pixels_mean(), nn.Linear(64, 10)),
    ),
    "squeezenet": ((3, 32, 32), None, squeezenet),
    "conv-autoencoder": ((1, 32, 32), None, conv_autoencoder),
    "point-net": ((3, 512), None, point_net),
    "audio": ((1, 8000), None, audio),
    "deep": ((128,), None, deep),
    "segmentation": ((3, 48, 48), None, segmentation),
    "pooling-attention": ((32, 64), None, lambda: nn.Sequential(PoolingAttention(), nn.Linear(64, 10))),
    "experts": ((128,), None, lambda: nn.Sequential(Experts(), nn.Linear(128, 10))),
    **papers.MODELS,
}  # fmt: skip
