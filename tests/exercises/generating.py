"""Exercises of the part about generating."""

from math import exp

from make import exercise, floats

# --- Flow matching

exercise("flow-matching.7", [([0.0, 1.0], [2.0, -1.0], 0.25), ([3.0], [5.0], 0.0), ([3.0, -2.0], [5.0, 2.0], 1.0), ([-4.0], [4.0], 0.5)],
         lambda x0, x1, t: [(1 - t) * a + t * b for a, b in zip(x0, x1)],
         lambda x0, x1, t: [t * a + (1 - t) * b for a, b in zip(x0, x1)], (
    "At t = 0 the result is `x0`, at t = 1 it is `x1`.",
    "Each point has a weight. At every time, the two weights add up to 1."))


def euler(x, rate, steps):
    for _ in range(steps):
        x += rate * x / steps
    return x


exercise("flow-matching.8", [(1.0, 1.0, 1), (1.0, 1.0, 4), (2.0, -1.0, 10), (-3.0, 0.5, 100)],
         euler, lambda x, rate, steps: euler(x, rate, 1), (
    "Each step moves the point by its velocity times the length of a step.",
    "The length of a step is `1.0 / steps as f64`. The velocity is computed again in each step."))
exercise("flow-matching.9", [([1.0, 2.0], [0.0, 4.0], 1.0), ([1.0, 2.0], [0.0, 4.0], 0.0), ([1.0, 2.0], [0.0, 4.0], 3.0), ([-1.0], [1.0], 2.0)],
         lambda c, u, w: [b + w * (a - b) for a, b in zip(c, u)],
         lambda c, u, w: [a + w * (a - b) for a, b in zip(c, u)], (
    "With w = 1 the result is the velocity with the class, with w = 0 the one without it.",
    "Begin at the velocity without the class, and go w times the way to the other."))
exercise("flow-matching.10", [([0.0, 1.0], [2.0, -1.0], 0.25), ([3.0], [5.0], 0.0), ([-1.0, 2.0], [1.0, 2.0], 1.0)],
         lambda x0, x1, t: [[(1 - t) * a + t * b for a, b in zip(x0, x1)], [b - a for a, b in zip(x0, x1)]],
         lambda x0, x1, t: [[t * a + (1 - t) * b for a, b in zip(x0, x1)], [b - a for a, b in zip(x0, x1)]], (
    "Where is the point at t = 0? And where does a sample begin?",
    "The place and the velocity must belong to the same line: with the velocity `x1 - x0`, the point begins at `x0`."))

# --- Autoencoders

floats("autoencoders.3", [0.0, 2.0], [0.0, 4.0], (
    "Put the numbers into the formula: µ² + σ² − ln σ² − 1, halved.",
    "ln 1 is 0. Which of the four terms are left for the first cloud, and what does µ add for the second?"))
exercise("autoencoders.7", [([1.0, -2.0], [0.0, 0.0], [0.5, 1.0]), ([0.0, 3.0], [2.0, -2.0], [1.0, -1.0]), ([4.0], [1.0], [0.0])],
         lambda mean, log_var, noise: [m + exp(v / 2) * e for m, v, e in zip(mean, log_var, noise)],
         lambda mean, log_var, noise: [m + exp(v) * e for m, v, e in zip(mean, log_var, noise)], (
    "The standard deviation is the square root of the variance, so half of the logarithm.",
    "`(log_var * 0.5).exp()` is the standard deviation, by which the noise is scaled."))
exercise("autoencoders.8", [([0.0, 0.0], [0.0, 0.0]), ([1.0, -2.0], [0.0, 1.0]), ([0.5], [-3.0]), ([2.0, 0.0, 1.0], [0.5, -0.5, 0.0])],
         lambda mean, log_var: sum(m * m + exp(v) - v - 1 for m, v in zip(mean, log_var)) / 2,
         lambda mean, log_var: sum(m * m + exp(v) - 1 for m, v in zip(mean, log_var)) / 2, (
    "`log_var.exp()` is the variance.",
    "`log_var` itself is ln σ². Put both into the formula of the chapter, element by element, and add up all elements."))


def copied(x, mean, direction):
    along = sum((a - m) * d for a, m, d in zip(x, mean, direction))
    return [m + along * d for m, d in zip(mean, direction)]


def not_centred(x, mean, direction):
    along = sum(a * d for a, d in zip(x, direction))
    return [m + along * d for m, d in zip(mean, direction)]


exercise("autoencoders.9", [([3.0, 1.0], [1.0, 1.0], [1.0, 0.0]), ([2.0, 2.0], [2.0, 2.0], [0.6, 0.8]), ([1.0, -2.0, 0.5], [0.5, 0.0, 1.0], [0.0, 0.6, -0.8])],
         copied, not_centred, (
    "What should be the copy of the mean image itself?",
    "The direction was found for differences from the mean, so the mean is subtracted before and added afterwards."))
