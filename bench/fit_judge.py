#!/usr/bin/env python3
"""Fits the judge: fit_judge.py FEATURES.jsonl WEIGHTS.tsv [--curve FILE.svg] [--unread]

FEATURES.jsonl comes from `measure_reader --features`: a question a line, with its proposals, their features and whether
each is right. Two things are learned, from the part of every set that may be read and from nothing else:

- the choice among the proposals of a question: a conditional logistic regression;
- how likely the chosen one is right: a logistic regression in which a feature may only count in the direction that its
  name says, made a probability by isotonic regression on scores of databases that were left out.

Printed are figures with whole databases left out (five folds) and with whole sets left out. `--unread` also measures the
part that is never read with the fitted weights; `--curve` draws risk against coverage and the reliability.
"""

import argparse
import collections
import hashlib
import json

import numpy as np

RIDGE_CHOICE, RIDGE_SURE = 2.0, 4.0
# Weight of a set as a whole. Everyday questions are what the program is for; none counts more than four times another.
CHOICE_WEIGHT = {"people": 2.0, "everyday": 1.0, "practice": 2.0, "fitting": 4.0, "recent": 2.0}
SURE_WEIGHT = {"people": 1.0, "everyday": 0.3, "practice": 0.5, "fitting": 3.0, "ambrosia": 0.7, "recent": 0.7}
# Mechanisms were built while reading failures of `everyday`, `people` and `practice`, so these say too much of themselves;
# failures of `fitting` were never read.
# The planner was built with these databases in view: 87 % of its answers are right there, 59 % on others of the kind.
READ_BY_PLANNER = {"spider": 0.75}
# Questions that have no right answer are not for the choice; ambiguous ones are asked back about before this.
NOT_FITTED = {"ambiguous"}
# Above this an answer is called sure (`propose::SURE`).
SURE = 0.9
# Features that can only speak against an answer, and those that can only speak for it. The others are left out of the
# confidence: they say what kind of data it is, and another kind behaves otherwise.
AGAINST = """unknown words|unknown names|operators missing|numbers missing|periods missing|columns missing|values missing|
tables missing|unlikely row form|aggregate missing|group missing|superlative missing|negation missing|columns unsupported|shown unsupported|conditions unsupported|texts unsupported|
numbers unsupported|aggregate unsupported|group unsupported|limit unsupported|rivals|sum of rate|number of identifier|raw list|
long list|listed measure|hidden order|joins|multiplies|nested|set operation|conditions|outside range|cost|defaults|lists|rows of one table|by meaning|not among forms|unlikely form|composed|
planner doubt|other result|many rows|very many rows|every row|empty result|focus unknown|focus weak|focus not shown|
number for thing|not counted|no number|no time|many for one|words|tables in data|reader joins|reader unknown|reader missing|
planner missing|raw rows|lookup rows"""
# Features that are known only when the proposals were run.
RESULT = (
    "other result|many rows|very many rows|every row|empty result|no number|many for one|same result|one row|"
    "agreeing forms|agreeing share"
)
IN_FAVOUR = "first of forms|likely row form|likely form|coverage|mean link|weakest link|agrees|same result|margin|one row|agreeing forms|agreeing share"


def names_of(text):
    return {name.strip() for name in text.replace("\n", "").split("|")}


def sigmoid(t):
    return 1 / (1 + np.exp(-np.clip(t, -30, 30)))


def softmax(scores, among):
    """Shares of the likelihood, of all proposals or of those that are right."""
    allowed = np.ones(len(scores), bool) if among is None else among > 0
    e = np.zeros(len(scores))
    e[allowed] = np.exp(scores[allowed] - scores[allowed].max())
    return e / e.sum()


def fold_of(row):
    return int(hashlib.sha256(row["source"].encode()).hexdigest(), 16) // 7 % 5


class Questions:
    """Questions as arrays: features of all proposals below each other, and which belong to which question."""

    def __init__(self, rows):
        self.rows = rows
        self.names = rows[0]["names"]
        self.x = [np.array([p["x"] for p in row["proposals"]]) for row in rows]
        self.y = [np.array([float(p["right"]) for p in row["proposals"]]) for row in rows]
        self.sets = np.array([row["set"] for row in rows])
        self.folds = np.array([fold_of(row) for row in rows])
        self.read = np.array([not row["unread"] for row in rows])
        everything = np.vstack(self.x)
        own = [i for i, name in enumerate(self.names) if name not in ("margin", "unrivalled")]
        self.choice_columns = np.array(own)
        self.mean, self.scale = everything.mean(0), everything.std(0)
        self.scale[self.scale == 0] = 1


def fit_choice(q, inside):
    """Newton steps on the likelihood that a right proposal is taken, over questions where it matters."""
    use = [i for i in np.where(inside)[0] if 0 < q.y[i].sum() < len(q.y[i])]
    counts = collections.Counter(q.sets[i] for i in use)
    columns = q.choice_columns
    z = {i: (q.x[i][:, columns] - q.mean[columns]) / q.scale[columns] for i in use}
    beta = np.zeros(len(columns))
    for _ in range(60):
        g, h = RIDGE_CHOICE * beta, RIDGE_CHOICE * np.eye(len(beta))
        for i in use:
            w = CHOICE_WEIGHT.get(q.sets[i], 1.0) * 100.0 / counts[q.sets[i]]
            t = z[i] @ beta
            p, r = softmax(t, None), softmax(t, q.y[i])
            centre = z[i].T @ p
            g = g - w * (z[i].T @ (r - p))
            h = h + w * ((z[i] * p[:, None]).T @ z[i] - np.outer(centre, centre))
        step = np.linalg.solve(h, g)
        # The likelihood over several right proposals is not concave: no step goes far.
        beta = beta - step * min(1.0, 0.5 / np.abs(step).max())
        if np.abs(step).max() < 1e-5:
            break
    weights = np.zeros(len(q.names))
    weights[columns] = beta / q.scale[columns]
    return weights


def choose(q, weights):
    """The proposal taken for each question, with the features that depend on the others' scores."""
    margin, unrivalled = q.names.index("margin"), q.names.index("unrivalled")
    x, y, capped, planner, best = [], [], [], [], []
    for i, row in enumerate(q.rows):
        scores = q.x[i] @ weights
        at = int(scores.argmax())
        rivals = [scores[j] for j in range(len(scores)) if j != at and not row["agree"][at][j]]
        features = q.x[i][at].copy()
        features[margin] = np.clip((scores[at] - max(rivals)) / 4, -1, 1) if rivals else 1.0
        features[unrivalled] = float(not rivals)
        x.append(features)
        y.append(q.y[i][at])
        capped.append(row["proposals"][at]["capped"])
        planner.append(row["proposals"][at]["planner"])
        best.append(at)
    return np.array(x), np.array(y), np.array(capped), np.array(planner)


def fit_sure(q, x, y, planner, inside, signs):
    """A logistic regression whose weights keep their sign: those that turn are taken out, until none does."""
    counts = collections.Counter(q.sets[inside])
    w = np.array([SURE_WEIGHT.get(s, 1.0) * 300.0 / max(counts[s], 1) for s in q.sets])
    t = y * np.where(planner, [READ_BY_PLANNER.get(s, 1.0) for s in q.sets], 1.0)
    active = [i for i, s in enumerate(signs) if s]
    while True:
        a, b = x[inside][:, active], t[inside]
        mean, scale = a.mean(0), a.std(0)
        scale[scale == 0] = 1
        z = np.hstack([(a - mean) / scale, np.ones((len(a), 1))])
        beta = np.zeros(z.shape[1])
        penalty = np.full(z.shape[1], RIDGE_SURE)
        penalty[-1] = 1e-6
        for _ in range(40):
            p = sigmoid(z @ beta)
            g = z.T @ (w[inside] * (p - b)) + penalty * beta
            h = (z * (w[inside] * p * (1 - p) + 1e-9)[:, None]).T @ z + np.diag(penalty)
            step = np.linalg.solve(h, g)
            beta -= step
            if np.abs(step).max() < 1e-7:
                break
        turned = [i for k, i in enumerate(active) if beta[k] * signs[i] < 0]
        if not turned:
            break
        active = [i for i in active if i not in turned]
    weights = np.zeros(x.shape[1])
    weights[active] = beta[:-1] / scale
    return weights, beta[-1] - (weights[active] * mean).sum()


def isotonic(score, y, w):
    """Pool adjacent violators: knots of score and probability, each of at least 40 cases' weight."""
    order = np.argsort(score)
    blocks = []
    for i in order:
        blocks.append([score[i] * w[i], y[i] * w[i], w[i]])
        while len(blocks) > 1 and blocks[-2][1] / blocks[-2][2] >= blocks[-1][1] / blocks[-1][2]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last)]
    merged = []
    for block in blocks:
        if merged and merged[-1][2] < 40:
            merged[-1] = [a + b for a, b in zip(merged[-1], block)]
        else:
            merged.append(block)
    if len(merged) > 1 and merged[-1][2] < 40:
        last = merged.pop()
        merged[-1] = [a + b for a, b in zip(merged[-1], last)]
    # One case more that went wrong keeps a probability from being 1.
    return [(s / n, r / (n + 1)) for s, r, n in merged]


def calibrated(knots, score):
    return np.interp(score, [k[0] for k in knots], [k[1] for k in knots])


def left_out(q, groups, inside, signs):
    """Scores of questions by weights that were fitted without their group."""
    score, y, capped = np.full(len(q.rows), np.nan), np.zeros(len(q.rows)), np.zeros(len(q.rows), bool)
    for group in sorted(set(groups[inside])):
        train, test = inside & (groups != group), inside & (groups == group)
        choice = fit_choice(q, train)
        x, right, cap, planner = choose(q, choice)
        weights, bias = fit_sure(q, x, right, planner, train, signs)
        score[test], y[test], capped[test] = (x @ weights + bias)[test], right[test], cap[test]
    return score, y, capped


def auc(p, y):
    order = np.argsort(p)
    rank = np.empty(len(p))
    rank[order] = np.arange(1, len(p) + 1)
    ones, zeros = y.sum(), len(y) - y.sum()
    return (rank[y > 0].sum() - ones * (ones + 1) / 2) / (ones * zeros) if ones * zeros else float("nan")


def report(title, q, p, y, capped, inside):
    print(title)
    print(
        f"  {'set':<13}{'cases':>6}{'right':>8}{'AUC':>7}{'stated':>8}"
        + "".join(f"{f'sure@{s}':>10}{'right':>8}" for s in (0.8, 0.85, 0.9))
    )
    for name in sorted(set(q.sets[inside])):
        m = inside & (q.sets == name)
        line = f"  {name:<13}{m.sum():>6}{100 * y[m].mean():>7.1f}%{auc(p[m], y[m]):>7.3f}{p[m].mean():>8.2f}"
        for bar in (0.8, 0.85, 0.9):
            s = m & (p >= bar) & ~capped
            line += f"{100 * s.sum() / m.sum():>9.1f}%{100 * y[s].mean() if s.any() else 0:>7.1f}%"
        print(line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("features")
    parser.add_argument("weights")
    parser.add_argument("--curve")
    parser.add_argument("--unread", action="store_true")
    arguments = parser.parse_args()
    rows = [json.loads(line) for line in open(arguments.features)]
    for row in rows:
        # What the measuring program could not run says nothing; its label is null.
        ran = [i for i, p in enumerate(row["proposals"]) if p["right"] is not None]
        row["proposals"] = [row["proposals"][i] for i in ran]
        row["agree"] = [[row["agree"][i][j] for j in ran] for i in ran]
    rows = [row for row in rows if row["proposals"] and row["set"] not in NOT_FITTED]
    q = Questions(rows)
    against, favour = names_of(AGAINST), names_of(IN_FAVOUR)
    unknown = (against | favour) - set(q.names)
    assert not unknown, f"no such feature: {unknown}"
    signs = [-1 if name in against else 1 if name in favour else 0 for name in q.names]
    inside = q.read
    score, y, capped = left_out(q, q.folds, inside, signs)
    counts = collections.Counter(q.sets[inside])
    w = np.array([SURE_WEIGHT.get(s, 1.0) * 300.0 / max(counts[s], 1) for s in q.sets])
    x_score = score.copy()
    knots = isotonic(score[inside], y[inside], w[inside])
    p = np.zeros(len(q.rows))
    p[inside] = calibrated(knots, score[inside])
    report("databases left out (read part)", q, p, y, capped, inside)
    by_set, y_set, capped_set = left_out(q, q.sets, inside, signs)
    p_set = np.zeros(len(q.rows))
    for name in sorted(set(q.sets[inside])):
        other, own = inside & (q.sets != name), inside & (q.sets == name)
        p_set[own] = calibrated(isotonic(x_score[other], y[other], w[other]), by_set[own])
    report("whole sets left out (read part)", q, p_set, y_set, capped_set, inside)
    # The same without results, for tables that are too large to try every proposal on.
    blind_signs = [0 if name in names_of(RESULT) else sign for name, sign in zip(q.names, signs)]
    blind_score, _, _ = left_out(q, q.folds, inside, blind_signs)
    blind_knots = isotonic(blind_score[inside], y[inside], w[inside])
    p_blind = np.zeros(len(q.rows))
    p_blind[inside] = calibrated(blind_knots, blind_score[inside])
    report("databases left out, nothing run (read part)", q, p_blind, y, capped, inside)
    choice = fit_choice(q, inside)
    x, right, cap, planner = choose(q, choice)
    sure, bias = fit_sure(q, x, right, planner, inside, signs)
    blind, blind_bias = fit_sure(q, x, right, planner, inside, blind_signs)
    if arguments.unread:
        stated = calibrated(knots, x @ sure + bias)
        report("never read, by the fitted weights", q, stated, right, cap, ~inside)
    if arguments.curve:
        from risk_curve import draw

        draw(arguments.curve, q.sets[inside], p[inside], y[inside], capped[inside], SURE)
    with open(arguments.weights, "w") as out:
        out.write(
            "# feature, weight for the choice, for how sure it is, and for how sure it is when nothing was run.\n"
        )
        out.write("# Written by bench/fit_judge.py from the read part alone.\n")
        out.write(f"bias\t0\t{bias:.4f}\t{blind_bias:.4f}\n")
        for name, *numbers in zip(q.names, choice, sure, blind):
            out.write("\t".join([name, *(f"{number:.4f}" for number in numbers)]) + "\n")
        out.write("# score, probability\n")
        for kind, points in (("knot", knots), ("blind knot", blind_knots)):
            for score, probability in points:
                out.write(f"{kind}\t{score:.4f}\t{probability:.4f}\n")


if __name__ == "__main__":
    main()
