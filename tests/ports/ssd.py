import torch
from torch import nn
from torch.nn import functional as F


# As torchvision.ops.box_iou and nms.
def box_iou(a, b):
    low, high = torch.maximum(a[:, None, :2], b[:, :2]), torch.minimum(a[:, None, 2:], b[:, 2:])
    both = (high - low).clamp(min=0).prod(-1)
    area = lambda boxes: (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    return both / (area(a)[:, None] + area(b) - both)


def nms(boxes, scores, threshold):
    kept = []
    for i in scores.argsort(descending=True).tolist():
        if all(box_iou(boxes[i : i + 1], boxes[k : k + 1]) <= threshold for k in kept):
            kept.append(i)
    return torch.tensor(kept)


# begin
class Ssd(nn.Module):
    def __init__(self, classes):
        super().__init__()
        down = lambda inputs, outputs: nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.stages = nn.ModuleList([nn.Sequential(down(1, 8), down(8, 16)), down(16, 16)])
        self.classes = nn.ModuleList(nn.Conv2d(16, classes + 1, 3, padding=1) for _ in range(2))
        self.offsets = nn.ModuleList(nn.Conv2d(16, 4, 3, padding=1) for _ in range(2))

    def forward(self, x):
        logits, offsets = [], []
        for stage, classes, places in zip(self.stages, self.classes, self.offsets):
            x = stage(x)
            logits.append(classes(x).flatten(2))
            offsets.append(places(x).flatten(2))
        return torch.cat(logits, 2), torch.cat(offsets, 2).transpose(1, 2)

    # One object in each image.
    def loss(self, x, boxes, classes, anchors):
        logits, offsets = self(x)
        positive = box_iou(boxes, edges(anchors)) > 0.3
        wanted = torch.where(positive, classes[:, None] + 1, 0)
        losses = F.cross_entropy(logits, wanted, reduction="none")
        # Three times as many of the worst others.
        rank = losses.masked_fill(positive, 0).argsort(1, descending=True).argsort(1)
        chosen = positive | (rank < 3 * positive.sum(1, keepdim=True))
        low, high = boxes[:, None].chunk(2, -1)
        centers, sizes = anchors.chunk(2, -1)
        target = torch.cat([((low + high) / 2 - centers) / sizes, ((high - low) / sizes).log()], -1)
        distances = F.smooth_l1_loss(offsets, target, reduction="none").sum(-1)
        return (losses[chosen].sum() + distances[positive].sum()) / positive.sum()

    @torch.no_grad()
    def detect(self, x, anchors):
        logits, offsets = self(x)
        (centers, sizes), (shift, growth) = anchors.chunk(2, -1), offsets[0].chunk(2, -1)
        boxes = edges(torch.cat([centers + shift * sizes, sizes * growth.exp()], -1))
        scores = 1 - logits[0].softmax(0)[0]
        best = nms(boxes, scores, 0.5)
        return boxes[best], scores[best]


def edges(boxes):
    centers, sizes = boxes.chunk(2, -1)
    return torch.cat([centers - sizes / 2, centers + sizes / 2], -1)


# Centres and sizes of a box for each place of each feature map.
def anchors(grids):
    boxes = []
    for grid in grids:
        line = (torch.arange(grid) + 0.5) / grid
        centers = torch.cartesian_prod(line, line)
        boxes.append(torch.cat([centers, torch.full_like(centers, 1.5 / grid)], 1))
    return torch.cat(boxes)
# end


def train(run):
    model, boxes = run.model(Ssd(2)), anchors([4, 2])
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    for batch in run:
        run.step(optimizer, model.loss(batch.x, batch.boxes, batch.classes, boxes))
    boxes, scores = model.detect(batch.x[:1], boxes)
    run.losses += [*boxes[0].tolist(), *scores[:2].tolist()]
