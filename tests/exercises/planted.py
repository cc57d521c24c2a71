"""Wrong solutions of kinds that are easy to write and easy to overlook; each must be refused."""

from math import ceil, log, sqrt

from learning import columns, positions, softmax
from make import planted
from where import transposed


def mean(values):
    return sum(values) / len(values)


# Off by one

planted("data.13", lambda x, n: [row[(len(row) - n + 1) // 2:][:n] for row in x[(len(x) - n + 1) // 2:][:n]])
planted("linear-regression.11", lambda n, batch, epochs: (n // batch + 1) * epochs)
planted("convolutions.10", lambda n, kernel, stride: ceil((n - kernel) / stride) + 1)
planted("welcome.11", lambda steps: positions(steps)[:-1])
planted("gpt.10", lambda tokens, start, n: [tokens[start:start + n], tokens[start + 1:start + n]])

# A wrong axis, or transposed

planted("generalisation.7", lambda p: [row.index(max(row)) for row in p[0]])
planted("tensors.9", lambda a, b: columns([[sum(map(float.__mul__, row, column)) for column in columns(b)] for row in a]))
planted("tensors.7", lambda x: columns([softmax(row) for row in x]))
planted("where.10", lambda x, kernel, stride: transposed(x, columns(kernel), stride))

# A constant that fits what the chapter shows

planted("training.14", lambda start, measured: 0.0)
planted("stability.13", lambda x, depth: 1.0)
planted("optimisers.12", lambda start, minimum: [0.0, 0.0])

# A mean in place of a sum, and the other way round


def precision_per_hit(hits, shapes):
    return sum(mean(hits[:i + 1]) for i, hit in enumerate(hits) if hit) / max(sum(hits), 1)


planted("several-devices.13", lambda gradients: [[mean(c) for c in zip(*gradients)]] * len(gradients))
planted("rewards.9", lambda p, advantages: -sum(log(q) * a for q, a in zip(p, advantages)))
planted("where.9", precision_per_hit)

# Right for one shape, or for one range of values


def with_unbiased_variance(x):
    def normalised(c):
        variance = sum((v - mean(c)) ** 2 for v in c) / max(len(c) - 1, 1)
        return [(v - mean(c)) / sqrt(variance + 1e-5) for v in c]
    return columns([normalised(c) for c in columns(x)])


planted("modern-cnns.9", lambda x: [[sum(map(sum, c)) / len(c) ** 2 for c in image] for image in x])
planted("what-makes-it-fast.9", lambda x, scale: [max(-127, round(v / scale)) for v in x])
planted("tables.12", lambda values: [v if v > 0 else mean([u for u in values if u > 0]) for v in values])
planted("fine-tuning.10", lambda x, y, new: [int(row[1] > 2.5) for row in new])
planted("models.12", with_unbiased_variance)
