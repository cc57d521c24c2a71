"""Exercises of the part about language models."""

from math import cos, log, sin, sqrt

from learning import softmax
from make import exercise, value

# --- Tokenizers

exercise("tokenizers.3", [(2.0, 2.0), (2.8, 3.0), (log(256), 1.0), (1.5, 2.5)],
         lambda nats, size: nats / log(2) / size, lambda nats, size: nats / size, (
    "A nat is 1 / ln 2 bits. The loss of a token is shared by its bytes.",
    "`2f64.ln()` is ln 2. Both conversions are divisions: from nats to bits, and from a token to a byte."))
value("tokenizers.4", [1048576, 32768], [524288, 16384], (
    "The embedding has a row of 64 for each token, and the head has a row of 64 weights for each token.",
    "So both have the same size, and you add the two, once for each number of tokens."))


def decoded(pieces):
    return bytes(byte for piece in pieces for byte in piece).decode("utf-8", "replace")


exercise("tokenizers.8", [([[102, 110], [32]],), ([[240, 159], [166, 128], [33]],), ([[195], [169], [228, 189, 160]],), ([],)],
         decoded, lambda pieces: "".join(bytes(piece).decode("utf-8", "replace") for piece in pieces), (
    "A character of several bytes may begin in one token and end in the next.",
    "Join the bytes of all tokens with `concat` before you decode them."))


def encoded(word, pairs):
    tokens, known = list(word.encode()), {tuple(pair): 256 + i for i, pair in enumerate(pairs)}
    while True:
        new = min((known[pair] for pair in zip(tokens, tokens[1:]) if pair in known), default=None)
        if new is None:
            return tokens
        merged, i = [], 0
        while i < len(tokens):
            found = known.get(tuple(tokens[i:i + 2])) == new
            merged.append(new if found else tokens[i])
            i += 2 if found else 1
        tokens = merged


def greedy(word, pairs):
    tokens, known = [], {tuple(pair): 256 + i for i, pair in enumerate(pairs)}
    for byte in word.encode():
        tokens.append(byte)
        while len(tokens) > 1 and tuple(tokens[-2:]) in known:
            tokens[-2:] = [known[tuple(tokens[-2:])]]
    return tokens


S, E, L, F = b"self"
exercise("tokenizers.9", [("self", [[L, F], [E, 256], [S, E], [S, 257]]), ("selfless", [[S, E], [L, F], [256, 257]]),
                             ("sees", [[E, S], [S, E]]), ("aaaaa", [[97, 97], [256, 256]]), ("é", []), ("", [[L, F]])],
         encoded, greedy, (
    "In each round, look for the pair of neighbours that was learned first, and merge all its occurrences.",
    "The position of a pair in `pairs` is its rank: of all `tokens.windows(2)` that are in `pairs`, take the smallest rank."))
exercise("tokenizers.10", [("fn",), ("é",), ("let Ω = 漢;",), ("🦀🦀 and ä",), ("",)],
         lambda text: sum(len(c.encode()) for c in text if len(c.encode()) > 1), lambda text: sum(len(c.encode()) > 1 for c in text), (
    "`c.len_utf8()` is the number of bytes of a character.",
    "`map` turns the characters into lengths, `filter` drops the lengths that do not count, and `sum` adds the others."))

# --- The modern block

value("modern-block.3", [73728, 73728], [73728, 110592], (
    "The MLP has two matrices of 96 by 4 · 96. The gated network has three, with 8 · 96 / 3 hidden units.",
    "Round 8 · 96 / 3 up to a multiple of 32, if it is not one. Then multiply the sizes of the matrices."))
value("modern-block.4", [[512, 512], [128, 512], [512, 512]], [[512, 512], [512, 512], [512, 512]], (
    "A weight has the shape (outputs, inputs). A head has 512 / 8 features.",
    "The outputs of `k_proj` are the features of the heads of keys. The input of `o_proj` is the output of all heads of queries."))
exercise("modern-block.8", [([3.0, 4.0],), ([1.0, 1.0, 1.0],), ([-2.0, 0.5, 4.0, 1.0],), ([5.0],)],
         lambda x: [v / sqrt(sum(u * u for u in x) / len(x)) for v in x],
         lambda x: [(v - sum(x) / len(x)) / sqrt(sum(u * u for u in x) / len(x)) for v in x], (
    "Divide by the root of the mean of the squares; the mean is not subtracted.",
    "`sqr` and `mean_all` make the mean of the squares. It is one value, and the division broadcasts it."))
exercise("modern-block.9", [([1.0, 0.0], 1.0, 0.5), ([1.0, 2.0], 3.0, 0.1), ([0.0, 1.0], 0.0, 1.0), ([-1.0, 0.5], 10.0, 0.01)],
         lambda p, t, a: [p[0] * cos(t * a) - p[1] * sin(t * a), p[0] * sin(t * a) + p[1] * cos(t * a)],
         lambda p, t, a: [p[0] * cos(t * a) + p[1] * sin(t * a), p[1] * cos(t * a) - p[0] * sin(t * a)], (
    "The angle is `t * theta`. A rotation keeps the length of the pair.",
    "Each new feature is a mixture of both old ones, with the cosine and the sine of the angle. For the angle 0 nothing changes, and one of the two mixtures has a minus."))
exercise("modern-block.10", [(4, 2), (8, 2), (6, 3), (4, 1), (3, 3)],
         lambda h, kv: [i // (h // kv) for i in range(h)], lambda h, kv: [i % kv for i in range(h)], (
    "With 4 heads and 2 shared ones, the answer is [0, 0, 1, 1]: neighbours share.",
    "`share` is `heads / kv_heads`; divide `i` by it instead of taking the remainder."))
exercise("modern-block.11", [([32, 8, 128], 8192, 2), ([2, 4, 16], 64, 4), ([1, 1, 1], 1, 4), ([3, 2, 24], 100, 2)],
         lambda s, n, b: 2 * s[0] * s[1] * s[2] * n * b, lambda s, n, b: s[0] * s[1] * s[2] * n * b, (
    "There are keys and values: each block keeps both.",
    "One value for each block, shared head, feature and token, for the keys and again for the values. The bytes come last."))

# --- Inference

exercise("inference.3", [(8e9, 2.0, 100e9), (536928.0, 4.0, 20e9), (70e9, 0.5, 1e12), (1.0, 1.0, 1.0)],
         lambda n, b, w: w / (n * b), lambda n, b, w: w / n, (
    "All weights have to be read once for each token.",
    "How many bytes are that? The bandwidth says how many can be read in a second."))
exercise("inference.4", [(100, 50), (1, 1), (5, 3), (10, 2)],
         lambda p, n: [sum(p + i for i in range(n)), p + n - 1], lambda p, n: [(p + n) * n, p + n], (
    "The first new token needs all positions of the prompt. With a cache, each further token needs one.",
    "Without a cache, each new token needs one position more than the one before: add them in a loop. The last new token is not read any more."))
exercise("inference.6", [([0.5, 0.3, 0.15, 0.05], 0.5), ([0.5, 0.3, 0.15, 0.05], 0.1), ([0.25, 0.25, 0.25, 0.25], 0.9), ([0.1, 0.2, 0.7], 1.0)],
         lambda p, s: [v if v >= s * max(p) else 0.0 for v in p], lambda p, s: [v if v >= s else 0.0 for v in p], (
    "The limit is a share of the largest probability.",
    "`ge` compares with a limit and returns ones and zeros of the type `u8`. Convert them with `to_dtype` before you multiply."))


def kept(p, share):
    total = 0.0
    for i, v in enumerate(p):
        total += v
        if total >= share:
            return i + 1
    return len(p)


exercise("inference.8", [([0.5, 0.25, 0.125, 0.125], 0.6), ([0.5, 0.25, 0.125, 0.125], 0.5), ([0.9, 0.1], 0.5), ([0.25, 0.25, 0.25, 0.25], 1.0)],
         kept, lambda p, s: sum(1 for i in range(len(p)) if sum(p[:i + 1]) <= s), (
    "With 0.5, 0.25, … and a share of 0.6, the first token is not enough, so two are kept.",
    "Count the token before you ask whether the sum has reached the share, and stop as soon as `sum >= share`."))


def integers(w):
    return [int((abs(v) / max(map(abs, w)) * 127) + 0.5) * (1 if v >= 0 else -1) for v in w]


exercise("inference.9", [([1.27, -0.5, 0.0, 0.011],), ([-2.0, 1.0, 0.3],), ([100.0, 1.0, -0.2],), ([0.001, -0.001],)],
         integers, lambda w: [int(v * 127) for v in w], (
    "The scale is the largest absolute value divided by 127.",
    "Divide each weight by the scale. `round` goes to the nearest integer, `as i64` alone cuts off."))
value("inference.10", [3, 2, 9, 24], [3, 2, 8, 24], (
    "Each token of the prompt and each new one has a key; the heads are the shared ones.",
    "A cache keeps the steps of the prompt and the new ones together."))
exercise("inference.11", [([1.0, 2.0, 3.0], 0.5), ([0.0, 4.0], 10.0), ([2.0, -1.0, 0.5], 1.0), ([1.0, 1.0], 0.3)],
         lambda z, t: softmax([v / t for v in z]), lambda z, t: [v / t for v in softmax(z)], (
    "The probabilities must add up to 1 for every temperature.",
    "The softmax must come last. What has to be divided before it?"))
