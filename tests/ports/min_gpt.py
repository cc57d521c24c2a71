import torch
from torch import nn
from torch.nn import functional as F


# begin
class Block(nn.TransformerEncoderLayer):
    def __init__(self, width, heads):
        super().__init__(width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)

    def forward(self, x, past):
        attention = self.self_attn
        qkv = F.linear(self.norm1(x), attention.in_proj_weight, attention.in_proj_bias)
        q, k, v = qkv.unflatten(-1, (3, attention.num_heads, -1)).permute(2, 0, 3, 1, 4)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        h = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        x = x + attention.out_proj(h.transpose(1, 2).flatten(2))
        return x + self.linear2(F.gelu(self.linear1(self.norm2(x)))), (k, v)


class Gpt(nn.Module):
    def __init__(self, letters, steps, width, heads, layers):
        super().__init__()
        self.tokens = nn.Embedding(letters, width)
        self.positions = nn.Embedding(steps, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, letters, bias=False)

    def forward(self, tokens, past=None):
        start = past[0][0].shape[2] if past else 0
        x = self.tokens(tokens) + self.positions(torch.arange(start, start + tokens.shape[1]))
        kept = []
        for block, before in zip(self.blocks, past or [None] * len(self.blocks)):
            x, now = block(x, before)
            kept.append(now)
        return self.head(self.norm(x)), kept

    def loss(self, x, y):
        return F.cross_entropy(self(x)[0].flatten(0, 1), y.flatten())

    @torch.no_grad()
    def generate(self, token, count):
        tokens, past = [token], None
        for _ in range(count):
            logits, past = self(torch.tensor([tokens[-1:]]), past)
            tokens.append(logits[0, -1].argmax().item())
        return tokens[1:]
# end


def train(run):
    model = run.model(Gpt(10, 12, 32, 4, 2))
    optimizer = torch.optim.AdamW(model.parameters(), 0.003)
    for batch in run:
        run.step(optimizer, model.loss(batch.x, batch.y))
    run.losses += model.generate(3, 8)
