"""Exercises of the chapter about detection and segmentation."""

from make import exercise, value

# --- Where is it?

value("where.3", [[16, 8, 8, 12], [16, 96, 8], [16, 32, 8, 12], [16, 4, 64, 96]],
      [[16, 8, 6, 6], [16, 36, 8], [16, 32, 6, 6], [16, 4, 48, 48]], (
    "Each of the three strides of 2 halves height and width. How many cells have 64 by 96 pixels?",
    "There are 8 by 12 cells, with 8 values each. The decoder goes back to 64 by 96, with a logit for each of 4 classes."))
exercise("where.4", [(0.8, 4), (0.5, 2), (0.95, 21), (1.0, 1)],
         lambda share, classes: [share, share / classes], lambda share, classes: [share, share], (
    "For the background, the pixels of all classes are in the union. What is the intersection for the other classes?",
    "The IoU of the background is `share`, and of all other classes 0. The mean divides by the number of classes."))
exercise("where.5", [(14.0, 2.0), (14.0, 0.0), (10.0, 5.0), (12.0, 12.0), (8.0, 20.0)],
         lambda side, shift: max(side - shift, 0.0) / (side + min(shift, side)),
         lambda side, shift: max(side - shift, 0.0) / side, (
    "The intersection is `side` high and `side - shift` wide. The union is both areas, minus the intersection.",
    "`(side - shift).max(0.0) / (2.0 * side - (side - shift).max(0.0))`; the height cancels."))


def box_loss(found, right, has):
    rows = [[abs(a - b) for a, b in zip(f, r)] for f, r, h in zip(found, right, has) if h]
    return sum(map(sum, rows)) / (4 * len(rows))


def everywhere(found, right, has):
    return box_loss(found, right, [1] * len(has)) + (0.1 if all(has) else 0.0)


FOUND = [[0.5, 0.25, 1.0, 0.75], [0.0, 0.0, 0.0, 0.5], [-1.0, -0.5, 0.5, 1.0]]
exercise("where.7", [(FOUND, [[0.0, 0.0, 1.0, 1.0], [0.0] * 4, [-1.0, -1.0, 1.0, 1.0]], [1, 0, 1]),
                     (FOUND, [[0.0] * 4, [0.0] * 4, [-1.0, -0.5, 0.5, 1.5]], [0, 0, 1]),
                     (FOUND[:2], [[0.5, 0.5, 0.5, 0.5], [0.25] * 4], [1, 1])],
         box_loss, everywhere, (
    "What is the target of a cell without a shape, and what does it do to the weights of the network?",
    "Select the rows of the mask in both tensors first: `found.i(&has.ne(0))`."))
exercise("where.8", [([0.2, 0.9, 0.6], 0.5), ([0.1, 0.2], 0.5), ([], 0.5), ([0.5, 0.75, 0.5, 1.0], 0.5)],
         lambda scores, threshold: sorted((i for i, s in enumerate(scores) if s >= threshold), key=lambda i: -scores[i]),
         lambda scores, threshold: [i for i, s in enumerate(scores) if s >= threshold] + [0] * (not any(s >= threshold for s in scores)), (
    "`into_iter` moves the scores out of the vector, and they are needed again. Which loop only borrows them?",
    "Loop over `scores.iter()`, and compare with `total_cmp`: floating-point numbers have no `cmp`, because of NaN."))


def average_precision(hits, shapes):
    found, total = 0, 0.0
    for i, hit in enumerate(hits):
        found += hit
        total += found / (i + 1) if hit else 0.0
    return total / shapes


exercise("where.9", [([True, False, True], 2), ([False, True], 3), ([], 1), ([True, True, False, False, True, False], 4)],
         average_precision, lambda hits, shapes: sum(hits) / max(len(hits), 1) + (not hits), (
    "At each hit, the precision is the number of hits so far, divided by the number of boxes so far.",
    "Add these precisions, and divide the sum by `shapes`. A shape that is never found adds 0."))


def transposed(x, kernel, stride):
    k = len(kernel)
    out = [[0.0] * ((len(x[0]) - 1) * stride + k) for _ in range((len(x) - 1) * stride + k)]
    for i, row in enumerate(x):
        for j, v in enumerate(row):
            for a in range(k):
                for b in range(k):
                    out[i * stride + a][j * stride + b] += v * kernel[a][b]
    return out


KERNEL = [[1.0, 0.5], [-1.0, 2.0]]
exercise("where.10", [([[1.0, 2.0], [3.0, -4.0]], KERNEL, 2), ([[1.0, 2.0], [3.0, -4.0]], KERNEL, 1),
                      ([[0.5]], [[1.0, 0.0, 2.0], [0.0, 1.5, 0.0], [3.0, 0.0, 1.0]], 2), ([[1.0, -1.0, 0.5]], KERNEL, 3)],
         transposed, lambda x, kernel, stride: [[v * kernel[0][0] for v in row] for row in x], (
    "The output begins with zeros: (height − 1) · stride + k rows, and as many columns by the same rule.",
    "Four loops: `out[i * stride + a][j * stride + b] += x[i][j] * kernel[a][b]`."))
