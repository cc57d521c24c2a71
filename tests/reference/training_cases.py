"""Cases of optimisers and schedules."""

import torch
from torch import optim
from torch.optim import lr_scheduler

from case import case, randn


def optimisers(rng):
    def chance(p):
        return rng.random() < p

    def value(low, high):
        return round(rng.uniform(low, high), 4)

    def sgd():
        momentum = value(0.1, 0.95) if chance(0.7) else 0.0
        nesterov = momentum > 0 and chance(0.4)
        dampening = value(0.0, 0.9) if momentum > 0 and not nesterov and chance(0.5) else 0.0
        return {"momentum": momentum, "dampening": dampening, "nesterov": nesterov}

    def adam():
        betas = (value(0.5, 0.95), value(0.8, 0.999))
        return {"betas": betas, "eps": 10 ** -value(3, 8), "amsgrad": chance(0.4)}

    def rmsprop():
        momentum = value(0.1, 0.9) if chance(0.5) else 0.0
        return {"alpha": value(0.5, 0.99), "eps": 10 ** -value(3, 8), "momentum": momentum, "centered": chance(0.4)}

    def adagrad():
        initial = value(0.0, 0.5) if chance(0.5) else 0.0
        return {"lr_decay": value(0.0, 0.3), "initial_accumulator_value": initial, "eps": 10 ** -value(3, 10)}

    def adadelta():
        return {"rho": value(0.5, 0.99), "eps": 10 ** -value(3, 8)}

    kinds = [(optim.SGD, sgd), (optim.Adam, adam), (optim.AdamW, adam), (optim.RMSprop, rmsprop),
             (optim.Adagrad, adagrad), (optim.Adadelta, adadelta)]
    for i in range(300):
        kind, draw = kinds[i % len(kinds)]
        own, steps = draw(), rng.randint(1, 4)
        lr, decay = value(0.01, 0.2), value(0.01, 0.5) if chance(0.6) else 0.0
        grouped, lr2, decay2 = chance(0.4), value(0.01, 0.2), value(0.0, 0.5)
        matrices, missing, maximize = not grouped and chance(0.3), rng.randrange(16) if chance(0.4) else 0, chance(0.3)
        clip, gamma = value(0.3, 2.0) if chance(0.3) else 0.0, value(0.5, 1.0) if chance(0.4) else 1.0

        def f(a, b, slopes):
            a, b = (x.clone().requires_grad_() for x in (a, b))
            first = {"params": [a] if grouped or matrices else [a, b]}
            second = {"params": [b], "lr": lr2 if grouped else lr, "weight_decay": decay2 if grouped else 0.0}
            groups = [first, second] if grouped or matrices else [first]
            optimizer = kind(groups, lr=lr, weight_decay=decay, maximize=maximize, **own)
            schedule = lr_scheduler.ExponentialLR(optimizer, gamma)
            for t, slope in enumerate(slopes):
                a.grad = slope[:6].reshape(2, 3).clone()
                b.grad = None if missing >> t & 1 else slope[6:].clone()
                if clip:
                    torch.nn.utils.clip_grad_norm_([a, b], clip)
                optimizer.step()
                schedule.step()
            return a, b

        common = [lr, decay, grouped, lr2, decay2, matrices, missing, clip, gamma, maximize]
        settings = [y for x in own.values() for y in (x if isinstance(x, tuple) else [x])]
        case(kind.__name__, f, [randn(2, 3), randn(4), randn(steps, 10)], [*common, *settings], "fff")


STEPS = 24


def rates(make, base, metrics=None):
    optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], base)
    schedule, found = make(optimizer), []
    for t in range(STEPS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step() if metrics is None else schedule.step(metrics[t])
    return torch.tensor(found, dtype=torch.float64)


def schedules(rng):
    s = lr_scheduler
    for i in range(15):
        base, gamma, every, total = rng.uniform(0.001, 1.0), rng.uniform(0.1, 0.99), rng.randint(1, 9), rng.randint(2, 20)
        low, high, warm = rng.uniform(0.01, 0.5), rng.uniform(0.5, 1.5), rng.randint(1, 6)
        milestones = sorted(rng.randint(1, STEPS) for _ in range(rng.randint(1, 4)))
        plain = [
            ("step", lambda o: s.StepLR(o, every, gamma), [every, gamma]),
            ("multi_step", lambda o: s.MultiStepLR(o, milestones, gamma), [gamma, *milestones]),
            ("exponential", lambda o: s.ExponentialLR(o, gamma), [gamma]),
            ("cosine", lambda o: s.CosineAnnealingLR(o, STEPS, base * low), [STEPS, base * low]),
            ("linear", lambda o: s.LinearLR(o, low, high if high < 1 else 1.0, total), [low, high if high < 1 else 1.0, total]),
            ("polynomial", lambda o: s.PolynomialLR(o, total, 2 * high), [total, 2 * high]),
            ("warm_restarts", lambda o: s.CosineAnnealingWarmRestarts(o, every, 1 + i % 3, base * low), [every, 1 + i % 3, base * low]),
        ]
        for name, make, settings in plain:
            case("schedule " + name, lambda: rates(make, base), [], [base, *settings])
        warmed = lambda o: s.SequentialLR(o, [s.LinearLR(o, low, 1.0, warm), s.StepLR(o, every, gamma)], [warm])
        case("schedule warmup", lambda: rates(warmed, base), [], [base, low, warm, every, gamma])
        linear, three, start = rng.randrange(2), rng.randrange(2), rng.uniform(0.2, 0.45)
        div, final, length = rng.uniform(2, 30), rng.uniform(2, 1e4), rng.randint(STEPS + 1, 40)
        cycle = lambda o: s.OneCycleLR(o, base, length, pct_start=start, anneal_strategy="linear" if linear else "cos",
                                       cycle_momentum=False, div_factor=div, final_div_factor=final, three_phase=bool(three))
        case("schedule one_cycle", lambda: rates(cycle, base), [], [base, length, start, linear, div, final, three])
    for i in range(45):
        base, factor, patience, cooldown = rng.uniform(0.01, 1.0), rng.uniform(0.1, 0.9), rng.randint(0, 3), rng.randint(0, 3)
        larger, absolute, threshold = rng.randrange(2), rng.randrange(2), rng.choice([1e-4, 0.05, 0.2])
        least, eps = rng.choice([0.0, base * factor ** 2.5]), rng.choice([1e-8, 0.01])
        values = torch.rand(STEPS) * 2 + torch.linspace(0, 1, STEPS) * (1 if larger else -1)
        make = lambda o: s.ReduceLROnPlateau(o, "max" if larger else "min", factor, patience, threshold,
                                             "abs" if absolute else "rel", cooldown, least, eps)
        settings = [base, factor, patience, cooldown, larger, absolute, threshold, least, eps]
        case("schedule plateau", lambda v: rates(make, base, v.tolist()), [values], settings, "f")


ALL = [optimisers, schedules]
