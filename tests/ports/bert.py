import torch
from torch import nn
from torch.nn import functional as F


# begin
class Bert(nn.Module):
    def __init__(self, words, steps, width):
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, 2, 2 * width, dropout=0.0, activation="gelu", batch_first=True)
        self.words = nn.Embedding(words, width)
        self.segments = nn.Embedding(2, width)
        self.positions = nn.Embedding(steps, width)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.masked = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width), nn.Linear(width, words))
        self.follows = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 2))

    def forward(self, x, segments, lengths):
        places = torch.arange(x.shape[1])
        h = self.words(x) + self.segments(segments) + self.positions(places)
        return self.encoder(h, src_key_padding_mask=places >= lengths[:, None])

    # The words at the masked places, and whether the second sentence follows the first.
    def loss(self, batch):
        h = self(batch.x, batch.segments, batch.lengths)
        chosen = h[torch.arange(len(h))[:, None], batch.places]
        words = F.cross_entropy(self.masked(chosen).flatten(0, 1), batch.masked.flatten())
        return words + F.cross_entropy(self.follows(h[:, 0]), batch.follows)
# end


def train(run):
    model = run.model(Bert(20, 12, 16))
    optimizer = torch.optim.AdamW(model.parameters(), 0.003)
    for batch in run:
        run.step(optimizer, model.loss(batch))
