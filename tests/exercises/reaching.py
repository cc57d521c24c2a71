"""Exercises of parts I to IV that reach a score, and derivations with a pencil whose values are checked."""

from math import sqrt

from make import exercise, floats

# --- Tensors

POINTS, LABELS = [[0.0, 0.0], [4.0, 0.0], [0.0, 3.0], [4.0, 3.0]], [0, 1, 2, 3]


def nearest(known, labels, x, columns=2):
    def distance(a, b):
        return sum((p - q) ** 2 for p, q in list(zip(a, b))[:columns])
    return [labels[min(range(len(known)), key=lambda i: distance(known[i], row))] for row in x]


exercise("tensors.12", [(POINTS, LABELS, [[3.5, 2.5], [0.5, 1.0], [1.0, 2.5]]),
                        ([[1.0, 1.0], [1.5, -3.0]], [7, 4], [[1.4, 0.5], [1.2, -2.0], [0.0, 0.0]])],
         nearest, lambda known, labels, x: nearest(known, labels, x, 1), (
    "`x.unsqueeze(1) - known` has the shape (new points, known points, features). What is the distance of each pair?",
    "Square, sum along dimension 2, and `argmin(1)` is the index of the nearest point. `index_select` takes its label."))

# --- Automatic differentiation


def descend(a, rate, steps):
    x = y = 0.0
    for _ in range(steps):
        off = y - x * x
        x, y = x - rate * (-2 * (a - x) - 20 * x * off), y - rate * 10 * off
    return [x, y]


exercise("autodiff.13", [(1.0,), (-0.8,), (0.5,)],
         lambda a: [a, a * a], lambda a: descend(a, 0.01, 100), (
    "Is the path still moving when the loop ends? And does it diverge with a rate that is three times as large?",
    "From (0, 0), a rate of 0.01 and 3 000 steps are enough. Create both parameters again in each step, or use `set`."), 0.02)

# --- Linear regression


def line(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    w = sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)
    return [w, my - w * mx]


GRID = [-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0]


def with_faults(w, b, faults):
    return [faults.get(i, w * x + b) for i, x in enumerate(GRID)]


LINES = [[2.0, 1.0], [-0.5, 3.0], [1.0, 0.0]]
TARGETS = [with_faults(*each, faults) for each, faults in zip(LINES, [{7: 60.0}, {1: -40.0, 6: 25.0}, {}])]
exercise("linear-regression.14", [(GRID, targets) for targets in TARGETS],
         lambda x, y: LINES[TARGETS.index(y)], line, (
    "The square of a large error outweighs all others. Which loss grows only in proportion to the error?",
    "`l1_loss` with a rate that falls: 0.1 divided by the root of the step's number, for 5 000 steps."), 0.05)

# --- Softmax regression

floats("softmax-regression.12", [0.125, -0.75, 0.625, 0.109375], [0.125, 0.25, 0.625, 0.125], (
    "The probabilities are 1/8, 2/8 and 5/8. The derivative of the loss is the probability, minus 1 at the correct class.",
    "The second derivative is the derivative of p₀ = exp(z₀) / Σ exp(zⱼ) itself, by the quotient rule: p₀ (1 − p₀)."))

CLOUDS = [[0.0, 2.0], [0.5, 2.5], [-0.5, 1.5], [2.0, -1.0], [2.5, -1.5], [1.5, -0.5], [-2.0, -1.0], [-2.5, -1.5], [-1.5, -0.5]]
exercise("softmax-regression.13",
         [(CLOUDS, [0, 0, 0, 1, 1, 1, 2, 2, 2], [[0.2, 1.6], [1.6, -1.2], [-1.8, -0.9], [0.1, 3.0]]),
          (CLOUDS, [2, 2, 2, 0, 0, 0, 1, 1, 1], [[-1.7, -0.7], [2.2, -0.9], [0.4, 2.0], [-3.0, -2.0]])],
         lambda x, y, new: [y[min(range(9), key=lambda i: sum((a - b) ** 2 for a, b in zip(x[i], p)))] for p in new],
         lambda x, y, new: [y[0]] * len(new), (
    "Train `Linear::new(2, 3)` on `x` and `y` with the cross-entropy. The class of a new point has the largest logit.",
    "`SGD` with a rate of 0.5 and 300 steps on all nine points; then `forward(new).argmax(1)`."))

# --- Training


def noise(seed, steps=80):
    """Returns noise with a mean near 0, from a linear congruential generator."""
    values = []
    for _ in range(steps):
        seed = (1103515245 * seed + 12345) % 2**31
        values.append(round(4.0 * seed / 2**31 - 2.0, 2))
    shift = sum(values) / steps
    return [round(value - shift, 2) for value in values]


def measured_around(minimum, seed):
    return [round(minimum + each, 2) for each in noise(seed)]


def constant_rate(p, measured, rate=0.5):
    for each in measured:
        p -= rate * (p - each)
    return p


exercise("training.14", [(5.0, measured_around(2.0, 1)), (-3.0, measured_around(-1.5, 2)), (1.0, measured_around(0.0, 3))],
         lambda start, measured: sum(measured) / len(measured), constant_rate, (
    "The last steps decide how far from the minimum the path ends. How large may they be?",
    "With the rate 1 / (t + 1) in step t, counted from 0, the noise of all steps is averaged."), 0.05)

# --- Generalisation


def measured(seed):
    xs = [round(-2 + 4 * i / 23, 2) for i in range(24)]
    return xs, [round(x * x - 1 + each / 3, 2) for x, each in zip(xs, noise(seed, 24))]


NEW = [-1.7, -0.9, 0.05, 0.7, 1.6]


def nearest_target(x, y, new):
    return [y[min(range(len(x)), key=lambda i: abs(x[i] - p))] for p in new]


exercise("generalisation.11", [(*measured(seed), NEW) for seed in (4, 5, 6)],
         lambda x, y, new: [p * p - 1 for p in new], nearest_target, (
    "The nearest example has its own noise. A straight line cannot bend. What is between the two?",
    "A parabola: linear regression on the features 1, x and x². Its three weights average the noise of 24 examples."), 0.2)

# --- Stability

exercise("stability.12", [(64, 0.0), (100, 0.1), (50, 1.0), (8, 0.5)],
         lambda n, slope: sqrt(2 / ((1 + slope**2) * n)), lambda n, slope: sqrt(2 / n), (
    "Half of the sums are positive and stay as they are. By what is the mean square of the other half multiplied?",
    "By the square of the slope. So the layer multiplies the mean square by n σ² (1 + slope²) / 2, which must be 1."), 1e-6)
def rows_of(count, units, factor):
    return [[round(factor * value, 2) for value in noise(row, units)] for row in range(count)]


def root_mean_square(rows):
    values = sum(rows, [])
    return sqrt(sum(v * v for v in values) / len(values))


exercise("stability.13", [(rows_of(4, 8, 1.0), 50), (rows_of(2, 32, 0.3), 30), (rows_of(3, 16, 2.0), 60)],
         lambda x, depth: root_mean_square(x), lambda x, depth: 0.0, (
    "With few units, the size of each layer differs by chance from what the formula says, and the factors multiply.",
    "Divide the values of each layer by their root mean square, as a layer of normalisation does, and multiply them by that of `x`."), 0.1)

# --- Optimisers

exercise("optimisers.13", [(0.1, 4.0), (1.0, 1.0), (2.0, 3.0)],
         lambda a, b: [2 / (a + b), (b - a) / (b + a)], lambda a, b: [1 / b, 1 - a / b], (
    "In a direction of curvature c, a step multiplies the distance by 1 − rate · c. Both directions should be equally bad.",
    "The best rate makes 1 − rate · a and −(1 − rate · b) equal. Solve for the rate, then insert it."), 1e-6)


def adam(gradients, rate, corrected=True):
    p = m = s = 0.0
    for t, g in enumerate(gradients, 1):
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        first, second = (1 - 0.9**t, 1 - 0.999**t) if corrected else (1.0, 1.0)
        p -= rate * (m / first) / sqrt(s / second)
    return p


exercise("optimisers.14", [([1.0], 0.1), ([2.0, 2.0, 2.0], 0.01), ([1.0, -0.5, 0.25, 3.0], 0.1)],
         adam, lambda gradients, rate: adam(gradients, rate, False), (
    "Both running means start at 0. How large are they after one step, in parts of g and of g²?",
    "Divide `m` by 1 − 0.9ᵗ and `s` by 1 − 0.999ᵗ, where t is 1 in the first step."), 1e-5)

# --- Convolutions


def slide(image, kernel):
    rows, columns, size = len(image), len(image[0]), len(kernel)
    return [[round(sum(image[i + a][j + b] * kernel[a][b] for a in range(size) for b in range(size)), 4)
             for j in range(columns - size + 1)] for i in range(rows - size + 1)]


def image(seed):
    return [noise(seed + row, 7) for row in range(7)]


KERNELS = [[[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]], [[0.0, 0.5, 0.0], [0.5, -1.0, 0.5], [0.0, 0.5, 0.0]]]
RESULTS = [slide(image(10), KERNELS[0]), slide(image(30), KERNELS[1])]
exercise("convolutions.13", [(image(10), RESULTS[0]), (image(30), RESULTS[1])],
         lambda x, y: KERNELS[RESULTS.index(y)], lambda x, y: [row[::-1] for row in KERNELS[RESULTS.index(y)][::-1]][:1] * 3, (
    "Which layer computes `y` from `x`, and which loss measures how far it is from that?",
    "`Conv2d::new(1, 1, 3).bias(false)`, `mse_loss` and `Adam` with a rate of 0.03, for 1 000 steps."), 0.03)


def touched(kernel, n):
    last = n - len(kernel)
    return [sum(k for j, k in enumerate(kernel) if 0 <= i - j <= last) for i in range(n)]


exercise("convolutions.14", [([1.0, 2.0, 4.0], 5), ([-1.0, 1.0], 4), ([0.5], 3), ([1.0, 0.0, -1.0], 3)],
         touched, lambda kernel, n: [sum(kernel)] * n, (
    "Write down all outputs as sums of products. In which of them does the first pixel occur, and with which weight?",
    "Pixel i meets weight j in output i − j, if there is such an output: i − j is from 0 to n − size."), 1e-6)

# --- Modern CNNs


def norm_backward(x, g, whole=True):
    n = len(x)
    mean = sum(x) / n
    std = sqrt(sum((v - mean) ** 2 for v in x) / n + 1e-5)
    hat = [(v - mean) / std for v in x]
    a, b = sum(g) / n, sum(p * q for p, q in zip(g, hat)) / n
    return [(q - a - h * b) / std if whole else q / std for q, h in zip(g, hat)]


exercise("modern-cnns.12", [([1.0, 2.0, 4.0], [1.0, 0.0, 0.0]), ([0.0, 1.0], [3.0, -1.0]), ([-1.0, 0.5, 2.0, 0.0], [0.5, 0.5, 0.5, 0.5])],
         norm_backward, lambda x, g: norm_backward(x, g, False), (
    "Each output depends on each input, through the mean and the standard deviation too. Differentiate both.",
    "The result is (gᵢ − mean of g − x̂ᵢ · mean of g·x̂) / √(variance + 10⁻⁵), where x̂ are the normalised values."), 1e-4)

# --- Fine-tuning

FAR = [[1.0, 0.1], [-2.0, 0.2], [2.5, 0.15], [0.5, 5.1], [-1.0, 4.9], [3.0, 5.2]]


def scaled(rows, factor):
    return [[a * factor, b] for a, b in rows]


def by_means(x, y, new):
    means = [[sum(r[k] for r, c in zip(x, y) if c == label) / y.count(label) for k in range(2)] for label in range(2)]
    return [min(range(2), key=lambda c: sum((a - b) ** 2 for a, b in zip(means[c], row))) for row in new]


def by_scaled_means(x, y, new):
    stds = []
    for c in zip(*x):
        mean = sum(c) / len(c)
        stds.append(sqrt(sum((v - mean) ** 2 for v in c) / len(c)))
    x, new = ([[v / std for v, std in zip(row, stds)] for row in rows] for rows in (x, new))
    return by_means(x, y, new)


def swapped(rows):
    return [row[::-1] for row in rows]


exercise("fine-tuning.10", [(scaled(FAR, 100.0), [0, 0, 0, 1, 1, 1], scaled([[2.8, 0.3], [-2.5, 5.0], [0.0, 4.0]], 100.0)),
                            (scaled(FAR, 1.0), [0, 0, 0, 1, 1, 1], [[2.0, 0.0], [1.0, 5.0]]),
                            (swapped(scaled(FAR, 100.0)), [0, 0, 0, 1, 1, 1], swapped(scaled([[2.8, 0.3], [-2.5, 5.0]], 100.0)))],
         by_scaled_means, by_means, (
    "Look at the two features: which one differs between the classes, and which one only has large values?",
    "Divide each feature by its standard deviation in `x`, for `x` and for `new`, and take the nearest mean."))

# --- A score for chapters of parts I to V

exercise("welcome.13", [(27.0,), (2.0,), (0.125,), (1000.0,), (0.0,)],
         lambda x: x ** (1 / 3), lambda x: x / 3, (
    "Between which two values must the root be, and on which side of their middle?",
    "Keep `low` and `high`. If the cube of the middle is larger than `x`, the middle becomes `high`, otherwise `low`. Repeat it 60 times."), 1e-4)


exercise("autograd-from-scratch.13", [(4.0,), (0.5,), (13.5,), (32.0,)],
         lambda a: (a / 4) ** (1 / 3), lambda a: a / 4, (
    "Follow the slope downhill. Which rate is small enough for the largest $a$?",
    "`Dual` needs `*` and `-`. A constant has the slope 0, and `x` the slope 1. Begin at 1, with a rate of 0.005 and 5 000 steps."), 1e-3)


def widest(ins, outs, budget, bias=1):
    def parameters(width):
        return (ins + bias) * width + (width + bias) * (width + outs)
    return next(width for width in range(budget) if parameters(width + 1) > budget)


exercise("models.14", [(784, 10, 100_000), (2, 1, 17), (10, 3, 1000), (100, 10, 12_250), (100, 10, 12_249)],
         widest, lambda ins, outs, budget: widest(ins, outs, budget, 0), (
    "How many parameters has each of the three layers, with a width of `w`?",
    "(inputs + 1) · w, (w + 1) · w and (w + 1) · outputs. Make `w` larger in a loop as long as the sum for `w + 1` is within the budget."))


exercise("data.15", [([0, 0, 0, 1],), ([2, 2],), ([1, 0, 4, 1, 4, 1],), ([3],)],
         lambda labels: [1 / (len(set(labels)) * labels.count(label)) for label in labels],
         lambda labels: [1 / ((max(labels) + 1) * labels.count(label)) for label in labels], (
    "How large is the share of a class, and how many examples divide it?",
    "Count the examples of each class. The probability of an example is 1 / (classes · examples of its class), with the classes that occur."))


def weighed(slope, step, start, seed):
    """Returns rows of a length and a sex, their masses, and longer rows."""
    x = [[round(0.25 * i + 1.0, 2), float(i % 3 == 0)] for i in range(13)]
    y = [round(slope * a + step * b + start + each / 40, 3) for (a, b), each in zip(x, noise(seed, 13))]
    return x, y, [[5.0, 0.0], [5.0, 1.0], [6.0, 0.0]]


def nearest_mass(x, y, new):
    return [y[min(range(len(x)), key=lambda i: sum((a - b) ** 2 for a, b in zip(x[i], row)))] for row in new]


LENGTHS = [(2.0, 1.5, 1.0), (0.5, -1.0, 3.0)]
FLOCKS = [weighed(*each, seed) for each, seed in zip(LENGTHS, (7, 8))]
exercise("tables.13", FLOCKS,
         lambda x, y, new: [a * u + b * v + c for a, b, c in [LENGTHS[[flock[1] for flock in FLOCKS].index(y)]] for u, v in new],
         nearest_mass, (
    "Which model goes on in a straight line beyond the known lengths?",
    "Train `Linear::new(2, 1)` on `x` minus its mean, with the mean squared error, `SGD`, a rate of 0.1 and 3 000 steps. Subtract the same mean from `new`."), 0.02)


def folded(weights, norm):
    factor = norm[0] / sqrt(norm[3] + 1e-5)
    return [w * factor for w in weights] + [norm[1] - norm[2] * factor]


exercise("modern-cnns.13", [([1.0, -2.0, 0.5], [1.0, 0.0, 0.0, 1.0]), ([0.25, 4.0], [2.0, -1.0, 3.0, 0.25]), ([1.0], [0.5, 0.25, -2.0, 9.0])],
         folded, lambda weights, norm: folded(weights, [norm[0], 0.0, norm[2], norm[3]])[:-1] + [norm[1] - norm[2]], (
    "Write the output of the normalisation as a factor times the output of the convolution, plus a constant.",
    "The factor is scale / √(variance + 10⁻⁵), and the bias is shift − mean · factor."), 1e-4)


def continued(start, a, b, length):
    values = list(start)
    while len(values) < length:
        values.append(a * values[-1] + b * values[-2])
    return [round(value, 5) for value in values]


RULES = [(1.6, -0.98), (1.0, -0.99), (-1.2, -0.9)]
SERIES = [continued(start, *rule, 20) for start, rule in zip([[0.0, 1.0], [1.0, -0.5], [0.8, 0.3]], RULES)]
exercise("recurrent-networks.11", [(series,) for series in SERIES],
         lambda series: continued(series[:2], *RULES[SERIES.index(series)], 25)[20:], lambda series: [series[-1]] * 5, (
    "All windows of three neighbours follow the same rule. How wrong is a rule, and which way does the error fall?",
    "Gradient descent on the squared error of `a * x[1] + b * x[0]` for all `series.windows(3)`, with a rate of 0.1, 2 000 times. Then append one prediction after the other."), 0.03)
