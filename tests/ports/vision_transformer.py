import torch
from torch import nn
from torch.nn import functional as F


# begin
class Vit(nn.Module):
    def __init__(self, patch, count, width, classes):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            width, 4, 2 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.patches = nn.Conv2d(1, width, patch, stride=patch)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.randn(1, count + 1, width) * 0.02)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        token = self.token.expand(len(x), -1, -1)
        x = torch.cat([token, x], 1) + self.positions
        return self.head(self.encoder(x)[:, 0])
# end


def train(run):
    model = run.model(Vit(4, 4, 16, 3))
    optimizer = torch.optim.AdamW(model.parameters(), 0.003)
    for batch in run:
        run.step(optimizer, F.cross_entropy(model(batch.x), batch.y, label_smoothing=0.1))
