"""Exercises of parts III and IV: models, data, tables, figures, images."""

from math import log, sqrt

from learning import columns, matmul, nearest
from make import exercise, value

# --- Convolutions

value("convolutions.4", [64, 112, 112, 9472, 118013952], [64, 109, 109, 9408, 118013952], (
    "With padding p, the output has (n + 2p − kernel) / stride, rounded down, plus 1 rows.",
    "Each output needs one multiplication for each weight of its kernel, which has 3 channels. There is one bias for each output channel."))
value("convolutions.5", [25, 18, 25], [9, 18, 9], (
    "One output depends on 3 by 3 values of the layer between. On which pixels do the outermost depend?",
    "Each of them depends on one pixel more on every side. Count the weights for one channel and without biases."))


def windows(x, size, step):
    rows, cols = (len(x) - size) // step + 1, (len(x[0]) - size) // step + 1
    return [[[x[i * step + k][j * step:j * step + size] for k in range(size)] for j in range(cols)] for i in range(rows)]


GRID = [[1.0, 2.0, 0.0, -1.0], [5.0, 3.0, 2.0, 2.0], [0.0, 0.0, -3.0, -4.0], [0.0, 1.0, -5.0, -6.0]]
exercise("convolutions.7", [(GRID, 2), (GRID, 1), ([[1.0, 2.0, 9.0], [3.0, 4.0, 9.0]], 2), (GRID, 4)],
         lambda x, n: [[max(map(max, w)) for w in row] for row in windows(x, n, n)],
         lambda x, n: [[sum(map(sum, w)) / n / n for w in row] for row in windows(x, n, n)] if n > 1 else [[0.0]], (
    "A window begins at row i · size and column j · size. What is left at the edges is ignored.",
    "`x.i` with a range of rows and a range of columns is one window, and `max_all()` its largest value. Collect them in two loops, then use `stack` and `reshape`."))
exercise("convolutions.10", [(8, 3, 1), (28, 5, 1), (224, 7, 2), (5, 5, 3)],
         lambda n, k, s: (n - k) // s + 1, lambda n, k, s: n // s, (
    "How many steps of `stride` fit behind the first position of the kernel?",
    "The first position counts too. What is left at the end is too short for another step."))


def correlate(x, kernel):
    size = len(kernel)
    return [[sum(a * b for r, k in zip(w, kernel) for a, b in zip(r, k)) for w in row] for row in windows(x, size, 1)]


exercise("convolutions.11", [(GRID, [[0.0, 1.0], [-1.0, 0.0]]), (GRID, [[1.0, 0.0, -1.0]] * 3), (GRID, [[2.0]])],
         correlate, lambda x, k: correlate(x, [row[::-1] for row in k[::-1]]) if len(k) > 1 else x, (
    "`conv2d` takes images of the shape (batch, channels, height, width), and kernels likewise.",
    "Add two dimensions of size 1 to both with `unsqueeze(0)`, and remove them from the result with `squeeze(0)`."))


def slide(x, kernel, count):
    return [sum(a * b for a, b in zip(x[i:], kernel)) for i in range(count)]


exercise("convolutions.12", [([0.0, 0.0, 0.0, 1.0], [-1.0, 1.0]), ([1.0, 2.0, 4.0], [0.5, 1.0, 2.0]), ([3.0, 1.0], [2.0])],
         lambda x, k: slide(x, k, len(x) - len(k) + 1), lambda x, k: slide(x, k, len(x) - len(k)), (
    "At how many places does a kernel of 2 elements fit into a row of 4?",
    "The positions are 0 to `x.len() - kernel.len()`, the last one included."))

# --- Models

value("models.4", [7850, 1216], [7840, 1200], (
    "A linear layer has a weight for each pair of input and output; a convolution one for each pair of channels and each position of the kernel.",
    "Both have one bias for each output. What counts as an output of the convolution: a channel, or a pixel?"))
exercise("models.10", [(3, 16, 5), (1, 6, 5), (64, 64, 3), (6, 16, 1)],
         lambda i, o, k: i * o * k * k + o, lambda i, o, k: i * o * k + o, (
    "A kernel has rows *and* columns.",
    "There is a kernel for each pair of an input and an output channel, and a bias for each output channel."))
exercise("models.11", [(64,), (2,), (784,)], lambda n: sqrt(2 / n), lambda n: 2 / n, (
    "That is the variance. The standard deviation is its square root.",
    "The variance is 2 divided by the number of inputs. `inputs as f64` is this number for the division."))


def normalised(x):
    result = []
    for c in columns(x):
        mean = sum(c) / len(c)
        spread = sqrt(sum((v - mean) ** 2 for v in c) / len(c) + 1e-5)
        result.append([(v - mean) / spread for v in c])
    return columns(result)


exercise("models.12", [([[1.0, 10.0], [3.0, -10.0]],), ([[2.0], [2.0]],), ([[0.0, 1.0, 2.0], [1.0, 1.0, 2.5], [5.0, 0.0, 1.0]],)],
         normalised, lambda x: columns(normalised(columns(x))) if len(x[0]) > 1 else [[1.0], [1.0]], (
    "Mean and variance of each feature run over the examples, dimension 0. The variance is the mean of the squares, after the mean was subtracted.",
    "`x - x.mean(0)` has the mean 0. Its variance is the mean of its squares along the same dimension; add 1e-5 to it before the root."), 1e-3)
exercise("models.13", [(3, 16, 3), (16, 16, 1), (1, 6, 5)],
         lambda ins, outs, k: ins * outs * k * k + outs, lambda ins, outs, k: ins * outs * k + outs, (
    "How many weights does one kernel have for one input channel?",
    "A kernel has `size * size` weights for each input channel."))

# --- Data


def batches(n, size, drop_last):
    rest = [] if drop_last or n % size == 0 else [n % size]
    return [size] * (n // size) + rest


exercise("data.10", [(10, 3, False), (10, 3, True), (6, 2, False), (2, 5, True), (2, 5, False)],
         batches, lambda n, s, d: batches(n, s, not d), (
    "All batches have `batch_size` examples, except perhaps the last.",
    "A division of integers counts the full batches, and `%` returns what is left. When is this a batch too?"))
exercise("data.11", [([0.0, 0.5, 1.0], 0.5, 0.25), ([3.0], 3.0, 2.0), ([1.0, -1.0], 0.0, 10.0)],
         lambda x, m, s: [(v - m) / s for v in x], lambda x, m, s: [v / s - m for v in x], (
    "Subtract first, then divide.",
    "A tensor minus an `f64`, or divided by one, is computed element by element. Where do parentheses matter?"))
exercise("data.12", [([[1, 2, 3], [4]], 0), ([[7]], 9), ([[], [5, 6]], 1)],
         lambda s, v: [row + [v] * (max(map(len, s)) - len(row)) for row in s],
         lambda s, v: [[v] * (max(map(len, s)) - len(row)) + row for row in s] if len(s) > 1 else [[0]], (
    "Padding is added at the end, up to the length of the longest sequence.",
    "Find the longest sequence first. `resize` makes a `Vec` longer and fills it with a value."))


def crop(x, size):
    top, left = (len(x) - size) // 2, (len(x[0]) - size) // 2
    return [row[left:left + size] for row in x[top:top + size]]


exercise("data.13", [(GRID, 2), (GRID, 4), ([[1.0, 2.0, 3.0, 4.0, 5.0]] * 3, 1), (GRID, 3)],
         crop, lambda x, n: [row[:n] for row in x[:n]], (
    "Cut off as much at the top as at the bottom; if the difference is odd, one row more at the bottom.",
    "The first row is half of what is cut off in all, rounded down; the same holds for the columns. `x.i` takes two ranges."))


def parts(values, size, is_exact=False):
    found = [values[i:i + size] for i in range(0, len(values), size)]
    return [part for part in found if len(part) == size or not is_exact]


exercise("data.14", [([1, 2, 3, 4, 5], 2), ([7, 8, 9], 3), ([4, 6], 5)],
         parts, lambda v, size: parts(v, size, True), (
    "What does `chunks_exact` do with the examples at the end?",
    "`chunks` returns the shorter batch too."))

# --- Tables


def neighbours(x, y, row, k=3):
    near = sorted(range(len(x)), key=lambda i: sum((a - b) ** 2 for a, b in zip(x[i], row)))[:k]
    return sum(y[i] for i in near) / k


ROWS = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.5], [5.0, 5.0], [6.0, 5.0]]
MASS = [1.0, 2.0, 6.0, 10.0, 20.0]
exercise("tables.7", [(ROWS, MASS, [0.2, 0.1]), (ROWS, MASS, [5.4, 5.2]), (ROWS, MASS, [2.5, 2.6])],
         neighbours, lambda x, y, row: neighbours(x, y, row, 1), (
    "Sort the indices of the rows by their distance from `row`, and take three.",
    "`order.sort_by(|&a, &b| distance(a).total_cmp(&distance(b)))`; return the mean of the first three values."))


def solve(a, b):
    n, m = len(b), [row[:] + [v] for row, v in zip(a, b)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[pivot] = m[pivot], m[i]
        for r in range(n):
            if r != i:
                m[r] = [x - m[r][i] / m[i][i] * y for x, y in zip(m[r], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


exercise("tables.9", [([[2.0, 1.0], [1.0, 3.0]], [3.0, 5.0]), ([[0.0, 1.0], [2.0, 0.0]], [4.0, 6.0]), ([[4.0]], [2.0]),
                      ([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [0.0, 1.0, 1.0]], [3.0, 7.0, 2.0])],
         solve, lambda a, b: [v / row[i] if row[i] else 0.0 for i, (v, row) in enumerate(zip(b, a))], (
    "Subtract a multiple of row i from all rows below, so that column i becomes 0 there. What if the pivot is 0?",
    "Before each column, swap the row with the largest absolute value in this column into place."))
exercise("tables.10", [(["b", "a", "b"],), (["Adelie"],), (["x", "y", "z", "x"],)],
         lambda v: [[int(w == c) for c in sorted(set(v))] for w in v],
         lambda v: [[int(w == c) for c in dict.fromkeys(v)] for w in v] if v[0] == "b" else [[0]] * len(v), (
    "The categories are the different values in alphabetical order: `sort`, then `dedup`.",
    "One row for each value: 1 where the category equals it, else 0."))


def standardised(x):
    mean = sum(x) / len(x)
    std = sqrt(sum((v - mean) ** 2 for v in x) / len(x))
    return [(v - mean) / std for v in x]


exercise("tables.11", [([1.0, 3.0],), ([0.0, 0.0, 3.0, 3.0],), ([181.0, 186.0, 195.0],)],
         standardised, lambda x: [v - sum(x) / len(x) for v in x], (
    "Subtract the mean, then divide by the standard deviation.",
    "The variance is the mean of the squared differences: divide by n, not by n − 1."))


def filled(values, known):
    mean = sum(known) / len(known)
    return [mean if v < 0 else v for v in values]


exercise("tables.12", [([4.0, -1.0, 2.0],), ([-1.0, 10.0],), ([1.0, 2.0, 6.0, -1.0, -1.0],), ([0.0, -1.0, 3.0],)],
         lambda v: filled(v, [x for x in v if x >= 0]), lambda v: filled(v, v), (
    "Which values does the mean contain?",
    "Compute it from the values that are not negative."))

# --- Figures

exercise("figures.4", [([1.0, 10.0], [1.0, 100.0]), ([2.0, 8.0, 32.0], [5.0, 10.0, 20.0]), ([1.0, 100.0], [7.0, 0.07])],
         lambda x, y: log(y[-1] / y[0]) / log(x[-1] / x[0]), lambda x, y: (y[-1] - y[0]) / (x[-1] - x[0]), (
    "In logarithms, y = c · x^p is a line: log y = log c + p log x.",
    "So the power is the slope of this line, and two of its points are enough."))
exercise("figures.8", [([[1.0, 0.0], [0.0, 1.0], [-1.0, 2.0]],), ([[0.5, 0.5]],)],
         lambda s: columns([[sum(c[:i + 1]) for i in range(len(c))] for c in columns(s)]),
         lambda s: [[sum(row[:i + 1]) for i in range(len(row))] for row in s], (
    "Each row is a step, so the sum runs along dimension 0.",
    "A tensor has a method for running sums, `cumsum`, which needs the dimension."))


def bins(values, count):
    low, high = min(values), max(values)
    result = [0] * count
    for v in values:
        result[min(int((v - low) / (high - low) * count), count - 1)] += 1
    return result


exercise("figures.10", [([0.0, 1.0, 2.0, 4.0], 2), ([0.0, 0.1, 0.9, 1.0], 4), ([-1.0, 3.0, 1.5], 1), ([5.0, 1.0, 1.2, 4.9, 3.1], 4)],
         bins, lambda v, n: [len(v)] + [0] * (n - 1) if n > 1 else [0], (
    "The bin of a value is (value − smallest) / (largest − smallest) · count, rounded down.",
    "The largest value would be one bin too far: it belongs to the last one, `.min(count - 1)`."))
exercise("figures.11", [([4.0, 2.0, 6.0], 2), ([1.0, 1.0, 4.0, 6.0], 3), ([3.0], 5)],
         lambda v, n: [sum(v[max(0, i + 1 - n):i + 1]) / min(n, i + 1) for i in range(len(v))],
         lambda v, n: [sum(v[max(0, i + 1 - n):i + 1]) / n for i in range(len(v))], (
    "The first means have fewer values. Divide by how many there are.",
    "`let part = &values[(i + 1).saturating_sub(window)..=i];`"))


def bins(values, count, is_closed=True):
    low, width = min(values), (max(values) - min(values)) / count
    found = [0] * count
    for v in values:
        i = int((v - low) / width)
        if is_closed or i < count:
            found[min(i, count - 1)] += 1
    return found


exercise("figures.12", [([0.0, 1.0, 2.0, 3.0, 4.0], 2), ([1.0, 5.0], 4), ([2.0, 2.5, 6.0, 6.0], 2)],
         bins, lambda v, count: bins(v, count, False), (
    "In which bin is the largest value?",
    "Its index would be `count`. It belongs to the last bin: `.min(count - 1)`."))

# --- Modern CNNs


def field(layers):
    size, step = 1, 1
    for kernel, stride in layers:
        size, step = size + (kernel - 1) * step, step * stride
    return size


exercise("modern-cnns.3", [(16,), (8,), (64,)], lambda c: [7, 27 * c * c, 49 * c * c], lambda c: [7, 27 * c, 49 * c], (
    "Each convolution of 3 by 3 sees one more pixel on each side of what it gets.",
    "Three layers of `channels * channels * 3 * 3` weights, against one of `channels * channels * 7 * 7`."))
value("modern-cnns.5", [245880, 3960], [245760, 3840], (
    "After two poolings, 32 channels of 8 by 8 positions are left. The layer has 120 outputs, and biases.",
    "Global average pooling leaves one value of each channel. In both cases, a linear layer has a weight for each pair of input and output."))
exercise("modern-cnns.8", [([(3, 1), (3, 1)],), ([(3, 2), (3, 1)],), ([(7, 2), (3, 2), (3, 1)],), ([(1, 1)],)],
         field, lambda layers: 2 + sum(k - 1 for k, _ in layers), (
    "A kernel adds (kernel − 1) steps. How far apart are two neighbouring inputs of it, in pixels of the image?",
    "Keep two values from layer to layer: the size so far, and the distance of neighbouring outputs in pixels. Which of them does the stride change, and when?"))
exercise("modern-cnns.9", [([[[[1.0, 3.0], [5.0, 7.0]], [[0.0, 0.0], [0.0, 2.0]]]],), ([[[[2.0]]], [[[3.0]]]],), ([[[[1.0, 2.0, 6.0]]]],)],
         lambda x: [[sum(map(sum, c)) / (len(c) * len(c[0])) for c in image] for image in x],
         lambda x: [[max(map(max, c)) + 0.1 for c in image] for image in x], (
    "The mean runs over height and width, dimensions 2 and 3.",
    "`mean` also takes several dimensions at once, as a tuple."))
exercise("modern-cnns.10", [([[1.0, -2.0]], [[0.0, 0.0], [0.0, 0.0]]), ([[1.0, 2.0]], [[1.0, 0.0], [0.0, -3.0]]),
                            ([[0.5], [-1.0]], [[2.0]])],
         lambda x, w: [[max(0.0, a + b) for a, b in zip(r, s)] for r, s in zip(x, matmul(x, w))],
         lambda x, w: [[max(0.0, a) for a in r] for r in matmul(x, w)], (
    "Without weights, the block must pass on its input: where does `x` come in?",
    "The input is added before the ReLU, not after it."))


def normalised(x, running, is_training, own_mean=False):
    mean = sum(x) / len(x)
    variance = sum((v - mean) ** 2 for v in x) / len(x)
    if not is_training:
        mean, variance = mean if own_mean else running[0], running[1]
    return [(v - mean) / sqrt(variance + 1e-5) for v in x]


exercise("modern-cnns.11", [([2.0], [1.0, 4.0], False), ([1.0, 3.0], [0.5, 2.0], False), ([1.0, 3.0], [0.5, 2.0], True)],
         normalised, lambda x, r, t: normalised(x, r, t, True), (
    "Which two values does evaluation mode take from `running`?",
    "Both: the mean `running[0]` and the variance `running[1]`."))

# --- Fine-tuning


def class_means(x, y, classes):
    return [[sum(c) / len(c) for c in zip(*[row for row, k in zip(x, y) if k == cls])] for cls in range(classes)]


FEATURES, CLASSES = [[1.0, 0.0], [0.0, 2.0], [3.0, 0.0], [0.0, 4.0]], [0, 1, 0, 1]
exercise("fine-tuning.6", [(FEATURES, CLASSES, 2), ([[1.0], [2.0], [6.0]], [2, 1, 0], 3), ([[1.0, 1.0], [2.0, 5.0]], [0, 0], 1)],
         class_means, lambda x, y, n: [[2 * v for v in row] for row in class_means(x, y, n)], (
    "The one-hot matrix of the classes, transposed, times the features sums the rows of each class.",
    "Divide by the number of examples of each class, the sum of the one-hot matrix along dimension 0."))
exercise("fine-tuning.7", [([1.0, 0.0], [0.0, 1.0]), ([1.0, 2.0], [2.0, 4.0]), ([1.0, 2.0, 3.0], [-3.0, 0.0, 1.0])],
         lambda a, b: sum(x * y for x, y in zip(a, b)) / sqrt(sum(x * x for x in a) * sum(y * y for y in b)),
         lambda a, b: sum(x * y for x, y in zip(a, b)) + 0.5, (
    "The dot product depends on the lengths of both vectors. Divide by them.",
    "The length of a vector is the square root of the sum of its squares."))
exercise("fine-tuning.8", [(FEATURES[:2], FEATURES), (FEATURES, [[0.1, 0.1], [0.0, 9.0]]), ([[5.0]], [[1.0], [2.0]])],
         lambda means, x: [nearest(means, row) for row in x], lambda means, x: [len(means) - nearest(means, r) for r in x], (
    "Reshape the means to (1, classes, features) and the examples to (n, 1, features), then subtract.",
    "Sum the squares along dimension 2, and take `argmin(1)`."))


def cosine(a, b, power=0.5):
    return sum(x * y for x, y in zip(a, b)) / (sum(x * x for x in a) * sum(y * y for y in b)) ** power


exercise("fine-tuning.9", [([3.0, 4.0], [6.0, 8.0]), ([1.0, 0.0], [0.0, 2.0]), ([1.0, 2.0, 2.0], [2.0, 0.0, -1.5])],
         cosine, lambda a, b: cosine(a, b, 1), (
    "What must the similarity of a vector with itself be?",
    "A length is the square root of the sum of squares."))
