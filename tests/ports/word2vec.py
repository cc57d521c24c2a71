import torch
from torch import nn
from torch.nn import functional as F


# begin
class Word2Vec(nn.Module):
    def __init__(self, tokens, size):
        super().__init__()
        self.center = nn.Embedding(tokens, size)
        self.context = nn.Embedding(tokens, size)

    # Centers (batch, 1), contexts and noise (batch, words), of which `labels` are 1 and 0, `mask` 0 for padding.
    def loss(self, centers, words, labels, mask):
        v, u = self.center(centers), self.context(words)
        scores = (v @ u.transpose(1, 2)).squeeze(1)
        loss = F.binary_cross_entropy_with_logits(scores, labels, weight=mask, reduction="none")
        return (loss.mean(1) * mask.shape[1] / mask.sum(1)).mean()
# end


def train(run):
    model = run.model(Word2Vec(30, 8))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for batch in run:
        run.step(optimizer, model.loss(batch.centers, batch.words, batch.labels, batch.mask))
