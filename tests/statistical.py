"""Judging agreement in standard errors."""

import numpy as np
import pytest
from scipy import stats

Z_LIMIT = 4.0  # about 6e-5 two-sided: hundreds of comparisons with fixed seeds still pass


def standard_score(values, expected):
    """How many standard errors the mean of ``values`` is from ``expected``."""
    values = np.asarray(values, dtype=float)
    spread = values.std(ddof=1) / np.sqrt(values.size)
    return (values.mean() - expected) / max(spread, 1e-300)


def same_rows(first, second):
    """Whether two tables agree, up to the rounding by which a library's threads may differ."""

    def facts(row):
        return {name: row[name] for name in row if name not in ("value", "uncertainty")}

    numbers = [[(row["value"], row["uncertainty"]) for row in rows] for rows in (first, second)]
    same = [facts(row) for row in first] == [facts(row) for row in second]
    return same and np.allclose(*numbers, rtol=1e-9, atol=1e-12, equal_nan=True)


def disagreements(first, second):
    """Name each way in which two samples of a quantity differ: mean, variance, quantiles."""
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if np.ptp(first) == 0 and np.ptp(second) == 0:
        return [] if first[0] == second[0] else [f"constants {first[0]} and {second[0]}"]
    found = []
    centered = [(x - x.mean()) ** 2 for x in (first, second)]
    for name, a, b in [("mean", first, second), ("variance", *centered)]:
        error = np.sqrt(a.var(ddof=1) / a.size + b.var(ddof=1) / b.size)
        score = (a.mean() - b.mean()) / error
        if abs(score) > Z_LIMIT:
            found.append(f"{name}: {a.mean():.5g} and {b.mean():.5g}, {score:.1f} standard errors")
    p_value = stats.ks_2samp(first, second).pvalue
    if p_value < 6e-5:
        found.append(f"quantiles: Kolmogorov-Smirnov p = {p_value:.1e}")
    return found


def assert_same_law(first, second):
    """Compare two records of samples, {name: values}, in every entry."""
    assert first.keys() == second.keys()
    found = {name: disagreements(first[name], second[name]) for name in first}
    assert not any(found.values()), {name: lines for name, lines in found.items() if lines}


def quick_first(cases, quick=1):
    """Return the cases of a test, all but the first few of them marked ``statistical``."""
    cases = list(cases)
    rest = [
        pytest.param(*(case if isinstance(case, tuple) else [case]), marks=pytest.mark.statistical)
        for case in cases[quick:]
    ]
    return cases[:quick] + rest
