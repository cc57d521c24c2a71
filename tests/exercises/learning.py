"""Exercises of parts I and II: Rust, tensors, learning."""

from math import cos, exp, log, sin, sqrt, tanh

from make import exercise, floats, value

# --- Welcome

value("welcome.3", [6, 7, 1, 0], [7, 7, 1, 0.5], (
    "A division of two integers is an integer: the part after the point is cut off.",
    "Calculate from left to right: 7 / 2 is 3 for integers, and 3.5 with decimal points."))
exercise("welcome.6", [(32.0,), (212.0,), (0.0,), (98.6,), (-40.0,)],
         lambda f: (f - 32) * 5 / 9, lambda f: f - 32 * 5 / 9, (
    "`*` and `/` are calculated before `-`. Put parentheses around the subtraction.",
    "Multiply the result of the subtraction by 5.0, and divide by 9.0. `5 / 9` would be a division of integers."))
exercise("welcome.9", [(2024,), (2023,), (1900,), (2000,), (2100,)],
         lambda y: y % 4 == 0 and (y % 100 != 0 or y % 400 == 0), lambda y: y % 4 == 0, (
    "`year % 4 == 0` is true if 4 divides the year. Which years are exceptions?",
    "Combine three tests with `&&` (and) and `||` (or): divisible by 4, and (not by 100, or by 400)."))
exercise("welcome.10", [("a tensor",), ("",), ("rhythm",), ("Ferris",), ("AEIOU and aeiou",)],
         lambda t: sum(c in "aeiouAEIOU" for c in t), lambda t: sum(c in "aeiou" for c in t), (
    "`text.chars()` goes through the letters of a text. Capital letters are vowels too.",
    "`to_lowercase()` makes all letters small. `filter` keeps the letters for which `\"aeiou\".contains(…)` is true."))


def positions(steps):
    return [sum(steps[:i + 1]) for i in range(len(steps))]


exercise("welcome.11", [([1, 1, -1, 1],), ([],), ([-1, -1, -1],), ([5],)],
         positions, lambda s: [0, *positions(s)], (
    "Keep the position in a `let mut` variable outside of the loop, and push it in each step.",
    "Change the position first, then push it: the list begins with the position after the first step."))
exercise("welcome.12", [([1, 2],), ([3, 4, 4],), ([10],), ([-1, 0],)],
         lambda v: sum(v) / len(v), lambda v: float(int(sum(v) / len(v))), (
    "Of which type are both sides of the division?",
    "Turn both into `f64` before you divide: `sum as f64 / values.len() as f64`."))

# --- Tensors


def softmax(row):
    total = sum(map(exp, row))
    return [exp(x) / total for x in row]


def columns(rows):
    return [list(column) for column in zip(*rows)]


def matmul(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in columns(b)] for row in a]


def distances(points):
    return [[sqrt(sum((a - b) ** 2 for a, b in zip(p, q))) for q in points] for p in points]


def centred(rows):
    return columns([[x - sum(c) / len(c) for x in c] for c in columns(rows)])


M = [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]
value("tensors.3", [[3, 4], [2, 4], [3], [2, 3, 1], [2, 4, 3], [2, 4]],
      [[2, 3], [2, 4], [3], [2, 3], [4, 3, 2], [2, 4]], (
    "A sum removes the dimensions that it names; `sum_keepdim` keeps them with the size 1.",
    "`t()` swaps the last two dimensions. `i((.., 1))` keeps dimension 0 and removes dimension 1."))
value("tensors.4", [[3, 4], [3, 4], [], [2, 3, 4], []], [[3, 4], [3, 4], [3, 4], [], [2, 3]], (
    "Compare the sizes from the right. Each pair must be equal, or one of them must be 1.",
    "A dimension that is missing on the left counts as 1."))
exercise("tensors.7", [(M,), ([[-1.0, 1.0]],), ([[0.5], [7.0]],), ([[1.0, 2.0], [3.0, 4.0], [-5.0, 5.0]],)],
         lambda x: [softmax(row) for row in x], lambda x: columns([softmax(c) for c in columns(x)]), (
    "Which dimension must the sum run along, so that each *row* has one sum?",
    "Compute the exponentials once. `sum_keepdim` keeps a column of sums, so that the division broadcasts it."))
exercise("tensors.8", [([[0.0, 0.0], [3.0, 4.0]],), ([[1.0, 1.0]],), ([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]],)],
         distances, lambda p: [[d * d for d in row] for row in distances(p)], (
    "Subtract, square, sum along the last dimension. Is there a step after that?",
    "The distance is the square root: `.sqr().sum(2).sqrt()`."))
exercise("tensors.9", [([[1.0, 2.0], [3.0, 4.0]], [[0.0, 1.0], [1.0, 0.0]]), ([[1.0, 2.0, 3.0]], [[1.0], [2.0], [3.0]]),
                       ([[2.0], [1.0]], [[3.0, 4.0]])],
         matmul, lambda a, b: matmul(columns(b), columns(a)), (
    "The result has as many rows as `a` and as many columns as `b`.",
    "`c[i][j] += a[i][k] * b[k][j]`, with `k` over the rows of `b`."))
exercise("tensors.10", [(M,), ([[2.0], [4.0]],), ([[1.0, -1.0], [5.0, 1.0], [0.0, 0.0]],)],
         centred, lambda x: columns(centred(columns(x))), (
    "The mean of each column runs along dimension 0.",
    "The means have the shape (columns,). A subtraction broadcasts them over the rows."))


def centre_rows(rows):
    return [[x - sum(row) / len(row) for x in row] for row in rows]


def broadcast_wrongly(rows):
    means = [sum(row) / len(row) for row in rows]
    return [[x - mean for x, mean in zip(row, means)] for row in rows]


exercise("tensors.11", [([[1.0, 2.0], [3.0, 8.0]],), ([[0.0, 1.0, 2.0], [3.0, 4.0, 8.0], [6.0, 6.0, 6.5]],)],
         centre_rows, broadcast_wrongly, (
    "Which shape does `mean(1)` have, and how is it aligned with (rows, columns)?",
    "The means must be a column: `mean_keepdim(1)`."))

# --- Automatic differentiation

exercise("autodiff.6", [(2.0,), (9.0,), (0.25,)], sqrt, lambda a: a / 2, (
    "The square of (x² − a) has its minimum, 0, where x² is a.",
    "Its derivative is 4x(x² − a). Start at 1.0, with a rate of 0.01 and 2 000 steps."), 0.01)


def line(x, y):
    mx, my = sum(x) / len(x), sum(y) / len(y)
    w = sum((a - mx) * (b - my) for a, b in zip(x, y)) / sum((a - mx) ** 2 for a in x)
    return [w, my - w * mx]


X, Y = [1.0, 2.0, 3.0], [2.0, 3.0, 5.0]
exercise("autodiff.7", [(X, Y), ([0.0, 1.0, 2.0], [1.0, 1.0, 1.0]), ([-1.0, 0.0, 1.0], [2.0, 0.0, -2.0])],
         line, lambda x, y: [(y[-1] - y[0]) / (x[-1] - x[0]), y[0]], (
    "The derivative of an error (wx + b − y)² with respect to w is 2(wx + b − y)x, and to b 2(wx + b − y).",
    "Are the steps large and many enough? A rate of 0.05 and 2 000 steps are."), 0.01)
exercise("autodiff.10", [(0.0,), (1.0,), (-2.0,), (3.5,)],
         lambda x: sin(x) + x * cos(x), lambda x: cos(x), (
    "Create a `Parameter`, compute with its tensor, and call `backward` on the result.",
    "Keep the tensor of the parameter in a variable: you compute with it, and `of` needs a reference to the same tensor."))
exercise("autodiff.11", [([1.0, 2.0, -3.0],), ([0.0],), ([0.5, 0.25],)],
         lambda x: [3 * v * v for v in x], lambda x: [v ** 3 for v in x], (
    "Return the gradient, not the value: `backward` needs a single value, such as a sum.",
    "`sum_all` makes one value of the cubes. `backward` returns all gradients, and `of` returns the gradient of one tensor."))
exercise("autodiff.12", [(1.0,), (-2.0,), (0.5,)], lambda x: 3 * x * x, lambda x: x * x, (
    "For `backward`, what is the result of `detach`?",
    "It is a constant. Leave it out."))

# --- Linear regression

exercise("linear-regression.6", [(X, Y), ([0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 5.0, 7.0]), ([-1.0, 1.0], [4.0, 0.0])],
         line, lambda x, y: [line(x, y)[0], sum(y) / len(y)], (
    "`x.mean_all()` is the mean. Subtract it from all elements first.",
    "b is the mean of y minus w times the mean of x."))
exercise("linear-regression.10", [([1.0, 2.0], [0.0, 0.0]), ([3.0], [3.0]), ([1.0, -1.0, 2.0, 0.0], [1.0, 1.0, 0.0, 0.5])],
         lambda a, b: sum((x - y) ** 2 for x, y in zip(a, b)) / len(a),
         lambda a, b: sum((x - y) ** 2 for x, y in zip(a, b)), (
    "Is it the mean of the squares, and not their sum?",
    "`mean_all` is the mean of all elements, and `item()` makes an `f64` of it. What has to be squared before?"))
exercise("linear-regression.11", [(1000, 100, 3), (1000, 32, 3), (10, 32, 1), (200, 1, 2)],
         lambda n, b, e: -(-n // b) * e, lambda n, b, e: n // b * e, (
    "The last batch of an epoch may be smaller; it is a step too.",
    "`div_ceil` divides integers and rounds up. Each epoch has as many steps as the first."))
exercise("linear-regression.12", [([1.0, 2.0, 3.0], 3), ([-2.0], 4), ([0.5, 2.0], 1)],
         lambda x, d: [[v ** (k + 1) for k in range(d)] for v in x],
         lambda x, d: [[v ** k for k in range(d)] for v in x], (
    "Make one column for each power from 1 to `degree`, and join them along dimension 1.",
    "`pow(k)` computes one column, and `Tensor::stack` joins a list of tensors along a new dimension."))


def gradient_step(parameters, x, y, in_turn=False):
    w, b = parameters
    to_w = sum(2 * (w * p + b - q) * p for p, q in zip(x, y)) / len(x)
    seen = w - 0.1 * to_w if in_turn else w
    return [w - 0.1 * to_w, b - 0.1 * sum(2 * (seen * p + b - q) for p, q in zip(x, y)) / len(x)]


exercise("linear-regression.13", [([0.0, 0.0], X, Y), ([1.0, -0.5], [0.0, 2.0], [1.0, 1.0]), ([2.0, 1.0], [-1.0, 3.0], [0.5, 0.0])],
         gradient_step, lambda p, x, y: gradient_step(p, x, y, True), (
    "Which `w` does the second line of gradients use?",
    "Compute both sums before you change a parameter."))

# --- Softmax regression

exercise("softmax-regression.4", [(1000,), (10,), (2,), (1,)], log, lambda n: 1 / n, (
    "An untrained classifier gives each class the same probability.",
    "The loss is minus the logarithm of the probability of the correct class. How large is this probability here?"))
exercise("softmax-regression.6", [([1.0, 2.0, 3.0], 2), ([0.0, 0.0], 0), ([-1.0, 4.0, 0.5, 0.5], 1)],
         lambda z, c: [p - (i == c) for i, p in enumerate(softmax(z))], lambda z, c: softmax(z), (
    "Compute the softmax first. The gradient is different for one class only.",
    "Subtract 1 from the probability of the correct class."))


def nearest(means, image):
    errors = [sum((a - b) ** 2 for a, b in zip(mean, image)) for mean in means]
    return errors.index(min(errors))


MEANS = [[0.0, 0.0, 1.0], [1.0, 1.0, 0.0], [3.0, 0.0, 0.0]]
exercise("softmax-regression.7", [(MEANS, [0.9, 0.8, 0.1]), (MEANS, [2.5, 0.5, 0.0]), (MEANS, [-1.0, -1.0, 0.5])],
         nearest, lambda m, i: (nearest(m, i) + 1) % 3, (
    "Subtract the image from each mean, and sum the squares of each row.",
    "`argmin(0)` returns the index of the smallest, as a tensor of type `u32`."))
exercise("softmax-regression.9", [([[1.0, 2.0], [3.0, 0.0]], [1, 0]), ([[1.0, 2.0], [3.0, 0.0]], [0, 0]),
                                  ([[0.0, 5.0, 1.0], [9.0, 0.0, 1.0], [0.0, 0.0, 1.0]], [1, 2, 2])],
         lambda z, y: sum(row.index(max(row)) == c for row, c in zip(z, y)) / len(y),
         lambda z, y: sum(row.index(max(row)) == c for row, c in zip(z, y)), (
    "`argmax(1)` returns the predicted classes. Which of them are equal to the targets?",
    "`eq` returns ones and zeros. How do you get a share from them?"))
exercise("softmax-regression.10", [([0.1, 0.2, 0.7], 2), ([0.5, 0.5], 0), ([0.01, 0.99], 0)],
         lambda p, c: -log(p[c]), lambda p, c: 1 - p[c], (
    "Use the natural logarithm, `ln()`.",
    "Only the probability of the correct class counts. The logarithm of a probability is negative, the loss is not."))
LOGITS = [[9.0, 0.0, 0.0], [0.5, 2.5, -1.0]]
exercise("softmax-regression.11", [(LOGITS, [0, 1]), (LOGITS, [2, 0]), ([[1.5, 0.5]], [0])],
         lambda z, y: sum(-log(softmax(row)[c]) for row, c in zip(z, y)) / len(y),
         lambda z, y: sum(-log(softmax(softmax(row))[c]) for row, c in zip(z, y)) / len(y), (
    "What does `cross_entropy` expect: logits or probabilities?",
    "It computes softmax itself. Pass it the logits."))

# --- The multilayer perceptron

exercise("mlp.3", [(64, 64, 10), (1, 1, 1), (784, 256, 10)],
         lambda i, h, o: i * h + h + h * o + o, lambda i, h, o: i * h + h * o, (
    "Besides its weights, a linear layer has one bias for each output.",
    "Count the layers one by one: the outputs of the first are the inputs of the second."))


def three_losses(x, y, parameters, rate=0.1, relu=lambda v: max(v, 0.0)):
    """Returns the losses before each of three steps of gradient descent, for inputs (n, 1) and targets (n, 1)."""
    (w1,), b1, w2, b2 = [row[:] for row in parameters[0]], parameters[1][:], [w for w, in parameters[2]], parameters[3][0]
    losses, n = [], len(x)
    for _ in range(3):
        h = [[relu(v * w + b) for w, b in zip(w1, b1)] for v, in x]
        errors = [sum(a * w for a, w in zip(row, w2)) + b2 - t for row, (t,) in zip(h, y)]
        losses.append(sum(e * e for e in errors) / n)
        back = [[2 * e / n * w * (a > 0) for a, w in zip(row, w2)] for row, e in zip(h, errors)]
        w2 = [w - rate * sum(2 * e / n * row[j] for row, e in zip(h, errors)) for j, w in enumerate(w2)]
        b2 -= rate * sum(2 * e / n for e in errors)
        w1 = [w - rate * sum(g[j] * v for g, (v,) in zip(back, x)) for j, w in enumerate(w1)]
        b1 = [b - rate * sum(g[j] for g in back) for j, b in enumerate(b1)]
    return losses


exercise("mlp.6", [([[1.0], [-1.0], [0.5]], [[1.0], [0.0], [0.5]], [[[1.0, -1.0]], [0.5, 0.25], [[0.5], [-0.5]], [0.1]]),
                   ([[2.0], [-2.0]], [[-1.0], [1.0]], [[[0.5, 1.0, -1.5]], [0.0, -3.0, 1.0], [[1.0], [0.5], [0.25]], [0.0]]),
                   ([[0.3], [0.6], [-0.9], [1.2]], [[0.5], [1.0], [-1.0], [0.0]], [[[2.0, 0.7]], [-0.2, 1.0], [[-0.4], [0.8]], [-0.3]])],
         three_losses, lambda x, y, p: three_losses(x, y, p, relu=lambda v: v), (
    "Each step needs the gradients of all four parameters: `Parameter::new(&w1)` makes one of a tensor.",
    "The loss is `(mlp(x, &parameters) - y).sqr().mean_all()`; note `loss.item()` before the step, and subtract 0.1 times each gradient."))


def coefficients(w1, b1, w2):
    return [sum(w * b * b for w, b in zip(w2, b1)), sum(2 * w * a * b for w, a, b in zip(w2, w1, b1)),
            sum(w * a * a for w, a in zip(w2, w1))]


exercise("mlp.7", [([1.0], [0.0], [1.0]), ([2.0, -1.0], [1.0, 3.0], [0.5, 2.0]), ([1.0, 1.0], [1.0, -1.0], [1.0, -1.0]),
                   ([0.5, 2.0, -1.0], [-1.0, 0.5, 0.0], [4.0, -1.0, 3.0])],
         coefficients, lambda w1, b1, w2: [c / (i % 2 + 1) for i, c in enumerate(coefficients(w1, b1, w2))], (
    "One hidden unit computes (ax + b)². Multiply it out, and collect what belongs to the same power of x.",
    "(ax + b)² has three parts: one with x², one with x, one without. The weight w multiplies all three; then sum each over the units."))


def smallest_good(widths, accuracies, within):
    means = [sum(column) / len(column) for column in columns(accuracies)]
    return min(width for width, mean in zip(widths, means) if mean >= max(means) - within)


exercise("mlp.8", [([1, 2, 4, 8], [[0.2, 0.5, 0.75, 0.9], [0.1, 0.6, 0.79, 0.91], [0.3, 0.4, 0.8, 0.95]], 0.2),
                   ([16, 8, 64], [[0.94, 0.93, 0.95], [0.95, 0.94, 0.955]], 0.02), ([4, 8], [[0.96, 0.9], [0.6, 0.9]], 0.05),
                   ([1, 2, 4], [[0.9, 0.95, 0.94]], 0.001), ([4, 8], [[0.95, 0.8], [0.9, 0.8], [0.6, 0.7]], 0.01)],
         smallest_good, lambda w, rows, _: w[max(range(len(w)), key=lambda i: sum(row[i] for row in rows))], (
    "Take the mean over the seeds first: one mean for each width.",
    "Of the widths whose mean is at least the best mean minus `within`, return the smallest; they need not be in order."))
exercise("mlp.9", [([[-1.0, 2.0], [0.0, -3.0]],), ([5.0],), ([-0.5, 0.5],)],
         lambda x: [max(v, 0.0) if isinstance(v, float) else [max(w, 0.0) for w in v] for v in x],
         lambda x: [abs(v) if isinstance(v, float) else [abs(w) for w in v] for v in x], (
    "`x.gt(0.0)` is 1 where an element is positive and 0 elsewhere, in the type `u8`.",
    "An element that is multiplied by 1 is kept, one multiplied by 0 disappears."))


def hidden(x, w, b):
    return [[max(v + c, 0.0) for v, c in zip(row, b)] for row in matmul(x, w)]


exercise("mlp.10", [([[1.0, 2.0]], [[1.0, -1.0], [0.5, 0.5]], [0.0, 0.0]), ([[1.0], [2.0]], [[1.0, -2.0]], [-1.0, 3.0]),
                    ([[0.0, 0.0]], [[1.0], [1.0]], [0.5])],
         hidden, lambda x, w, b: hidden(x, w, [0.0] * len(b)), (
    "Matrix product, bias, ReLU, in this order. The bias has one dimension: `+` broadcasts it.",
    "`matmul` needs (batch, features) and (features, units), in this order. `relu()` is a method of the sum."))
exercise("mlp.11", [([1.0, 2.0, 3.0], [1.0, 0.0, 1.0], 0.5), ([4.0], [1.0], 0.2), ([1.0, 1.0], [0.0, 0.0], 0.9)],
         lambda x, m, p: [v * k / (1 - p) for v, k in zip(x, m)], lambda x, m, p: [v * k for v, k in zip(x, m)], (
    "The mean must stay the same, so the elements that are kept have to grow.",
    "Divide by the probability of being kept, 1 − p."))
CORNERS = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
exercise("mlp.13", [(CORNERS, [[0.0], [0.0], [0.0], [1.0]]), (CORNERS, [[0.0], [1.0], [1.0], [1.0]]),
                    (CORNERS, [[0.0], [1.0], [1.0], [0.0]])],
         lambda x, y: y, lambda x, y: [[0.5]] * 4, (
    "A hidden layer with an activation function between two linear layers is enough. Is it wide enough, and trained for long enough?",
    "Try 16 units with `Tanh`, `Adam` with a rate of 0.03, and 500 steps on all four points."), 0.1)

# --- Autograd from scratch

value("autograd-from-scratch.1", [3, 12], [2, 4], (
    "Each leaf and each product is a node. The derivative of x³ is 3x².",
    "How many products does x · x · x need, and how many leaves? Put x = 2 into the derivative."))
exercise("autograd-from-scratch.6", [([[0.5, -0.9, 0.0]], [[1.0, 2.0, -3.0]]), ([[0.25], [-0.5]], [[4.0], [0.5]])],
         lambda y, g: [[b * (1 - a * a) for a, b in zip(*rows)] for rows in zip(y, g)],
         lambda y, g: [[b * (1 - tanh(a) ** 2) for a, b in zip(*rows)] for rows in zip(y, g)], (
    "The chain rule: multiply the gradient of the output by the local derivative, element by element.",
    "`y` is the output tanh a already. So the local derivative is 1 − y²; `y.sqr()` is the square."))


def needed(inputs, parameters):
    marked = []
    for i, of in enumerate(inputs):
        marked.append(i in parameters or any(marked[j] for j in of))
    return marked


NETWORK = [[], [], [], [], [], [4, 0], [5, 1], [6], [7, 2], [8, 3]]
exercise("autograd-from-scratch.7", [(NETWORK, [0, 1, 2, 3]), (NETWORK, [2]), ([[], [], [0, 1], [], [2, 3], [1, 1]], [0]), ([[], [0, 0]], [])],
         needed, lambda inputs, p: [i in p or any(j in p for j in of) for i, of in enumerate(inputs)], (
    "A node needs a gradient if it is a parameter, or if one of its inputs needs a gradient.",
    "Go through the nodes from the first to the last, and look up the answers for the inputs: these come earlier on the tape."))


def wave(x):
    """Returns the first and the second derivative of x · sin(x²)."""
    return [sin(x * x) + 2 * x * x * cos(x * x), 6 * x * cos(x * x) - 4 * x ** 3 * sin(x * x)]


exercise("autograd-from-scratch.8", [(0.7,), (-1.5,), (0.0,), (2.0,)],
         wave, lambda x: [wave(x)[0], -4 * x ** 3 * sin(x * x)], (
    "Call `backward` on the node of the gradient: it needs the rules of all operations that the first call has recorded.",
    "The first call records cosines. Is the derivative of the cosine minus the sine on your tape, and are several contributions to a node added?"))


def slopes(x):
    """Returns the gradient of the sum of all xᵢ · sin xᵢ₊₁."""
    pairs = list(zip(x, x[1:]))
    return [a + b for a, b in zip([sin(v) for _, v in pairs] + [0.0], [0.0] + [u * cos(v) for u, v in pairs])]


exercise("autograd-from-scratch.9", [([0.5, 1.0, -2.0],), ([1.0, 0.0],), ([0.3, 0.7, 1.1, -0.4],), ([2.0],)],
         slopes, lambda x: [sum(slopes(x))] * len(x), (
    "One pass computes the derivative for one input: the slope of this input is 1, the slopes of all others are 0.",
    "Repeat the pass for each input, and collect the slopes of the sums. Begin the sum with a `Dual` whose value and slope are 0."))
exercise("autograd-from-scratch.10", [(0.0,), (1.0,), (-2.0,)],
         lambda x: [exp(sin(x)), exp(sin(x)) * cos(x)], lambda x: [exp(sin(x)), exp(cos(x))], (
    "Multiply the derivatives of both functions: exp'(u) at u = sin x, and sin'(x).",
    "The exponential is its own derivative, and the derivative of the sine is the cosine."))
exercise("autograd-from-scratch.11", [(1.0, 0.1), (2.0, 0.001), (-3.0, 0.5)],
         lambda x, h: ((x + h) ** 3 - (x - h) ** 3) / (2 * h), lambda x, h: ((x + h) ** 3 - x ** 3) / h, (
    "Take one step to each side, not just to the right.",
    "Divide the difference of the two values by the distance of the two points. This distance is not h."))


def backward(inputs, is_added=True):
    gradients = [0.0] * len(inputs)
    gradients[-1] = 1.0
    for node in reversed(range(len(inputs))):
        for source in inputs[node]:
            gradients[source] = gradients[node] + (gradients[source] if is_added else 0.0)
    return gradients


exercise("autograd-from-scratch.12", [([[], [0, 0], [1, 0]],), ([[], [], [0, 1], [2, 1]],), ([[], [0, 0], [1, 1]],)],
         backward, lambda inputs: backward(inputs, False), (
    "What happens to the first contribution if a node is used twice?",
    "Contributions are added: `+=`."))

# --- Training

exercise("training.5", [(10,), (2,), (1000,)], lambda n: [log(n), 1 / n], lambda n: [1 / n, log(n)], (
    "Each class has the probability 1 / classes. How often is a guess right?",
    "The cross-entropy is minus the natural logarithm of the probability of the right class; the accuracy is the share of right guesses."))
exercise("training.7", [([0.5, 0.7, 0.7, 0.6, 0.9],), ([],), ([0.0, 0.0, 0.1],), ([0.9, 0.8, 0.85, 0.7],)],
         lambda a: [i + 1 for i, v in enumerate(a) if all(v > other for other in a[:i])],
         lambda a: [i + 1 for i, v in enumerate(a) if i == 0 or v > a[i - 1]], (
    "Compare with the best so far, not with the epoch before. An equal accuracy is not higher.",
    "Begin with `f64::NEG_INFINITY` as the best, so that the first epoch is saved whatever its accuracy."))


def yes_or_no(logits, y):
    pairs = [(z, t) for (z,), (t,) in zip(logits, y)]
    return [sum(bce(z, t) for z, t in pairs) / len(pairs), sum((z > 0) == (t == 1) for z, t in pairs) / len(pairs)]


def bce(z, y):
    return max(z, 0.0) - z * y + log(1 + exp(-abs(z)))


exercise("training.8", [([[2.0], [-1.0], [0.25], [-3.0]], [[1.0], [0.0], [1.0], [1.0]]), ([[0.5]], [[0.0]]),
                        ([[300.0], [-300.0], [1.0]], [[1.0], [1.0], [0.0]])],
         yes_or_no, lambda z, y: [yes_or_no(z, y)[0], sum((v > 0.5) == (t == 1) for (v,), (t,) in zip(z, y)) / len(y)], (
    "The loss is `bce_with_logits`. From which logit on is the probability above one half?",
    "`logits.gt(0.0)` has a 1 where the prediction is yes. Compare it with the targets, and take the mean."))


def from_size(sizes, each, bulk):
    first = 0
    for size, a, b in reversed(list(zip(sizes, each, bulk))):
        if a > 1.1 * b:
            break
        first = size
    return first


SIZES = [10, 20, 50, 100]
exercise("training.9", [(SIZES, [4.0, 5.0, 9.0, 40.0], [2.0, 4.0, 8.5, 41.0]), (SIZES, [2.1, 6.0, 9.0, 40.0], [2.0, 4.0, 8.5, 41.0]),
                        (SIZES, [2.0, 4.0, 9.0, 60.0], [2.0, 4.0, 9.0, 50.0]), (SIZES, [2.0, 4.0, 9.0, 60.0], [2.0, 4.1, 8.9, 60.0])],
         from_size, lambda s, e, b: next((n for n, x, y in zip(s, e, b) if x <= 1.1 * y), 0), (
    "It must hold for all larger sizes too. So begin with the largest.",
    "Go through the sizes from the end and stop at the first for which `each > 1.1 * bulk`: the answer is the next size after it in the list."))


def stopped(losses, patience):
    best = 0
    for i, loss in enumerate(losses):
        best = i if loss < losses[best] else best
        if i - best >= patience:
            return i + 1
    return len(losses)


exercise("training.10", [([3.0, 2.0, 2.5, 2.1, 1.0], 2), ([3.0, 2.0, 1.0], 1), ([1.0, 2.0, 3.0], 1), ([2.0, 2.5, 1.5, 1.6], 3)],
         stopped, lambda losses, p: losses.index(min(losses)) + 1, (
    "Count the epochs since the best loss so far; a new best loss starts the count again.",
    "Stop as soon as the count reaches `patience`, and return the number of epochs including this one."))
exercise("training.11", [([1.0, 3.0, 5.0, 7.0], 2), ([1.0, 2.0, 3.0, 4.0, 9.0], 3), ([2.0], 5)],
         lambda v, n: [sum(v[i:i + n]) / len(v[i:i + n]) for i in range(0, len(v), n)],
         lambda v, n: [sum(v[i:i + n]) / n for i in range(0, len(v), n)], (
    "The last interval may be shorter. Divide by the number of losses that it really has.",
    "`chunks(every)` returns the intervals, also the last one. `map` turns each of them into its mean."))

exercise("training.12", [(0.0, 1.0), (2.0, 0.0), (-3.0, 1.0), (800.0, 0.0), (-800.0, 0.0)],
         bce, lambda z, y: float(abs(z) * (1 - y) + 0.5), (
    "`exp(800)` is infinite. Only take the exponential of something that is not positive.",
    "In the formula, only −|z| goes into the exponential, as `-z.abs()`. `max` and `ln` are methods of `f64`."))


def clip(gradient, limit, always=False):
    norm = sqrt(sum(g * g for g in gradient))
    return [g * (limit / norm if always else min(1.0, limit / norm)) for g in gradient]


exercise("training.13", [([3.0, 4.0], 1.0), ([0.3, 0.4], 1.0), ([-6.0, 0.0, 8.0], 20.0)],
         clip, lambda g, limit: clip(g, limit, True), (
    "What does the function do with a gradient that is shorter than the limit?",
    "The factor is never larger than 1: `(limit / norm).min(1.0)`."))

# --- Generalisation

exercise("generalisation.9", [(0.95, 100), (0.5, 10), (0.9, 10000), (1.0, 50)],
         lambda a, n: sqrt(a * (1 - a) / n), lambda a, n: a * (1 - a) / n, (
    "Each result is 0 or 1, with variance a(1 − a).",
    "The standard deviation of a mean of n results is the square root of the variance divided by n."))
exercise("generalisation.3", [(0.95, 0.011), (0.5, 0.03), (0.9, 0.007)],
         lambda a, e: -int(-(a * (1 - a) / e ** 2) // 1), lambda a, e: int(sqrt(a * (1 - a)) / e), (
    "Solve the formula of the standard error for n.",
    "The square of the error is the variance of one result divided by n. Round n up with `.ceil()`."))
exercise("generalisation.7", [([[[0.6, 0.4]], [[0.1, 0.9]]],), ([[[0.2, 0.8], [0.7, 0.3]], [[0.5, 0.5], [0.1, 0.9]], [[0.4, 0.6], [0.9, 0.1]]],)],
         lambda p: [row.index(max(row)) for row in [[sum(c) for c in zip(*rows)] for rows in zip(*p)]],
         lambda p: [row.index(min(row)) for row in p[0]], (
    "Average over the networks, dimension 0, before you look for the largest.",
    "After the mean, the shape is (examples, classes). `argmax` needs the dimension of the classes."))
exercise("generalisation.8", [(6, 3), (4, 2), (5, 5), (6, 1)],
         lambda n, k: [list(range(i * n // k, (i + 1) * n // k)) for i in range(k)],
         lambda n, k: [list(range(i, n, k)) if k > 1 else [] for i in range(k)], (
    "Fold i begins at i · n / k.",
    "It ends where the next fold begins. A range such as `a..b` can be collected into a list."))


def standardised(statistics, values):
    mean = sum(statistics) / len(statistics)
    std = sqrt(sum((x - mean) ** 2 for x in statistics) / len(statistics))
    return [(x - mean) / std for x in values]


exercise("generalisation.10", [([1.0, 2.0, 3.0], [4.0]), ([0.0, 10.0], [5.0, 20.0]), ([-1.0, 1.0, -1.0, 1.0], [0.5])],
         standardised, lambda train, val: standardised(train + val, val), (
    "From which examples do the mean and the variance come?",
    "They may come from the training set only."))

# --- Stability

exercise("stability.3", [(0.1, 64), (0.2, 50), (0.05, 256)],
         lambda s, n: s * sqrt(n / 2), lambda s, n: s * sqrt(n), (
    "Before ReLU, the size grows by the standard deviation times √n. What does ReLU do to it?",
    "ReLU sets half of the elements to 0. What does this do to the mean of the squares, and what to its root?"))


def layers(limit):
    n, gradient = 0, 1.0
    while gradient >= limit:
        n, gradient = n + 1, gradient / 4
    return n


exercise("stability.4", [(1e-8,), (0.5,), (1e-3,)], layers, lambda x: layers(x) - 1, (
    "Each layer multiplies the gradient by 1/4. It must be *below* the limit.",
    "Multiply in a loop until it is, and count the layers."))
value("stability.5", [256, 256], [257, 259], (
    "bf16 has 8 significant bits. Which integers above 256 can it represent?",
    "It has every second integer there. A sum in the middle is rounded to the neighbour whose last bit is 0, before the next 1 is added."))
exercise("stability.8", [([1000.0, 1000.0],), ([0.0, 1.0, 2.0],), ([-1000.0, -1001.0],), ([5.0],)],
         lambda x: max(x) + log(sum(exp(v - max(x)) for v in x)), max, (
    "Subtract the largest element before `exp`, and add it again at the end.",
    "If m is the largest element, all elements of `x - m` are 0 or negative, so their exponentials do not overflow."))
exercise("stability.9", [([1.0] + [1e-8] * 1000,), ([1.0, 2.0, 3.0],), ([100000.0] + [0.001] * 500,)],
         sum, lambda x: x[0], (
    "The part that was lost is `(sum_after - sum_before) - value`. Subtract it from the next value.",
    "Keep two variables, the sum and what was lost. Each step needs the sum before and after the addition."), 1e-6)


def spread(values):
    mean = sum(values) / len(values)
    return sum((x - mean) ** 2 for x in values) / len(values)


exercise("stability.11", [([10000.0, 10001.0, 10002.0],), ([1.0, 2.0, 4.0],), ([5000.5, 5000.0, 4999.5, 5001.0],)],
         spread, lambda x: spread(x) if x[0] == 1.0 else 0.0, (
    "How large are the two terms of the difference, and how far apart are neighbouring `f32` values there?",
    "Subtract the mean from each value, and square the differences."))

# --- Optimisers

floats("optimisers.4", [sqrt(10), 1.0], [1.0, 1.0], (
    "The first moment is 0.1 g after one step, the second 0.001 g².",
    "A step is the rate times the first moment, divided by the root of the second, and g cancels. The correction divides the moments by 0.1 and by 0.001 before."), 1e-3)
exercise("optimisers.5", [(1000000,), (10,)], lambda n: [0, n, n, 2 * n], lambda n: [0, n, 2 * n, 3 * n], (
    "Momentum stores a velocity, RMSprop a mean of squares, for each parameter.",
    "Adam stores both."))


def place(rate, beta, steps, nesterov=False):
    """Returns the place in the valley after this many steps of momentum."""
    p, v = [-5.0, -2.0], [0.0, 0.0]
    for _ in range(steps):
        g = [c * (a - rate * beta * u * nesterov) for c, a, u in zip((0.1, 4.0), p, v)]
        v = [beta * u + d for u, d in zip(v, g)]
        p = [a - rate * u for a, u in zip(p, v)]
    return p


def best(rates, betas, last):
    """Returns the rate and β with the lowest loss after 80 steps, or with the lowest loss of any step."""
    def loss(rate, beta):
        places = [place(rate, beta, steps) for steps in ([80] if last else range(81))]
        return min(0.05 * x * x + 2 * y * y for x, y in places)
    return list(min(((r, b) for r in rates for b in betas), key=lambda pair: loss(*pair)))


exercise("optimisers.7", [(0.15, 0.8, 1), (0.15, 0.8, 5), (0.3, 0.5, 20), (0.05, 0.9, 10)],
         lambda r, b, s: place(r, b, s, nesterov=True), place, (
    "The gradient is computed at p − rate · β · v, but the step starts at p.",
    "Per coordinate: the gradient is 0.1 or 4.0 times the point ahead, then v ← β v + g, then p ← p − rate · v."))
exercise("optimisers.8", [([0.9, 0.1, 0.6], [0.0, 0.3, 0.9]), ([0.45], [0.9, 0.0]), ([0.02, 0.7], [0.3, 0.95]), ([0.15, 0.05], [0.95, 0.8, 0.5])],
         lambda r, b: best(r, b, True), lambda r, b: best(r, b, False), (
    "Try each rate with each β, and keep the pair with the lowest loss so far.",
    "Compare the losses after the last of the 80 steps, not the lowest loss on the way."))
exercise("optimisers.9", [(0.1, 0), (0.1, 9), (0.1, 19), (0.1, 79), (1.0, 1999)],
         lambda b, s: b * min((s + 1) / 20, sqrt(20 / (s + 1))), lambda b, s: b * min(s / 20, sqrt(20 / (s + 1))), (
    "With t = step + 1, the rate is base · t / 20 during the warm-up.",
    "Afterwards it falls with 1 / √t. At t = 20 both parts must have the value of the base rate."))


def momentum(gradients, beta, rate):
    p = v = 0.0
    for g in gradients:
        v = beta * v + g
        p -= rate * v
    return p


def decayed(decay, rate, steps):
    adam, m, s = 1.0, 0.0, 0.0
    for t in range(1, steps + 1):
        g = decay * adam
        m, s = 0.9 * m + 0.1 * g, 0.999 * s + 0.001 * g * g
        adam -= rate * m / (1 - 0.9 ** t) / (sqrt(s / (1 - 0.999 ** t)) + 1e-8)
    return [adam, (1 - rate * decay) ** steps]


exercise("optimisers.10", [(0.01, 0.1, 10), (0.1, 0.01, 5), (1.0, 0.05, 8), (0.5, 0.2, 1)],
         decayed, lambda d, r, s: [(1 - r * d) ** s] * 2, (
    "For Adam the gradient is λp: it enters both running means. For AdamW the gradient stays 0.",
    "AdamW multiplies p by 1 − rate · λ in each step. `Adam` and `AdamW` both have a method `weight_decay`; the gradient of `&x * x.zeros_like()` is 0."))
exercise("optimisers.11", [([1.0, 1.0, 1.0], 0.9, 0.1), ([1.0, -1.0], 0.5, 1.0), ([2.0], 0.9, 0.01), ([1.0, 0.0, 0.0], 0.8, 0.1)],
         momentum, lambda g, b, r: -r * sum(g), (
    "The velocity keeps the share `beta` of its old value and adds the gradient.",
    "Declare the velocity and the parameter before the loop. In each step, the velocity changes first, and then moves the parameter."))
exercise("optimisers.12", [([-5.0, -2.0], [0.0, 0.0]), ([4.0, 1.0], [-1.0, 2.0]), ([5.5, -0.5], [1.5, -1.0])],
         lambda start, minimum: minimum,
         lambda start, minimum: [m + (p - m) * factor for p, m, factor in zip(start, minimum, (0.955 ** 60, (-0.8) ** 60))], (
    "The gradient is (0.1x, 4y), where x and y are the distances from the minimum. What lets a path move far along the valley and not across it?",
    "Momentum with a share of about 0.5 allows a larger rate than gradient descent, up to about 0.75."), 0.05)
