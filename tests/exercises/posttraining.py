"""Exercises of the chapters about fine-tuning and rewarding a language model."""

from math import exp, log

from make import exercise, floats, value

# --- Fine-tuning a language model

exercise("instructions.3", [(96, 96, 4), (256, 96, 1), (4096, 4096, 16), (10, 1, 2)],
         lambda outputs, inputs, rank: rank * (outputs + inputs), lambda outputs, inputs, rank: rank * outputs * inputs, (
    "A has a row for each rank and a column for each input. What does B have?",
    "A is (rank, inputs), and B is (outputs, rank)."))
value("instructions.4", [4, 96, 256, 4], [96, 4, 4, 256], (
    "The layer computes x · Aᵀ · Bᵀ, as `Linear` computes x · weightᵀ.",
    "A is (rank, inputs), and B is (outputs, rank)."))


def merged(w, a, b):
    return [[w[i][j] + sum(b[i][k] * a[k][j] for k in range(len(a))) for j in range(len(w[0]))] for i in range(len(w))]


exercise("instructions.7", [([[1.0, 0.0], [0.0, 1.0]], [[1.0, 2.0]], [[3.0], [0.0]]), ([[0.0, 0.0, 0.0]], [[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]], [[2.0, -1.0]]), ([[5.0], [6.0]], [[0.0]], [[1.0], [1.0]])],
         merged, lambda w, a, b: w, (
    "For every x, the merged weight must satisfy x · Wᵀ + x · Aᵀ · Bᵀ = x · merged ᵀ.",
    "A transposed product swaps its factors: (B A)ᵀ is Aᵀ Bᵀ. What is then added to W?"))
exercise("instructions.8", [([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 1.0, 1.0]), ([2.0, 8.0], [1.0, 0.0]), ([1.0, 1.0, 7.0], [1.0, 1.0, 1.0])],
         lambda losses, mask: sum(l * m for l, m in zip(losses, mask)) / sum(mask),
         lambda losses, mask: sum(l * m for l, m in zip(losses, mask)) / len(mask), (
    "Tokens of the documentation count neither in the sum nor in the number of tokens.",
    "A product with the mask drops the losses that do not count. How many count?"))


def answer_mask(instruction, answer, late=0):
    return [float(i >= instruction - 1 + late) for i in range(instruction + answer - 1)]


exercise("instructions.9", [(3, 2), (1, 4), (5, 1)],
         answer_mask, lambda i, a: answer_mask(i, a, 1), (
    "At which position is the first token of the answer predicted?",
    "At the last token of the instruction: the mask begins at `instruction - 1`."))

# --- Reinforcement learning with a compiler


def mean(values):
    return sum(values) / len(values)


def spread(values):
    return mean([(v - mean(values)) ** 2 for v in values]) ** 0.5


def advantages(rewards, group):
    groups = [rewards[i:i + group] for i in range(0, len(rewards), group)]
    return [(r - mean(g)) / (spread(g) + 0.1) for g in groups for r in g]


def without_groups(rewards, group):
    return [(r - mean(rewards)) / (spread(rewards) + 0.1) for r in rewards]


floats("compiler-rewards.3", [-0.0625, -0.0625, -0.0625, 0.1875], [0.0, 0.0, 0.0, 1.0], (
    "The gradient of the expected reward is p (r − J) for each token. What is J here?",
    "With equal probabilities, J is the mean of the rewards. Then put r = 0 and r = 1 into p (r − J)."))
exercise("compiler-rewards.7", [([1.0, 0.0, 0.0, 1.0], 4), ([1.0, 0.0, 1.0, 1.0, 0.0, 0.0], 3), ([0.0, 0.0, 2.0, 2.0], 2), ([3.0], 1)],
         advantages, without_groups, (
    "`rewards.chunks(group)` returns the groups. Each has its own mean and its own spread.",
    "The spread is the square root of the mean squared difference from the mean; add 0.1 before you divide."))


def best(p, rewards, beta):
    weights = [q * exp(r / beta) for q, r in zip(p, rewards)]
    return [w / sum(weights) for w in weights]


exercise("compiler-rewards.8", [([0.5, 0.5], [0.0, 1.0], 1.0), ([0.9, 0.1], [0.0, 1.0], 0.25), ([0.2, 0.3, 0.5], [1.0, 1.0, 0.0], 10.0), ([1.0], [4.0], 2.0)],
         best, lambda p, rewards, beta: [q * exp(r / beta) for q, r in zip(p, rewards)], (
    "Multiply each probability by exp(reward / β). What must the sum be in the end?",
    "Collect the products, then divide each by their sum."))


def pairs(levels):
    return [[i, j] for i, a in enumerate(levels) for j, b in enumerate(levels) if a > b]


exercise("compiler-rewards.9", [([0, 2],), ([2, 0, 1],), ([1, 1, 1],), ([3, 0, 3, 0],), ([],)],
         pairs, lambda levels: [[j, i] for i, j in pairs(levels)], (
    "Compare each function with each other one. Which of them is first in the pair?",
    "Two loops over all indices, one inside the other. Equal levels make no pair."))
exercise("compiler-rewards.10", [(0.0, 0.0, 0.1), (2.0, -1.0, 0.5), (-3.0, 4.0, 1.0), (10.0, 2.0, 0.1)],
         lambda chosen, rejected, beta: log(1 + exp(-beta * (chosen - rejected))),
         lambda chosen, rejected, beta: log(1 + exp(beta * (chosen - rejected))), (
    "The loss is −ln σ(x), with x = β · (chosen − rejected). It is small if `chosen` is larger.",
    "−ln σ(x) is ln(1 + exp(−x))."))


def centred_rewards(groups, means):
    return [[r - mean for r in group] for group, mean in zip(groups, means)]


def mean_of(values):
    return sum(values) / len(values)


exercise("compiler-rewards.11", [([[1.0, 0.0], [1.0, 1.0]],), ([[0.0, 0.0, 0.5], [2.0, 1.0, 3.0]],), ([[1.0, 3.0]],)],
         lambda g: centred_rewards(g, map(mean_of, g)),
         lambda g: centred_rewards(g, [mean_of(sum(g, []))] * len(g)), (
    "With which samples is a method compared?",
    "The mean must be the mean of its own group."))
