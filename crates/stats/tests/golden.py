#!/usr/bin/env python3
"""Prints the numbers of golden.rs, from SciPy and by brute force: python3 golden.py (SciPy 1.17, NumPy 2)."""

import itertools
import numpy as np
from scipy import stats

rng = np.random.default_rng(20261121)


def show(name, values):
    print(f"const {name}: [f64; {len(values)}] = [{', '.join(repr(float(v)) for v in values)}];")


def walsh(x):
    return np.sort([(x[i] + x[j]) / 2 for i in range(len(x)) for j in range(i, len(x))])


def signed_rank_cdf(n):
    """All 2^n signs, counted."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    for signs in itertools.product([0, 1], repeat=n):
        counts[sum((i + 1) * s for i, s in enumerate(signs))] += 1
    return np.cumsum(counts) / 2**n


a = np.round(rng.normal(0.3, 1, 14), 4)
b = np.round(rng.lognormal(0, 0.7, 11), 4)
c = np.round(rng.lognormal(0.4, 0.7, 9), 4)
show("A", a)
show("B", b)
show("C", c)

cdf = signed_rank_cdf(14)
for level in (0.9, 0.95, 0.99):
    cut = int(np.searchsorted(cdf, (1 - level) / 2, side="right"))
    w = walsh(a)
    print("wilcoxon", level, float(w[cut - 1]), float(w[-cut]), 1 - 2 * float(cdf[cut - 1]))
print("hodges-lehmann", float(np.median(walsh(a))))
print("signed rank p", stats.wilcoxon(a, mode="exact").pvalue)

print("mann-whitney p", stats.mannwhitneyu(b, c, method="exact").pvalue)
print("shift", float(np.median(np.subtract.outer(b, c))))
welch = stats.ttest_ind(b, c, equal_var=False)
interval = welch.confidence_interval(0.95)
print("welch", welch.statistic, welch.df, interval.low, interval.high)

for n in (11, 40, 300):
    k = 1
    while 2 * stats.binom.cdf(k, n, 0.5) <= 0.05:
        k += 1
    print("median depth", n, k, 1 - 2 * stats.binom.cdf(k - 1, n, 0.5))

# The law school data, Efron and Tibshirani (1993), table 3.1.
lsat = [576, 635, 558, 578, 666, 580, 555, 661, 651, 605, 653, 575, 545, 572, 594]
gpa = [3.39, 3.30, 2.81, 3.03, 3.44, 3.07, 3.00, 3.43, 3.36, 3.13, 3.12, 2.74, 2.76, 2.88, 2.96]


def correlation(x, y, axis=-1):
    x = x - x.mean(axis=axis, keepdims=True)
    y = y - y.mean(axis=axis, keepdims=True)
    return (x * y).sum(axis=axis) / np.sqrt((x * x).sum(axis=axis) * (y * y).sum(axis=axis))


for level in (0.90, 0.95):
    r = stats.bootstrap((lsat, gpa), correlation, paired=True, vectorized=True, method="BCa", n_resamples=200_000,
                        confidence_level=level, batch=10_000, random_state=1).confidence_interval
    print("bca correlation", level, np.corrcoef(lsat, gpa)[0, 1], r.low, r.high)
for level in (0.90, 0.95):
    r = stats.bootstrap((b,), np.mean, method="BCa", n_resamples=400_000, confidence_level=level, batch=10_000,
                        random_state=1)
    print("bca mean", level, b.mean(), r.confidence_interval.low, r.confidence_interval.high)
