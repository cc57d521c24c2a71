"""Exercises of parts V to VII: sequences, machines, shipping."""

from collections import Counter
from math import ceil, exp, log, log2, prod, sqrt, tanh

from learning import columns, matmul, softmax
from make import exercise, floats, value

# --- Recurrent networks

exercise("recurrent-networks.3", [(32, 128), (16, 64), (5, 3)],
         lambda i, h: [i * h + h * h + 2 * h, 4 * (i * h + h * h + 2 * h)],
         lambda i, h: [i * h + h * h, 4 * (i * h + h * h)], (
    "There is a matrix for the input, one for the state, and two biases.",
    "A matrix has a weight for each pair of its sizes, and each bias one value for each hidden unit. An LSTM computes four vectors in this way: three gates and the new content."))
value("recurrent-networks.5", [21, 228], [20, 227], (
    "Multiply 0.8 by itself until the product is below 0.01.",
    "After n steps, 0.8 to the power of n is left. Count in a loop, or take logarithms on both sides."))
exercise("recurrent-networks.8", [([0.5, 0.5],), ([0.1, 0.1, 0.1],), ([1.0],), ([0.9, 0.01, 0.3],)],
         lambda p: exp(-sum(map(log, p)) / len(p)), lambda p: len(p) / sum(p) + 0.5, (
    "The cross-entropy is the mean of −ln p. The perplexity is its exponential.",
    "First the mean of the logarithms, then the exponential, once. The minus sign belongs to the exponent."))


def step(x, h, w):
    return [[tanh(a + b) for a, b in zip(r, s)] for r, s in zip(x, matmul(h, w))]


exercise("recurrent-networks.9", [([[0.5, -0.5]], [[1.0, 2.0]], [[0.1, 0.2], [0.3, 0.4]]), ([[1.0]], [[0.0]], [[5.0]]),
                                  ([[0.0], [0.2]], [[1.0], [-1.0]], [[0.5]])],
         step, lambda x, h, w: [[max(-1.0, min(1.0, a + b)) + 0.1 for a, b in zip(r, s)] for r, s in zip(x, matmul(h, w))], (
    "Only the state is multiplied by the matrix here; the input is added.",
    "`tanh` comes last: it is applied to the sum."))


def last_state(x, w, u):
    h = 0.0
    for value in x:
        h = tanh(w * value + u * h)
    return h


exercise("recurrent-networks.10", [([1.0, 2.0], 0.5, 0.25), ([1.0, 0.0, 0.0], 1.0, 2.0), ([-0.5], 2.0, 1.0)],
         last_state, lambda x, w, u: 0.0, (
    "How many variables are called `h`?",
    "`let` creates a new variable in each step. Assign to the outer one, which must be `mut`."))

# --- Attention


def weights(q, k):
    return [softmax([v / sqrt(len(q[0])) for v in row]) for row in matmul(q, columns(k))]


Q, K, V = [[1.0, 0.0], [0.0, 2.0]], [[1.0, 1.0], [0.0, 1.0], [-1.0, 0.5]], [[1.0], [2.0], [4.0]]
exercise("attention.3", [(64, 4, 10), (64, 8, 20), (32, 4, 10)],
         lambda width, heads, steps: 4 * (width * width + width), lambda width, heads, steps: 4 * width * width, (
    "There are four linear layers of `width` by `width`, with biases. The heads share their outputs.",
    "One layer has `width * width` weights and `width` biases. Does the number of heads change anything, or the length of the sequence?"))
exercise("attention.4", [([[1.0, 2.0], [3.0, 6.0]],), ([[5.0]],), ([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]],)],
         lambda v: [sum(c) / len(c) for c in zip(*v)], lambda v: [sum(c) + 0.1 for c in zip(*v)], (
    "Equal keys have equal scores. What does the softmax make of equal scores?",
    "So all weights are equal, and they add up to 1. What is then the weighted sum of the values?"))
exercise("attention.8", [(Q, K), (Q, Q), ([[3.0, 1.0, 0.0, 2.0]], [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]])],
         weights, lambda q, k: [softmax(row) for row in matmul(q, columns(k))], (
    "Divide the scores by √d before the softmax; d is the size of a query.",
    "`q.matmul(&k.t())` has a row of scores for each query. The softmax runs along each row."))
exercise("attention.9", [(Q, K, V), (Q, Q, Q), ([[0.0, 0.0]], K, V)],
         lambda q, k, v: matmul(weights(q, k), v), lambda q, k, v: matmul(weights(q, k), [[2 * a for a in r] for r in v]), (
    "The output is the average of the values, with the attention weights.",
    "Multiply the matrix of the weights, (queries, keys), by the values, (keys, d)."))
exercise("attention.10", [(1,), (3,), (4,)],
         lambda n: [[j <= i for j in range(n)] for i in range(n)], lambda n: [[j < i for j in range(n)] for i in range(n)], (
    "Position i may look at itself and at earlier positions.",
    "Two loops, one inside the other: for each row i, each column j. Which comparison of i and j is true on the diagonal and below it?"))


def attended(q, k, v, by_key=False):
    scores = [[s / sqrt(len(q[0])) for s in row] for row in matmul(q, columns(k))]
    weights = columns([softmax(c) for c in columns(scores)]) if by_key else [softmax(row) for row in scores]
    return matmul(weights, v)


exercise("attention.11", [([[1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [4.0, 6.0]]),
                          ([[0.5, 1.0], [2.0, -1.0]], [[1.0, 1.5], [0.0, 2.0], [1.0, -1.0]], [[1.0, 0.5], [3.0, 0.0], [-1.0, 2.0]])],
         attended, lambda q, k, v: attended(q, k, v, True), (
    "Along which dimension must the weights of one query add up to 1?",
    "The scores are (queries, keys): softmax along dimension 1."))

# --- Translating dates

value("translation.3", [[32, 40, 32], [32, 40, 128], [32, 128], [32, 11, 40]], [[32, 40, 32], [32, 40, 64], [32, 64], [32, 12, 40]], (
    "Both directions have 64 hidden units. What happens to their outputs?",
    "The decoder reads all symbols but the last, and each of its steps has a weight for each letter of the text."))
exercise("translation.4", [(0.99, 10), (0.5, 2), (1.0, 7), (0.9, 3)], lambda p, n: p ** n, lambda p, n: 1 - n * (1 - p), (
    "The probability that two independent letters are right is the product of both.",
    "For n letters, p is multiplied by itself again and again. `f64` has a method for this, `powi`."))


def greedy_and_best(first, second):
    return [first[first.index(max(first))] * max(second[first.index(max(first))]), max(p * max(row) for p, row in zip(first, second))]


exercise("translation.5", [([0.4, 0.6], [[0.9, 0.1], [0.5, 0.5]]), ([0.7, 0.3], [[0.2, 0.8], [1.0, 0.0]]), ([0.3, 0.4, 0.3], [[0.5, 0.5], [0.6, 0.4], [0.1, 0.9]])],
         greedy_and_best, lambda first, second: [greedy_and_best(first, second)[0]] * 2, (
    "The greedy choice is the largest value of `first`, then the largest of its row. Multiply the two.",
    "For each letter, multiply its probability by the largest of its row. The largest product belongs to the most likely text."))
exercise("translation.7", [([1, 9, 17, 2],), ([1, 2],), ([1, 5, 5, 8, 30, 2],)],
         lambda y: [y[:-1], y[1:]], lambda y: [y[1:], y[1:]], (
    "From each symbol, the decoder predicts the next one. Which symbol has no successor?",
    "Both lists are shorter than `y` by one symbol, at different ends."))


def best_pairs(scores, next, width):
    pairs = [(scores[i] + p, [i, j]) for i, row in enumerate(next) for j, p in enumerate(row)]
    return [pair for _, pair in sorted(pairs, reverse=True)[:width]]


exercise("translation.8", [([-0.5, -1.2], [[-0.1, -2.4, -3.0], [-0.05, -4.0, -5.0]], 2), ([-1.0, -1.1], [[-0.7, -0.8], [-2.0, -3.0]], 2), ([0.0], [[-3.0, -0.1, -2.5]], 1), ([-2.0, -0.1], [[-0.1, -5.0], [-1.0, -1.5]], 3)],
         best_pairs, lambda scores, next, width: best_pairs([0.0] * len(scores), next, width), (
    "Logarithms of probabilities are added: the score of an extension is `scores[i] + next[i][letter]`.",
    "Collect all sums with their pairs in one list, sort it by the sums in descending order, and keep the first `width`."))
exercise("translation.9", [([-4.0, -5.0], [4, 10], 1.0), ([-4.0, -5.0], [4, 10], 0.0), ([-3.0, -3.5, -9.0], [2, 3, 4], 0.6), ([-1.0], [7], 1.0)],
         lambda scores, lengths, alpha: max(range(len(scores)), key=lambda i: scores[i] / lengths[i] ** alpha),
         lambda scores, lengths, alpha: max(range(len(scores)), key=lambda i: scores[i]), (
    "The scores are negative. Divided by a larger number, they are nearer to 0.",
    "Compare `scores[i] / (lengths[i] as f64).powf(alpha)`, for example with `max_by` and `total_cmp`."))
exercise("translation.10", [(["2", "20"], "0"), ([], "x"), (["", "a"], "é")],
         lambda texts, letter: [text + letter for text in texts], lambda texts, letter: texts, (
    "`for text in texts` moves the texts out of the list. Which loop lends them to be changed?",
    "Two things are to be changed: the parameter must be mutable, and the loop must borrow the list mutably."))

# --- A GPT

exercise("gpt.3", [(512,), (2,), (50257,)], log, lambda n: 1 / n, (
    "An untrained model gives each token about the same probability.",
    "The loss of a token is minus the logarithm of its probability. How large is the probability of one of `tokens` equal ones?"))
exercise("gpt.4", [(3.0, 2.3), (8.0, 4.0), (1.5, 1.0)], lambda b, c: b / c, lambda b, c: b * c, (
    "A token covers several characters, so its bits are divided among them.",
    "For example, a token with 3 bits and 2 characters has 1.5 bits per character."))


def pair(tokens):
    counts = Counter(zip(tokens, tokens[1:]))
    return list(max(sorted(counts), key=lambda p: counts[p]))


exercise("gpt.7", [([1, 2, 1, 2, 3],), ([5, 5, 5],), ([4, 9, 4, 9, 9, 9, 9],), ([1, 2],)],
         pair, lambda t: [t[0], t[0] + 1000], (
    "Count each pair of neighbours: `tokens.windows(2)`.",
    "Put the counts into a `BTreeMap`, whose keys are sorted, and keep a pair only if its count is larger than the best."))


def merge(tokens, both, new):
    result, i = [], 0
    while i < len(tokens):
        found = tokens[i:i + 2] == list(both)
        result.append(new if found else tokens[i])
        i += 2 if found else 1
    return result


exercise("gpt.8", [([1, 2, 1, 2, 3], [1, 2], 9), ([5, 5, 5], [5, 5], 6), ([1, 3], [1, 2], 7), ([], [1, 2], 7)],
         merge, lambda t, p, n: [*merge(t, p, n), n], (
    "Go through the tokens with an index, and advance by two where you find the pair.",
    "Compare `tokens.get(i..i + 2)` with `Some(&[pair.0, pair.1][..])`, so that the end needs no special case."))
exercise("gpt.9", [([1.0, 2.0, 3.0], 1.0), ([1.0, 2.0, 3.0], 0.5), ([0.0, 4.0], 10.0)],
         lambda z, t: softmax([v / t for v in z]), lambda z, t: [v / t for v in softmax(z)] if t != 1 else z, (
    "Divide the logits by the temperature, not the probabilities.",
    "`softmax` needs the dimension along which the probabilities add up to 1. Here there is only one."))
exercise("gpt.10", [([5, 6, 7, 8], 0, 3), ([1, 2, 3, 4, 5, 6], 2, 2), ([9, 8, 9], 1, 1)],
         lambda t, start, n: [t[start:start + n], t[start + 1:start + 1 + n]],
         lambda t, start, n: [t[start:start + n]] * 2, (
    "Which token must the model predict at the first position, and is it the one that it sees there?",
    "The targets begin at `start + 1`."))

# --- Rewards

value("rewards.3", [352, 4, 352, 2, 352, 2, 352], [16, 22, 4, 16, 22, 2, 16, 22], (
    "All steps are rows of one tensor. A row of the observations has four values.",
    "The log-probabilities of all actions have the shape of the logits. `gather` takes one of each row, and `squeeze` removes the dimension of size 1."))
floats("rewards.4", [-2.4, 2.4], [-0.6, 0.6], (
    "The gradient of ln softmax is 1 for the drawn action, 0 for the others, minus the probabilities.",
    "For the right it is 3 · (1 − 0.2). What is it for the left?"))


def discounted(rewards, discount):
    sums = list(rewards)
    for t in reversed(range(len(sums) - 1)):
        sums[t] += discount * sums[t + 1]
    return sums


exercise("rewards.8", [([1.0, 1.0, 1.0], 1.0), ([1.0, 0.0, 4.0], 0.5), ([0.0, -2.0, 3.0, 1.0], 0.9), ([5.0], 0.5), ([], 0.5)],
         discounted, lambda rewards, discount: discounted(rewards, 1.0), (
    "`iter_mut` borrows the vector as long as the loop runs. Which loop needs no borrow?",
    "A loop over indices borrows the vector only for one access at a time. Later sums are needed first: in which order must the indices come?"))
exercise("rewards.9", [([0.5, 0.25], [1.0, -1.0]), ([0.1, 0.9, 0.5, 0.5], [2.0, 0.0, -1.0, 3.0]), ([1.0], [4.0]), ([0.2], [-3.0])],
         lambda p, advantages: -sum(log(q) * a for q, a in zip(p, advantages)) / len(p),
         lambda p, advantages: -sum(q * a for q, a in zip(p, advantages)) / len(p), (
    "Compare it with the formula of the policy gradient. Of what does it take the gradient?",
    "The actions were drawn with the probabilities `p`, so the loss needs their logarithm."))


def above_others(returns):
    others = [returns[:i] + returns[i + 1:] for i in range(len(returns))]
    return [r - sum(rest) / len(rest) for r, rest in zip(returns, others)]


exercise("rewards.10", [([1.0, 3.0],), ([2.0, 2.0, 2.0],), ([10.0, 0.0, 5.0, 1.0],), ([-1.0, 4.0, 0.5],)],
         above_others, lambda returns: [r - sum(returns) / len(returns) for r in returns], (
    "The sum of the others is the sum of all, minus the own return. How many others are there?",
    "Divide the sum of the others by how many they are, not by `n`, before you subtract it."))

# --- Machines

exercise("gpus.6", [([[3.0, 4.0]],), ([[1.0, 1.0], [1.0, 1.0]],), ([[0.0]],), ([[-2.0, 1.0], [2.0, 0.5]],)],
         lambda x: sqrt(sum(v * v for row in x for v in row)), lambda x: sum(abs(v) for row in x for v in row) + 0.1, (
    "Square all elements, add them up, take the root.",
    "`sqr`, `sum_all` and `sqrt` are methods of a tensor. `item()` makes an `f64` of the last one."))
exercise("gpus.9", [(1000000, 0.001), (4000000000, 2.0), (500, 0.00001)],
         lambda b, s: b / s / 1e9, lambda b, s: b / s / 2 ** 30, (
    "A gigabyte is 10⁹ bytes.",
    "`bytes as f64` can be divided by the seconds. In which unit is the result, and in which should it be?"))
exercise("gpus.10", [([1000, 1000], 4), ([3], 8), ([], 2), ([64, 3, 224, 224], 4)],
         lambda s, b: prod(s) * b, lambda s, b: sum(s) * b, (
    "The number of elements is the product of the sizes.",
    "`product()` multiplies the elements of an iterator. For no sizes it returns 1, as a scalar has one element."))
exercise("leaf-network.9", [(8, 128), (1, 224), (40, 64)],
         lambda n, s: n * 3 * s * s * 4, lambda n, s: n * s * s * 4, (
    "A colour image has three channels, and an `f32` has four bytes.",
    "First the values of one photograph, from its channels, rows and columns; then of the whole batch; then the bytes."))
exercise("leaf-network.10", [([[1.0, 3.0], [2.0, 0.5]],), ([[0.0, 0.0]],)],
         lambda z: [b - a for a, b in z], lambda z: [a - b + 0.1 for a, b in z], (
    "Column 0 is *diseased*, column 1 *healthy*. How far is the second above the first?",
    "`logits.i((.., 1))` is one of the two columns. In which order must they be subtracted?"))
exercise("ai-on-a-gpu.6", [(0.9, 50.0), (0.5, 2.0), (0.0, 100.0), (1.0, 8.0)],
         lambda p, f: 1 / (1 - p + p / f), lambda p, f: p * f + 0.1, (
    "The new time has two parts: one is as long as before, the other is divided by the factor.",
    "Let the old time be 1. The speed-up is the old time divided by the new time, the sum of both parts: this is Amdahl's law."))
value("ai-on-a-gpu.7", [153600000, 614400000], [51200000, 204800000], (
    "A photograph has 32 by 32 pixels and three channels, one byte each.",
    "Multiply pixels, channels and photographs. As `f32`, each of these values has four bytes."))
exercise("several-devices.4", [([1.0, 4.0], [3, 2]), ([2.0], [7]), ([1.0, 1.0, -5.0], [10, 10, 5])],
         lambda g, n: sum(a * b for a, b in zip(g, n)) / sum(n), lambda g, n: sum(g) / len(g) + (len(g) == 1), (
    "A device with more examples must have more weight.",
    "The gradient of a device is a mean over its own examples. Make a sum of it again before you add."))
exercise("several-devices.12", [(5, 2), (6, 3), (7, 4), (2, 3)],
         lambda n, d: [n // d + (i < n % d) for i in range(d)], lambda n, d: [n // d] * (d - 1) + [n - n // d * (d - 1)] if n % d else [0], (
    "Each device gets `n / devices` examples; `n % devices` are left.",
    "The first `n % devices` devices get one more."))
exercise("several-devices.13", [([[1.0, 2.0], [3.0, 4.0]],), ([[5.0]],), ([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]],)],
         lambda g: [[sum(c) for c in zip(*g)]] * len(g), lambda g: [[sum(c) / len(c) + 0.1 for c in zip(*g)]] * len(g), (
    "Sum the gradients of all devices, element by element.",
    "Every device gets the same sum: `vec![sum; gradients.len()]`."))

# --- What makes it fast

value("what-makes-it-fast.3", [268435456, 3145728], [134217728, 786432], (
    "Each of the 512 · 512 results needs 512 multiplications and 512 additions. An `f32` has four bytes.",
    "So each result needs 1 024 operations. Each of the three matrices has as many elements as there are results."))
exercise("what-makes-it-fast.4", [(512,), (6,), (4096,)], lambda n: n / 6, lambda n: n / 12, (
    "Divide the operations, 2n³, by the bytes of three matrices of `f32`.",
    "Each matrix has n² elements of four bytes. Which power of n is left after the division, and which factor?"))
exercise("what-makes-it-fast.8", [([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 2), ([1.0, 2.0, 3.0], 3), ([7.0, 8.0], 1)],
         lambda a, rows: [a[i] for c in range(len(a) // rows) for i in range(c, len(a), len(a) // rows)],
         lambda a, rows: a[::-1], (
    "The element of row i and column j is at `i * columns + j`. Where is it afterwards?",
    "Each column of the old matrix becomes a row of the new one, so the outer loop runs over the columns."))
exercise("what-makes-it-fast.9", [([0.1, -0.24, 0.6], 0.1), ([1.27, -1.27, 0.0], 0.01), ([2.0, -3.0, 0.5], 0.02), ([3.0, -0.5], 0.02)],
         lambda x, s: [max(-127, min(127, round(v / s))) for v in x], lambda x, s: [round(v / s / 2) + 1 for v in x], (
    "Divide by the scale, round, and keep the result between -127 and 127.",
    "`round` and `clamp` are methods of `f64`; convert to `i64` last."))
exercise("what-makes-it-fast.10", [([127, -50, 3], [2, 4, 100], 0.001), ([1], [1], 0.5), ([100] * 4, [127] * 4, 0.0001)],
         lambda a, b, s: s * sum(x * y for x, y in zip(a, b)), lambda a, b, s: sum(x * y for x, y in zip(a, b)) + s, (
    "Add the products as integers; a sum of `i64` cannot overflow here.",
    "Multiply the sum by the scale once, at the end."))

# --- Ship it


def percentile(times, share):
    return sorted(times)[ceil(share * len(times)) - 1]


def gather(arrivals, wait, most):
    sizes, start = [], None
    for time in arrivals:
        if start is None or time > start + wait or sizes[-1] == most:
            sizes.append(0)
            start = time
        sizes[-1] += 1
    return sizes


def box(image):
    rows = [i for i, row in enumerate(image) if any(v > 0 for v in row)]
    columns = [j for row in image for j, v in enumerate(row) if v > 0]
    return [rows[0], rows[-1], min(columns), max(columns)]


exercise("ship-it.3", [([5.0, 1.0, 9.0, 3.0], 0.5), ([5.0, 1.0, 9.0, 3.0], 0.99), ([2.0], 0.5), ([4.0, 3.0, 2.0, 1.0, 0.5], 0.8)],
         percentile, lambda times, share: sum(times) / len(times) + 0.1, (
    "Sort a copy. How many of the values must be at or below the result?",
    "Counted from 1, the result is at the position share · n, rounded up. From where does an index count?"))
exercise("ship-it.6", [([0.0, 1.0, 2.0, 10.0], 5.0, 8), ([0.0, 1.0, 2.0, 3.0, 4.0], 100.0, 2), ([], 1.0, 4), ([3.0], 0.0, 1)],
         gather, lambda a, wait, most: [len(a) + 1], (
    "A batch begins with a request, and is complete when it has `most` of them, or when `wait` is over.",
    "Keep the arrival of the first request of the open batch, and open another for a request that is later than that plus `wait`, or if the batch is full."))
exercise("ship-it.7", [([[0.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 0.0]],), ([[0.2]],), ([[0.0, 1.0], [0.0, 0.0], [1.0, 0.0]],)],
         box, lambda image: [0, len(image), 0, len(image[0])], (
    "The first and the last row with an element above 0, then the same for the columns.",
    "Collect the indices of all rows and of all columns that have ink; take the smallest and the largest of each."))
exercise("ship-it.8", [([0.0, 1.0], [1.0, 2.0, 3.0, 4.0], [0.5, -5.0]), ([1.0, -1.0, 2.0], [1.0, 1.0, 1.0], [0.0]), ([2.0], [3.0, -3.0], [0.0, 1.0])],
         lambda x, w, b: [max(0.0, b[i] + sum(v * w[i * len(x) + j] for j, v in enumerate(x))) for i in range(len(b))],
         lambda x, w, b: [b[i] + sum(v * w[i * len(x) + j] for j, v in enumerate(x)) - 0.1 for i in range(len(b))], (
    "Output i uses `x.len()` weights, from `i * x.len()` on. Begin each sum with its bias.",
    "`weights.chunks(x.len()).zip(biases)`: the sum of products, plus the bias, then `.max(0.0)`."))


def ring_seconds(ranks, bytes):
    return 2 * (ranks - 1) * (20e-6 + 0.8e-9 * bytes / ranks)


def tree_seconds(ranks, bytes):
    return 2 * ceil(log2(ranks)) * (20e-6 + 0.8e-9 * bytes)


def best_ranks(seconds, bytes, several=ring_seconds):
    return min((2**i for i in range(11)), key=lambda p: seconds / p + (several(p, bytes) if p > 1 else 0))


exercise("several-machines.4", [(2, 100.0), (4, 1000.0), (1024, 4096.0)],
         lambda p, n: 2 * (p - 1) * n / p, lambda p, n: (p - 1) * n / p, (
    "A rank sends one piece in each step. How long is a piece, and how many steps are there?",
    "Each half of the ring takes one step less than there are ranks. A vector is divided into as many pieces as there are ranks."))
exercise("several-machines.5", [(0, 4), (1, 4), (3, 4), (6, 7)],
         lambda r, p: (r + 1) % p, lambda r, p: r, (
    "In the last step of the first half, which piece does a rank receive? Look at the figure of the ring.",
    "Follow piece 0: rank 0 sends it first, and in each step it moves to the next rank. Where is it after `size - 1` steps?"))
exercise("several-machines.8", [(8, 246_824.0), (1024, 246_824.0), (1024, 496e6), (64, 4.0), (64, 4e6)],
         lambda p, n: "ring" if ring_seconds(p, n) < tree_seconds(p, n) else "tree", lambda p, n: "ring", (
    "Compute both times with the formulas of the chapter.",
    "Return `\"ring\".to_string()` if the time of the ring is less, `\"tree\".to_string()` otherwise."))
exercise("several-machines.9", [(0.003, 246_824.0), (1.0, 46.8e6), (28.0, 46.8e6), (500.0, 496e6), (1e-6, 4.0)],
         best_ranks, lambda seconds, bytes: best_ranks(seconds, bytes, lambda p, n: 0), (
    "A step on p machines takes `seconds / p` and the time of the all-reduce, which one machine does not need.",
    "Compute the time for 1, 2, 4, …, 1024 and keep the number with the least, for example by `min_by`."))
exercise("several-machines.10", [(0.1, 8, [4, 0]), (0.1, 8, [4, 3]), (0.1, 8, [4, 100]), (0.5, 1, [10, 4])],
         lambda lr, p, at: lr * p * min(1, (at[1] + 1) / at[0]), lambda lr, p, at: lr * min(1, (at[1] + 1) / at[0]), (
    "After the warm-up, the rate is `lr` times the number of ranks.",
    "In step 0 the factor is the first of `warmup` equal parts. Divide as floating-point numbers, and let `min` keep the factor at 1 in the end."))
exercise("several-machines.11", [(0, 8), (5, 8), (3, 4), (0, 1)],
         lambda r, p: [r ^ 2**i for i in range(p.bit_length() - 1)], lambda r, p: [(r + 2**i) % p for i in range(p.bit_length() - 1)], (
    "The partner is 1 away in the first step, 2 in the second, 4 in the third; partners have each other.",
    "The distances are powers of two. Two partners differ in one bit of their ranks, and `^` flips bits."))


# --- Rust glossary


def setting(lines, name):
    for line in lines:
        key, _, value = line.partition(" = ")
        if key == name and value.isdigit():
            return int(value)
    return -1


def setting_by_prefix(lines, name):
    return setting([line.replace(line.partition(" = ")[0], name) for line in lines if line.startswith(name)], name)


exercise("rust-glossary.1", [(["steps = 200", "rate = 3"], "rate"), (["steps = 200", "rate = 3"], "steps"), (["rates = 7", "rate = 5"], "rate"), (["rate = fast"], "rate"), (["rate"], "rate"), ([], "rate")],
         setting, setting_by_prefix, (
    "`line.split_once(\" = \")` returns both sides of a line as an `Option`. Which three things must be true of a line?",
    "`if let Some((key, value)) = … && key == name && let Ok(value) = value.parse()` tests all three, and `return` ends the loop."))
