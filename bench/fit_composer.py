#!/usr/bin/env python3
"""Fits the weights by which composed forms are ranked: fit_composer.py COMPOSITIONS.jsonl WEIGHTS.tsv [--check]

COMPOSITIONS.jsonl comes from `measure_reader --compositions`: a question a line, with its forms, their features and whether
each gives the right rows. Learned is a conditional log-linear model: the likelihood that a right form is taken, summed over
all forms that are right. Questions of the part that is never read take no part in it. `--check` prints how often the first
form, and one of the first eight, is right on databases that were left out (five folds).
"""

import argparse
import collections
import hashlib
import json

import numpy as np

RIDGE = 3.0
SET_WEIGHT = {"everyday": 1.0, "people": 1.0, "practice": 1.5, "fitting": 3.0, "recent": 1.5}
FEWEST = 8


def fold_of(source):
    return int(hashlib.sha256(source.encode()).hexdigest(), 16) // 7 % 5


class Questions:
    """All forms below each other, with the bounds of each question."""

    def __init__(self, path):
        rows, self.names = [], None
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                if "names" in row:
                    self.names = row["names"]
                elif row["forms"]:
                    rows.append(row)
        self.sets = [row["set"] for row in rows]
        self.sources = [row["source"] for row in rows]
        self.read = np.array([not row["unread"] for row in rows])
        self.bounds = np.cumsum([0] + [len(row["forms"]) for row in rows])
        self.x = np.zeros((self.bounds[-1], len(self.names)), dtype=np.float32)
        self.y = np.zeros(self.bounds[-1], dtype=np.float32)
        at = 0
        for row in rows:
            for form in row["forms"]:
                np.add.at(self.x[at], form["x"][0::2], form["x"][1::2])
                self.y[at] = form["right"]
                at += 1
        seen = (self.x != 0).sum(0)
        self.x[:, seen < FEWEST] = 0

    def parts(self, chosen):
        return [(self.bounds[i], self.bounds[i + 1]) for i in chosen]


def fit(q, chosen):
    """L-BFGS on the regularised log likelihood."""
    useful = [
        i for i in chosen if 0 < q.y[q.bounds[i] : q.bounds[i + 1]].sum() < q.bounds[i + 1] - q.bounds[i]
    ]
    counts = collections.Counter(q.sets[i] for i in useful)
    weight = np.array([SET_WEIGHT.get(q.sets[i], 1.0) * 300.0 / max(counts[q.sets[i]], 60) for i in useful])
    index = np.concatenate([np.arange(q.bounds[i], q.bounds[i + 1]) for i in useful])
    starts = np.cumsum([0] + [q.bounds[i + 1] - q.bounds[i] for i in useful])[:-1]
    sizes = np.diff(np.append(starts, len(index)))
    x, y = q.x[index], q.y[index]
    spread = np.repeat(weight, sizes)

    def value(beta):
        t = x @ beta
        t -= np.repeat(np.maximum.reduceat(t, starts), sizes)
        e = np.exp(t)
        total, right = np.add.reduceat(e, starts), np.add.reduceat(e * y, starts)
        loss = (weight * (np.log(total) - np.log(np.maximum(right, 1e-30)))).sum() + RIDGE * (
            beta**2
        ).sum() / 2
        p = e / np.repeat(total, sizes)
        r = e * y / np.repeat(np.maximum(right, 1e-30), sizes)
        return loss, x.T @ (spread * (p - r)).astype(np.float32) + RIDGE * beta

    return lbfgs(value, np.zeros(x.shape[1], dtype=np.float32))


def lbfgs(value, beta, steps=120, memory=12):
    loss, gradient = value(beta)
    pairs = []
    for _ in range(steps):
        direction, alphas = -gradient.copy(), []
        for s, d, rho in reversed(pairs):
            alpha = rho * (s @ direction)
            alphas.append(alpha)
            direction -= alpha * d
        if pairs:
            s, d, _ = pairs[-1]
            direction *= (s @ d) / (d @ d)
        else:
            direction *= 0.01
        for (s, d, rho), alpha in zip(pairs, reversed(alphas)):
            direction += s * (alpha - rho * (d @ direction))
        step, slope = 1.0, gradient @ direction
        while True:
            trial = beta + step * direction
            new_loss, new_gradient = value(trial)
            if new_loss <= loss + 1e-4 * step * slope or step < 1e-6:
                break
            step /= 2
        s, d = trial - beta, new_gradient - gradient
        if s @ d > 1e-10:
            pairs = pairs[-memory + 1 :] + [(s, d, 1.0 / (s @ d))]
        done = abs(loss - new_loss) < 1e-5 * abs(loss)
        beta, loss, gradient = trial, new_loss, new_gradient
        if done:
            break
    return beta


def score(q, beta, chosen):
    found = collections.defaultdict(lambda: np.zeros(4))
    for i in chosen:
        low, high = q.bounds[i], q.bounds[i + 1]
        order = np.argsort(-(q.x[low:high] @ beta), kind="stable")
        right = q.y[low:high][order]
        found[q.sets[i]] += [1, right[0], right[:8].any(), right.any()]
    return found


def show(title, found):
    print(title)
    for name, (cases, first, eight, every) in sorted(found.items()):
        print(
            f"  {name:<11} {cases:5.0f}  first {100 * first / cases:5.1f} %  eight {100 * eight / cases:5.1f} %"
            f"  any {100 * every / cases:5.1f} %"
        )


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("compositions")
    arguments.add_argument("weights")
    arguments.add_argument("--check", action="store_true")
    arguments = arguments.parse_args()
    q = Questions(arguments.compositions)
    read = [i for i in range(len(q.sets)) if q.read[i]]
    if arguments.check:
        left_out = collections.defaultdict(lambda: np.zeros(4))
        for fold in range(5):
            inside = [i for i in read if fold_of(q.sources[i]) != fold]
            beta = fit(q, inside)
            for name, row in score(q, beta, [i for i in read if fold_of(q.sources[i]) == fold]).items():
                left_out[name] += row
        show("databases left out", left_out)
    beta = fit(q, read)
    show("fitted", score(q, beta, read))
    unread = [i for i in range(len(q.sets)) if not q.read[i]]
    if unread:
        show("never read", score(q, beta, unread))
    with open(arguments.weights, "w", encoding="utf-8") as out:
        out.write("# feature\tweight. Written by bench/fit_composer.py from the read part alone.\n")
        for name, weight in sorted(zip(q.names, beta)):
            if abs(weight) >= 0.005:
                out.write(f"{name}\t{weight:.3f}\n")


main()
