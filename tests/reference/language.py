"""Writes the expected values of the comparisons of language models with PyTorch: `language.safetensors`.

    pip install torch==2.15.0 numpy==2.4.6 safetensors==0.8.0
    python tests/reference/language.py

A small model with the parameters' names of Llama, written here in plain PyTorch, its logits, loss and some gradients;
greedy texts and beams; and steps of a training with low-rank adapters.
"""

import math
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

HERE = Path(__file__).parent


class Attention(nn.Module):
    def __init__(self, width, heads, kv_heads, bias):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.q_proj = nn.Linear(width, heads * self.size, bias=bias)
        self.k_proj = nn.Linear(width, kv_heads * self.size, bias=bias)
        self.v_proj = nn.Linear(width, kv_heads * self.size, bias=bias)
        self.o_proj = nn.Linear(heads * self.size, width, bias=False)

    def forward(self, x, angles, mask):
        batch, steps, _ = x.shape
        split = lambda y, heads: y.view(batch, steps, heads, self.size).transpose(1, 2)
        q, k, v = split(self.q_proj(x), self.heads), split(self.k_proj(x), self.kv_heads), split(self.v_proj(x), self.kv_heads)
        q, k = rotate(q, angles), rotate(k, angles)
        k, v = (y.repeat_interleave(self.heads // self.kv_heads, dim=1) for y in (k, v))
        scores = (q @ k.transpose(-1, -2) / math.sqrt(self.size)).masked_fill(~mask, float("-inf"))
        y = scores.softmax(-1) @ v
        return self.o_proj(y.transpose(1, 2).reshape(batch, steps, -1))


def rotate(x, angles):
    a, b = x.chunk(2, dim=-1)
    cos, sin = angles.cos(), angles.sin()
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


def llama3_scaled(angles, factor, low, high, original):
    """Slows down the angles whose wavelengths are long, as Llama 3.1 does."""
    scaled = []
    for angle in angles.tolist():
        wavelength = 2 * math.pi / angle
        if wavelength < original / high:
            scaled.append(angle)
        elif wavelength > original / low:
            scaled.append(angle / factor)
        else:
            smooth = (original / wavelength - low) / (high - low)
            scaled.append((1 - smooth) * angle / factor + smooth * angle)
    return torch.tensor(scaled, dtype=torch.float64)


class Mlp(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_proj, self.up_proj = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down_proj = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, hidden, bias):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = (nn.RMSNorm(width, eps=1e-5) for _ in range(2))
        self.self_attn = Attention(width, heads, kv_heads, bias)
        self.mlp = Mlp(width, hidden)

    def forward(self, x, angles, mask):
        x = x + self.self_attn(self.input_layernorm(x), angles, mask)
        return x + self.mlp(self.post_attention_layernorm(x))


class Llama(nn.Module):
    def __init__(self, vocabulary, width, layers, heads, kv_heads, hidden, tied=False, bias=False, window=None, scaling=None):
        super().__init__()
        self.model = nn.Module()
        self.model.embed_tokens = nn.Embedding(vocabulary, width)
        self.model.layers = nn.ModuleList(Block(width, heads, kv_heads, hidden, bias) for _ in range(layers))
        self.model.norm = nn.RMSNorm(width, eps=1e-5)
        self.lm_head = nn.Linear(width, vocabulary, bias=False)
        if tied:
            self.lm_head.weight = self.model.embed_tokens.weight
        self.window = window
        size = width // heads
        self.angles = 10000.0 ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
        if scaling:
            self.angles = llama3_scaled(self.angles, *scaling)

    def forward(self, tokens):
        steps = tokens.shape[1]
        position = torch.arange(steps)
        distance = position[:, None] - position
        mask = distance >= 0
        if self.window:
            mask &= distance < self.window
        angles = (position.double()[:, None] * self.angles).to(self.model.norm.weight.dtype)
        x = self.model.embed_tokens(tokens)
        for layer in self.model.layers:
            x = layer(x, angles, mask)
        return self.lm_head(self.model.norm(x))


def greedy(model, tokens, count):
    for _ in range(count):
        tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(-1)], 1)
    return tokens


def beams(model, tokens, count, steps):
    """Returns the most likely continuations of one sequence, without an end, with the mean of their logarithms."""
    scores = torch.zeros(1)
    tokens = tokens[:1]
    start = tokens.shape[1]
    for _ in range(steps):
        logs = scores[:, None] + model(tokens)[:, -1].log_softmax(-1)
        scores, best = logs.flatten().topk(count)
        beam, token = best // logs.shape[1], best % logs.shape[1]
        tokens = torch.cat([tokens[beam], token[:, None]], 1)
    return tokens[:, start:], scores / steps


class LowRank(nn.Module):
    def __init__(self, linear, a, b, scale):
        super().__init__()
        self.linear, self.a, self.b, self.scale = linear, nn.Parameter(a), nn.Parameter(b), scale

    def forward(self, x):
        return self.linear(x) + self.scale * F.linear(F.linear(x, self.a), self.b)


def adapt(model, out, name, rank, alpha):
    """Adds low-rank adapters to the linear layers of all blocks."""
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    adapters = []
    for path, module in list(model.named_modules()):
        for child, linear in list(module.named_children()):
            if isinstance(linear, nn.Linear) and ".layers." in f".{path}.":
                a, b = torch.randn(rank, linear.in_features) * 0.3, torch.randn(linear.out_features, rank) * 0.3
                full = f"{path}.{child}"
                out[f"{name}.adapter.{full}.lora_A.weight"], out[f"{name}.adapter.{full}.lora_B.weight"] = a.clone(), b.clone()
                setattr(module, child, LowRank(linear, a, b, alpha / rank))
                adapters += [getattr(module, child).a, getattr(module, child).b]
    return adapters


def main():
    from safetensors.torch import save_file

    torch.manual_seed(0)
    torch.set_num_threads(1)
    out = {}
    sizes = dict(vocabulary=37, width=32, layers=2, heads=4, kv_heads=2, hidden=48)
    variants = {
        "plain": {},
        "tied": dict(tied=True),
        "biased": dict(bias=True, window=5),
        "scaled": dict(scaling=(4.0, 1.0, 4.0, 16)),
    }
    tokens = torch.randint(0, 37, (2, 12))
    out["tokens"] = tokens
    for name, settings in variants.items():
        model = Llama(**sizes, **settings)
        for parameter in model.parameters():
            nn.init.normal_(parameter, std=0.3)
        for key, value in model.state_dict().items():
            if not (settings.get("tied") and key == "lm_head.weight"):
                out[f"{name}.weights.{key}"] = value.clone()
        logits = model(tokens)
        loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        out |= {f"{name}.logits": logits, f"{name}.loss": loss}
        for key, parameter in model.named_parameters():
            if "layers.1" not in key:
                out[f"{name}.grad.{key}"] = parameter.grad
        with torch.no_grad():
            out[f"{name}.greedy"] = greedy(model, tokens[:1, :3], 25)
            out[f"{name}.beams"], out[f"{name}.scores"] = beams(model, tokens[:1, :3], 3, 8)
        if name == "plain":
            optimizer = torch.optim.Adam(adapt(model, out, name, rank=3, alpha=6.0), lr=0.01)
            losses = []
            for _ in range(10):
                loss = F.cross_entropy(model(tokens)[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            out["plain.adapted"] = torch.tensor(losses)
    out = {key: value.detach().clone().contiguous() for key, value in out.items()}
    save_file(out, HERE / "language.safetensors")


if __name__ == "__main__":
    main()
