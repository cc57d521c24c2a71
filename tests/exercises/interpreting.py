"""Exercises of the chapter about what networks have learned."""

from math import cos, log, sin, tau

from make import exercise

# --- What did it learn?

exercise("what-did-it-learn.3", [(53,), (2,), (97,), (7,)],
         lambda p: [p * (p + 1) // 2, 1 / p, log(p)], lambda p: [p * p, 1 / p, log(p)], (
    "Row a has the cells from b = a to b = p − 1: p cells, then p − 1, down to 1.",
    "There are p (p + 1) / 2 cells. A guess is right once in p times, and −ln(1 / p) is ln p."))


def dots(x, k):
    angles = [tau * k * a / len(x) for a in range(len(x))]
    return angles, sum(v * cos(t) for v, t in zip(x, angles)), sum(v * sin(t) for v, t in zip(x, angles))


def power(x, k):
    _, c, s = dots(x, k)
    return 2 / len(x) * (c * c + s * s)


exercise("what-did-it-learn.7", [([1.0, 0.0, -1.0, 0.0, 1.0], 1), ([2.0, 2.0, 5.0], 1), ([0.5, -1.0, 3.0, 0.0, 0.25, 4.0, -2.0], 3),
                                 ([1.0, 0.0, 0.0, 0.0, 0.0], 2)],
         power, lambda x, k: (dots(x, k)[1] ** 2 + dots(x, k)[2] ** 2) / len(x), (
    "Multiply the values by the cosine and by the sine, and add up: two sums. What is the length of such a wave?",
    "The squared length of the cosine is n / 2, and so is that of the sine: `2.0 / n * (c * c + s * s)`."))


def removed(x, k, scale):
    angles, c, s = dots(x, k)
    return [v - scale / len(x) * (c * cos(t) + s * sin(t)) for v, t in zip(x, angles)]


exercise("what-did-it-learn.8", [([1.0, 0.0, -1.0, 0.0, 1.0], 1), ([2.0, 2.0, 5.0], 1), ([0.5, -1.0, 3.0, 0.0, 0.25, 4.0, -2.0], 3),
                                 ([1.0, 0.0, 0.0, 0.0, 0.0], 2)],
         lambda x, k: removed(x, k, 2), lambda x, k: removed(x, k, len(x)), (
    "Remove the frequency twice: the second time, nothing may change. Does it?",
    "The waves do not have length 1. Divide by their squared length, n / 2: multiply both parts by 2 / n."))


def induced(tokens):
    earlier = [i for i in range(len(tokens) - 1) if tokens[i] == tokens[-1]]
    return tokens[earlier[-1] + 1] if earlier else tokens[-1]


def first_found(tokens):
    return tokens[(tokens.index(tokens[-1]) + 1) % len(tokens)]


exercise("what-did-it-learn.9", [([7, 3, 9, 7],), ([4, 1, 4, 2, 5, 4],), ([6, 6],), ([1, 2, 3],), ([8],)],
         induced, first_found, (
    "`tokens.last()` is an `Option<&u32>`, because the list may be empty. What do you compare it with?",
    "`let last = tokens[tokens.len() - 1];` is a `u32`; compare it with `*token`."))


def score(weights, period):
    places = range(period, len(weights))
    return sum(weights[t][t + 1 - period] for t in places) / len(places)


EVEN = [[1 / (t + 1)] * (t + 1) + [0.0] * (5 - t) for t in range(6)]
SHARP = [[1.0, 0.0, 0.0, 0.0], [0.25, 0.75, 0.0, 0.0], [0.0, 0.9, 0.1, 0.0], [0.2, 0.0, 0.7, 0.1]]
exercise("what-did-it-learn.10", [(EVEN, 3), (SHARP, 2), (SHARP, 3), (EVEN, 5)],
         score, lambda weights, period: sum(weights[t][t - period] for t in range(period, len(weights))) / (len(weights) - period), (
    "Position t has the same token as position t − period. Which position has the token that followed?",
    "The mean of `weights[t][t + 1 - period]` over all t from `period` on."))
