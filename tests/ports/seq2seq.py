import torch
from torch import nn
from torch.nn import functional as F

PADDING, BEGIN = 0, 1


# begin
class Translator(nn.Module):
    def __init__(self, source, target, width):
        super().__init__()
        self.source = nn.Embedding(source, width)
        self.encoder = nn.GRU(width, width, batch_first=True)
        self.target = nn.Embedding(target, width)
        self.decoder = nn.GRU(2 * width, width, batch_first=True)
        self.head = nn.Linear(width, target)

    def encode(self, x):
        return self.encoder(self.source(x))[1]

    # The logits of the words after each of the target, of which each sees the state of the source.
    def forward(self, y, state):
        context = state[0, :, None].expand(-1, y.shape[1], -1)
        h, _ = self.decoder(torch.cat([self.target(y), context], -1), state)
        return self.head(h)

    def loss(self, x, y):
        logits = self(y[:, :-1], self.encode(x))
        return F.cross_entropy(logits.flatten(0, 1), y[:, 1:].flatten(), ignore_index=PADDING)

    @torch.no_grad()
    def beams(self, x, count, steps):
        state = self.encode(x)
        tokens, scores = torch.tensor([[BEGIN]]), torch.zeros(1)
        for _ in range(steps):
            logits = self(tokens, state.expand(-1, len(tokens), -1).contiguous())[:, -1]
            logs = scores[:, None] + logits.log_softmax(-1)
            scores, best = logs.flatten().topk(count)
            beam, token = best // logs.shape[1], best % logs.shape[1]
            tokens = torch.cat([tokens[beam], token[:, None]], 1)
        return tokens[:, 1:], scores / steps
# end


def train(run):
    model = run.model(Translator(12, 14, 16))
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for batch in run:
        run.step(optimizer, model.loss(batch.x, batch.y))
    tokens, scores = model.beams(batch.x[:1], 3, 4)
    run.losses += [*scores.tolist(), *tokens[0].tolist()]
