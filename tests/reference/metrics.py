"""Prints the values of scikit-learn, nltk, pycocotools and gymnasium that the tests of `crates/train/src/metrics`, `crates/extra/src/ranking.rs` and `src/rl` compare with.

    python tests/reference/metrics.py

It needs these four packages.
"""

import gymnasium
from gymnasium.envs.classic_control.cartpole import CartPoleEnv
from nltk.translate.bleu_score import corpus_bleu
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from sklearn.metrics import (average_precision_score, f1_score, jaccard_score, precision_score, recall_score,
                             roc_auc_score)


def classes():
    x, y = [0, 2, 1, 0, 0, 1, 2, 2, 0, 1], [0, 1, 2, 0, 1, 1, 2, 2, 2, 0]
    for average in ("of 2", "macro", "micro", "weighted"):
        own = dict(labels=[2], average="macro") if average == "of 2" else dict(average=average)
        print(average, [round(float(f(y, x, **own)), 10) for f in (precision_score, recall_score, f1_score, jaccard_score)])


def ranking():
    scores, y = [0.5, 0.5, 0.2, 0.9, 0.5, 0.7, 0.1, 0.7], [1, 0, 0, 1, 1, 0, 0, 1]
    print("roc_auc", roc_auc_score(y, scores), "average_precision", average_precision_score(y, scores))


def texts():
    split = str.split
    hypotheses = ["It is a guide to action which ensures that the military always obeys the commands of the party",
                  "he read the book because he was interested in world history"]
    references = [["It is a guide to action that ensures that the military will forever heed Party commands",
                   "It is the guiding principle which guarantees the military forces always being under the command of the Party",
                   "It is the practical guide for the army always to heed the directions of the party"],
                  ["he was interested in world history because he read the book"]]
    print("bleu", corpus_bleu([[split(r) for r in own] for own in references], [split(h) for h in hypotheses]))


def boxes():
    found = [  # image, class, score, left, top, right, bottom
        (0, 0, 0.9, 0, 0, 4, 4), (0, 0, 0.6, 1, 1, 5, 5), (0, 1, 0.8, 6, 6, 9, 9), (0, 1, 0.3, 0, 5, 3, 8),
        (1, 0, 0.7, 2, 2, 6, 7), (1, 1, 0.95, 7, 1, 9, 4), (1, 1, 0.5, 0, 0, 2, 2)]
    right = [(0, 0, 0, 0, 4, 5), (0, 1, 6, 6, 9, 8.5), (1, 0, 2, 2.5, 6, 7), (1, 1, 7, 1, 9, 4), (1, 0, 1, 8, 3, 10)]

    def entry(i, image, kind, box, **more):
        left, top, end, bottom = box
        size = [end - left, bottom - top]
        return dict(id=i + 1, image_id=image, category_id=kind, bbox=[left, top, *size], area=size[0] * size[1],
                    iscrowd=0, **more)

    truth = COCO()
    truth.dataset = dict(images=[dict(id=0), dict(id=1)], categories=[dict(id=0), dict(id=1)], info={},
                         annotations=[entry(i, image, kind, box) for i, (image, kind, *box) in enumerate(right)])
    truth.createIndex()
    own = [entry(i, image, kind, box, score=score) for i, (image, kind, score, *box) in enumerate(found)]
    evaluation = COCOeval(truth, truth.loadRes(own), "bbox")
    evaluation.evaluate()
    evaluation.accumulate()
    evaluation.summarize()
    print("map", evaluation.stats[0], "at 0.5", evaluation.stats[1], "at 0.75", evaluation.stats[2])


def cart_pole():
    environment = CartPoleEnv()
    environment.reset(seed=0)
    environment.state = (0.01, -0.02, 0.03, 0.04)
    for action in [1, 1, 0, 1, 0, 0, 1, 1]:
        environment.step(action)
    print("cart pole", [float(x) for x in environment.state], gymnasium.__version__)


for part in (classes, ranking, texts, boxes, cart_pole):
    part()
