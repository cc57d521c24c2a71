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


def conv(inputs, outputs, kernel, stride=1):
    layer = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, padding_mode="reflect")
    return nn.Sequential(layer, nn.InstanceNorm2d(outputs, affine=True))


def stylist():
    residual = lambda: Residual(nn.Sequential(conv(16, 16, 3), nn.ReLU(), conv(16, 16, 3)))
    return nn.Sequential(
        conv(3, 8, 9),
        nn.ReLU(),
        conv(8, 16, 3, stride=2),
        nn.ReLU(),
        residual(),
        residual(),
        nn.Upsample(scale_factor=2),
        conv(16, 8, 3),
        nn.ReLU(),
        nn.Conv2d(8, 3, 9, padding=4, padding_mode="reflect"),
    )


# In place of the first layers of VGG.
def stages():
    first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU())
    second = nn.Sequential(nn.MaxPool2d(2), nn.Conv2d(8, 16, 3, padding=1), nn.ReLU())
    return nn.ModuleList([first, second])


def features(stages, x):
    first = stages[0](x)
    return first, stages[1](first)


def gram(x):
    flat = x.flatten(2)
    return flat @ flat.transpose(1, 2) / x[0].numel()


def loss_of(stylist, stages, x, style):
    ours, content, style = (features(stages, image) for image in (stylist(x), x, style))
    styles = sum((gram(a) - gram(b)).square().mean() for a, b in zip(ours, style))
    return 1e2 * F.mse_loss(ours[1], content[1]) + 1e4 * styles
# end


def train(run):
    model, fixed = run.model(stylist()), run.model(stages(), "stages")
    optimizer = torch.optim.Adam(model.parameters(), 0.001)
    for batch in run:
        run.step(optimizer, loss_of(model, fixed, batch.x, batch.style))
