"""Cases of layers: convolutions, normalisation, recurrent layers, attention and transformers."""

import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from case import case, cases, randn

MODES = ["zeros", "reflect", "replicate", "circular"]


def forward(module, *inputs):
    return module(*inputs)


def convolutions(rng):
    def add(kind, count, transposed=False):
        op = {nn.Conv1d: "Conv1d", nn.Conv2d: "Conv2d", nn.ConvTranspose1d: "ConvTranspose1d",
              nn.ConvTranspose2d: "ConvTranspose2d"}[kind]
        dims = int(op[-2])
        while sum(c["op"] == op for c in cases) < count:
            groups = rng.choice([1, 1, 2])
            ins, outs = groups * rng.randint(1, 2), groups * rng.randint(1, 2)
            kernel, size = [rng.randint(1, 3) for _ in range(dims)], [rng.randint(1, 6) for _ in range(dims)]
            stride, padding, dilation = ([rng.randint(low, high) for _ in range(dims)] for low, high in [(1, 3), (0, 2), (1, 2)])
            bias, mode = rng.random() < 0.6, rng.randrange(4)
            extra = {"padding_mode": MODES[mode]}
            if transposed:
                mode, extra = 0, {"output_padding": [rng.randrange(s) for s in stride]}
            module = kind(ins, outs, kernel, stride, padding, dilation=dilation, groups=groups, bias=bias, **extra)
            x = randn(rng.randint(1, 2), ins, *size)
            try:
                copy.deepcopy(module).double()(x.double())
            except RuntimeError:
                continue
            settings = [*stride, *padding, *dilation, groups, bias, mode, *extra.get("output_padding", [])]
            case(op, forward, [x], settings, module=module)

    add(nn.Conv1d, 60)
    add(nn.Conv2d, 60)
    add(nn.ConvTranspose1d, 50, True)
    add(nn.ConvTranspose2d, 80, True)


def upsampling(rng):
    modes = [{"mode": "nearest"}, {"mode": "bilinear"}, {"mode": "bilinear", "align_corners": True}]
    for i in range(60):
        x = randn(rng.randint(1, 2), rng.randint(1, 2), rng.randint(1, 5), rng.randint(1, 5))
        size = [rng.randint(1, 9) for _ in range(2)]
        case("Upsample", lambda x: F.interpolate(x, size=size, **modes[i % 3]), [x], [i % 3, 1, *size])
        scale = round(rng.uniform(1.0, 3.0), 2)
        case("Upsample", lambda x: F.interpolate(x, scale_factor=scale, **modes[i % 3]), [x], [i % 3, 0, scale])


def lookups(rng):
    for _ in range(20):
        count, features = rng.randint(1, 6), rng.randint(1, 5)
        indices = torch.randint(count, [rng.randint(1, 4) for _ in range(rng.randint(1, 2))])
        case("Embedding", forward, [indices], kinds="i", module=nn.Embedding(count, features))
        case("one_hot", lambda i: F.one_hot(i, count), [indices], [count], "i")
    for _ in range(15):
        module = nn.PReLU(rng.choice([1, 3]))
        shape = [rng.randint(1, 3), 3, *(rng.randint(1, 3) for _ in range(rng.randint(0, 2)))]
        case("PReLU", forward, [randn(*shape)], module=module)
    for _ in range(20):
        steps, batch, features, first = rng.randint(1, 6), rng.randint(1, 3), rng.randint(1, 5), rng.randrange(2)
        x = randn(*([batch, steps] if first else [steps, batch]), features)

        def encoded(x):
            rate = 10000 ** (torch.arange(features, dtype=torch.float64) // 2 * 2 / features)
            angles = torch.arange(steps, dtype=torch.float64)[:, None] / rate
            table = torch.where(torch.arange(features) % 2 == 0, angles.sin(), angles.cos()).to(x.dtype)
            return x + (table if first else table[:, None])

        case("PositionalEncoding", encoded, [x], [first])
        table = randn(steps + rng.randint(0, 2), features)
        case("LearnedPositionalEncoding", lambda x, w: x + (w[:steps] if first else w[:steps, None]), [x, table], [first])


def norms(rng):
    for _ in range(30):
        eps, shift = 10 ** rng.uniform(-6, -2), rng.choice([0, 0, 3, 1000])
        features = rng.randint(2, 20)
        x = randn(*(rng.randint(1, 3) for _ in range(rng.randint(1, 2))), features, shift=shift)
        for op, module in [("LayerNorm", nn.LayerNorm(features, eps=eps)), ("RMSNorm", nn.RMSNorm(features, eps=eps))]:
            [nn.init.normal_(p) for p in module.parameters()]
            case(op, forward, [x], [eps], module=module)
        groups = rng.randint(1, 3)
        module = nn.GroupNorm(groups, groups * rng.randint(1, 3), eps=eps)
        [nn.init.normal_(p) for p in module.parameters()]
        x = randn(rng.randint(1, 3), module.num_channels, *(rng.randint(2, 4) for _ in range(rng.randint(1, 2))), shift=shift)
        case("GroupNorm", forward, [x], [groups, eps], module=module)
        momentum, channels = rng.uniform(0.01, 0.9), rng.randint(1, 3)
        kind, size = rng.choice([(nn.BatchNorm1d, []), (nn.BatchNorm1d, [3]), (nn.BatchNorm2d, [2, 3])])
        module = kind(channels, eps, momentum)
        [nn.init.normal_(p) for p in module.parameters()]

        def learned(module, a, b, c):
            """The running statistics of two batches normalise a third."""
            module(a), module(b)
            module.eval()
            return module(c), module.running_mean, module.running_var

        batches = [randn(rng.randint(2, 4), channels, *size, shift=shift) for _ in range(3)]
        case("BatchNorm, three batches", learned, batches, [eps, momentum], module=module)


def recurrent(rng):
    kinds = [("RNN", nn.RNN, {"nonlinearity": "tanh"}), ("RNN", nn.RNN, {"nonlinearity": "relu"}),
             ("GRU", nn.GRU, {}), ("LSTM", nn.LSTM, {})]
    for i in range(280):
        op, kind, extra = kinds[i % 4]
        ins, hidden, layers, steps, batch = (rng.randint(1, most) for most in [3, 3, 2, 5, 3])
        bias, batch_first, both, stateful, padded = (rng.random() < 0.5 for _ in range(5))
        module = kind(ins, hidden, layers, bias=bias, batch_first=batch_first, bidirectional=both, **extra)
        inputs, types = [randn(*([batch, steps] if batch_first else [steps, batch]), ins)], "g"
        states = (2 if op == "LSTM" else 1) * stateful
        inputs += [randn(layers * (1 + both), batch, hidden) for _ in range(states)]
        types += "g" * states
        if padded:
            inputs.append(torch.randint(1, steps + 1, (batch,)))
            types += "i"

        def f(module, x, *rest):
            state = None if not stateful else rest[0] if states == 1 else (rest[0], rest[1])
            if not padded:
                y, last = module(x, state)
            else:
                packed = pack_padded_sequence(x, rest[-1], batch_first, enforce_sorted=False)
                y, last = module(packed, state)
                y, _ = pad_packed_sequence(y, batch_first, total_length=steps)
            return (y, *last) if isinstance(last, tuple) else (y, last)

        settings = [ins, hidden, layers, bias, batch_first, both, stateful, padded, i % 4 == 1]
        case(op, f, inputs, settings, types, module)


def random_mask(rng, batch, queries, keys):
    """Returns Taper's masks with their kinds, and the arguments of PyTorch. 1 means that a query may attend."""
    kind = rng.randrange(6) if queries <= keys else rng.choice([0, 2, 3, 5])
    lengths = torch.randint(1, keys + 1, (batch,))
    valid = (torch.arange(keys) < lengths[:, None]).long()
    pairs = (torch.rand(queries, keys) < 0.6).long()
    pairs[:, 0] = 1
    causal = torch.ones(queries, keys).tril().long()
    tensors = {2: [valid], 3: [pairs], 4: [valid], 5: [randn(queries, keys)]}.get(kind, [])
    allowed = {1: causal, 3: pairs, 4: causal}.get(kind)

    def arguments(dtype, *masks):
        if kind == 5:
            return masks[0], None
        hidden = None if allowed is None else torch.zeros(queries, keys, dtype=dtype).masked_fill(allowed == 0, -torch.inf)
        padding = torch.zeros(batch, keys, dtype=dtype).masked_fill(valid == 0, -torch.inf) if kind in (2, 4) else None
        return hidden, padding

    return kind, tensors, "f" if kind == 5 else "i" * len(tensors), arguments


def shaped(rng, batch_first, batch, steps, features):
    return randn(*([batch, steps] if batch_first else [steps, batch]), features)


def attention(rng):
    for _ in range(60):
        lead = [rng.randint(1, 2) for _ in range(rng.randint(1, 2))]
        queries, keys, features, size = (rng.randint(1, 4) for _ in range(4))
        q, k, v = randn(*lead, queries, features), randn(*lead, keys, features), randn(*lead, keys, size)
        kind, masks, types, arguments = random_mask(rng, lead[0], queries, keys)

        def f(q, k, v, *masks):
            hidden, padding = arguments(q.dtype, *masks)
            parts = [] if hidden is None else [hidden]
            if padding is not None:
                parts.append(padding.reshape(lead[0], *[1] * len(lead), keys))
            return F.scaled_dot_product_attention(q, k, v, sum(parts) if parts else None)

        case("scaled_dot_product_attention", f, [q, k, v, *masks], [kind], "ggg" + types)
    for _ in range(60):
        heads, batch, queries, keys = rng.randint(1, 2), *(rng.randint(1, 3) for _ in range(3))
        features, batch_first, bias, alone = heads * rng.randint(1, 2), *(rng.random() < 0.5 for _ in range(3))
        keys = queries if alone else keys
        module = nn.MultiheadAttention(features, heads, bias=bias, batch_first=batch_first)
        [nn.init.normal_(p, std=0.5) for p in module.parameters()]
        kind, masks, types, arguments = random_mask(rng, batch, queries, keys)
        inputs = [shaped(rng, batch_first, batch, steps, features) for steps in ([queries] if alone else [queries, keys, keys])]

        def f(module, *inputs):
            q, k, v = inputs[:1] * 3 if alone else inputs[:3]
            hidden, padding = arguments(q.dtype, *inputs[1 if alone else 3:])
            return module(q, k, v, attn_mask=hidden, key_padding_mask=padding, average_attn_weights=False)

        settings = [heads, bias, batch_first, alone, kind]
        case("MultiheadAttention", f, inputs + masks, settings, "g" * len(inputs) + types, module)


def transformers(rng):
    def settings_of(op):
        heads, batch, steps, sources = (rng.randint(1, most) for most in [2, 2, 3, 3])
        features, hidden = heads * rng.randint(1, 2), rng.randint(1, 4)
        batch_first, first, gelu, stacked = (rng.random() < 0.5 for _ in range(4))
        activation = "gelu" if gelu else "relu"
        kinds = {"Encoder": nn.TransformerEncoderLayer, "Decoder": nn.TransformerDecoderLayer}
        module = kinds[op](features, heads, hidden, 0.0, activation, batch_first=batch_first, norm_first=first)
        if stacked:
            stacks = {"Encoder": nn.TransformerEncoder, "Decoder": nn.TransformerDecoder}
            extra = {"enable_nested_tensor": False} if op == "Encoder" else {}
            module = stacks[op](module, 2, nn.LayerNorm(features), **extra)
        [nn.init.normal_(p, std=0.5) for p in module.parameters()]
        x = shaped(rng, batch_first, batch, steps, features)
        memory = shaped(rng, batch_first, batch, sources, features)
        return module, x, memory, [heads, hidden, batch_first, first, gelu, stacked], (batch, steps, sources)

    for _ in range(60):
        module, x, _, settings, (batch, steps, _) = settings_of("Encoder")
        kind, masks, types, arguments = random_mask(rng, batch, steps, steps)

        def encode(module, x, *masks):
            hidden, padding = arguments(x.dtype, *masks)
            return module(x, hidden, src_key_padding_mask=padding)

        case("TransformerEncoder", encode, [x, *masks], [*settings, kind], "g" + types, module)
    for _ in range(60):
        module, x, memory, settings, (batch, steps, sources) = settings_of("Decoder")
        kind, masks, types, arguments = random_mask(rng, batch, steps, steps)
        kind2, masks2, types2, arguments2 = random_mask(rng, batch, steps, sources)

        def decode(module, x, memory, *all):
            hidden, padding = arguments(x.dtype, *all[:len(masks)])
            hidden2, padding2 = arguments2(x.dtype, *all[len(masks):])
            return module(x, memory, hidden, hidden2, padding, padding2)

        case("TransformerDecoder", decode, [x, memory, *masks, *masks2], [*settings, kind, kind2], "gg" + types + types2, module)


ALL = [convolutions, upsampling, lookups, norms, recurrent, attention, transformers]
