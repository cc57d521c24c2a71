"""Language models: with an LSTM (Zaremba et al., 2014), BERT (Devlin et al., 2018), and bigrams."""

import torch
import torch.nn.functional as F
from torch import nn

WORDS = 1000


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.dropout = nn.Embedding(WORDS, 192), nn.Dropout(0.3)
        self.lstm, self.head = nn.LSTM(192, 192, 3, dropout=0.3, batch_first=True), nn.Linear(192, WORDS)

    def forward(self, x):
        y, _ = self.lstm(self.dropout(self.words(x)))
        return self.head(self.dropout(y)).flatten(0, 1)


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.positions, self.norm = nn.Embedding(WORDS, 128), nn.Embedding(64, 128), nn.LayerNorm(128)
        layer = nn.TransformerEncoderLayer(128, 4, 512, 0.1, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Sequential(nn.Linear(128, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, WORDS))

    def forward(self, x):
        masked = torch.rand(x.shape) < 0.15
        target = torch.where(masked, x, -100)
        x = x.masked_fill(masked, 0)
        h = self.norm(self.words(x) + self.positions(torch.arange(x.shape[1])))
        logits = self.head(self.encoder(h))
        return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-100)


def bigram():
    return nn.Sequential(nn.Embedding(65, 65), nn.Flatten(0, 1))
