"""Writes the expected values of the comparisons with PyTorch into files next to this script.

    pip install torch==2.15.0 numpy==2.4.6 safetensors==0.8.0
    python tests/reference/make.py

A case has its inputs and parameters, the output y, weights r, and the gradients of sum(y * r).
"""

from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional as F

HERE = Path(__file__).parent
torch.manual_seed(0)
torch.set_num_threads(1)


def write(name, tensors):
    tensors = {key: value.detach().clone().contiguous() for key, value in tensors.items()}
    save_file(tensors, HERE / f"{name}.safetensors")


def layer_case(out, name, layer, x, eval_mode=False):
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    for key, value in layer.state_dict().items():
        out[f"{name}.before.{key}"] = value.clone()
    layer.train(not eval_mode)
    x = x.clone()
    if x.is_floating_point():
        x.requires_grad_(True)
    y = layer(x)
    r = torch.randn_like(y)
    (y * r).sum().backward()
    out |= {f"{name}.x": x, f"{name}.y": y, f"{name}.r": r}
    if x.grad is not None:
        out[f"{name}.grad.x"] = x.grad
    for key, parameter in layer.named_parameters():
        out[f"{name}.grad.{key}"] = parameter.grad
    for key, value in layer.state_dict().items():
        out[f"{name}.after.{key}"] = value


def layers():
    out = {}
    image = torch.randn(2, 4, 9, 7)
    layer_case(out, "linear", nn.Linear(5, 3), torch.randn(4, 5))
    layer_case(out, "linear_3d", nn.Linear(5, 3, bias=False), torch.randn(2, 3, 5))
    layer_case(out, "conv", nn.Conv2d(4, 6, 3), image)
    layer_case(out, "conv_padding", nn.Conv2d(4, 6, 5, padding=2), image)
    layer_case(out, "conv_stride", nn.Conv2d(4, 6, 3, stride=2, padding=1, bias=False), torch.randn(2, 4, 8, 9))
    layer_case(out, "conv_stride_3", nn.Conv2d(4, 2, 2, stride=3), image)
    layer_case(out, "conv_dilation", nn.Conv2d(4, 6, 3, dilation=2, padding=1), image)
    layer_case(out, "conv_groups", nn.Conv2d(4, 6, 3, groups=2, stride=2), image)
    layer_case(out, "batch_norm_1d", nn.BatchNorm1d(5), torch.randn(6, 5) * 2 + 1)
    layer_case(out, "batch_norm_1d_length", nn.BatchNorm1d(5), torch.randn(3, 5, 4))
    layer_case(out, "batch_norm_2d", nn.BatchNorm2d(4), image + 1)
    trained = nn.BatchNorm2d(4)
    trained(image * 3 - 1)
    layer_case(out, "batch_norm_2d_eval", trained, image, eval_mode=True)
    layer_case(out, "layer_norm", nn.LayerNorm(7), image)
    layer_case(out, "embedding", nn.Embedding(6, 3), torch.tensor([[0, 5, 2], [2, 2, 1]]))
    layer_case(out, "max_pool", nn.MaxPool2d(2), image)
    layer_case(out, "max_pool_stride", nn.MaxPool2d(4, stride=2), image)
    layer_case(out, "max_pool_padding", nn.MaxPool2d(3, stride=2, padding=1), image)
    layer_case(out, "max_pool_ties", nn.MaxPool2d(3, stride=1), F.relu(image))
    layer_case(out, "avg_pool", nn.AvgPool2d(2), image)
    layer_case(out, "avg_pool_padding", nn.AvgPool2d(3, stride=2, padding=1), image)
    layer_case(out, "adaptive_avg_pool_1", nn.AdaptiveAvgPool2d(1), image)
    layer_case(out, "adaptive_avg_pool_4", nn.AdaptiveAvgPool2d(4), image)
    layer_case(out, "flatten", nn.Flatten(), image)
    numbers = torch.cat([torch.randn(3, 7) * 2, torch.zeros(1, 7)])
    for name, layer in {
        "relu": nn.ReLU(), "sigmoid": nn.Sigmoid(), "tanh": nn.Tanh(),
        "gelu": nn.GELU(), "silu": nn.SiLU(), "softmax": nn.Softmax(dim=-1),
    }.items():
        layer_case(out, name, layer, numbers)
    # Later cases use a generator of their own, so that the random values of the others stay the same.
    with torch.random.fork_rng():
        rows = nn.BatchNorm1d(5)
        rows(torch.randn(6, 5) * 2 + 1)
        layer_case(out, "batch_norm_1d_eval", rows, torch.randn(4, 5), eval_mode=True)
        layer_case(out, "dropout_none", nn.Dropout(0.0), numbers)
        layer_case(out, "dropout_all", nn.Dropout(1.0), numbers)
        layer_case(out, "dropout_eval", nn.Dropout(0.5), numbers, eval_mode=True)
    write("layers", out)


def sequences():
    """Writes the layers of sequences. They have several inputs, outputs and states, which each case lists."""
    out = {}

    def case(name, layer, inputs, call, **others):
        for parameter in layer.parameters():
            nn.init.normal_(parameter, std=0.4)
        # A layer may have two cases: without this, the gradients of both would be those of the second.
        layer.zero_grad()
        layer.train()
        for key, value in layer.state_dict().items():
            out[f"{name}.before.{key}"] = value.clone()
        inputs = {key: value.clone().requires_grad_(True) for key, value in inputs.items()}
        outputs = call(layer, **inputs)
        loss = 0
        for i, y in enumerate(outputs):
            r = torch.randn_like(y)
            loss = loss + (y * r).sum()
            out.update({f"{name}.y{i}": y, f"{name}.r{i}": r})
        loss.backward()
        out.update({f"{name}.{key}": value for key, value in inputs.items()})
        out.update({f"{name}.grad.{key}": value.grad for key, value in inputs.items()})
        out.update({f"{name}.grad.{key}": value.grad for key, value in layer.named_parameters()})
        out.update({f"{name}.{key}": value for key, value in others.items()})

    x, lengths = torch.randn(5, 3, 4), torch.tensor([2, 5, 3])

    def states(layer):
        count = layer.num_layers * (2 if layer.bidirectional else 1)
        names = ["h", "c"] if isinstance(layer, nn.LSTM) else ["h"]
        return {name: torch.randn(count, 3, layer.hidden_size) for name in names}

    def run(layer, x, h, c=None):
        y, state = layer(x, h if c is None else (h, c))
        return (y, state) if c is None else (y, *state)

    def packed(layer, x, h, c=None):
        order = nn.utils.rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        y, state = layer(order, h if c is None else (h, c))
        y, _ = nn.utils.rnn.pad_packed_sequence(y, total_length=5)
        return (y, state) if c is None else (y, *state)

    for name, kind, settings in [
        ("rnn", nn.RNN, {}), ("rnn_relu", nn.RNN, {"nonlinearity": "relu"}), ("gru", nn.GRU, {}), ("lstm", nn.LSTM, {}),
    ]:
        layer = kind(4, 6, **settings)
        case(name, layer, {"x": x, **states(layer)}, run)
        deep = kind(4, 6, num_layers=2, bidirectional=True, **settings)
        case(f"{name}_deep", deep, {"x": x, **states(deep)}, run)
        case(f"{name}_packed", deep, {"x": x, **states(deep)}, packed, lengths=lengths)
        case(f"{name}_no_bias", kind(4, 6, bias=False, **settings), {"x": x, **states(layer)}, run)

    query, key = torch.randn(2, 3, 6), torch.randn(2, 5, 6)
    valid = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    pairs = torch.tensor([[1, 0, 1, 0, 1], [0, 1, 1, 0, 0], [1, 1, 1, 1, 0]])
    causal = nn.Transformer.generate_square_subsequent_mask

    def attention(name, masks, inputs, **others):
        layer = nn.MultiheadAttention(6, 2, batch_first=True)
        case(name, layer, inputs, lambda layer, query, key, value: layer(
            query, key, value, average_attn_weights=False, **masks), **others)

    values = {"query": query, "key": key, "value": torch.randn(2, 5, 6)}
    attention("attention", {}, values)
    attention("attention_keys", {"key_padding_mask": valid == 0}, values, mask=valid)
    attention("attention_pairs", {"attn_mask": pairs == 0}, values, mask=pairs)
    bias = torch.randn(3, 5)
    attention("attention_bias", {"attn_mask": bias}, values, mask=bias)
    case("attention_self", nn.MultiheadAttention(6, 3, bias=False), {"x": x[:, :, :1] * torch.randn(6)},
         lambda layer, x: layer(x, x, x, attn_mask=causal(5), average_attn_weights=False))

    settings = {"dim_feedforward": 7, "dropout": 0.0, "batch_first": True}
    source, target, valid = torch.randn(2, 5, 6), torch.randn(2, 3, 6), valid == 0
    for name, more in [("", {}), ("_first", {"norm_first": True, "activation": "gelu"})]:
        layer = nn.TransformerEncoderLayer(6, 2, **settings, **more)
        case(f"encoder{name}", layer, {"x": source}, lambda layer, x: [layer(x, src_key_padding_mask=valid)],
             mask=(~valid).long())
        stack = nn.TransformerEncoder(layer, 2, norm=nn.LayerNorm(6), enable_nested_tensor=False)
        case(f"encoder_stack{name}", stack, {"x": source}, lambda layer, x: [layer(x, mask=causal(5))])
        layer = nn.TransformerDecoderLayer(6, 2, **settings, **more)
        case(f"decoder{name}", layer, {"x": target, "memory": source}, lambda layer, x, memory: [
            layer(x, memory, tgt_mask=causal(3), memory_key_padding_mask=valid)], mask=(~valid).long())
        case(f"decoder_stack{name}", nn.TransformerDecoder(layer, 2, norm=nn.LayerNorm(6)),
             {"x": target, "memory": source}, lambda layer, x, memory: [layer(x, memory, tgt_mask=causal(3))])
    write("sequences", out)


def more_layers():
    """Writes the layers that were added later, in a file of their own, so that the values of the others stay the same."""
    out = {}
    image, rows = torch.randn(2, 4, 5, 7), torch.randn(2, 4, 11)
    layer_case(out, "conv_1d", nn.Conv1d(4, 6, 3), rows)
    layer_case(out, "conv_1d_settings", nn.Conv1d(4, 6, 3, stride=2, padding=2, dilation=2, groups=2, bias=False), rows)
    layer_case(out, "conv_transpose", nn.ConvTranspose2d(4, 6, 3), image)
    layer_case(out, "conv_transpose_stride", nn.ConvTranspose2d(4, 3, 2, stride=2, bias=False), image)
    layer_case(out, "conv_transpose_settings", nn.ConvTranspose2d(
        4, 6, 3, stride=3, padding=1, output_padding=2, dilation=2, groups=2), image)
    layer_case(out, "upsample", nn.Upsample(scale_factor=2), image)
    layer_case(out, "upsample_fraction", nn.Upsample(scale_factor=1.7), image)
    layer_case(out, "upsample_size", nn.Upsample(size=(3, 9)), image)
    layer_case(out, "upsample_bilinear", nn.Upsample(scale_factor=1.7, mode="bilinear"), image)
    layer_case(out, "upsample_bilinear_size", nn.Upsample(size=(8, 4), mode="bilinear"), image)
    layer_case(out, "upsample_corners", nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True), image)
    layer_case(out, "group_norm", nn.GroupNorm(2, 4), image + 1)
    layer_case(out, "group_norm_rows", nn.GroupNorm(4, 4, eps=0.01), rows)
    layer_case(out, "rms_norm", nn.RMSNorm(7), image)
    layer_case(out, "rms_norm_eps", nn.RMSNorm(7, eps=0.1), image)
    values = torch.cat([torch.randn(3, 7) * 2, torch.zeros(1, 7)])
    layer_case(out, "leaky_relu", nn.LeakyReLU(), values)
    layer_case(out, "leaky_relu_slope", nn.LeakyReLU(0.3), values)
    layer_case(out, "elu", nn.ELU(), values)
    layer_case(out, "elu_alpha", nn.ELU(alpha=0.7), values)
    layer_case(out, "identity", nn.Identity(), values)
    write("more_layers", out)


def losses():
    out = {}

    def case(name, loss, y_hat, y):
        y_hat = y_hat.clone().requires_grad_(True)
        value = loss(y_hat, y)
        value.backward()
        out.update({f"{name}.y_hat": y_hat, f"{name}.target": y, f"{name}.loss": value, f"{name}.grad": y_hat.grad})

    x, y = torch.randn(4, 3) * 2, torch.randn(4, 3)
    y[0, 0] = x[0, 0]
    case("mse", F.mse_loss, x, y)
    case("l1", F.l1_loss, x, y)
    case("huber_1", lambda a, b: F.huber_loss(a, b, delta=1.0), x, y)
    case("huber_half", lambda a, b: F.huber_loss(a, b, delta=0.5), x, y)
    case("cross_entropy", F.cross_entropy, x * 3, torch.tensor([0, 2, 1, 1]))
    case("bce", F.binary_cross_entropy_with_logits, x * 5, torch.rand(4, 3))
    # Element by element, because a mean would hide small values. In double precision, because in single
    # PyTorch's own value at -10 is off by a hundredth.
    def bce(y_hat, y):
        return F.binary_cross_entropy_with_logits(y_hat.double(), y.double()).float()

    for i, logit in enumerate([0.0, 10.0, -10.0, 20.0, -20.0]):
        for label in [0.0, 1.0]:
            case(f"bce_{i}_{label:.0f}", bce, torch.tensor([logit]), torch.tensor([label]))
    write("losses", out)


def optimizers():
    """Writes trajectories in double precision: a row for each step, with both parameters side by side."""
    start = [torch.randn(3, 2), torch.randn(4)]
    steps = [[torch.randn(3, 2), torch.randn(4)] for _ in range(5)]
    with torch.random.fork_rng():
        steps += [[torch.randn(3, 2), torch.randn(4)] for _ in range(20)]

    def row(tensors):
        return torch.cat([tensor.detach().double().flatten() for tensor in tensors])

    out = {"start": row(start), "gradients": torch.stack([row(gradients) for gradients in steps])}

    def case(name, make, clip=None, without=(), schedule=None):
        parameters = [nn.Parameter(value.double()) for value in start]
        optimizer = make(parameters)
        scheduler = schedule(optimizer) if schedule else None
        rows = []
        for t, gradients in enumerate(steps):
            for i, (parameter, gradient) in enumerate(zip(parameters, gradients)):
                parameter.grad = None if (t, i) in without else gradient.double()
            if clip:
                nn.utils.clip_grad_norm_(parameters, clip)
            optimizer.step()
            if scheduler:
                scheduler.step()
            rows.append(row(parameters))
        out[name] = torch.stack(rows)

    # The second parameter has no gradient in the first two steps, and none in the fourth.
    without = [(0, 1), (1, 1), (3, 1)]
    optim = torch.optim
    sgd, adam, adamw, rmsprop, adagrad = optim.SGD, optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad
    case("sgd", lambda p: sgd(p, lr=0.1))
    case("sgd_clipped", lambda p: sgd(p, lr=0.1), clip=1.0)
    case("sgd_decay", lambda p: sgd(p, lr=0.1, weight_decay=0.01))
    case("sgd_momentum", lambda p: sgd(p, lr=0.1, momentum=0.9, weight_decay=0.01))
    case("sgd_dampening", lambda p: sgd(p, lr=0.1, momentum=0.8, dampening=0.3))
    case("sgd_nesterov", lambda p: sgd(p, lr=0.1, momentum=0.9, nesterov=True))
    case("sgd_without", lambda p: sgd(p, lr=0.1, momentum=0.9, dampening=0.1), without=without)
    case("adam", lambda p: adam(p, lr=0.01))
    case("adam_settings", lambda p: adam(p, lr=0.01, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1))
    case("adam_without", lambda p: adam(p, lr=0.01), without=without)
    case("adamw", lambda p: adamw(p, lr=0.01))
    case("adamw_settings", lambda p: adamw(p, lr=0.05, betas=(0.7, 0.95), eps=1e-3, weight_decay=0.3))
    case("adamw_without", lambda p: adamw(p, lr=0.05), without=without, clip=0.5)
    case("rmsprop", lambda p: rmsprop(p))
    case("rmsprop_settings", lambda p: rmsprop(p, lr=0.05, alpha=0.9, eps=1e-4, weight_decay=0.1))
    case("rmsprop_momentum", lambda p: rmsprop(p, lr=0.02, momentum=0.9))
    case("rmsprop_centered", lambda p: rmsprop(p, lr=0.02, alpha=0.8, centered=True))
    case("rmsprop_all", lambda p: rmsprop(p, alpha=0.7, momentum=0.5, centered=True, weight_decay=0.2), without=without)
    case("adagrad", lambda p: adagrad(p))
    case("adagrad_settings", lambda p: adagrad(p, lr=0.1, lr_decay=0.05, weight_decay=0.1, eps=1e-4))
    case("adagrad_initial", lambda p: adagrad(p, lr=0.1, initial_accumulator_value=0.5, lr_decay=0.2), without=without)
    matrices = [lambda p: {"params": p[:1], "weight_decay": 0.3}, lambda p: {"params": p[1:], "weight_decay": 0.0}]
    case("adamw_matrices", lambda p: adamw([group(p) for group in matrices], lr=0.05))
    groups = [lambda p: {"params": p[:1]}, lambda p: {"params": p[1:], "lr": 0.02, "momentum": 0.5}]
    case(
        "sgd_groups",
        lambda p: sgd([group(p) for group in groups], lr=0.1, momentum=0.9),
        schedule=lambda o: optim.lr_scheduler.CosineAnnealingLR(o, 25, eta_min=0.01),
    )
    write("optimizers", out)


def schedules():
    out = {}

    def case(name, make, steps=25):
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
        schedule = make(optimizer)
        lrs = []
        for _ in range(steps):
            lrs.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        out[name] = torch.tensor(lrs, dtype=torch.float64)

    lr = torch.optim.lr_scheduler
    case("step", lambda o: lr.StepLR(o, 3, gamma=0.5))
    case("step_long", lambda o: lr.StepLR(o, 10, gamma=0.1))
    case("multi_step", lambda o: lr.MultiStepLR(o, [4, 9, 9, 20], gamma=0.5))
    case("multi_step_first", lambda o: lr.MultiStepLR(o, [1, 24]))
    case("exponential", lambda o: lr.ExponentialLR(o, 0.9))
    case("cosine", lambda o: lr.CosineAnnealingLR(o, 25))
    case("cosine_min", lambda o: lr.CosineAnnealingLR(o, 24, eta_min=0.01))
    case("linear", lambda o: lr.LinearLR(o, 1.0, 0.1, 5))
    case("linear_up", lambda o: lr.LinearLR(o, total_iters=20))
    case("one_cycle", lambda o: lr.OneCycleLR(o, 0.1, total_steps=25, cycle_momentum=False))
    case("one_cycle_short", lambda o: lr.OneCycleLR(o, 0.5, total_steps=7, cycle_momentum=False), 7)
    case("one_cycle_linear", lambda o: lr.OneCycleLR(
        o, 0.5, total_steps=25, pct_start=0.45, anneal_strategy="linear", div_factor=10, final_div_factor=100,
        cycle_momentum=False))
    case("one_cycle_phases", lambda o: lr.OneCycleLR(
        o, 0.1, total_steps=25, pct_start=0.4, three_phase=True, cycle_momentum=False))

    def warmup(optimizer, from_, then):
        up = lr.LinearLR(optimizer, from_, total_iters=4)
        return lr.SequentialLR(optimizer, [up, then], [4])

    case("warmup_cosine", lambda o: warmup(o, 1 / 5, lr.CosineAnnealingLR(o, 21)))
    case("warmup_step", lambda o: warmup(o, 1 / 3, lr.StepLR(o, 6, gamma=0.3)))

    # A metric that falls, stays constant and falls again, with noise.
    with torch.random.fork_rng():
        noise = torch.randn(40, dtype=torch.float64) * 0.02
    means = [1 / (1 + t) for t in range(8)] + [0.15] * 22 + [0.15 - 0.01 * t for t in range(10)]
    metric = torch.tensor(means, dtype=torch.float64) + noise
    out["metric"] = metric

    def plateau(name, values, **settings):
        optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.1)
        schedule = lr.ReduceLROnPlateau(optimizer, **settings)
        lrs = []
        for value in values.tolist():
            lrs.append(optimizer.param_groups[0]["lr"])
            schedule.step(value)
        out[name] = torch.tensor(lrs, dtype=torch.float64)

    plateau("plateau", metric)
    plateau("plateau_settings", metric, factor=0.5, patience=2, threshold=0.05, cooldown=2, min_lr=0.004)
    plateau("plateau_absolute", metric, factor=0.3, patience=1, threshold=0.01, threshold_mode="abs", eps=1e-3)
    plateau("plateau_max", 1 - metric, mode="max", factor=0.5, patience=3)
    plateau("plateau_max_absolute", 1 - metric, mode="max", patience=0, threshold=0.02, threshold_mode="abs")
    write("schedules", out)


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2),
        nn.Conv2d(6, 16, 5), nn.Sigmoid(), nn.AvgPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.Sigmoid(), nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10),
    )


def leaf_network():
    def block(inputs, filters):
        return nn.Sequential(nn.Conv2d(inputs, filters, 2), nn.ReLU(), nn.MaxPool2d(4, stride=2), nn.BatchNorm2d(filters))

    return nn.Sequential(
        block(3, 8), block(8, 16), block(16, 32), nn.Flatten(),
        nn.Linear(32, 20), nn.ReLU(), nn.Linear(20, 10), nn.ReLU(), nn.Linear(10, 2),
    )


def training():
    def case(name, net, shape, classes, make):
        out = {f"before.{key}": value.clone() for key, value in net.state_dict().items()}
        optimizer = make(net.parameters())
        losses = []
        batches = [(torch.randn(*shape), torch.randint(classes, shape[:1])) for _ in range(4)]
        for i, (x, y) in enumerate(batches):
            out |= {f"batch.{i}.x": x, f"batch.{i}.y": y}
        for step in range(20):
            x, y = batches[step % 4]
            loss = F.cross_entropy(net(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        out["losses"] = torch.tensor(losses)
        write(name, out)

    net = lenet()
    for layer in net:
        if isinstance(layer, (nn.Linear, nn.Conv2d)):
            nn.init.xavier_uniform_(layer.weight)
    case("lenet", net, (6, 1, 28, 28), 10, lambda p: torch.optim.SGD(p, lr=0.5, momentum=0.9))
    case("leaf_network", leaf_network(), (4, 3, 34, 34), 2, lambda p: torch.optim.Adam(p, lr=0.001))


def files():
    """Writes a model as PyTorch saves it, with an input and its output."""
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(18, 4))
    net(torch.randn(3, 1, 5, 5))
    save_file(net.state_dict(), HERE / "from_pytorch.safetensors")
    x = torch.randn(2, 1, 5, 5)
    write("from_pytorch_io", {"x": x, "y": net.eval()(x)})


layers()
losses()
optimizers()
schedules()
training()
files()
sequences()
more_layers()
