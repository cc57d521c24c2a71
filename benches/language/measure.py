"""Measures the generation of text with Taper and PyTorch in turn, and prints a table."""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch.nn import functional as F

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1] / "tests/reference"), str(HERE.parent / "training")]

import language  # noqa: E402
from common import PROGRAM, library_path  # noqa: E402

SIZES = dict(vocabulary=4096, width=512, layers=8, heads=8, kv_heads=2, hidden=1408)


def new_model():
    torch.manual_seed(1)
    model = language.Llama(**SIZES)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.04)
    return model


def save_tensors(path, tensors):
    """Writes a safetensors file: the environment of the measurements has no package for it."""
    header, data = {}, bytearray()
    for name, value in tensors.items():
        value = value.contiguous()
        content = ctypes.string_at(value.data_ptr(), value.nbytes)
        header[name] = dict(dtype="F32", shape=list(value.shape), data_offsets=[len(data), len(data) + len(content)])
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def save(model, folder):
    """Writes a checkpoint."""
    save_tensors(folder / "model.safetensors", model.state_dict())
    config = dict(
        model_type="llama", vocab_size=SIZES["vocabulary"], hidden_size=SIZES["width"], num_hidden_layers=SIZES["layers"],
        num_attention_heads=SIZES["heads"], num_key_value_heads=SIZES["kv_heads"], intermediate_size=SIZES["hidden"],
        rms_norm_eps=1e-5,
    )  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))


def forward(model, tokens, past=0, memory=None):
    """The model with PyTorch's own attention, with or without memory for earlier steps."""
    batch, steps = tokens.shape
    position = torch.arange(past, past + steps)
    angles = (position.double()[:, None] * model.angles).float()
    x = model.model.embed_tokens(tokens)
    for i, layer in enumerate(model.model.layers):
        attention, y = layer.self_attn, layer.input_layernorm(x)
        split = lambda y, heads: y.view(batch, steps, heads, -1).transpose(1, 2)
        q = language.rotate(split(attention.q_proj(y), attention.heads), angles)
        k = language.rotate(split(attention.k_proj(y), attention.kv_heads), angles)
        v = split(attention.v_proj(y), attention.kv_heads)
        if memory:
            for all_steps, new in zip(memory[i], (k, v)):
                all_steps[:, :, past : past + steps] = new
            k, v = (all_steps[:, :, : past + steps] for all_steps in memory[i])
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past == 0, enable_gqa=True)
        x = x + attention.o_proj(y.transpose(1, 2).reshape(batch, steps, -1))
        x = x + layer.mlp(layer.post_attention_layernorm(x))
    return model.lm_head(model.model.norm(x))


class Cached:
    """The model with memory for all steps."""

    def __init__(self, model, steps):
        self.model, self.past = model, 0
        size = SIZES["width"] // SIZES["heads"]
        new = lambda: torch.zeros(1, SIZES["kv_heads"], steps, size)
        self.memory = [(new(), new()) for _ in model.model.layers]

    def __call__(self, tokens):
        logits = forward(self.model, tokens, self.past, self.memory)
        self.past += tokens.shape[1]
        return logits


class Int8(torch.nn.Module):
    """A linear layer with weights of 8 bits and a scale for each row."""

    def __init__(self, linear):
        super().__init__()
        self.scales = linear.weight.abs().amax(1) / 127
        self.codes = (linear.weight / self.scales[:, None]).round().to(torch.int8)

    def forward(self, x):
        return torch._weight_int8pack_mm(x.flatten(0, -2), self.codes, self.scales).view(*x.shape[:-1], -1)


def quantized(model):
    for module in list(model.modules()):
        for name, linear in list(module.named_children()):
            if isinstance(linear, torch.nn.Linear):
                setattr(module, name, Int8(linear))
    return model


@torch.inference_mode()
def with_torch(way, model, prompt, tokens):
    model = quantized(model) if way == "int8" else model
    times, all_tokens = [], torch.tensor([prompt])
    run = model if way == "no-cache" else Cached(model, len(prompt) + tokens)
    new = all_tokens
    for _ in range(tokens):
        began = time.perf_counter()
        token = run(new)[:, -1].argmax(-1)
        token.item()
        times.append((time.perf_counter() - began) * 1e3)
        all_tokens = torch.cat([all_tokens, token[:, None]], 1)
        new = all_tokens if way == "no-cache" else token[:, None]
    return dict(milliseconds=times, logits=model(torch.tensor([prompt]))[0, -1].tolist())


def with_taper(way, folder, threads):
    environment = {**os.environ, "LD_LIBRARY_PATH": library_path()}
    environment |= {"RAYON_NUM_THREADS": str(threads), "CANDLE_NUM_THREADS": str(threads)}
    command = [os.environ.get("TAPER_LANGUAGE", PROGRAM.parent / "language"), folder, way]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--prompt", type=int, default=128)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(arguments.threads)
    prompt = torch.randint(0, SIZES["vocabulary"], (arguments.prompt,)).tolist()

    print("| way | Taper, prompt (ms) | a token | PyTorch, prompt (ms) | a token | × PyTorch | error of the logits: Taper | PyTorch |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        save(new_model(), Path(folder))
        (Path(folder) / "prompt.json").write_text(json.dumps(dict(prompt=prompt, tokens=arguments.tokens)))
        exact = None
        for way in ("no-cache", "cache", "int8", "int4"):
            ours, theirs = [], []
            for _ in range(arguments.turns):
                ours.append(with_taper(way, folder, arguments.threads))
                if way != "int4":
                    theirs.append(with_torch(way, new_model(), prompt, arguments.tokens))
            exact = exact or theirs[0]["logits"]
            print(row(way, ours, theirs, exact), flush=True)


def row(way, ours, theirs, exact):
    first = lambda runs: min(run["milliseconds"][0] for run in runs)
    each = lambda runs: min(statistics.median(run["milliseconds"][1:]) for run in runs)
    spread = statistics.pstdev(exact)
    off = lambda runs: max(abs(a - b) for a, b in zip(runs[0]["logits"], exact)) / spread
    cells = [f"{first(ours):.1f}", f"{each(ours):.2f}"]
    if theirs:
        cells += [f"{first(theirs):.1f}", f"{each(theirs):.2f}", f"{each(ours) / each(theirs):.2f}"]
    else:
        cells += ["", "", ""]
    cells += [f"{off(ours):.1e}", f"{off(theirs):.1e}" if theirs else ""]
    return f"| {way} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
