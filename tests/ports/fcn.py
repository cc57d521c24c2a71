import torch
from torch import nn
from torch.nn import functional as F


# begin
def fcn(classes):
    down = lambda inputs, outputs: nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride=2, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()
    )
    up = nn.ConvTranspose2d(classes, classes, 8, stride=4, padding=2)
    with torch.no_grad():
        up.weight.copy_(bilinear(classes, 8))
    return nn.Sequential(down(1, 16), down(16, 32), nn.Conv2d(32, classes, 1), up)


# Returns the kernel that interpolates.
def bilinear(channels, size):
    line = 1 - (torch.arange(size) - (size - 1) / 2).abs() / (size // 2)
    return torch.eye(channels)[:, :, None, None] * torch.outer(line, line)


def loss_of(net, x, y):
    return F.cross_entropy(net(x), y)
# end


def train(run):
    model = run.model(fcn(3))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, weight_decay=0.001)
    for batch in run:
        run.step(optimizer, loss_of(model, batch.x, batch.y))
