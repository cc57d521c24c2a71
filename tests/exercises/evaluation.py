"""Exercises of the chapter about evaluation."""

from math import ceil, comb

from make import exercise, floats

floats("evaluation.3", [0.6, 0.9, 1.0], [0.6, 0.84, 0.936], (
    "Count the choices of k programs that have only wrong ones, and divide by the number of all choices.",
    "For k = 2 there are 10 choices, and one of them has only wrong programs. For k = 3 there is none."))
exercise("evaluation.4", [(0.5, 0.03), (0.9, 0.013), (0.66, 0.005), (0.5, 0.07)],
         lambda p, error: ceil(p * (1 - p) / error**2), lambda p, error: ceil(p * (1 - p) / error), (
    "One problem has the variance p (1 − p). What is the variance of a mean of m problems?",
    "m = p (1 − p) / error², rounded up by `ceil`."))
exercise("evaluation.5", [(0.5, 0.2, 0.0), (0.6, 0.1, 0.2), (0.34, 0.0, 0.15), (0.2, 0.2, 0.1)],
         lambda score, accepted, rejected: (score - accepted) / (1 - accepted - rejected),
         lambda score, accepted, rejected: score - accepted + rejected, (
    "With a true share of q, which share of all programs does the judge accept?",
    "The score is q (1 − rejected) + (1 − q) accepted. Solve this for q."))


def groups(text, n):
    words = text.split()
    return [words[i:i + n] for i in range(len(words) - n + 1)]


def overlap(train, text, n):
    known = groups(train, n)
    return sum(group in known for group in groups(text, n)) / len(groups(text, n))


exercise("evaluation.7", [("let x = a ;", "let x = b ;", 3), ("a b c d e f g h", "a b c", 2), ("a b", "b a b a b", 2), ("x", "y z", 1)],
         overlap, lambda train, text, n: overlap(text, train, n), (
    "Which text do the groups come from that are counted? Which text are they looked for in?",
    "Swap the two: filter `text.windows(n)`, and divide by `text.windows(n).len()`."))


def interval(means, left_out):
    means, skipped = sorted(means), int(left_out * len(means))
    return [means[skipped], means[len(means) - 1 - skipped]]


exercise("evaluation.8", [([3.0, 1.0, 2.0], 0.1), ([5.0, -1.0, 4.0, 0.5, 2.0, 3.5, 1.0, 8.0], 0.25), ([0.0, 9.0, 1.0, 2.0, 7.0], 0.45)],
         interval, lambda means, left_out: [min(means), max(means)], (
    "The compiler names three places: the variable cannot be changed, `f64` cannot be sorted like this, and a product has two types.",
    "`mut means`, `means.sort_by(f64::total_cmp)`, and `(left_out * means.len() as f64) as usize`."))


def variance(values):
    mean = sum(values) / len(values)
    return sum((v - mean) ** 2 for v in values) / (len(values) - 1)


exercise("evaluation.9", [([0.75, 0.5, 0.25], [0.5, 0.25, 0.0]), ([1.0, 0.0, 0.5, 0.5], [0.0, 1.0, 0.5, 0.25]), ([0.25, 0.5], [0.5, 1.0])],
         lambda one, other: (variance([a - b for a, b in zip(one, other)]) / len(one)) ** 0.5,
         lambda one, other: ((variance(one) + variance(other)) / len(one)) ** 0.5, (
    "The code treats the two lists as independent. What is compared in each problem?",
    "Take the variance of `one - other`, divide by n, and take the square root."))
exercise("evaluation.10", [(0, 3), (2, 2), (8, 10), (35, 70), (44, 70)],
         lambda heads, n: sum(comb(n, i) for i in range(heads, n + 1)) / 2**n, lambda heads, n: comb(n, heads) / 2**n, (
    "Each of the 2ⁿ sequences is equally likely. How many have exactly i heads?",
    "Begin with p = 0.5ⁿ for no heads; for i + 1 heads, multiply by (n − i) / (i + 1). Add up from `heads` to n."))
