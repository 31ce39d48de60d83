#!/usr/bin/env python3
"""Fits the judge's weights: fit_judge.py FEATURES.jsonl WEIGHTS.tsv

FEATURES.jsonl comes from `measure_reader --features`. Each row is a question with its proposals, their features and whether
each is right. The weights are a logistic regression with an L2 penalty, every set weighing the same. What is printed is
cross-validated: each database and table is judged by weights that were fitted without it.
"""
import collections
import hashlib
import json
import sys

import numpy as np

RIDGE = 3.0
# The planner was built with these databases in view: 87 % of its answers are right there, 59 % on others of the kind.
# Its labels count as much as it is right elsewhere.
READ_BY_PLANNER = {"spider": 0.67}
# Everyday questions count more; sets built to be hard say little about how sure to be of plain ones.
WEIGHT = {"ambrosia": 0.3, "people": 3.0}


def fit(x, y, w):
    mean, scale = x.mean(0), x.std(0)
    scale[scale == 0] = 1
    z = np.hstack([(x - mean) / scale, np.ones((len(x), 1))])
    beta = np.zeros(z.shape[1])
    penalty = np.full(z.shape[1], RIDGE)
    penalty[-1] = 1e-6
    for _ in range(40):
        p = 1 / (1 + np.exp(-np.clip(z @ beta, -30, 30)))
        g = z.T @ (w * (p - y)) + penalty * beta
        h = (z * (w * p * (1 - p) + 1e-9)[:, None]).T @ z + np.diag(penalty)
        step = np.linalg.solve(h, g)
        beta -= step
        if np.abs(step).max() < 1e-7:
            break
    plain = beta[:-1] / scale
    return plain, beta[-1] - (plain * mean).sum()


def main():
    rows = [json.loads(line) for line in open(sys.argv[1])]
    rows = [row for row in rows if row["proposals"]]
    names = rows[0]["names"]
    sets = collections.Counter(row["set"] for row in rows)
    x, y, t, w, owner = [], [], [], [], []
    for at, row in enumerate(rows):
        for proposal in row["proposals"]:
            x.append(proposal["x"])
            planner = proposal["x"][names.index("is planner")] > 0
            y.append(float(proposal["right"]))
            t.append(y[-1] * (READ_BY_PLANNER.get(row["set"], 1.0) if planner else 1.0))
            w.append(WEIGHT.get(row["set"], 1.0) * 400.0 / sets[row["set"]] / len(row["proposals"]))
            owner.append(at)
    x, y, t, w, owner = np.array(x), np.array(y), np.array(t), np.array(w), np.array(owner)
    fold = np.array([int(hashlib.sha256(row["source"].encode()).hexdigest(), 16) // 7 % 5 for row in rows])
    p = np.zeros(len(x))
    for k in range(5):
        inside = fold[owner] != k
        beta, bias = fit(x[inside], t[inside], w[inside])
        p[~inside] = 1 / (1 + np.exp(-np.clip(x[~inside] @ beta + bias, -30, 30)))
    report = collections.defaultdict(list)
    for at, row in enumerate(rows):
        mine = np.where(owner == at)[0]
        best = mine[p[mine].argmax()]
        part = "unread" if row["unread"] else "read"
        report[(row["set"], part)].append((p[best], y[best]))
        report[("all", part)].append((p[best], y[best]))
    print(f"{'set':<12}{'part':<8}{'cases':>6}{'right':>8}" + "".join(f"{f'sure@{s}':>10}{'right':>8}" for s in (0.8, 0.85, 0.9)))
    for (name, part), all_ in sorted(report.items()):
        a = np.array(all_)
        line = f"{name:<12}{part:<8}{len(a):>6}{100 * a[:, 1].mean():>7.1f}%"
        for bar in (0.8, 0.85, 0.9):
            sure = a[a[:, 0] >= bar]
            line += f"{100 * len(sure) / len(a):>9.1f}%{100 * sure[:, 1].mean() if len(sure) else 0:>7.1f}%"
        print(line)
    a = np.array([v for (name, _), all_ in report.items() if name == "all" for v in all_])
    print("reliability (stated, happened, cases):")
    for low in np.arange(0, 1, 0.1):
        inside = a[(a[:, 0] >= low) & (a[:, 0] < low + 0.1)]
        if len(inside):
            print(f"  {low:.1f}-{low + 0.1:.1f}  {inside[:, 0].mean():.2f}  {inside[:, 1].mean():.2f}  {len(inside)}")
    beta, bias = fit(x, t, w)
    with open(sys.argv[2], "w") as out:
        out.write("# feature\tweight. Written by bench/fit_judge.py.\n")
        out.write(f"bias\t{bias:.4f}\n")
        for name, weight in zip(names, beta):
            out.write(f"{name}\t{weight:.4f}\n")


main()
